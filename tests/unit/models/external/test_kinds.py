"""Members of other kinds: checkpoints of ours, dropout, adapters; language codes; what has no
common vocabulary.
"""

import json

import pytest
import torch

pytest.importorskip("transformers")
import transformers
from external_models import LINES, WORDS, configuration, forced_log_probs, tokenizer, write_model
from small_ensemble import SOURCE, TARGET, learn_subwords, write_member
from tokenizers import processors

from cgbench.engines import Local
from cgbench.errors import InputError
from cgbench.models.ensemble import Ensemble
from cgbench.models.external.hugging_face import HuggingFaceMember
from cgbench.models.external.opening import check_together, plan_member
from cgbench.models.external.token_space import Measurement, measure_in_token_space
from cgbench.models.search_settings import SearchSettings


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    subwords = learn_subwords(folder)
    for seed in range(2):
        write_member(folder / f"member-{seed}", subwords, seed)
    return folder


def test_checkpoints_of_ours_measure_what_their_ensemble_does(own, tmp_path):
    members = tuple(plan_member(str(own / f"member-{seed}")) for seed in range(2))
    check_together(members)
    measure_in_token_space(Measurement(members, SOURCE, TARGET), tmp_path, Local(1))
    rows = [json.loads(line) for line in (tmp_path / "part-00000.jsonl").read_text().splitlines()]
    ensemble = Ensemble.open(own)
    expected = ensemble.score(SOURCE, ensemble.subwords.encode_target(TARGET))
    for name, values in expected.items():
        assert [row[name] for row in rows] == pytest.approx(values.tolist(), rel=1e-4, abs=1e-6), (
            name
        )
    alone = Ensemble.open(own / "member-0").translate(SOURCE, SearchSettings(beam=2))
    assert [
        best.text for best, *_ in members[0].open().translate(SOURCE, SearchSettings(beam=2))
    ] == [best.text for best in alone]


@pytest.mark.parametrize("kind", ["marian", "t5", "gpt2"])
def test_masks_follow_from_seed_and_sentence_alone(kind, tmp_path):
    address = write_model(tmp_path / kind, kind, dropout=0.3)
    prompt = "der {source} the" if kind == "gpt2" else None
    planned = [
        plan_member(text, prompt)
        for text in (f"mc:{address}?seed=3", f"mc:{address}?seed=4", address)
    ]
    one, other, plain = (member.open() for member in planned)
    targets = one.encode_targets(["the dog", "the cat sees", "the bird", "the", "the cat"])
    before = torch.random.get_rng_state()
    found = one.states(LINES, targets)
    assert torch.equal(torch.random.get_rng_state(), before)
    alone = [one.states([line], [target]) for line, target in zip(LINES, targets, strict=True)]
    assert torch.equal(torch.cat(alone), found)
    assert not torch.allclose(other.states(LINES, targets), found, atol=1e-3)
    assert not torch.allclose(plain.states(LINES, targets), found, atol=1e-3)
    assert planned[0].identity["dropout_seed"] == 3 and "dropout_seed" not in planned[2].identity
    for ours, theirs in zip(
        one.translate(LINES, SearchSettings(beam=1)),
        plain.translate(LINES, SearchSettings(beam=1)),
        strict=True,
    ):
        assert ours[0].text == theirs[0].text and ours[0].log_prob == theirs[0].log_prob


def test_masks_of_a_checkpoint_of_ours(own):
    found = {}
    for text in (
        f"mc:{own / 'member-0'}?seed=3",
        f"mc:{own / 'member-0'}?seed=4",
        str(own / "member-0"),
    ):
        member = plan_member(text).open()
        targets = member.encode_targets(TARGET)
        found[text] = member.states(SOURCE, targets)
        alone = [
            member.states([line], [target]) for line, target in zip(SOURCE, targets, strict=True)
        ]
        torch.testing.assert_close(
            torch.cat(alone), found[text], rtol=0, atol=0 if "mc:" in text else 1e-5
        )
    one, other, plain = found.values()
    assert not torch.allclose(one, other, atol=1e-3) and not torch.allclose(one, plain, atol=1e-3)


