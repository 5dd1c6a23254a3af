"""What a validation reports, and that decoding for it cuts no right answer short."""

from dataclasses import replace

import numpy as np
import pytest
import sacrebleu
import torch
from few import few
from training_runs import PRESET, contents, log_of, train

from cgbench.errors import InputError
from cgbench.models.checkpoints import load_checkpoint, read_config
from cgbench.models.parts.cpu import packed
from cgbench.models.parts.ragged import Layout, Ragged
from cgbench.models.search import beam_search
from cgbench.models.search_settings import SearchSettings
from cgbench.models.text.subwords import Subwords
from cgbench.models.training import validation
from cgbench.models.training.distributed import Processes
from cgbench.models.training.training_data import Data
from cgbench.models.training.validation import Validation


@pytest.fixture(scope="module")
def model(undisturbed):
    return load_checkpoint(undisturbed)[0]


def validation_of(folder, **settings):
    config, subwords = replace(PRESET.training, **settings), Subwords.load(folder)
    data = Data((folder / "valid.de", folder / "valid.en"), subwords, config, keep_lines=True)
    return Validation(config, data, subwords, False, Processes(0, 1, "cpu"))


def lines_of(corpus, name):
    return (corpus / name).read_text(encoding="utf-8").splitlines()


@pytest.mark.skipif(
    not hasattr(torch.ops.mkldnn, "_linear_pointwise"),
    reason="this build of torch has no packed products",
)
def test_each_validation_is_of_the_weights_of_its_update(corpus, tmp_path, monkeypatch):
    """Products without gradients read packed copies of weights on some processors."""
    monkeypatch.setattr(packed, "onednn_is_faster", lambda: True)
    monkeypatch.setattr(packed, "LEAST", 1)
    preset = PRESET.replace({"training.validate_every": 2, "training.keep": "last"})
    train(corpus, tmp_path / "model", preset)
    *_, last = [row["valid_loss"] for row in log_of(tmp_path / "model") if "valid_loss" in row]
    model, *_ = load_checkpoint(tmp_path / "model")
    assert validation_of(corpus)(model)[0]["valid_loss"] == pytest.approx(last, rel=1e-3)


@torch.no_grad()
def test_the_loss_is_a_mean_over_tokens_without_smoothing_and_dropout(corpus, model):
    check = validation_of(corpus)
    model.train()
    metrics, score = check(model)
    assert model.training
    model.eval()
    total, tokens = 0.0, 0
    for source, target in zip(
        lines_of(corpus, "valid.de"), lines_of(corpus, "valid.en"), strict=True
    ):
        x = Ragged.pack(check.subwords.encode_source([source]))
        y = Ragged.pack(check.subwords.encode_target([target]))
        log_p = torch.log_softmax(model(x, y.shifted()), 1)
        total -= float(log_p.gather(1, y.ids[:, None]).sum())
        tokens += len(y.ids)
    assert metrics["valid_loss"] == pytest.approx(total / tokens, rel=1e-5)
    assert metrics["valid_perplexity"] == pytest.approx(np.exp(total / tokens), rel=1e-5)
    assert score == -metrics["valid_loss"]
    assert set(metrics) == {"valid_loss", "valid_perplexity"}


@pytest.mark.parametrize("beam", [1, 3])
def test_what_is_decoded_is_what_the_search_finds(corpus, model, beam):
    check = validation_of(corpus, validate_beam=beam, max_tokens=64, max_length=64)
    found = check._decode(model.eval())
    assert sorted(found) == list(range(9))
    for row, line in enumerate(lines_of(corpus, "valid.de")):
        source = Ragged.pack(check.subwords.encode_source([line]))
        ((best, *_),) = beam_search([model], source, SearchSettings(beam=beam))
        assert found[row] == check.subwords.decode_target(best.tokens.tolist())


