import csv
import gzip
import random
import re

import numpy as np
import pytest
from shared_data import SHARED, needs
from twins import cter_flag, places, words_of

from cgbench.benchmark.measure.metrics.cter import Cter
from cgbench.benchmark.measure.metrics.cter_errors import agreement, reasons
from cgbench.benchmark.measure.metrics.cter_grammar import Grammar
from cgbench.benchmark.measure.metrics.cter_lexicon import Atoms, TranslationLexicon, Translations
from cgbench.benchmark.score.evaluation.features import FeatureInputs, make_feature
from cgbench.errors import InputError
from cgbench.studies.rules.rule import convert_rules, passed
from cgbench.text.columns import Column, read_column

LEXICON = (
    "the\t/\nsmall\t小\nred\t红\ndog\t狗/犬\nsaw\t看到/看\ndid\t/\non\t/\nnear\t附近/近\nliked\t喜欢/\nmod0\t他喜欢的\nold\tx\nold\t老\u3000"
    " \neven\t狗\n"
)
ATOMS = (
    "DET\tthe\tthe\nADJ\tsmall\tsmall\nADJ\tred\tred\nADJ\told\told\nADJ\teven\teven\nN\tdog\tdog\nV\tsaw\tsaw\nV\tdid\tdid\nV\tliked\tliked\nP\ton\ton\nP\tnear\tnear\nMOD\tmod0\the"
    " liked\n"
)


@pytest.fixture
def lexicon(tmp_path):
    (tmp_path / "lexicon").write_text(LEXICON)
    return TranslationLexicon.read(str(tmp_path / "lexicon"))


@pytest.fixture
def atoms(tmp_path):
    (tmp_path / "atoms").write_text(ATOMS)
    return Atoms.read(str(tmp_path / "atoms"))


