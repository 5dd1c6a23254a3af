import csv
import gzip
import random

import numpy as np
import pytest
from shared_data import SHARED, needs

from cgbench.benchmark.metrics.cter import Cter, agreement, reasons
from cgbench.benchmark.metrics.cter_lexicon import Atoms, Lexicon, Translations
from cgbench.benchmark.metrics.features import Material, make_feature
from cgbench.errors import InputError
from cgbench.text.columns import Column, read_column

LEXICON = (
    "the\t/\nsmall\t小\nred\t红\ndog\t狗/犬\nsaw\t看到/看\non\t/\nnear\t附近/近\nliked\t喜欢/\nmod0\t他喜欢的\n"
    "old\tx\nold\t老\neven\t狗\n"
)
ATOMS = (
    "DET\tthe\tthe\nADJ\tsmall\tsmall\nADJ\tred\tred\nADJ\told\told\nADJ\teven\teven\nN\tdog\tdog\nV\tsaw\tsaw\nV\tliked\tliked\n"
    "P\ton\ton\nP\tnear\tnear\nMOD\tmod0\the liked\n"
)


@pytest.fixture
def lexicon(tmp_path):
    (tmp_path / "lexicon").write_text(LEXICON)
    return Lexicon.read(str(tmp_path / "lexicon"))


@pytest.fixture
def atoms(tmp_path):
    (tmp_path / "atoms").write_text(ATOMS)
    return Atoms.read(str(tmp_path / "atoms"))


def cter(lexicon, atoms, compounds, size=1):
    column = Column("compounds", compounds)
    return Cter(
        Column("sources", [f"well , {one} ran ." for one in compounds]), column, lexicon, atoms, group_size=size
    )


@pytest.mark.parametrize(
    ("compound", "hypothesis", "flag"),
    [
        ("the dog", "狗 跑 了", "P1-P1/P1-P1-P1"),  # "the" needs no translation and has no place
        ("the dog", "猫 跑 了", "P1-P0/P0"),  # without the noun no order is checked
        ("the small dog", "小 狗", "P1-P1-P1/P1-P1-P1"),
        ("the small dog", "狗 小", "P1-P1-P1/P1-P0-P1"),  # the adjective stands behind its noun
        ("the small dog", "狗 小 犬", "P1-P1-P1/P1-P1-P1"),  # the last place of the noun counts
        ("the even dog", "狗", "P1-P1-P1/P1-P0-P1"),  # at the same place is not before it
        ("the red small dog", "小 狗", "P1-P1-P1/P1-P1-P1"),  # a later atom of a type replaces an earlier one
        ("the dog he liked", "他 喜欢 的 狗", "P1-P1-P1/P1-P1-P1"),
        ("the dog he liked", "狗 他 喜欢 的", "P1-P1-P1/P1-P1-P0"),
        ("saw the dog he liked", "看 狗 他 喜欢 的", "P1-P1-P1-P1/P1-P1"),  # with a verb the modifier may follow
        ("near the dog", "在 狗 附 近", "P1-P1-P1/P1-P1-P1"),  # blanks go first
        ("near the dog", "在 狗 附@@ 近", "P1-P1-P1/P1-P1-P1"),  # and marks of BPE
        ("liked the dog", "狗", "P1-P1-P1/P1-P1"),  # an empty alternative is found everywhere
        ("the old dog", "老 狗", "P1-P1-P1/P1-P1-P1"),  # the later row of the lexicon counts
        ("the dog", "", "P0-P0/P0"),  # nothing is a translation of nothing
        ("the dog", "  ", "P0-P0/P0"),
    ],
)
def test_flags_by_hand(lexicon, atoms, compound, hypothesis, flag):
    metric = cter(lexicon, atoms, [compound])
    judged = metric.judge(compound, hypothesis)
    assert judged.flag == flag
    assert judged.wrong == ("P0" in flag)


def test_reasons_are_named_and_counted(lexicon, atoms):
    compounds = ["the small dog", "the small dog", "near the dog"]
    metric = cter(lexicon, atoms, compounds)
    hypotheses = ["狗", "狗小", "附"]
    rows = metric.per_example(hypotheses, metric.statistics(hypotheses))
    assert [row["missing"] for row in rows] == ["small", "", "near dog"]
    assert [row["order"] for row in rows] == ["", "ADJ<N", ""]
    assert reasons(rows) == {"missing": {"dog": 1, "near": 1, "small": 1}, "order": {"ADJ<N": 1}}