def test_bleu_and_exact_match_compare_words_with_the_text(corpus, model, monkeypatch):
    wanted = lines_of(corpus, "valid.en")
    answers = [*wanted[:3], *(line + " neu" for line in wanted[3:])]
    assert len(set(answers)) > 3
    # White space is no part of a word, and the text is not what its subwords say of unknown ones.
    monkeypatch.setattr(
        Validation, "_decode", lambda self, model: {row: f" {x}  " for row, x in enumerate(answers)}
    )
    metrics, score = validation_of(corpus, validate_metric="exact_match")(model)
    assert metrics["valid_exact_match"] == score == pytest.approx(100 * 3 / 9)
    metrics, score = validation_of(corpus, validate_metric="bleu")(model)
    assert metrics["valid_bleu"] == score
    assert score == sacrebleu.corpus_bleu(answers, [wanted], tokenize="none", force=True).score
    assert 0 < score < 100


def test_bleu_as_fairseq_measures_it(corpus, model, monkeypatch):
    """Pieces that the text itself has are joined, then sacrebleu tokenises: fairseq's
    --eval-bleu-remove-bpe.
    """
    check = validation_of(
        corpus, validate_metric="bleu", validate_join="@@", validate_tokenize="13a"
    )
    wanted = [
        "the bi@@ g dog &apos;s ho@@ use",
        "a sma@@ ll cat is here , too .",
        *["so it is"] * 7,
    ]
    answers = [
        "the b@@ ig dog &apos;s hou@@ se",
        "a small cat is there, to@@ o.  ",
        *["so it i@@"] * 7,
    ]
    monkeypatch.setattr(check.data, "lines", wanted)
    monkeypatch.setattr(Validation, "_decode", lambda self, model: dict(enumerate(answers)))
    joined = [(f"{line} ".replace("@@ ", "").rstrip()) for line in answers]
    assert joined[:3] == ["the big dog &apos;s house", "a small cat is there, too.", "so it i"]
    expected = sacrebleu.corpus_bleu(
        joined, [[f"{line} ".replace("@@ ", "").rstrip() for line in wanted]]
    )
    assert check(model)[0]["valid_bleu"] == pytest.approx(expected.score)
    plain = validation_of(corpus, validate_metric="bleu")
    monkeypatch.setattr(plain.data, "lines", wanted)
    assert plain(model)[0]["valid_bleu"] < expected.score
    whole = validation_of(corpus, validate_metric="exact_match", validate_join="@@")
    monkeypatch.setattr(whole.data, "lines", wanted)
    assert whole(model)[0]["valid_exact_match"] == pytest.approx(100 / 9)


def test_consistency_is_the_distance_of_two_predictions_with_dropout(corpus, model):
    check = validation_of(corpus, validate_metric="consistency")
    before = torch.get_rng_state()
    metrics, score = check(model)
    assert torch.equal(torch.get_rng_state(), before) and model.training
    assert check(model) == (metrics, score) and score == -metrics["valid_consistency"] < 0
    # The same masks, and the definition token by token.
    total, tokens = 0.0, 0
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        for batch in check.data.in_order():
            source, target = check.data.take(batch, "cpu")
            both = [
                Ragged(torch.cat((one.ids, one.ids)), Layout(np.tile(one.layout.lengths, 2), "cpu"))
                for one in (source, target)
            ]
            p = torch.softmax(model(both[0], both[1].shifted()), 1).double()
            half = len(p) // 2
            for first, second in zip(p[:half], p[half:], strict=True):
                total += (
                    float(
                        (first * (first / second).log()).sum()
                        + (second * (second / first).log()).sum()
                    )
                    / 2
                )
                tokens += 1
    assert metrics["valid_consistency"] == pytest.approx(total / tokens, rel=1e-4)