def cter(lexicon, atoms, compounds, size=1):
    column = Column("compounds", compounds)
    return Cter(
        Column("sources", [f"well , {one} ran ." for one in compounds]),
        column,
        lexicon,
        atoms,
        group_size=size,
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
        (
            "the red small dog",
            "小 狗",
            "P1-P1-P1/P1-P1-P1",
        ),  # a later atom of a type replaces an earlier one
        ("the dog he liked", "他 喜欢 的 狗", "P1-P1-P1/P1-P1-P1"),
        ("the dog he liked", "狗 他 喜欢 的", "P1-P1-P1/P1-P1-P0"),
        (
            "saw the dog he liked",
            "看 狗 他 喜欢 的",
            "P1-P1-P1-P1/P1-P1",
        ),  # with a verb the modifier may follow
        (
            "saw the liked dog",
            "看 狗",
            "P1-P1-P1/P1-P1",
        ),  # "the liked" holds no modifier; its verb replaces "saw"
        (
            "did the dog he liked",
            "狗 他 喜欢 的",
            "P1-P1-P1-P1/P1-P1-P0",
        ),  # not with one that has no place
        ("the small dog", "小 狗@@ ", "P1-P1-P1/P1-P1-P1"),
        ("the", "@@ ", "P1/P1-P1-P1"),  # the end goes before marks of BPE do: this one stays
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
    assert metric.compute(divided)[0] == pytest.approx(
        [100 / 3, np.nan], nan_ok=True
    )  # a group is not whole


def test_kinds_by_the_form_of_the_compound(lexicon, atoms):
    compounds = [
        "the dog he liked",
        "saw the dog he liked",
        "near the dog he liked",
        "near the dog liked",
    ]
    metric = cter(lexicon, atoms, compounds)
    assert metric.kinds == ["NP", "VP", "PP", "PP"]
    material = FeatureInputs(
        metric.sources, metric=cter(lexicon, atoms, ["the dog", "the dog he liked"])
    )
    assert make_feature("modifier", 2, material).labels == ("without", "with")


def test_places_agree_with_a_slow_search():
    rng = random.Random(4)
    for _ in range(2000):
        entry = "/".join(
            "".join(rng.choices("ab", k=rng.randrange(1, 4))) for _ in range(rng.randrange(1, 4))
        )
        entry += rng.choice(["", "", "/"])
        text = "".join(rng.choices("ab", k=rng.randrange(9)))
        slow = places(entry, text)
        assert Translations.parse(entry).find(text) == ((min(slow), max(slow)) if slow else None), (
            entry,
            text,
        )


def test_places_of_words_agree_with_a_slow_search(tmp_path):
    rng = random.Random(5)
    alphabet = ["a", "b", "ab", "A", " ", " ", " "]
    for _ in range(2000):
        entry = "/".join(
            "".join(rng.choices(alphabet, k=rng.randrange(1, 6))).strip()
            for _ in range(rng.randrange(1, 4))
        )
        entry = "a/" if entry == "/" else entry
        text = "".join(rng.choices(alphabet, k=rng.randrange(12)))
        searched = TranslationLexicon(tmp_path, {}, "", "word").text(text)
        found = Translations.parse(entry, "word").find(searched)
        slow = places(entry, words_of(text), words_of)
        numbers = [-1, *(at for at, character in enumerate(searched) if character == " ")]
        if found and searched:
            found = tuple(
                numbers.index(at) - 1 if at < len(searched) else len(numbers) - 2 for at in found
            )
            assert found == (min(slow), max(slow)), (entry, text)
        else:
            assert bool(found) == bool(slow), (entry, text)


def test_flags_agree_with_the_rules_on_random_compounds(tmp_path):
    """All six types, repeated ones, any order; atoms without positions, empty alternatives, blanks
    and marks of BPE.
    """
    rng = random.Random(6)
    atoms = Atoms.read("cognition")
    names = {
        kind: [name for name, own in atoms.types.items() if own == kind]
        for kind in set(atoms.types.values())
    }
    phrases = {name: " ".join(words) for words, name in atoms.forms.items()}
    flags = set()
    for _ in range(20):
        entries = {
            name: rng.choice(["/", random_entry(rng), random_entry(rng)]) for name in atoms.types
        }
        (tmp_path / "lexicon").write_text(
            "".join(f"{name}\t{entry}\n" for name, entry in entries.items())
        )
        chosen = [
            [rng.choice(names[kind]) for kind in rng.choices(sorted(names), k=rng.randrange(1, 9))]
            for _ in range(100)
        ]
        compounds = [" ".join(phrases[name] for name in row) for row in chosen]
        metric = cter(TranslationLexicon.read(str(tmp_path / "lexicon")), atoms, compounds)
        for row, compound in zip(chosen, compounds, strict=True):
            text = "".join(
                rng.choices(["a", "b", "c", " ", "@@ "], k=rng.randrange(12))
            ) + rng.choice(["a", "c", "@@"])
            text += rng.choice(["", "", " ", "\u3000"])
            flag = cter_flag({atoms.types[name]: name for name in row}, entries, text)
            assert metric.judge(compound, text).flag == flag, (
                compound,
                text,
                [entries[name] for name in row],
            )
            flags.add(flag)
    assert len(flags) > 60


def random_entry(rng):
    parts = ["".join(rng.choices("abc", k=rng.randrange(1, 3))) for _ in range(rng.randrange(1, 4))]
    return "/".join(parts) + rng.choice(["", "", "", "/"])


def test_languages_with_blanks(tmp_path, atoms):
    (tmp_path / "german").write_text("the\t/\ndog\tder Hund/Hund\n")
    german = TranslationLexicon.read(str(tmp_path / "german"))
    column = Column("c", ["the dog"])
    with pytest.raises(
        InputError, match="german: a translation of 'dog' contains a blank.*give keep_blanks"
    ):
        Cter(column, column, german, atoms, group_size=1)
    metric = Cter(column, column, german, atoms, group_size=1, keep_blanks=True)
    assert [metric.judge("the dog", text).wrong for text in ("der Hund bellt", "Hu nd", " ")] == [
        False,
        True,
        True,
    ]
    assert "blanks:keep" in str(metric.signature())


def test_translations_stand_as_they_are(tmp_path, atoms):
    assert Translations.parse("a.c/x").find("zabcada.c") == (6, 6)
    assert not Translations.parse("/").literals
    (tmp_path / "lexicon").write_text("the\t/\ndog\tD/[DE]\n")
    column = Column("c", ["the dog"])
    metric = Cter(
        column, column, TranslationLexicon.read(str(tmp_path / "lexicon")), atoms, group_size=1
    )
    assert metric.judge("the dog", "E").wrong
    assert "|match:substring|" in str(
        metric.signature()
    )  # the lexicon reads otherwise in CoGnition's evaluator


def test_signatures_say_what_is_not_as_in_cognition(tmp_path, atoms):
    (tmp_path / "lexicon").write_text("the\t/\ndog\tD\n")
    (tmp_path / "grammar").write_text("type\tDET\ntype\tN\n")
    (tmp_path / "small").write_text("DET\tthe\tthe\nN\tdog\tdog\n")
    column = Column("c", ["the dog"])

    def signature(of=atoms, short=False, **given):
        read = TranslationLexicon.read(str(tmp_path / "lexicon"), **given)
        return Cter(column, column, read, of, group_size=1).signature().format(short)

    assert re.fullmatch(r"lexicon:\w{8}\|atoms:atoms@\w{8}\|group:1\|version:.*", signature())
    assert "|group:1|match:word|case:lc|version:" in signature(match="word", lowercase=True)
    assert "|g:1|match:word|v:" in signature(match="word", short=True)
    small = Atoms.read(str(tmp_path / "small"), Grammar.read(str(tmp_path / "grammar")))
    assert re.search(r"\|atoms:small@\w{8}\|grammar:grammar@\w{8}\|group:1\|", signature(small))
    with pytest.raises(InputError, match="match 'words'; did you mean word"):
        signature(match="words")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"source": ["the cat ran"]},
            "compounds, row 1: 'the dog' is not in its source 'the cat ran'",
        ),
        ({"compound": [""]}, "compounds, row 1: the compound is empty"),
        ({"source": ["a", "b"]}, "sources has 2 rows but compounds has 1"),
        ({"source": [], "compound": []}, "no rows"),
        (
            {"source": ["the cat"], "compound": ["the cat"]},
            "row 1: 'cat' of 'the cat' is not an atom of atoms",
        ),
        (
            {"source": ["the rare dog"], "compound": ["rare dog"]},
            "the atom 'rare' of 'rare dog' is not in",
        ),
        ({"group_size": 2}, "row 1: 'the dog' has 1 rows from here, but a group has 2 rows"),
    ],
)
def test_bad_input(lexicon, tmp_path, change, message):
    (tmp_path / "atoms").write_text(ATOMS + "ADJ\trare\trare\n")
    given = {"source": ["the dog ran"], "compound": ["the dog"], "group_size": 1} | change
    with pytest.raises(InputError, match=message):
        Cter(
            Column("sources", given["source"]),
            Column("compounds", given["compound"]),
            lexicon,
            Atoms.read(str(tmp_path / "atoms")),
            group_size=given["group_size"],
        )


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (TranslationLexicon, "dog\t狗\nthe(", "line 2: write an atom, a tab"),
        (TranslationLexicon, "dog\t", "line 1: write an atom"),
        (TranslationLexicon, "", "no atoms"),
        (Atoms, "NOUN\tdog\tdog\n", "line 1: type 'NOUN'; there is ADJ, DET"),
        (Atoms, "N\tdog\tdog\nV\tdog\tto dog\n", "line 2: 'dog' or 'to dog' is another atom above"),
        (Atoms, "N\thot dog\thot dog\n", "line 1: the name 'hot dog' contains a blank"),
        (Atoms, "N\tdog\n", "line 1: write type, name and words"),
    ],
)
def test_bad_lexicons_and_atoms(tmp_path, kind, text, message):
    (tmp_path / "table").write_text(text)
    with pytest.raises(InputError, match=message):
        kind.read(str(tmp_path / "table"))