def test_instance_and_aggregate(lexicon, atoms):
    metric = cter(lexicon, atoms, ["the dog"] * 4 + ["saw the dog"] * 2, size=2)
    statistics = metric.statistics(["狗", "猫", "狗", "狗", "看狗", "看狗"])
    assert metric.value(statistics) == pytest.approx([100 / 6, 100 / 3])
    assert metric.kinds == ["NP"] * 4 + ["VP"] * 2
    divided = metric.collect(statistics, np.array([0, 1, 2])).sum(axis=0, keepdims=True)
    assert metric.compute(divided)[0] == pytest.approx([100 / 3, np.nan], nan_ok=True)  # a group is not whole


def test_kinds_by_the_form_of_the_compound(lexicon, atoms):
    compounds = ["the dog he liked", "saw the dog he liked", "near the dog he liked", "near the dog liked"]
    metric = cter(lexicon, atoms, compounds)
    assert metric.kinds == ["NP", "VP", "PP", "PP"]
    material = Material(metric.sources, cter=cter(lexicon, atoms, ["the dog", "the dog he liked"]))
    assert make_feature("modifier", 2, material).labels == ("without", "with")


def find_twin(entry, text):
    """All places where an alternative begins, by trying every one: matches of one alternative do not overlap."""
    places = []
    for part in entry.split("/"):
        at = 0
        while at <= len(text):
            if text.startswith(part, at):
                places.append(at)
                at += max(1, len(part))
            else:
                at += 1
    return (min(places), max(places)) if places else None


def test_places_agree_with_a_slow_search():
    rng = random.Random(4)
    for _ in range(2000):
        entry = "/".join("".join(rng.choices("ab", k=rng.randrange(1, 4))) for _ in range(rng.randrange(1, 4)))
        entry += rng.choice(["", "", "/"])
        text = "".join(rng.choices("ab", k=rng.randrange(9)))
        assert Translations.parse(entry).find(text) == find_twin(entry, text), (entry, text)


def test_languages_with_blanks(tmp_path, atoms):
    (tmp_path / "german").write_text("the\t/\ndog\tder Hund/Hund\n")
    german = Lexicon.read(str(tmp_path / "german"))
    column = Column("c", ["the dog"])
    with pytest.raises(InputError, match="german: a translation of 'dog' holds a blank.*give --keep-blanks"):
        Cter(column, column, german, atoms, group_size=1)
    metric = Cter(column, column, german, atoms, group_size=1, keep_blanks=True)
    assert [metric.judge("the dog", text).wrong for text in ("der Hund bellt", "Hu nd", " ")] == [False, True, True]
    assert "blanks:keep" in str(metric.signature())


def test_patterns_are_regular_expressions():
    assert Translations.parse("a.c/x").find("zabcadc") == (1, 4)
    assert Translations.parse("/").free


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": ["the cat ran"]}, "compounds, row 1: 'the dog' is not in its source 'the cat ran'"),
        ({"compound": [""]}, "compounds, row 1: the compound is empty"),
        ({"source": ["a", "b"]}, "sources has 2 rows and compounds has 1"),
        ({"source": [], "compound": []}, "there is no row in it"),
        ({"source": ["the cat"], "compound": ["the cat"]}, "row 1: 'cat' of 'the cat' is no atom of atoms"),
        ({"source": ["the rare dog"], "compound": ["rare dog"]}, "the atom 'rare' of 'rare dog' is not in"),
        ({"group_size": 2}, "row 1: 'the dog' fills 1 rows from here, and a group is 2 rows"),
    ],
)
def test_bad_input(lexicon, tmp_path, change, message):
    (tmp_path / "atoms").write_text(ATOMS + "ADJ\trare\trare\n")
    given = {"source": ["the dog ran"], "compound": ["the dog"], "group_size": 1} | change
    with pytest.raises(InputError, match=message):
        Cter(
            Column("sources", given["source"]), Column("compounds", given["compound"]), lexicon,
            Atoms.read(str(tmp_path / "atoms")), group_size=given["group_size"],
        )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dog\t狗\nthe(", "line 2: a row is an atom, a tab"),
        ("dog\t狗\nthe\t(", r"line 2: '\(' is not a valid pattern"),
        ("dog\t", "line 1: a row is an atom"),
        ("", "there is no atom in it"),
        ("dog\t[[D]", "line 1: '\\[\\[D\\]' is not a valid pattern"),
    ],
)
def test_bad_lexicons(tmp_path, text, message):
    (tmp_path / "lexicon").write_text(text)
    with pytest.raises(InputError, match=message):
        Lexicon.read(str(tmp_path / "lexicon"))


