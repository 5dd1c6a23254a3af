"""The metrics as functions: what they take, what they give, and what they say of input that does
not fit.
"""

import math

import numpy as np
import pandas
import pytest
from option_names import shown_by

from cgbench.benchmark.measure.metrics.cter_grammar import Grammar
from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.benchmark.score.evaluation.evaluate import bleu, chrf, cter, evaluate, exact_match, ter
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.benchmark.score.imported.import_scores import import_scores
from cgbench.commands.lines import as_options
from cgbench.errors import InputError, InputWarning, argument
from cgbench.text.columns import Column

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")

TEXTS = ["the cat saw a small dog", "the dog ran to the house"]
OTHERS = ["the cat saw a dog", "a dog ran to the house"]
SIMPLE = {"bleu": bleu, "chrf": chrf, "ter": ter, "exact": exact_match}


@pytest.fixture
def compounds(tmp_path):
    (tmp_path / "lexicon").write_text("dog\t狗\nthe\t/\n")
    (tmp_path / "atoms").write_text("N\tdog\tdog\nDET\tthe\tthe\n")
    return {
        "sources": ["the dog ran", "he saw the dog"],
        "compounds": ["the dog"] * 2,
        "lexicon": tmp_path / "lexicon",
        "atoms": str(tmp_path / "atoms"),
        "group_size": 2,
    }


@pytest.mark.parametrize("name", SIMPLE)
def test_three_hypotheses_for_two_references_are_refused(name):
    with pytest.raises(
        InputError, match="hypotheses has 3 lines and references has 2: a hypothesis is needed for"
    ):
        SIMPLE[name]([*OTHERS, "one more"], TEXTS)
    with pytest.raises(InputError, match="hypotheses of b, run 2 has 3 lines"):
        evaluate(name, {"a": OTHERS, "b": [OTHERS, [*OTHERS, "one more"]]}, TEXTS)


def test_three_hypotheses_for_two_compounds_are_refused(compounds):
    with pytest.raises(
        InputError,
        match="hypotheses has 3 lines and sources has 2: a hypothesis is needed for each",
    ):
        cter(["a", "b", "c"], **compounds)


def test_figures_are_those_of_the_packages():
    import sacrebleu

    assert bleu(OTHERS, TEXTS).score == sacrebleu.corpus_bleu(OTHERS, [TEXTS]).score
    assert (
        bleu(OTHERS, TEXTS, tokenize="char").score
        == sacrebleu.corpus_bleu(OTHERS, [TEXTS], tokenize="char").score
    )
    assert (
        chrf(OTHERS, TEXTS, word_order=2).score
        == sacrebleu.corpus_chrf(OTHERS, [TEXTS], word_order=2).score
    )
    assert ter(OTHERS, TEXTS).score == sacrebleu.corpus_ter(OTHERS, [TEXTS]).score
    assert exact_match([TEXTS[0], "no"], TEXTS).score == 50


def test_cter(compounds):
    found = cter(["狗跑", "他看见了"], **compounds)
    assert found.figures == {"system": {"instance": 50, "aggregate": 100}}
    assert found.score == 50
    with pytest.raises(InputError, match="give lexicon"):
        cter(["狗", "狗"], TEXTS, TEXTS)
    grammar = Grammar.read("cognition")
    assert cter(["狗跑", "他看见了"], **compounds, grammar=grammar).signature == found.signature
    with pytest.raises(
        InputError, match=r"match='word' always keeps blanks between words; leave keep_blanks out"
    ):
        cter(["狗", "狗"], **compounds, match="word", keep_blanks=True)