def test_a_model_without_dropout_has_one_opinion(tmp_path):
    address = write_model(tmp_path / "m", "t5")
    with pytest.raises(InputError, match="no dropout"):
        plan_member(f"mc:{address}?seed=1").open()


def test_an_adapter_is_the_model_that_peft_makes_of_it(tmp_path):
    peft = pytest.importorskip("peft")
    address = write_model(tmp_path / "base", "marian")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "base")
    torch.manual_seed(0)
    wrapped = peft.get_peft_model(
        model,
        peft.LoraConfig(
            target_modules=["q_proj"], r=2, init_lora_weights=False, task_type="SEQ_2_SEQ_LM"
        ),
    )
    wrapped.eval().save_pretrained(tmp_path / "adapter")
    member = plan_member(f"{address}?adapter={tmp_path / 'adapter'}").open()
    targets = member.encode_targets(["the dog sleeps"])
    given = torch.tensor([member.tokenizer(LINES[0])["input_ids"]])
    with torch.no_grad():
        logits = wrapped(
            input_ids=given, decoder_input_ids=torch.tensor([[0, *targets[0][:-1]]])
        ).logits[0]
    found = forced_log_probs(member, LINES[:1], targets)
    torch.testing.assert_close(found, torch.log_softmax(logits, 1), rtol=0, atol=1e-5)
    assert not torch.allclose(
        found, forced_log_probs(plan_member(address).open(), LINES[:1], targets), atol=1e-3
    )
    with torch.no_grad():
        next(one for name, one in wrapped.named_parameters() if "lora_B" in name).add_(1)
    wrapped.save_pretrained(tmp_path / "adapter-1")
    several = [
        plan_member(f"{address}?adapter={tmp_path / name}") for name in ("adapter", "adapter-1")
    ]
    check_together([*several, plan_member(address)])  # three members, whatever they share
    with pytest.raises(InputError, match="the same member"):
        check_together([several[0], several[0]])
    write_model(tmp_path / "another", "marian")
    with pytest.raises(InputError, match=r"belongs to .*base, not to .*another"):
        plan_member(f"hf:{tmp_path / 'another'}?adapter={tmp_path / 'adapter'}")
    write_model(tmp_path / "t5" / "base", "t5")
    with pytest.raises(InputError, match="does not fit the model"):
        plan_member(f"hf:{tmp_path / 't5' / 'base'}?adapter={tmp_path / 'adapter'}").open()


def test_a_language_that_is_forced_is_measured_nowhere(tmp_path):
    """NLLB's way: the output begins with the code of its language, whatever the model thinks of
    that.
    """
    address = write_model(tmp_path / "m", "bart")
    made = tokenizer(WORDS[:-2], ("deu_Latn", "eng_Latn"))
    made.save_pretrained(tmp_path / "m")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "m").eval()
    given = {"label": address}
    with pytest.raises(InputError, match="has no language codes; leave out source"):
        HuggingFaceMember(model, made, source="deu_Latn", target="eng_Latn", **given)
    made.__class__ = type("Languages", (type(made),), {"src_lang": None, "tgt_lang": None})
    with pytest.raises(InputError, match=r"\?source=CODE&target=CODE"):
        HuggingFaceMember(model, made, **given)
    with pytest.raises(InputError, match=r"no language 'eng_Lat'; did you mean eng_Latn\?"):
        HuggingFaceMember(model, made, source="deu_Latn", target="eng_Lat", **given)
    member = HuggingFaceMember(model, made, source="deu_Latn", target="eng_Latn", **given)
    best, *_ = member.translate(LINES[:1], SearchSettings(beam=2))[0]
    forced = made.convert_tokens_to_ids("eng_Latn")
    assert best.tokens[0] != forced
    with torch.no_grad():
        logits = model(
            input_ids=torch.tensor([made(LINES[0])["input_ids"]]),
            decoder_input_ids=torch.tensor([[1, forced, *best.tokens[:-1].tolist()]]),
        ).logits[0, 1:]
    expected = torch.log_softmax(logits, 1)[
        torch.arange(len(best.tokens)), torch.from_numpy(best.tokens).long()
    ].sum()
    assert best.log_prob == pytest.approx(float(expected), abs=1e-4)