def test_bad_atoms(tmp_path):
    (tmp_path / "atoms").write_text("NOUN\tdog\tdog\n")
    with pytest.raises(InputError, match="line 1: type 'NOUN'; there is ADJ, DET"):
        Atoms.read(str(tmp_path / "atoms"))
    (tmp_path / "atoms").write_text("N\tdog\n")
    with pytest.raises(InputError, match="line 1: a row is type, name and words"):
        Atoms.read(str(tmp_path / "atoms"))


def test_the_lexicon_of_cognition_is_looked_for_in_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CGBENCH_DATA", str(tmp_path))
    with pytest.raises(InputError, match="states no licence"):
        Lexicon.read("cognition")
    (tmp_path / "cognition").mkdir()
    (tmp_path / "cognition" / "lexicon").write_text("dog\t狗\n")
    assert list(Lexicon.read("cognition").entries) == ["dog"]


def test_agreement_with_human_judgements():
    rows = [{"correct": value} for value in (1, 0, 0, 1)]
    groups = np.array([0, 0, 1, 1])
    found = agreement(rows, Column("human", ["1", "0", "1", "0"]), groups)
    assert found == {"precision": 0.5, "recall": 0.5, "instance": 0.5, "aggregate": 1.0}
    assert agreement(rows, Column("human", ["1", "1", "1", "0"]), groups)["aggregate"] == 0.5
    with pytest.raises(InputError, match="human, row 2: 'wrong' is no judgement"):
        agreement(rows, Column("human", ["1", "wrong", "1", "0"]), groups)
    assert agreement(rows[:1], Column("human", ["1"]), groups[:1])["precision"] is None


# --- CoGnition's own evaluator, on the hypotheses of the paper (Li et al. 2021) --------------------------------------

FIGURES = {"NP": (19.306, 49.028, 0.9971, 0.8761), "VP": (22.361, 53.889, 0.9292, 0.9338)}
HUMAN = {"NP": (21.972, 54.028), "VP": (22.250, 55.556)}
FLOOR = {"NP": (0.889, 3.333), "VP": (1.361, 5.694), "PP": (5.611, 20.417), "cg-test": (2.620, 9.815)}


@needs("cognition/lexicon", "cognition/paper_results_reference_evaluator.tsv.gz")
@pytest.mark.parametrize("kind", ["NP", "VP"])
def test_every_flag_of_the_published_evaluator(kind):
    with gzip.open(SHARED / "cognition/paper_results_reference_evaluator.tsv.gz", "rt") as file:
        theirs = [row for row in csv.DictReader(file, delimiter="\t") if row["set"] == kind]
    table = SHARED / f"cognition/paper_results_{kind}.tsv.gz"
    lexicon, atoms = Lexicon.read(str(SHARED / "cognition/lexicon")), Atoms.read("cognition")
    metric = Cter(read_column(table, "source"), read_column(table, "compound"), lexicon, atoms)
    hypotheses = read_column(table, "hypothesis").values
    statistics = metric.statistics(hypotheses)
    rows = metric.per_example(hypotheses, statistics)
    assert [row["flag"] for row in rows] == [row["reference_flag"] for row in theirs]
    assert [str(row["correct"]) for row in rows] == [row["auto_correct"] for row in theirs]
    instance, aggregate, precision, recall = FIGURES[kind]
    assert metric.value(statistics) == pytest.approx([instance, aggregate], abs=5e-4)
    found = agreement(rows, read_column(f"{table}:human_correct"), metric.groups)
    assert (100 * found["instance"], 100 * found["aggregate"]) == pytest.approx(HUMAN[kind], abs=5e-4)
    assert (found["precision"], found["recall"]) == (
        pytest.approx(precision, abs=5e-5),
        pytest.approx(recall, abs=5e-5),
    )
    assert set(metric.kinds) == {kind}


@needs("cognition/lexicon", "cognition/cg-test.zh")
@pytest.mark.parametrize("name", list(FLOOR))
def test_the_references_as_hypotheses(name):
    folder = SHARED / "cognition"
    metric = Cter(
        read_column(folder / f"{name}.en"), read_column(folder / f"{name}.compound"),
        Lexicon.read(str(folder / "lexicon")), Atoms.read("cognition"),
    )  # fmt: skip
    value = metric.value(metric.statistics(read_column(folder / f"{name}.zh").values))
    assert value == pytest.approx(FLOOR[name], abs=5e-4)
