"""Uncertainty over samples, against a clustering in the manner of the papers and values of
lm-polygraph and uqlm.
"""

import itertools
import math

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from cgbench.models.servers.samples import lexical_form, sample_measures, semantic_entropy

ANSWERS = st.lists(
    st.sampled_from(["", "a b", "A b", "a, b!", "c", "das haus"]), min_size=1, max_size=6
)


def clusters_of(answers, same):
    """Each answer joins the first cluster whose first member is the same, as in lm-polygraph and
    uqlm.
    """
    found = []
    for answer in answers:
        home = next((cluster for cluster in found if same(cluster[0], answer)), None)
        if home is None:
            found.append([answer])
        else:
            home.append(answer)
    return found


def entropy_of(clusters):
    """The mean of -log p(cluster of the answer) over all answers."""
    sizes = [len(cluster) for cluster in clusters]
    return -sum(size * math.log(size / sum(sizes)) for size in sizes) / sum(sizes)


@given(ANSWERS)
def test_measures_as_the_papers_define_them(answers):
    (found,) = sample_measures([answers])
    exact = clusters_of(answers, lambda one, other: one == other)
    lexical = clusters_of(answers, lambda one, other: lexical_form(one) == lexical_form(other))
    assert found["distinct_answers"] == len(exact)
    assert found["semantic_entropy"] == pytest.approx(entropy_of(exact), abs=1e-12)
    assert found["semantic_entropy_lexical"] == pytest.approx(entropy_of(lexical), abs=1e-12)
    chrf = sacrebleu.CHRF()
    pairs = [
        1.0 if one == other else chrf.sentence_score(one, [other]).score / 100
        for one, other in itertools.permutations(answers, 2)
    ]
    assert found["text_chrf_disagreement"] == pytest.approx(
        1 - sum(pairs) / len(pairs) if pairs else 0, abs=1e-12
    )


@pytest.mark.parametrize(
    ("answers", "entropy"),
    [
        (
            ["Paris", "Paris", "London"],
            0.6365141682948128,
        ),  # lm-polygraph's test of empirical entropy
        (["Paris", "Paris", "London", "London"], math.log(2)),
        (["Paris"] * 3, 0.0),
        # examples of uqlm whose clusters of entailment are those of equal answers
        # (semanticentropy_results_file.json)
        (["$3", "$9", "$6", "The cost is $3.", "$6", "$9"], 1.3296613488547582),
        (["12", "12", "36", "12", "12", "36"], 0.6365141682948128),
        (["308", "308", "308", "308", "315", "308"], 0.45056120886630463),
    ],
)
def test_values_of_other_programs(answers, entropy):
    assert semantic_entropy(answers) == pytest.approx(entropy, abs=1e-12)


def test_lexical_forms():
    assert lexical_form(" Das  Haus, ist ROT! ") == "das haus ist rot"
    assert lexical_form("\uff21\ufb01") == "afi"  # wide and joined letters are those letters
    assert lexical_form("?!") == "?!" and lexical_form("") == ""
    assert lexical_form("हिन्दी") != lexical_form("हन्दा")  # vowel signs are no punctuation
    assert lexical_form("5 €") != lexical_form("5 $")