@pytest.mark.parametrize("words", [3, 40])
def test_no_right_answer_is_cut_short(corpus, model, tmp_path, monkeypatch, words):
    for name, line in (("valid.de", "rot"), ("valid.en", "tor " * words)):
        (tmp_path / name).write_text(line + "\n", encoding="utf-8")
    Subwords.load(corpus).save(tmp_path)
    check = validation_of(tmp_path, validate_metric="exact_match", max_tokens=512, max_length=512)
    limits = []

    def note(members, source, settings):
        limits.append(settings.max_length_extra)
        return beam_search(members, source, settings)

    monkeypatch.setattr(validation, "beam_search", note)
    check(model)
    source, target = int(check.data.source.lengths[0]), int(check.data.target.lengths[0])
    assert limits == [10] if words == 3 else limits[0] > 10
    assert target <= 1.2 * source + limits[0] < max(target, 1.2 * source + 10) + 1
    check.config = replace(check.config, validate_length="source")
    check(model)
    assert limits[1:] == [10]


@pytest.mark.parametrize(
    ("scores", "losses", "best"),
    [
        ([0.0, 0.0, 0.0, 0.0], [4.0, 2.0, 3.0, 2.5], 8),
        ([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], 4),
        ([0.0, 5.0, 5.0, 1.0], [1.0, 3.0, 2.0, 0.5], 12),
    ],
)
def test_of_validations_that_are_as_good_the_one_of_lower_loss_is_the_best(
    corpus, tmp_path, monkeypatch, scores, losses, best
):
    def validate(self, model):
        number = validated(self.folder)
        return {"valid_loss": losses[len(number)]}, scores[len(number)]

    monkeypatch.setattr(Validation, "__call__", validate)
    for name in ("whole", "parts"):
        monkeypatch.setattr(Validation, "folder", tmp_path / name, raising=False)
        for stop in (5, 8, 9, 12) if name == "parts" else ():
            assert not train(corpus, tmp_path / name, stop_after_updates=stop)
        assert train(corpus, tmp_path / name)
    assert validated(tmp_path / "whole") == [4, 8, 12, 14]
    assert read_config(tmp_path / "whole").updates == best
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def validated(folder):
    return [entry["update"] for entry in log_of(folder) if "valid_loss" in entry]


@pytest.mark.parametrize("valid", [True, False])
def test_without_an_interval_only_the_end_is_validated(corpus, tmp_path, valid):
    files = {} if valid else {"valid": None}
    train(corpus, tmp_path / "model", PRESET.replace({"training.validate_every": 0}), files=files)
    assert validated(tmp_path / "model") == [14] * valid


@pytest.mark.parametrize("every", few([1, 2], 2))
def test_validation_at_the_end_of_epochs(corpus, tmp_path, every):
    settings = {"training.validate_every_epochs": every, "training.max_updates": 21}
    preset = PRESET.replace(settings)
    data = Data((corpus / "train.de", corpus / "train.en"), Subwords.load(corpus), preset.training)
    ends, update = [], 0
    for epoch in range(30):
        update += -(-len(data.epoch(3, epoch)) // preset.training.accumulation)
        if (epoch + 1) % every == 0:
            ends.append(update)
    assert 1 < ends[0] < 10
    expected = [end for end in ends if end < 21] + [21]
    train(corpus, tmp_path / "whole", preset)
    assert validated(tmp_path / "whole") == expected
    for stop in (ends[0], ends[0] + 1):
        assert not train(corpus, tmp_path / "parts", preset, stop_after_updates=stop)
    train(corpus, tmp_path / "parts", preset)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_validation_begins_at_an_epoch(corpus, tmp_path):
    settings = {"training.validate_every_epochs": 1, "training.max_updates": 21}
    train(corpus, tmp_path / "every", PRESET.replace(settings))
    ends = validated(tmp_path / "every")
    assert len(ends) > 4
    for first, expected in ((3, ends[2:]), (99, [21])):
        train(
            corpus,
            tmp_path / str(first),
            PRESET.replace({**settings, "training.validate_from_epoch": first}),
        )
        assert validated(tmp_path / str(first)) == expected
    with pytest.raises(
        InputError, match=r"validate_from_epoch=2: must be 0 with training\.validate_every_epochs=0"
    ):
        PRESET.replace({"training.validate_from_epoch": 2})
