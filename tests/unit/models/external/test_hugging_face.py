"""Models of others as members: their distributions are transformers' own, whatever stands beside a
sentence.
"""

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")
import transformers
from external_models import LINES, PROMPT, WORDS, forced_log_probs, tokenizer, write_model

from cgbench.errors import InputError
from cgbench.models.external.hugging_face import HuggingFaceMember
from cgbench.models.external.opening import plan_member
from cgbench.models.search_settings import SearchSettings

KINDS = ("marian", "bart", "t5", "gpt2")


@pytest.fixture(scope="module", params=KINDS)
def member(request, tmp_path_factory):
    address = write_model(tmp_path_factory.mktemp(request.param) / "model", request.param)
    return plan_member(address, PROMPT if request.param == "gpt2" else None).open()


def plain_log_probs(member, line, target):
    """One sentence through the model as transformers would: no batch, no hook."""
    model, tokenizer, forced = (
        member.model,
        member.tokenizer,
        member.model.generation_config.forced_bos_token_id,
    )
    if model.config.is_encoder_decoder:
        begin = [model.config.decoder_start_token_id, *([] if forced is None else [forced])]
        given = {"input_ids": torch.tensor([tokenizer(line)["input_ids"]])}
        name = "decoder_input_ids"
    else:
        begin, given, name = (
            tokenizer(PROMPT.replace("{source}", line))["input_ids"],
            {},
            "input_ids",
        )
    with torch.no_grad():
        logits = model(**given, **{name: torch.tensor([[*begin, *target[:-1]]])}).logits[0]
    return torch.log_softmax(logits[len(begin) - 1 :].float(), 1)


def test_distributions_are_those_of_the_plain_model(member, monkeypatch):
    targets = member.encode_targets(
        ["the dog sleeps", "the", "", "the cat sees the bird", "the bird"]
    )
    assert [len(target) for target in targets] == [4, 2, 1, 6, 3]
    found = forced_log_probs(member, LINES, targets).split([len(target) for target in targets])
    for line, target, log_probs in zip(LINES, targets, found, strict=True):
        torch.testing.assert_close(
            log_probs, plain_log_probs(member, line, target), rtol=0, atol=1e-5
        )
    # whatever the batches are
    together = member.states(LINES, targets)
    monkeypatch.setattr(type(member), "batch_tokens", 1)
    torch.testing.assert_close(member.states(LINES, targets), together, rtol=0, atol=1e-5)


@pytest.mark.parametrize("beam", [1, 3])
def test_translations_have_the_probability_that_the_model_gives_them(member, beam):
    found = member.translate(
        [*LINES, "", " "], SearchSettings(beam=beam, length_penalty=0.7), nbest=beam
    )
    assert [one.text for one in found[-1]] == [""] and found[-1][0].tokens.tolist() == [1]
    assert len({one[0].text for one in found}) > 2  # they are not all the same
    for line, hypotheses in zip(LINES, found, strict=False):
        assert len(hypotheses) == beam
        for one in hypotheses:
            log_probs = plain_log_probs(member, line, one.tokens.tolist())
            expected = float(
                log_probs[torch.arange(len(one.tokens)), torch.from_numpy(one.tokens).long()].sum()
            )
            assert one.log_prob == pytest.approx(expected, abs=1e-4)
            length = len(one.tokens) + (
                member.model.generation_config.forced_bos_token_id is not None
            )
            assert one.score == pytest.approx(expected / length**0.7, abs=1e-4)
            assert one.tokens[-1] == 1 and (one.tokens[:-1] != 1).all()


def test_a_length_offset_is_refused_since_generate_has_none(member):
    with pytest.raises(InputError, match=r"length_offset=5\.0: transformers has .* must be 0"):
        member.translate(LINES, SearchSettings(length_offset=5.0))


def test_a_translation_depends_on_its_own_sentence_alone(member):
    together = member.translate(
        LINES, SearchSettings(beam=2, max_length_ratio=1.0, max_length_extra=1)
    )
    alone = [
        member.translate([line], SearchSettings(beam=2, max_length_ratio=1.0, max_length_extra=1))[
            0
        ]
        for line in LINES
    ]
    for line, one, other in zip(LINES, together, alone, strict=True):
        assert one[0].tokens.tolist() == other[0].tokens.tolist()
        assert one[0].log_prob == pytest.approx(other[0].log_prob, abs=1e-4)
        # a limit of its own: source tokens with the end, and one, then the end
        assert len(one[0].tokens) <= len(line.split()) + 3


