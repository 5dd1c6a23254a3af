"""``--by-word``: compare-mt's counts, with intervals and tests over sentences."""

import numpy as np
import pytest

import cgbench
from cgbench import InputError
from cgbench.benchmark.score.evaluation.words import (
    WordCounts,
    WordScores,
    expected_words,
    groups_of,
    parts_of_speech,
    words_of,
)

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
REFERENCES = ["the cat saw the small dog", "a dog ran home", "the owl and the cat ran", "dogs"]
OUTPUTS = ["the the cat saw a dog dog", "a dog ran", "the owl and an owl ran home", "cats"]
TRAINING = ["the cat saw a dog"] * 3 + ["the dog ran", "a small owl"]
TAGS = {"the": "DET", "a": "DET", "an": "DET", "saw": "V", "ran": "V"}
TAGS |= dict.fromkeys(("cat", "dog", "owl"), "N")
COMPARE_MT = {
    "frequency": {"0": (1, 3, 4), "1": (3, 4, 4), "2-4": (8, 10, 10)},
    "table": {"DET": (4, 5, 6), "N": (4, 5, 6), "V": (3, 3, 3), "other": (1, 4, 3)},
}
"""Matches, reference words and output words of compare-mt (neulab/compare-mt, 2025), by
FreqWordBucketer with the cutoffs 1, 2, 5, 10, 100 and 1000, and by LabelWordBucketer.
"""


def word_counts(kind):
    groups = groups_of(kind, lambda: TRAINING)
    return WordCounts(groups, expected_words([[text] for text in REFERENCES], words_of))


def counts_of(kind):
    groups = word_counts(kind).groups
    (system,) = word_counts(kind).of_systems([[OUTPUTS]])
    cells = system.sum(axis=(0, 1)).reshape(-1, 3).astype(int).tolist()
    counts = {
        label: (matches, in_reference, in_output)
        for label, (matches, in_output, in_reference) in zip(groups.labels, cells, strict=True)
    }
    return {label: count for label, count in counts.items() if any(count)}


@pytest.fixture
def table(tmp_path):
    (tmp_path / "tags.tsv").write_text("".join(f"{word}\t{tag}\n" for word, tag in TAGS.items()))
    return f"table:{tmp_path / 'tags.tsv'}"


def test_counts_are_those_of_compare_mt(table):
    assert counts_of("frequency") == COMPARE_MT["frequency"]
    assert counts_of(table) == COMPARE_MT["table"]
    known = counts_of("known")
    assert known["new"] == COMPARE_MT["frequency"]["0"]
    total = np.sum(list(COMPARE_MT["frequency"].values()), axis=0)
    assert np.sum(list(known.values()), axis=0).tolist() == total.tolist()
    assert np.sum(list(counts_of("length").values()), axis=0).tolist() == total.tolist()


def test_scores_of_groups_are_a_metric(table):
    """It computes its statistics itself, as every metric."""
    counts = word_counts(table)
    metric = WordScores("recall", counts, [0, 2])
    statistics = metric.statistics(OUTPUTS)
    assert statistics.shape == (metric.n, 6) and metric.figures == ("DET", "V")
    assert metric.compute(statistics.sum(axis=0)[None])[0] == pytest.approx([80.0, 100.0])
    with pytest.raises(InputError, match="hypotheses"):
        metric.statistics(OUTPUTS[1:])


def test_rows_have_precision_recall_and_f1(table):
    evaluation = cgbench.bleu(OUTPUTS, REFERENCES, by_word=table, tokenize="none")
    rows = {(row.bin, row.figure): row for row in evaluation.rows() if row.analysis == "by_word"}
    for label, (matches, in_reference, in_output) in COMPARE_MT["table"].items():
        values = [rows[label, figure].value for figure in ("precision", "recall", "F1")]
        precision, recall = matches / in_output, matches / in_reference
        f1 = 2 * precision * recall / (precision + recall)
        np.testing.assert_allclose(values, [100 * precision, 100 * recall, 100 * f1])
        assert rows[label, "F1"].n == in_reference and rows[label, "F1"].by == "word table"
    text = evaluation.report()
    assert "word table" in text and all(label in text for label in COMPARE_MT["table"])
    assert [row["bin"] for row in evaluation.to_json()[0]["by_word"]][:3] == ["DET"] * 3


def test_differences_are_tested_over_sentences_and_groups():
    rng = np.random.default_rng(0)
    references = [f"the cat saw w{row} and x{row} ran" for row in range(60)]
    wrong = [text.replace(" w", " v") for text in references]
    systems = {
        name: [wrong[row] if luck < share else references[row] for row, luck in enumerate(lucks)]
        for (name, share), lucks in zip(
            {"base": 0.6, "mine": 0.2}.items(), rng.random((2, 60)), strict=True
        )
    }
    evaluation = cgbench.exact_match(
        systems, references, by_word="known", train=["the cat saw and ran"], paired=True
    )
    rows = {
        (row.bin, row.figure): row
        for row in evaluation.rows()
        if row.analysis == "by_word" and row.system == "mine"
    }
    new = rows["new", "recall"]
    assert new.mark == "**" and new.difference_low > 0 and new.tests == 2
    assert new.ci_low < new.value < new.ci_high and new.baseline == "base"
    assert rows["known", "recall"].difference == 0 and not rows["known", "recall"].mark
    # The same groups and F1 as under "where systems differ".
    (differences,) = cgbench.exact_match(
        systems, references, differences=True, train=["the cat saw and ran"]
    ).differences
    by_frequency = cgbench.exact_match(
        systems, references, by_word="frequency", train=["the cat saw and ran"]
    )
    f1 = {row.bin: row.value for row in by_frequency.rows() if row.figure == "F1"}
    assert {entry.what: entry.ours for entry in differences.words} == pytest.approx(f1)


def test_what_is_missing_is_one_line(tmp_path):
    for kind, message in (
        ("frequency", "by_word='frequency' needs the training text; give train"),
        ("pos", "there is frequency, known, length, pos:MODEL, table:FILE"),
    ):
        with pytest.raises(InputError, match=message):
            cgbench.bleu(OUTPUTS, REFERENCES, by_word=kind)
    for lines, message in (("dog N\n", "line 1: write a word"), ("a\tN\na\tV\n", "line 2: a has")):
        (tmp_path / "tags").write_text(lines)
        with pytest.raises(InputError, match=message):
            cgbench.bleu(OUTPUTS, REFERENCES, by_word=f"table:{tmp_path / 'tags'}")


def test_the_part_of_speech_is_the_usual_tag_in_the_references(monkeypatch):
    """Tags by position, so that a word has several: of the references first."""
    from cgbench.benchmark.build.stats import pos

    class Tagger:
        def __init__(self, model):
            self.model = model

        def tag(self, sentences, where, text_number):
            return [[f"{self.model}{position}" for position in range(len(s))] for s in sentences]

    monkeypatch.setattr(pos, "SpacyTags", Tagger)
    tags = parts_of_speech("T", ["dog a", "cat a b", "a"], ["x dog dog", "dog dog y"])
    assert tags == {"dog": "T0", "a": "T1", "cat": "T0", "b": "T2", "x": "T0", "y": "T2"}


def test_a_tagger_is_an_installed_package(tmp_path):
    pytest.importorskip("spacy")
    with pytest.raises(InputError, match="pip install FOLDER"):
        parts_of_speech(str(tmp_path), [], [])
    with pytest.raises(InputError, match="python -m spacy download en_core_web_none"):
        groups_of("pos:en_core_web_none", None)
