"""``--format paper``: every statement is true of the table."""

import re

import numpy as np
import pytest

import cgbench

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
REFERENCES = [f"the {'small ' * (row % 4)}dog number {row} saw a cat" for row in range(120)]


def outputs(share, seed):
    luck = np.random.default_rng(seed).random(len(REFERENCES))
    return [
        text.replace("dog", "cow") if is_wrong else text
        for text, is_wrong in zip(REFERENCES, luck < share, strict=True)
    ]


BASE, GOOD, LIKE = outputs(0.5, 0), outputs(0.1, 1), outputs(0.48, 2)
SYSTEMS = {"base": BASE, "good": GOOD, "like": LIKE}


def paragraph(metric="exact", systems=SYSTEMS, **options):
    evaluation = cgbench.evaluate(metric, systems, REFERENCES, **options)
    return evaluation, evaluation.report("paper")


@pytest.mark.parametrize("metric", ["exact", "ter"])
def test_scores_differences_and_verdicts_are_those_of_the_table(metric):
    evaluation, text = paragraph(metric, paired=True)
    rows = {row.system: row for row in evaluation.rows() if row.analysis == "scores"}
    assert f"compared with base ({rows['base'].value:.1f})" in text
    for name in ("good", "like"):
        row = rows[name]
        (found,) = re.findall(rf"{name} \(([-\d.]+), ([-+][\d.]+), p (.*?)\)", text)
        assert found[0] == f"{row.value:.1f}" and float(found[1]) == round(row.difference, 1)
        p = found[2]
        assert row.p_holm < 0.001 if p == "< 0.001" else p == f"= {row.p_holm:.3f}"
        verdict = text[text.index(f"{name} (") :].partition(") is ")[2]
        better = (row.difference > 0) != evaluation.scored.metric.lower_is_better
        expected = f"significantly {'better' if better else 'worse'}"
        assert verdict.startswith(expected if row.mark else "not significantly different")
    assert "p-values adjusted by Holm's method over 2 tests (significant: p < 0.05)" in text
    assert "approximate randomisation (Riezler and Maxwell, 2005; 10,000 samples)" in text
    assert "95% confidence intervals over examples, from 1,000 bootstrap samples" in text
    assert text.endswith(f"Signature: {evaluation.signature}.") and "\n" not in text


def test_what_was_not_asked_for_is_not_stated():
    _, text = paragraph()
    assert text.startswith("We score base, good and like by exact on 120 examples of ")
    assert not re.search("interval|tested|significant|p =", text)
    _, text = paragraph(systems={"good": GOOD})
    assert re.search(r"We score good by exact on .*\. By exact, good scores \d+\.\d\. Sig", text)


def test_seeds_clusters_and_other_tests():
    systems = {"base": [BASE, outputs(0.5, 5)], "good": [GOOD, outputs(0.1, 6), outputs(0.1, 7)]}
    _, text = paragraph(systems=systems, paired=True, accept_text=True)
    assert "We score base (2 seeds) and good (3 seeds)" in text
    assert "over examples and seeds" in text and "Holm" not in text
    assert "Student's t with variance components of examples and seeds (significant" in text
    _, text = paragraph(systems={"base": BASE, "good": GOOD}, paired="mcnemar")
    assert "tested by McNemar's exact test (significant: p < 0.05)" in text
    # sacrebleu's rule does not decide, so it is not named.
    _, text = paragraph("bleu", {"base": BASE, "good": GOOD}, paired="bootstrap")
    assert "approximate randomisation" in text and "bootstrap (" not in text


def test_several_metrics_bins_and_all_pairs():
    _, text = paragraph(["bleu", "ter"], paired=True, by="length", bins=[9, 10])
    assert "by BLEU and TER" in text and "Signatures: BLEU|" in text
    assert "over 2 and 6 tests, for each metric" in text
    evaluation, text = paragraph(all_pairs=True)
    marked = sum(bool(row.mark) for row in evaluation.rows() if row.analysis == "pairs")
    assert f"By exact, {marked} of 3 pairs of systems differ." in text and marked == 2
