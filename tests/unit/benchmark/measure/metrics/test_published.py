import pytest

from cgbench.benchmark.measure.metrics.published import PAPERS, all_published, published_scores
from cgbench.errors import InputError


def test_every_row_has_a_number_and_a_known_paper():
    rows = all_published()
    assert len(rows) == 629
    for row in rows:
        assert 0 <= float(row.value) <= 100
        assert row.source.split()[0] in PAPERS


def test_a_figure_by_its_table():
    """R-Dangle's Table 5: BLEU 12.3 on ReaCT."""
    rows = published_scores("react", "BLEU cg-test")
    assert [
        row.value
        for row in rows
        if row.system == "R-Dangle_sep o=1" and row.source == "r-dangle T5"
    ] == ["12.3"]


def test_fractions_are_percent():
    """Akyürek and Andreas print 0.82 ± 0.01 for COGS, Csordás et al. 0.8 ± 0; others print
    percent.
    """
    found = {
        (row.system, row.source): (row.value, row.spread)
        for row in published_scores("COGS gen", "exact match")
    }
    assert found["LSTM+Lex Simple", "lexicon T3"] == ("82", "1")
    assert found["LSTM+Lex PMI", "lexicon T3"] == ("82", "1")
    assert found["Transformer", "devil T3"] == ("80", "0")
    assert {row.value for row in published_scores("SCAN length cutoff 40", "exact match")} >= {
        "100"
    }
    assert (
        max(float(row.value) for row in published_scores("SMCalFlow-CS 8-C", "exact match")) == 51.6
    )
    assert min(float(row.value) for row in published_scores("Tatoeba en-zh", "BLEU")) == 17.47


def test_runs_are_those_that_a_paper_says_of_a_row():
    """Table 6 of R-Dangle: means of three runs are BART's and R-Dangle's; others are quoted."""
    table = [row for row in all_published() if row.source == "r-dangle T6"]
    assert {row.system for row in table if row.runs == "3"} == {
        "BART-large",
        "BART-large + R-Dangle_shr o=6",
    }
    assert {row.runs for row in table} == {"", "3"}
    quoted = [row for row in all_published() if row.system == "R-Dangle_sep [70M]"]
    own = [
        row
        for row in all_published()
        if row.system == "R-Dangle_sep o=1" and row.source == "r-dangle T5"
    ]
    assert (
        {row.runs for row in quoted}
        == {row.runs for row in own if row.benchmark == "CoGnition"}
        == {"5"}
    )


def test_names():
    assert {row.benchmark for row in published_scores("cogs", "exact match")} == {"COGS gen"}
    assert len({row.benchmark for row in published_scores("SCAN", "exact match")}) > 5
    with pytest.raises(InputError, match="published='cogs': no such benchmark"):
        published_scores("cogs", "BLEU")
    with pytest.raises(InputError, match="no chrF2 is in the table"):
        published_scores("ReaCT", "chrF2")


def values(source, metric="exact match"):
    return {
        (row.benchmark, row.system): float(row.value)
        for row in all_published()
        if (row.source, row.metric) == (source, metric)
    }


def test_tables_of_csordas_et_al_agree_with_each_other():
    """Table 3 has the best scaling of Table 7; Table 8 has rows of Table 3."""
    best, scalings, iid = (
        values("devil T3"),
        values("devil T7"),
        values("devil T8", "IID exact match"),
    )
    for model in ("Transformer", "Universal"):
        for benchmark in {name for name, system in best if system == model}:
            own = max(
                value
                for key, value in scalings.items()
                if key[0] == benchmark and key[1].startswith(model)
            )
            assert own == best[benchmark, model], (benchmark, model)
    assert len(scalings) == 48 and len(iid) == 15 and iid.keys() <= best.keys()
    assert {key for key, value in iid.items() if value != 100} == {
        ("Mathematics place_value", "Transformer")
    }


def test_small_batches_are_worse_but_where_the_paper_says_otherwise():
    """Table 9 prints the ratios: 1.05 for Relative Universal on MCD2, below 1 elsewhere."""
    figures = values("devil T9")
    better = {
        key[0]
        for key, value in figures.items()
        if "(small" in key[1] and value >= figures[key[0], key[1].replace("small", "big")]
    }
    assert better == {"CFQ MCD2"} and len(figures) == 32