def test_no_sentence_at_all(member):
    assert member.translate([]) == []
    assert member.states([], []).shape == (0, 16)
    assert member.encode_targets([]) == []


def test_states_need_no_vocabulary_wide_logits(member):
    """What makes memory independent of the vocabulary: the last layer does not run."""
    ran = []
    hook = member.model.get_output_embeddings().register_forward_hook(
        lambda *given: ran.append(given)
    )
    member.states(LINES, [np.array([4, 5, 1])] * len(LINES))
    hook.remove()
    assert not ran


def test_settings_that_come_with_a_model_decide_nothing(member, monkeypatch):
    expected = [
        [one.tokens.tolist() for one in found]
        for found in member.translate(LINES, SearchSettings(beam=2), nbest=2)
    ]
    settings = member.model.generation_config
    for name, value in (
        ("num_beams", 4),
        ("do_sample", True),
        ("temperature", 9.0),
        ("max_length", 3),
        ("length_penalty", -3.0),
        ("no_repeat_ngram_size", 1),
        ("repetition_penalty", 5.0),
        ("min_length", 9),
    ):
        monkeypatch.setattr(settings, name, value)
    found = member.translate(LINES, SearchSettings(beam=2), nbest=2)
    assert [[one.tokens.tolist() for one in each] for each in found] == expected
    assert member.model.generation_config is settings


def test_a_model_whose_logits_are_more_than_its_last_layer(member):
    """It translates, with the probabilities that it gives; of its states there is nothing to be
    had.
    """

    def sharpen(model, given, output):
        output.logits = output.logits * 2
        return output

    before = member.translate(LINES[:1], SearchSettings(beam=1))[0][0]
    hook = member.model.register_forward_hook(sharpen)
    try:
        with pytest.raises(InputError, match="its logits are not a function of its last layer"):
            member.head()
        (one,) = member.translate(LINES[:1], SearchSettings(beam=1))[0]
        log_probs = plain_log_probs(member, LINES[0], one.tokens.tolist())
    finally:
        hook.remove()
    assert one.tokens.tolist() == before.tokens.tolist()  # greedy search sees no difference
    expected = float(
        log_probs[torch.arange(len(one.tokens)), torch.from_numpy(one.tokens).long()].sum()
    )
    assert one.log_prob == pytest.approx(expected, abs=1e-4)
    assert abs(one.log_prob - before.log_prob) > 1e-2


@pytest.mark.parametrize("kind", ["M2M100", "MBart"])
def test_with_a_forced_first_token_the_best_comes_first_by_the_scores_of_generate(
    kind, monkeypatch
):
    """generate divides by a length that counts the code of the language, which is no token of the
    translation.
    """
    member = multilingual(kind)
    generate, expected = member.model.generate, []

    def noting(**given):
        given["generation_config"].update(output_scores=True, return_dict_in_generate=True)
        found = generate(**given)
        expected.append(found.sequences_scores.tolist())
        return found.sequences

    monkeypatch.setattr(member.model, "generate", noting)
    found = [member.translate([line], SearchSettings(beam=5), nbest=5)[0] for line in LINES]
    for hypotheses, scores in zip(found, expected, strict=True):
        assert [one.score for one in hypotheses] == pytest.approx(scores, abs=1e-5)
        assert scores == sorted(scores, reverse=True)
    # lists whose order another length would have changed are among them
    others = [[one.log_prob / len(one.tokens) for one in hypotheses] for hypotheses in found]
    assert any(scores != sorted(scores, reverse=True) for scores in others)


def multilingual(kind):
    """An untrained model whose outputs begin with the code of a language, and end sooner or
    later.
    """
    made = tokenizer(WORDS, ("de_XX", "en_XX"))
    made.__class__ = type("Languages", (type(made),), {"src_lang": None, "tgt_lang": None})
    sizes = {
        f"{side}_{what}": 2
        for side in ("encoder", "decoder")
        for what in ("layers", "attention_heads")
    }
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(made),
        d_model=16,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=32,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=1,
        decoder_start_token_id=1,
        **sizes,
    )
    torch.manual_seed(0)
    model = getattr(transformers, f"{kind}ForConditionalGeneration")(config).eval()
    with torch.no_grad():
        model.lm_head = torch.nn.Linear(16, len(made))
        model.lm_head.bias[1] += 0.5
    return HuggingFaceMember(model, made, source="de_XX", target="en_XX")