def test_the_lexicon_of_cognition_is_looked_for_in_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CGBENCH_DATA", str(tmp_path))
    with pytest.raises(InputError, match="states no licence"):
        TranslationLexicon.read("cognition")
    (tmp_path / "cognition").mkdir()
    (tmp_path / "cognition" / "lexicon").write_text("dog\t狗\n")
    assert list(TranslationLexicon.read("cognition").entries) == ["dog"]


def test_agreement_with_human_judgements():
    rows = [{"correct": value} for value in (1, 0, 0, 1)]
    groups = np.array([0, 0, 1, 1])
    found = agreement(rows, Column("human", ["1", "0", "1", "0"]), groups)
    assert found == {"precision": 0.5, "recall": 0.5, "instance": 0.5, "aggregate": 1.0}
    assert agreement(rows, Column("human", ["1", "1", "1", "0"]), groups)["aggregate"] == 0.5
    with pytest.raises(InputError, match="human, row 2: 'wrong' is not a judgement"):
        agreement(rows, Column("human", ["1", "wrong", "1", "0"]), groups)
    assert agreement(rows[:1], Column("human", ["1"]), groups[:1])["precision"] is None


# --- CoGnition's own evaluator, on the hypotheses of the paper (Li et al. 2021) -------------------
# --------------------------------------

