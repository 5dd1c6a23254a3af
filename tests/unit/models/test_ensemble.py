"""An ensemble opened from folders: order, blank lines, agreement of its parts, and errors that name
the folder.
"""

import threading

import numpy as np
import pytest
import torch
from small_ensemble import learn_subwords, write_member
from twins_uncertainty import sequence_measures

from cgbench.errors import InputError
from cgbench.models.config.measures import SEQUENCE_MEASURES
from cgbench.models.ensemble import Ensemble
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search import beam_search
from cgbench.models.search_settings import SearchSettings

LINES = ["die katze schläft", "", "der hund", " \t", "ein vogel sieht den vogel laut", "katze"] * 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("ensemble")
    subwords = learn_subwords(root / "text")
    for number in (10, 2, 1):
        write_member(root / "all" / f"member-{number}", subwords, number)
    return root / "all"


def same(one, other):
    return [(t.text, t.tokens.tolist(), t.log_prob, t.score) for t in one] == [
        (t.text, t.tokens.tolist(), t.log_prob, t.score) for t in other
    ]


def test_members_are_opened_in_the_order_of_their_numbers(folder):
    whole = Ensemble.open(folder)
    listed = Ensemble.open([folder / f"member-{number}" for number in (1, 2, 10)])
    assert len(whole.members) == len(listed.members) == 3
    for one, other in zip(whole.members, listed.members, strict=True):
        assert not one.training
        for name, tensor in one.state_dict().items():
            assert torch.equal(tensor, other.state_dict()[name])
    assert len(Ensemble.open(str(folder / "member-2")).members) == 1
    assert len(Ensemble.open([folder, folder / "member-2"]).members) == 4


def test_translations_come_in_the_order_of_the_lines(folder):
    ensemble = Ensemble.open(folder)
    found = ensemble.translate(LINES, SearchSettings(beam=3))
    for line, translation in zip(LINES, found, strict=True):
        if not line.strip():
            assert (translation.text, translation.tokens.tolist(), translation.log_prob) == (
                "",
                [2],
                0,
            )
            continue
        source = Ragged.pack(ensemble.subwords.encode_source([line]))
        best = beam_search(ensemble.members, source, SearchSettings(beam=3))[0][0]
        assert translation.tokens.tolist() == best.tokens.tolist()
        assert translation.score == pytest.approx(best.score, abs=1e-5)
        assert translation.text == ensemble.subwords.decode_target(best.tokens.tolist()) != ""
    assert ensemble.translate([]) == []
    assert same(found, ensemble.translate(LINES, SearchSettings(beam=3)))
    small = ensemble.translate(LINES, SearchSettings(beam=3), batch_tokens=1)
    assert [t.tokens.tolist() for t in small] == [t.tokens.tolist() for t in found]


def test_batches_at_a_time_change_nothing(folder, monkeypatch):
    ensemble, threads = Ensemble.open(folder), set()
    step = type(ensemble.members[0]).step_states

    def watched(model, tokens, state):
        assert torch.get_num_threads() == 1
        threads.add(threading.get_ident())
        return step(model, tokens, state)

    monkeypatch.setattr(type(ensemble.members[0]), "step_states", watched)
    before = torch.get_num_threads()
    alone = ensemble.search(LINES, SearchSettings(beam=3), batch_tokens=5)
    assert threads == {threading.get_ident()}
    together = ensemble.search(LINES, SearchSettings(beam=3), batch_tokens=5, jobs=3)
    assert len(threads) > 1
    assert all(same(*pair) for pair in zip(alone, together, strict=True))
    assert torch.get_num_threads() == before


def test_scores_are_those_of_the_ensemble_that_translated(folder):
    ensemble = Ensemble.open(folder)
    found = ensemble.translate(LINES)
    scores = ensemble.score(LINES, [translation.tokens for translation in found])
    assert tuple(scores) == SEQUENCE_MEASURES
    for i, translation in enumerate(found):
        if translation.text:
            assert scores["log_prob"][i] == pytest.approx(translation.log_prob, abs=1e-4)
        source = Ragged.pack(ensemble.subwords.encode_source([LINES[i]]))
        shifted = Ragged.pack([[2, *translation.tokens[:-1].tolist()]])
        with torch.no_grad():
            log_probs = torch.stack(
                [m(source, shifted).double().log_softmax(-1) for m in ensemble.members]
            )
        for name, value in sequence_measures(log_probs, translation.tokens).items():
            assert scores[name][i] == pytest.approx(value, abs=1e-4), name
    assert scores["rmi"].max() > 0.05
    assert ensemble.score([], [])["rmi"].shape == (0,)


def test_several_hypotheses_come_best_first(folder):
    ensemble = Ensemble.open(folder)
    found = ensemble.search(LINES, SearchSettings(beam=3))
    assert same(
        [hypotheses[0] for hypotheses in found], ensemble.translate(LINES, SearchSettings(beam=3))
    )
    for line, hypotheses in zip(LINES, found, strict=True):
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len({hypothesis.tokens.tobytes() for hypothesis in hypotheses}) == (
            3 if line.strip() else 1
        )


def test_the_longest_sentence_is_that_of_the_member_with_the_shortest(folder, tmp_path):
    write_member(tmp_path / "short", learn_subwords(tmp_path / "text"), 5, max_length=6)
    assert Ensemble.open(folder).max_length == 256
    ensemble = Ensemble.open([folder, tmp_path / "short"])
    assert ensemble.max_length == 6
    (ids,) = ensemble.subwords.encode_source(["die katze sieht den hund"])
    assert ensemble.lengths(["die katze sieht den hund", ""]).tolist() == [len(ids), 1]


def test_the_number_of_threads_is_given_back(folder):
    ensemble, before = Ensemble.open(folder), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        ensemble.translate(LINES[:1])
        with pytest.raises(ValueError, match="end token"):
            ensemble.score(["der hund"], [np.array([5])])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_members_with_other_subwords_are_refused(folder, tmp_path):
    write_member(tmp_path / "other", learn_subwords(tmp_path / "text", merges=3), 0)
    with pytest.raises(InputError, match=r"member-1 and .*other have different subwords"):
        Ensemble.open([folder, tmp_path / "other"])


def test_a_folder_without_a_model_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match=path.name):
            Ensemble.open(path)
    with pytest.raises(InputError, match="no model is named"):
        Ensemble.open([])
