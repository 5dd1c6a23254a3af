from pathlib import Path

import pytest

from cgbench.benchmark.measure.metrics.cter import Cter
from cgbench.benchmark.measure.metrics.cter_grammar import Grammar, OrderRule, cognition, shipped
from cgbench.benchmark.measure.metrics.cter_lexicon import Atoms, TranslationLexicon
from cgbench.benchmark.score.evaluation.features import FeatureInputs, make_feature
from cgbench.errors import InputError
from cgbench.text.columns import Column

FORMATS = Path(__file__).parents[5] / "docs/reference/formats.md"


def read(folder, text):
    (folder / "grammar.tsv").write_text(text)
    return Grammar.read(str(folder / "grammar.tsv"))


def test_the_grammar_of_cognition():
    grammar = cognition()
    assert grammar.types == ("P", "V", "DET", "ADJ", "N", "MOD")
    assert grammar.rules == (
        OrderRule("DET", "N"),
        OrderRule("ADJ", "N"),
        OrderRule("MOD", "N", "V"),
    )
    assert (grammar.modifiers, grammar.repeated) == (("MOD",), False)
    compounds = [{"N"}, {"N", "V"}, {"N", "P"}, {"V", "P"}]
    assert [grammar.kind(types) for types in compounds] == ["NP", "VP", "PP", "PP"]
    assert grammar.kinds == ("NP", "VP", "PP", "other")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# nothing\n", "defines no type"),
        ("kind\tN\n", "line 1: 'kind' is not a kind of row; there is before, modifier, phrase"),
        ("type\tN\n\ntype\tN\n", "line 3: the type 'N' is defined twice"),
        ("type\tN\tM\n", "line 1: write type, T, separated by tabs"),
        ("type\tN N\n", "line 1: write type, T"),
        ("type\tN\ntype\tA\nbefore\tN\n", "line 3: write before, LEFT, RIGHT"),
        ("type\tN\nbefore\tM\tN\n", "line 2: no type 'M'"),
        ("type\tN\nbefore\tN\tN\n", "line 2: N cannot precede itself"),
        ("type\tN\ntype\tA\nbefore\tA\tN\tV\n", "line 3: no type 'V'"),
        ("type\tN\nphrase\tNP\tV\n", "line 2: no type 'V'"),
        ("type\tN\nmodifier\tMOD\n", "line 2: no type 'MOD'"),
        ("type\tN\nrepeated\tfirst\n", "line 2: repeated 'first'; there is all, last"),
    ],
)
def test_bad_grammars(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_a_copy_of_the_grammar_of_cognition_is_the_same_one(tmp_path):
    copy = read(tmp_path, shipped("grammar_cognition.tsv").read_text())
    assert copy.sha256 == cognition().sha256
    (tmp_path / "lexicon").write_text("dog\t狗\n")
    column = Column("c", ["dog"])
    lexicon = TranslationLexicon.read(str(tmp_path / "lexicon"))
    metric = Cter(column, column, lexicon, Atoms.read("cognition", copy), group_size=1)
    assert "grammar" not in str(metric.signature())


def test_the_grammars_of_the_documentation(tmp_path):
    page = FORMATS.read_text().partition("\n## CTER")[2].partition("\n## ")[0]
    ours, french = (read(tmp_path, block) for block in page.split("```\n")[1::2])
    own = cognition()
    parts = ("types", "rules", "phrases", "modifiers", "repeated")
    assert [getattr(ours, part) for part in parts] == [getattr(own, part) for part in parts]
    assert french.rules[-1] == OrderRule("N", "POST") and french.repeated


# --- German and French: small test sets of our own, with lexicon, atoms and grammar ---------------
# -----------------------------------

EN = (
    "DET\tthe\tthe\nDET\tevery\tevery\nADJ\tsmall\tsmall\nADJ\told\told\nN\tdog\tdog\nN\thouse\thouse\nN\tfarm-dog\tfarm"
    " dog\nV\tsaw\tsaw\nV\tcalled\tcalled\nP\tbehind\tbehind\nREL\tliked\the liked\n"
)
GERMAN = (
    "the\t/\nevery\tjeder/jede/jedes/jeden/jedem\nsmall\tkleine/kleiner/kleines/kleinen\nold\talte/alter/altes/alten\ndog\tHund/Hundes\nhouse\tHaus/Hauses\nfarm-dog\tHofhund/Hund"
    " vom Hof\nsaw\tsah\ncalled\trief an/anrief\nbehind\thinter\nliked\tden er mochte/das er"
    " mochte\n"
)
# No rule for verbs: last in a clause with "dass", second else. Adjectives before their noun, a
# relative clause behind.
GERMAN_ORDER = (
    "type\tP\ntype\tV\ntype\tDET\ntype\tADJ\ntype\tN\ntype\tREL\nbefore\tP\tN\nbefore\tDET\tN\nbefore\tADJ\tN\n"
    "before\tN\tREL\nphrase\tNP\nphrase\tVP\tV\nphrase\tPP\tP\nmodifier\tREL\nrepeated\tall\n"
)
FRENCH = (
    "the\t/\nevery\tchaque\nsmall\tpetit/petite\nold\tvieux/vieil/vieille\nred\trouge\ndog\tchien\nhouse\tmaison\nbehind\tderrière\nsaw\ta"
    " vu/vit\n"
)
EN_FRENCH = (
    "DET\tthe\tthe\nDET\tevery\tevery\nPRE\tsmall\tsmall\nPRE\told\told\nPOST\tred\tred\nN\tdog\tdog\nN\thouse\thouse\n"
    "P\tbehind\tbehind\nV\tsaw\tsaw\n"
)
# "petit" and "vieux" stand before their noun, "rouge" behind it: types of their own.
FRENCH_ORDER = (
    "type\tP\ntype\tV\ntype\tDET\ntype\tPRE\ntype\tN\ntype\tPOST\nbefore\tP\tN\nbefore\tDET\tN\nbefore\tPRE\tN\n"
    "before\tN\tPOST\n"
)


@pytest.fixture
def judge(tmp_path):
    """A row's flag, reasons and all, for a test set whose tables are given."""

    def judged(tables, source, compound, hypothesis, match="word", **given):
        for name, text in zip(("lexicon", "atoms", "grammar"), tables, strict=True):
            (tmp_path / name).write_text(text)
        atoms = Atoms.read(str(tmp_path / "atoms"), Grammar.read(str(tmp_path / "grammar")))
        lexicon = TranslationLexicon.read(
            str(tmp_path / "lexicon"), match, given.pop("lowercase", False)
        )
        columns = Column("source", [source]), Column("compound", [compound])
        return Cter(*columns, lexicon, atoms, group_size=1, **given).judge(compound, hypothesis)

    return judged


DE = (GERMAN, EN, GERMAN_ORDER)
FR = (FRENCH, EN_FRENCH, FRENCH_ORDER)


IN_GERMAN = [
    ("the small dog", "gestern bellte der kleine Hund .", "", ""),
    ("the small dog", "gestern bellte der Hund , der kleine .", "", "ADJ<N"),
    ("the small dog", "gestern bellte der Hund .", "small", ""),
    (
        "the small dog",
        "gestern bellten hundert kleine Hunde .",
        "dog",
        "",
    ),  # forms that the lexicon lacks
    ("every old dog", "Jeder alte Hund bellt .", "every", ""),  # the case of letters counts
    ("the small old dog", "der alte Hund", "small", ""),  # each adjective counts: repeated all
    ("the small old dog", "der kleine alte Hund", "", ""),
    ("the small old dog", "der alte Hund , kleine", "", "ADJ<N"),
    ("saw the small dog", "dass sie den kleinen Hund sah", "", ""),  # verbs may stand last
    ("saw the small dog", "sie sah den kleinen Hund", "", ""),
    ("behind the old house", "der Hund lag hinter dem alten Haus .", "", ""),
    ("behind the old house", "das alte Haus hinter dem Hund .", "", "P<N"),
    ("the dog he liked", "der Hund , den er mochte , bellt", "", ""),
    ("the dog he liked", "den er mochte der Hund", "", "N<REL"),
]
IN_FRENCH = [
    ("the small dog", "hier le petit chien aboie .", "", ""),
    ("the small dog", "hier le chien petit aboie .", "", "PRE<N"),
    ("the red house", "la maison rouge", "", ""),
    ("the red house", "la rouge maison", "", "N<POST"),
    ("the small red house", "la petite maison rouge", "", ""),
    ("the small red house", "la maison rouge", "small", ""),
    ("every old house", "chaque vieille maison", "", ""),
    ("every old house", "une vieille maison", "every", ""),
    ("behind the old house", "derrière la vieille maison", "", ""),
    ("saw the red dog", "il a vu le chien rouge", "", ""),
    (
        "saw the red dog",
        "il a souvent vu le chien rouge",
        "saw",
        "",
    ),  # a word between the two of a form
    ("the dog", "les chiens", "dog", ""),  # as words; "chien" is in "chiens" as characters
]


@pytest.mark.parametrize(
    ("tables", "compound", "hypothesis", "missing", "order"),
    [*((DE, *row) for row in IN_GERMAN), *((FR, *row) for row in IN_FRENCH)],
)
def test_compounds_in_a_context(judge, tables, compound, hypothesis, missing, order):
    found = judge(tables, f"yesterday {compound} was there .", compound, hypothesis)
    assert (" ".join(found.missing), " ".join(found.order)) == (missing, order)
    assert found.wrong == bool(missing or order)


def test_german_limits(judge):
    """What a list of words cannot find."""
    compound = "called the dog"
    assert judge(DE, compound, compound, "dass er den Hund anrief").missing == ()
    separated = judge(DE, compound, compound, "er rief gestern den Hund an")
    assert separated.missing == ("called",)  # a verb in two parts
    # A compound noun is one word: the dog in it is no word of its own, and as characters it is one
    # by its letters.
    assert judge(DE, "the farm dog", "the farm dog", "der Hofhund bellt").missing == ()
    assert judge(DE, "the dog", "the dog", "der Hofhund bellt").missing == ("dog",)
    inside = {"match": "substring", "keep_blanks": True, "lowercase": True}
    assert judge(DE, "the dog", "the dog", "der Hofhund bellt", **inside).missing == ()
    assert (
        judge(DE, "the dog", "the dog", "hundert Katzen", **inside).missing == ()
    )  # a dog that is none
    assert judge(DE, "the dog", "the dog", "hundert Katzen").missing == ("dog",)
    # Inflected forms are translations of their own, and so are words that touch a full stop.
    assert judge(DE, "the dog", "the dog", "die Hunde bellen").missing == ("dog",)
    assert judge(DE, "the dog", "the dog", "der Hund.").missing == ("dog",)
    assert judge(DE, "every dog", "every dog", "Jeder Hund", lowercase=True).missing == ()


def test_words_side_by_side(judge):
    grammar = "type\tA\ntype\tB\nbefore\tA\tB\n"
    tables = ("a\tx\nb\tx x/y\n", "A\ta\ta\nB\tb\tb\n", grammar)
    # "x x" once, at the place of "x": matches part there
    assert judge(tables, "a b", "a b", "x x x").flag == "P1-P1/P0"
    assert judge(tables, "a b", "a b", "x y x").flag == "P1-P1/P1"
    assert judge(tables, "a b", "a b", "y x x x x").flag == "P1-P1/P1"  # the second "x x"
    assert judge(tables, "a b", "a b", "xx xy").flag == "P0-P0/P0"
    assert judge(tables, "a b", "a b", " \u00a0 ").flag == "P0-P0/P0"
    assert judge(tables, "a b", "a b", "x@@ x").missing == ("a", "b")  # pieces are joined


def test_a_last_atom_of_a_type_replaces_the_first_unless_the_grammar_says_all(judge):
    tables = (GERMAN, EN, GERMAN_ORDER.replace("repeated\tall\n", ""))
    assert judge(tables, "the small old dog", "the small old dog", "der alte Hund").missing == ()


def test_a_word_between_breaks_no_order_of_repeated_types(judge):
    """Each left atom is before the last place of some right one: two phrases side by side are
    right.
    """
    compound = "saw every small dog behind every old house"
    assert judge(
        DE, compound, compound, "sah jeden kleinen Hund hinter jedem alten Haus"
    ).flag.endswith("/P1-P1-P1-P1")
    assert judge(
        DE, compound, compound, "sah Hund kleinen hinter jeden jedem Haus alten"
    ).order == ("ADJ<N",)


def test_modifiers_and_phrases_are_the_grammars(tmp_path):
    for name, text in zip(("lexicon", "atoms", "grammar"), DE, strict=True):
        (tmp_path / name).write_text(text)
    atoms = Atoms.read(str(tmp_path / "atoms"), Grammar.read(str(tmp_path / "grammar")))
    column = Column("c", ["the dog", "saw the dog he liked", "behind the dog"])
    metric = Cter(
        column,
        column,
        TranslationLexicon.read(str(tmp_path / "lexicon"), "word"),
        atoms,
        group_size=1,
    )
    assert metric.kinds == ["NP", "VP", "PP"]
    labels = make_feature("modifier", 3, FeatureInputs(column, metric=metric)).labels
    assert labels == ("without", "with", "without")