def test_a_text_is_a_file_or_strings(tmp_path):
    for name, lines in (("ours", OTHERS), ("gold", TEXTS)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    wanted = bleu(OTHERS, TEXTS).score
    pandas = pytest.importorskip("pandas")
    for ours in (
        tmp_path / "ours",
        str(tmp_path / "ours"),
        tuple(OTHERS),
        iter(OTHERS),
        pandas.Series(OTHERS),
    ):
        assert bleu(ours, TEXTS).score == wanted
    for gold in (
        tmp_path / "gold",
        str(tmp_path / "gold"),
        [[text] for text in TEXTS],
        [tmp_path / "gold"],
    ):
        assert bleu(OTHERS, gold).score == wanted
    assert list(bleu(tmp_path / "ours", TEXTS).figures) == ["ours"]
    with pytest.raises(InputError, match="no such file"):
        bleu(str(tmp_path / "nowhere"), TEXTS)
    with pytest.raises(InputError, match="hypotheses, row 2: 3 is not a string"):
        bleu(["a", 3], TEXTS)


def test_references_of_an_example_or_a_file_each(tmp_path):
    (tmp_path / "one").write_text("\n".join(TEXTS) + "\n")
    (tmp_path / "two").write_text("\n".join(OTHERS) + "\n")
    both = [list(pair) for pair in zip(TEXTS, OTHERS, strict=True)]
    assert (
        bleu(OTHERS, both).score
        == bleu(OTHERS, [tmp_path / "one", tmp_path / "two"]).score
        == pytest.approx(100)
    )
    for wrong in ([["a"], []], [["a"], "b"]):
        with pytest.raises(
            InputError, match="references, row 2: .* is not a list with the references"
        ):
            bleu(OTHERS, wrong)
    with pytest.raises(InputError, match="references are needed"):
        bleu(OTHERS)
    with pytest.raises(InputError, match="no examples"):
        bleu([], [""][:0] or iter([]))
    with pytest.raises(InputError, match="all references are empty"):
        bleu(["a"], [" "])


def test_several_systems_and_runs():
    systems = {"mine": [OTHERS, TEXTS], "base": OTHERS}
    found = evaluate(
        "exact", systems, TEXTS, paired=True, baseline="base", samples=50, by="length", bins=[6.0]
    )
    assert found.figures == {"mine": {"exact": 50}, "base": {"exact": 0}}
    assert [result.runs for result in found.results] == [2, 1]
    table = found.to_pandas()
    whole = table[table["by"] == ""].set_index("system")
    assert whole.loc["mine", ["value", "difference", "runs"]].tolist() == [50, 50, 2]
    assert math.isnan(whole.loc["base", "p_value"])
    assert set(table["bin"]) == {"", ">= 6"}
    assert (str(table["value"].dtype), str(table["n"].dtype)) == ("float64", "Int64")
    assert r"\begin{tabular}" in found.to_latex()
    assert "system" in repr(found) and "signature" in repr(found)


def test_given_values_are_bins():
    found = evaluate("exact", OTHERS, TEXTS, by=["short", "long"])
    assert [one.label for one, _ in found.results[0].bins] == ["long", "short"]
    found = evaluate("exact", OTHERS, TEXTS, by=[0.1, 0.9], breakdown={"bins": [0.5]})
    assert [one.label for one, _ in found.results[0].bins] == ["< 0.5", ">= 0.5"]
    with pytest.raises(InputError, match="has 1 values for 2 examples"):
        evaluate("exact", OTHERS, TEXTS, by=["short"])
    with pytest.raises(InputError, match="by: give numbers or strings"):
        evaluate("exact", OTHERS, TEXTS, by=[None, 1])


def test_a_metric_made_before_is_taken():
    assert evaluate(ExactMatch([["a"], ["b"]]), {"x": ["a", "c"]}).score == 50
    with pytest.raises(InputError, match="hypotheses has 1 lines and the metric has 2"):
        evaluate(ExactMatch([["a"], ["b"]]), ["a"])


def test_training_text_in_memory():
    found = evaluate(
        "exact", OTHERS, TEXTS, by="degree", train=[TEXTS[0]] * 2, min_count=2, bins=[0.5]
    )
    assert [(one.label, part.examples) for one, part in found.results[0].bins] == [
        ("< 0.5", 1),
        (">= 0.5", 1),
    ]


def test_warnings_speak_of_arguments():
    with pytest.warns(InputWarning, match="one run of a: intervals and tests ignore"):
        bleu({"a": OTHERS, "b": [OTHERS, TEXTS]}, TEXTS, comparison={"confidence": True})
    with pytest.warns(InputWarning, match="may be no more than that between seeds"):
        bleu({"a": OTHERS, "b": [OTHERS, TEXTS]}, TEXTS)
    with pytest.raises(
        InputError,
        match="paired='randomization' compares one run with one run .* use paired='calibr",
    ):
        evaluate(
            "exact",
            {"a": [OTHERS, TEXTS], "b": [TEXTS, OTHERS]},
            TEXTS,
            paired="randomization",
            samples=50,
        )


@pytest.mark.parametrize(
    ("given", "message", "shown"),
    [
        ({"bins": 3}, "bins needs by", "--bins needs --by"),
        (
            {"seed": 3},
            "seed needs confidence, paired or by",
            "--set seed needs --confidence, --paired or --by",
        ),
        (
            {"paired": "bootstrap"},
            "paired='bootstrap' compares systems; give a second systems",
            "give a second --hyp",
        ),
        (
            {"by": "frequency"},
            "by='frequency' needs the training text; give train",
            "--by frequency needs",
        ),
        (
            {"by": "length", "lm": "x"},
            "lm has no effect on by='length'",
            "--set lm has no effect on --by length",
        ),
        ({"preset": "zzz"}, "preset='zzz'", "--preset zzz"),
        ({"published": True}, "published='COGS gen'", "--set published='COGS gen'"),
    ],
)
def test_errors_speak_of_arguments_and_the_command_of_options(given, message, shown):
    with pytest.raises(InputError) as caught:
        evaluate(
            ScoreRequest(**{"metric": "bleu", "systems": OTHERS, "references": TEXTS, **given})
        )
    assert message in str(caught.value)
    assert "--" not in str(caught.value)
    assert shown in shown_by(ScoreRequest, caught.value.message)


def test_a_setting_in_a_message():
    with pytest.raises(
        InputError, match="lowercase: TER ignores case unless case_sensitive=True"
    ) as caught:
        ter(OTHERS, TEXTS, lowercase=True)
    assert "unless --set case_sensitive=true" in as_options(caught.value.message)


def test_an_error_in_an_error_keeps_its_arguments():
    inner = InputError(f"{argument('lm')} is missing")
    assert as_options(InputError(f"outer: {inner.message}").message) == "outer: --lm is missing"


def test_columns_keep_their_names():
    with pytest.raises(InputError, match=r"a\.txt has 1 lines and b\.txt has 2"):
        bleu([Column("a.txt", ["x"])], [Column("b.txt", TEXTS)])


def test_rows_go_to_a_file(tmp_path):
    found = exact_match(TEXTS, TEXTS)
    found.write_per_example(str(tmp_path / "rows.tsv"))
    assert (tmp_path / "rows.tsv").read_text().splitlines()[1] == "1\tsystem\t1\t1"
    with pytest.raises(InputError, match="a folder; give the name of a file"):
        found.write_per_example(tmp_path)


def scores_of_bins(result):
    return [part.figures["exact"].value for _, part in result.bins]


def test_pandas_texts_are_joined_by_their_index():
    """Rows of a shuffled frame were compared with those of other examples."""
    references = pandas.Series([f"a line of {row} words" for row in range(20)])
    mine = references.mask(references.index % 4 == 0, "no")
    mixed = mine.sample(frac=1, random_state=1)
    kind = pandas.Series([f"k{row % 2}" for row in range(20)], name="kind").sample(
        frac=1, random_state=2
    )
    wanted = exact_match(list(mine), list(references), by=["k0", "k1"] * 10)
    for hypotheses, given in (
        (mixed, references),
        (mine, references.sample(frac=1, random_state=3)),
    ):
        found = exact_match({"a": [hypotheses, mine]}, given, sources=mixed, by=kind)
        assert found.score == wanted.score == 75.0
        assert scores_of_bins(found.results[0]) == scores_of_bins(wanted.results[0])
    with pytest.raises(InputError, match="in another order"):  # rows as they are
        exact_match(mixed.reset_index(drop=True), references.tolist())
    other = mine.set_axis(range(5, 25))
    with pytest.raises(InputError, match="row 1 .id '0'. has no row in hypotheses .5 such rows"):
        exact_match(other, references)
    with pytest.raises(InputError, match="the id '0' is also in row 1"):
        exact_match(mine.set_axis([0] * 20), references)


def test_ids_join_files_and_pandas(tmp_path):
    rows = pandas.DataFrame(
        {"seg": list("abcd"), "text": ["one", "two", "three", "four"], "kind": list("xxyy")}
    )
    for name, order in (
        ("ref.csv", [0, 1, 2, 3]),
        ("hyp.csv", [3, 1, 0, 2]),
        ("meta.csv", [2, 3, 1, 0]),
    ):
        rows.iloc[order].to_csv(tmp_path / name, index=False)
    references, hypotheses = f"{tmp_path}/ref.csv:text", f"{tmp_path}/hyp.csv:text"
    assert exact_match(hypotheses, references).score == 100.0
    assert exact_match(hypotheses, references, ids="none").score == 25.0
    found = exact_match(
        hypotheses, references, ids="seg", by="column:kind", table=tmp_path / "meta.csv"
    )
    assert found.score == 100.0
    series = rows.set_index("seg")["text"].iloc[::-1]
    found = exact_match({"a": series, "b": hypotheses}, references, examples={"ids": "seg"})
    assert found.results[0].whole.examples == 4
    assert exact_match(series, references, examples={"ids": "seg"}).score == 100.0
    with pytest.raises(InputError, match="ids='seg': hypotheses has no ids"):
        exact_match(list(series), references, examples={"ids": "seg"})
    with pytest.raises(InputError, match="lists of references have no ids"):
        exact_match(series, [[text] for text in rows.text], examples={"ids": "seg"})
    scores = pandas.Series([1.0, 2.0, 3.0, 4.0], index=list("abcd"))
    systems = {"a": scores, "b": scores.iloc[::-1]}
    found = import_scores(systems, by="column:kind", table=tmp_path / "meta.csv", ids="seg")
    assert [next(iter(part.figures.values())).value for _, part in found.results[1].bins] == [
        1.5,
        3.5,
    ]


def test_a_bootstrap_with_too_few_samples_for_holm_says_so():
    rng = np.random.default_rng(1)
    systems = {f"s{number}": rng.normal(size=50).tolist() for number in range(4)}
    with pytest.warns(
        InputWarning, match="no difference .* 6 tests, .*100 samples 0.0594; use at least 120"
    ):
        import_scores(
            systems, comparison={"paired": "bootstrap", "all_pairs": True, "samples": 100}
        )
