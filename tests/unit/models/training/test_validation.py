"""What a validation reports, and that decoding for it cuts no right answer short."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import sacrebleu
import torch
from training_runs import PRESET, make_corpus, train

from cgbench.errors import InputError
from cgbench.models.checkpoints import load_checkpoint, read_config
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search import beam_search, greedy_search
from cgbench.models.text.subwords import Subwords
from cgbench.models.training import validation
from cgbench.models.training.data import Data
from cgbench.models.training.validation import Validation

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def model(corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "model"
    train(corpus, out)
    return load_checkpoint(out)[0]


def validation_of(folder, **settings):
    config, subwords = replace(PRESET.training, **settings), Subwords.load(folder)
    data = Data((folder / "valid.de", folder / "valid.en"), subwords, config, keep_lines=True)
    return Validation(config, data, subwords, False, "cpu")


def lines_of(corpus, name):
    return (corpus / name).read_text(encoding="utf-8").splitlines()


@torch.no_grad()
def test_the_loss_is_a_mean_over_tokens_without_smoothing_and_dropout(corpus, model):
    check = validation_of(corpus)
    model.train()
    result = check(model)
    assert model.training
    model.eval()
    total, tokens = 0.0, 0
    for source, target in zip(lines_of(corpus, "valid.de"), lines_of(corpus, "valid.en"), strict=True):
        x = Ragged.pack(check.subwords.encode_source([source]))
        y = Ragged.pack(check.subwords.encode_target([target]))
        log_p = torch.log_softmax(model(x, y.shifted()), 1)
        total -= float(log_p.gather(1, y.ids[:, None]).sum())
        tokens += len(y.ids)
    assert result.figures["valid_loss"] == pytest.approx(total / tokens, rel=1e-5)
    assert result.figures["valid_perplexity"] == pytest.approx(np.exp(total / tokens), rel=1e-5)
    assert result.goodness == -result.figures["valid_loss"]
    assert set(result.figures) == {"valid_loss", "valid_perplexity"}


@pytest.mark.parametrize("beam", [1, 3])
def test_what_is_decoded_is_what_the_search_finds(corpus, model, beam):
    check = validation_of(corpus, validate_beam=beam, max_tokens=64, max_length=64)
    found = check._decode(model.eval())
    assert sorted(found) == list(range(9))
    for row, line in enumerate(lines_of(corpus, "valid.de")):
        source = Ragged.pack(check.subwords.encode_source([line]))
        ((best, *_),) = greedy_search([model], source) if beam == 1 else beam_search([model], source, beam=beam)
        assert found[row] == check.subwords.decode_target(best.tokens.tolist())


def test_bleu_and_exact_match_compare_words_with_the_text(corpus, model, monkeypatch):
    wanted = lines_of(corpus, "valid.en")
    answers = [*wanted[:3], *(line + " neu" for line in wanted[3:])]
    assert len(set(answers)) > 3
    # White space is no part of a word, and the text is not what its subwords say of unknown ones.
    monkeypatch.setattr(Validation, "_decode", lambda self, model: {row: f" {x}  " for row, x in enumerate(answers)})
    result = validation_of(corpus, validate_metric="exact_match")(model)
    assert result.figures["valid_exact_match"] == result.goodness == pytest.approx(100 * 3 / 9)
    result = validation_of(corpus, validate_metric="bleu")(model)
    assert result.figures["valid_bleu"] == result.goodness
    assert result.goodness == sacrebleu.corpus_bleu(answers, [wanted], tokenize="none", force=True).score
    assert 0 < result.goodness < 100


def test_a_part_of_the_sentences_is_spread_over_the_text(corpus):
    assert validation_of(corpus, validate_sentences=3).decoded.tolist() == [0, 3, 6]
    assert validation_of(corpus, validate_sentences=9).decoded.tolist() == list(range(9))
    assert validation_of(corpus, validate_sentences=100).decoded.tolist() == list(range(9))


@pytest.mark.parametrize("words", [3, 40])
def test_no_right_answer_is_cut_short(corpus, model, tmp_path, monkeypatch, words):
    for name, line in (("valid.de", "rot"), ("valid.en", "tor " * words)):
        (tmp_path / name).write_text(line + "\n", encoding="utf-8")
    Subwords.load(corpus).save(tmp_path)
    check = validation_of(tmp_path, validate_metric="exact_match", max_tokens=512, max_length=512)
    limits = []

    def note(members, source, max_length_extra):
        limits.append(max_length_extra)
        return greedy_search(members, source, max_length_extra=max_length_extra)

    monkeypatch.setattr(validation, "greedy_search", note)
    check(model)
    source, target = int(check.data.source.lengths[0]), int(check.data.target.lengths[0])
    assert limits == [10] if words == 3 else limits[0] > 10
    assert target <= 1.2 * source + limits[0] < max(target, 1.2 * source + 10) + 1


def test_the_metric_decides_what_is_best(corpus, tmp_path, monkeypatch):
    scores = iter([5.0, 9.0, 9.0, 7.0])
    monkeypatch.setattr(Validation, "_score", lambda self, model: next(scores))
    train(corpus, tmp_path / "model", PRESET.replace({"training.validate_metric": "bleu"}))
    log = [json.loads(line) for line in (tmp_path / "model" / "metrics.jsonl").read_text().splitlines()]
    assert [entry["valid_bleu"] for entry in log if "valid_loss" in entry] == [5.0, 9.0, 9.0, 7.0]
    assert read_config(tmp_path / "model").updates == 8


def test_bleu_without_sacrebleu_is_refused_before_data_is_read(corpus, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    missing = tmp_path / "none"
    with pytest.raises(InputError, match=r"sacrebleu is not installed; run: pip install 'cgbench\[scores\]'"):
        preset = PRESET.replace({"training.validate_metric": "bleu"})
        train(corpus, tmp_path / "model", preset, files={"train": (missing, missing)})
