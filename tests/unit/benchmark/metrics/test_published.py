import pytest

from cgbench.benchmark.metrics.published import PAPERS, all_published, published
from cgbench.errors import InputError


def test_every_row_has_a_number_and_a_known_paper():
    rows = all_published()
    assert len(rows) == 526
    for row in rows:
        assert 0 <= float(row.value) <= 100
        assert row.source.split()[0] in PAPERS


def test_a_figure_by_its_table():
    """R-Dangle's Table 5: BLEU 12.3 on ReaCT."""
    rows = published("react", "BLEU cg-test")
    assert [row.value for row in rows if row.system == "R-Dangle_sep o=1" and row.source == "r-dangle T5"] == ["12.3"]


def test_fractions_are_percent():
    """Akyürek and Andreas print 0.82 ± 0.01 for COGS, Csordás et al. 0.8 ± 0; others print percent."""
    found = {(row.system, row.source): (row.value, row.spread) for row in published("COGS gen", "exact match")}
    assert found["LSTM+Lex Simple", "lexicon T3"] == ("82", "1")
    assert found["Transformer", "devil T3"] == ("80", "0")
    assert {row.value for row in published("SCAN length cutoff 40", "exact match")} >= {"100"}
    assert max(float(row.value) for row in published("SMCalFlow-CS 8-C", "exact match")) == 51.6
    assert min(float(row.value) for row in published("Tatoeba en-zh", "BLEU")) == 17.47


def test_names():
    assert {row.benchmark for row in published("cogs", "exact match")} == {"COGS gen"}
    assert len({row.benchmark for row in published("SCAN", "exact match")}) > 5
    with pytest.raises(InputError, match="--published cogs: nothing by that name"):
        published("cogs", "BLEU")
    with pytest.raises(InputError, match="no chrF2 is in the table"):
        published("ReaCT", "chrF2")