FIGURES = {"NP": (19.306, 49.028, 0.9971, 0.8761), "VP": (22.361, 53.889, 0.9292, 0.9338)}
HUMAN = {"NP": (21.972, 54.028), "VP": (22.250, 55.556)}
FLOOR = {
    "NP": (0.889, 3.333),
    "VP": (1.361, 5.694),
    "PP": (5.611, 20.417),
    "cg-test": (2.620, 9.815),
}


@needs("cognition/lexicon", "cognition/paper_results_reference_evaluator.tsv.gz")
@pytest.mark.parametrize("kind", ["NP", "VP"])
def test_every_flag_of_the_published_evaluator(kind):
    with gzip.open(SHARED / "cognition/paper_results_reference_evaluator.tsv.gz", "rt") as file:
        theirs = [row for row in csv.DictReader(file, delimiter="\t") if row["set"] == kind]
    table = SHARED / f"cognition/paper_results_{kind}.tsv.gz"
    lexicon, atoms = (
        TranslationLexicon.read(str(SHARED / "cognition/lexicon")),
        Atoms.read("cognition"),
    )
    metric = Cter(read_column(table, "source"), read_column(table, "compound"), lexicon, atoms)
    hypotheses = read_column(table, "hypothesis").values
    statistics = metric.statistics(hypotheses)
    rows = metric.per_example(hypotheses, statistics)
    assert [row["flag"] for row in rows] == [row["reference_flag"] for row in theirs]
    assert [str(row["correct"]) for row in rows] == [row["auto_correct"] for row in theirs]
    instance, aggregate, precision, recall = FIGURES[kind]
    assert metric.value(statistics) == pytest.approx([instance, aggregate], abs=5e-4)
    found = agreement(rows, read_column(f"{table}:human_correct"), metric.groups)
    assert (100 * found["instance"], 100 * found["aggregate"]) == pytest.approx(
        HUMAN[kind], abs=5e-4
    )
    assert [found["precision"], found["recall"]] == pytest.approx([precision, recall], abs=5e-5)
    assert set(metric.kinds) == {kind}
    # the same errors as rules
    rules = map(convert_rules, metric.rules())
    by_rules = [int("0" not in passed(*pair)) for pair in zip(rules, hypotheses, strict=True)]
    assert by_rules == [row["correct"] for row in rows]


@needs("cognition/lexicon", "cognition/cg-test.zh")
@pytest.mark.parametrize("name", list(FLOOR))
def test_the_references_as_hypotheses(name):
    folder = SHARED / "cognition"
    metric = Cter(
        read_column(folder / f"{name}.en"),
        read_column(folder / f"{name}.compound"),
        TranslationLexicon.read(str(folder / "lexicon")),
        Atoms.read("cognition"),
    )
    value = metric.value(metric.statistics(read_column(folder / f"{name}.zh").values))
    assert value == pytest.approx(FLOOR[name], abs=5e-4)