def test_members_that_share_no_vocabulary_or_are_the_same_are_refused(own, tmp_path):
    members = (
        plan_member(str(own / "member-0")),
        plan_member(write_model(tmp_path / "m", "marian")),
    )
    with pytest.raises(
        InputError, match="its vocabulary differs .* choose members that share a tokeniser"
    ):
        check_together(members)
    with pytest.raises(InputError, match="the same member as"):
        check_together((members[0], plan_member(str(own / "member-0"))))


def test_a_prompted_model_reads_its_sentence_where_the_template_says(tmp_path):
    address = write_model(tmp_path / "m", "gpt2")
    (tmp_path / "prompt").write_text("der {source} the\n", encoding="utf-8")
    given = plan_member(f"{address}?prompt={tmp_path / 'prompt'}")
    assert given.template == "der {source} the"
    assert given.identity["prompt"] == "der {source} the"
    assert given.key != plan_member(address, "die {source} the").key
    assert configuration("gpt2").is_encoder_decoder is False


CHAT = (
    "</s> {% for message in messages %}die {{ message['content'] | trim }} the {% endfor %}"
    "{% if add_generation_prompt %}{% if enable_thinking %}bird{% else %}dog{% endif %}{% endif %}"
)


def chat_model(folder, chat=CHAT):
    """A model whose tokeniser puts a token before whatever it reads, and has a chat template."""
    address = write_model(folder, "gpt2")
    made = tokenizer()
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="</s> $A", special_tokens=[("</s>", 1)]
    )
    made.chat_template = chat
    made.save_pretrained(folder)
    return address


def test_a_chat_model_reads_a_message(tmp_path):
    """As transformers itself would ask it: the template's own special tokens, and none twice."""
    address = chat_model(tmp_path / "m")
    planned = plan_member(f"{address}?chat=yes", "der {source} katze")
    assert planned.template == planned.identity["prompt"] == "</s> die der {source} katze the dog"
    member = planned.open()
    message = [{"role": "user", "content": f"der {LINES[0]} katze"}]
    expected = member.tokenizer.apply_chat_template(
        message, add_generation_prompt=True, enable_thinking=False, return_dict=False
    )
    (read,) = member.read([LINES[0]])
    assert read.tolist() == expected and expected.count(1) == 1
    plain = plan_member(address, "der {source} katze").open().read([LINES[0]])[0]
    assert plain[0] == 1 and len(plain) < len(read)
    (written,) = member.translate([LINES[0]], SearchSettings(beam=2))
    assert written[0].text
    assert forced_log_probs(member, [LINES[0]], [written[0].tokens]).shape == (
        len(written[0].tokens),
        18,
    )


def test_what_a_chat_model_needs(tmp_path):
    address, plain = chat_model(tmp_path / "m"), write_model(tmp_path / "plain", "gpt2")
    broken = chat_model(tmp_path / "broken", "{{ raise_exception('no users') }}")
    for model, prompt, said in (
        (f"{address}?chat=yes", None, "a chat model needs a prompt"),
        (f"{address}?chat=no", "{source}", "chat must be yes"),
        (f"{plain}?chat=yes", "{source}", "has no chat template; leave out chat=yes"),
        (f"{broken}?chat=yes", "{source}", r"chat template fails \(no users"),
        (
            f"{chat_model(tmp_path / 'deaf', 'dog')}?chat=yes",
            "{source}",
            "chat template: the template 'dog' has no {s",
        ),
    ):
        with pytest.raises(InputError, match=said):
            plan_member(model, prompt)
