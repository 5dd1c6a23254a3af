"""Hypotheses in another form than their references stop or are warned of with their cause; the
others are silent.
"""

import itertools
import warnings

import pytest
from small_build import list_files, write_release

from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.score.evaluation.evaluate import evaluate
from cgbench.benchmark.score.evaluation.hypothesis_checks import normalisation_of
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.benchmark.score.imported.import_scores import import_scores
from cgbench.errors import InputError, InputWarning

SUBJECTS = ("the dog", "a cat", "he", "she", "my friend", "the old man", "you and I")
VERBS = (
    "is not in the house",
    "was with us for a day",
    "has that from you",
    "doesn't have it on the table",
)
EN = [
    f"{a[0].upper()}{a[1:]} {v}, and {b} too."
    for a, v, b in itertools.product(SUBJECTS, VERBS, SUBJECTS)
]
OTHERS = [
    f"{b[0].upper()}{b[1:]} is here, and {a} {v}."
    for a, v, b in itertools.product(SUBJECTS, VERBS, SUBJECTS)
]
DE = [
    f"{a} {v}, und {b} auch."
    for a, v, b in itertools.product(
        ("Der Hund", "Eine Katze", "Er", "Sie", "Mein Freund", "Der alte Mann", "Du"),
        (
            "ist nicht im Haus",
            "war für einen Tag bei uns",
            "hat das von dir",
            "hat es auf dem Tisch",
        ),
        ("der Hund", "eine Katze", "er", "sie", "mein Freund", "der alte Mann", "du"),
    )
]


def spoken(text):
    """Words with blanks between, for a language that writes none."""
    return [
        " ".join(words)
        for words in itertools.product(*(part.split("/") for part in text.split(" ")))
    ]


ZH = spoken("我们/他的/医生/朋友 昨天/每天/经常 在/去 地板/学校/花园 上面 玩耍/跳舞/睡觉 。")
JA = spoken(
    "わたし/あなた/ともだち は まいにち/きのう がっこう/にわ で ねこ/いぬ と"
    " あそびます/はなします 。"
)
TH = spoken("ผม/เพื่อน/คุณหมอ เล่น/นอน/เดิน กับ หมอ/แมว บน พื้น/โต๊ะ ทุกวัน/เมื่อวาน")


def each(work, lines):
    return [work(line) for line in lines]


def tokenised(line):
    return line.replace(",", " ,").replace(".", " .").replace("n't", " n&apos;t")


def plainly(line):
    """Tokenised without escapes."""
    return tokenised(line).replace("&apos;", "'")


def solid(line):
    return line.replace(" ", "")


def characters(line):
    return " ".join(solid(line))


def small(line):
    return line[0].lower() + line[1:]


def some(work, lines, every=2):
    return [work(line) if number % every == 0 else line for number, line in enumerate(lines)]


MOSES = each(lambda line: tokenised(line).lower(), EN)
TOK, ESC, LOW = each(plainly, EN), each(tokenised, EN), each(str.lower, EN)
ONES = [number for number, line in enumerate(ESC) if "&" in line]
FEWER = [
    line.replace(" n&apos;t", " not") if number in ONES[6:] else line
    for number, line in enumerate(ESC)
]
UNTOK, ODD = each(str.upper, EN), each(lambda line: line.replace(" ", "\xa0", 1), EN)
ZH_ASLEEP = each(lambda line: line.replace("玩耍", "睡觉"), ZH)
TOM = each(lambda line: line.replace("too", "so has Tom"), EN)
NONE, ZHT = {"tokenize": "none"}, {"tokenize": "zh"}
CASED = {"case_sensitive": True}

WRONG = [
    ("bleu", {}, EN, LOW, "cased, unlike the references", True),
    ("bleu", {}, LOW, EN, "in lower case, unlike the references", True),
    ("chrf", {}, EN, LOW, "cased, unlike the references", True),
    ("exact", {}, EN, LOW, "cased, unlike the references", True),
    ("ter", CASED, EN, LOW, "cased, unlike the references", True),
    ("bleu", {}, UNTOK, EN, "in capitals, unlike the references", True),
    ("exact", {}, EN, UNTOK, "not in capitals, unlike the references", True),
    ("bleu", {}, each(small, TOM), TOM, "sentences do not begin in upper case", False),
    ("exact", {}, TOM, each(small, TOM), "sentences begin in upper case", False),
    ("bleu", NONE, EN, TOK, "not tokenised, unlike the references", True),
    ("bleu", {"preset": "react"}, EN, MOSES, "not tokenised, unlike the references", True),
    ("bleu", {"preset": "react"}, EN, MOSES, "cased, unlike the references", True),
    ("exact", {}, EN, TOK, "not tokenised, unlike the references", True),
    ("exact", {}, TOK, EN, "tokenised (final periods and commas stand apart)", True),
    ("ter", {}, EN, TOK, "not tokenised, unlike the references", True),
    ("bleu", {}, EN, ESC, "and escaped (&apos;)", True),
    ("bleu", {}, EN, TOK, "not tokenised, unlike the references", False),
    ("chrf", {"word_order": 2}, TOK, EN, "tokenised (final periods", False),
    ("bleu", {}, some(plainly, EN), EN, "only some lines are tokenised", False),
    ("bleu", {}, TOK, ESC, "not escaped, unlike the references", False),
    ("bleu", {}, ESC, TOK, "HTML entities (such as &quot;), unlike the references", True),
    ("chrf", {}, EN, ESC, "not escaped, unlike the references", False),
    ("exact", {}, ODD, EN, "other blanks (such as U+00A0), unlike the references", True),
    ("exact", {}, EN, ODD, "unlike the references: other blanks (such as U+00A0)", True),
    ("bleu", {}, each(solid, ZH), ZH, "no blanks between words, unlike the references", True),
    (
        "bleu",
        {"preset": "react"},
        ZH,
        each(solid, ZH),
        "blanks between words, unlike the references",
        True,
    ),
    ("exact", {}, each(solid, ZH), ZH, "no blanks between words, unlike the references", True),
    (
        "bleu",
        {},
        each(solid, ZH),
        each(solid, ZH),
        "no blanks between words, as in the references",
        True,
    ),
    (
        "bleu",
        {},
        characters_of := each(characters, ZH),
        ZH,
        "split into characters, unlike the references",
        True,
    ),
    ("exact", {}, ZH, characters_of, "split into words, unlike the references", True),
    ("bleu", {}, each(solid, JA), JA, "no blanks between words, unlike the references", True),
    (
        "bleu",
        {},
        each(solid, JA),
        each(solid, JA),
        "no blanks between words, as in the references",
        True,
    ),
    ("ter", {}, each(solid, TH), TH, "no blanks between words, unlike the references", True),
    (
        "bleu",
        {},
        each(solid, TH),
        each(solid, TH),
        "no blanks between words, as in the references",
        True,
    ),
]


def rows(metric, options, *pairs):
    return [(metric, options, *pair) for pair in pairs]


SOLID, CHARACTERS = each(solid, ZH), each(characters, ZH)
LOWEST = {"lowercase": True}
RIGHT = [
    *rows("bleu", {}, (EN, EN), (OTHERS, EN), (ODD, EN), (DE, DE), (ZH_ASLEEP, ZH)),
    *rows(
        "bleu",
        {},
        (some(plainly, EN), some(plainly, EN)),
        (SOLID[:19], ZH[:19]),
        (DE[:15], EN[:15]),
    ),
    *rows(
        "bleu", {}, (["the the the"] * 196, EN), ([""] * 196, EN)
    ),  # a system that has learned nothing
    *rows(
        "bleu",
        {},
        (some(lambda line: "", EN), EN),
        (some(lambda line: line.split(",")[0] + ".", EN), EN),
    ),
    *rows(
        "bleu", NONE, (MOSES, MOSES), (each(lambda line: tokenised(line).lower(), OTHERS), MOSES)
    ),
    *rows("bleu", NONE, (ESC, ESC), (ESC, FEWER), (FEWER, ESC)),
    *rows("bleu", LOWEST, (EN, LOW), (UNTOK, EN)),
    *rows("bleu", ZHT, (SOLID, ZH), (CHARACTERS, ZH), (SOLID, SOLID)),
    *rows("bleu", {"tokenize": "char"}, (each(solid, TH), TH), (each(solid, JA), JA)),
    ("bleu", {"preset": "cognition"}, SOLID, ZH),
    ("bleu", {"preset": "react"}, ZH, ZH),
    ("chrf", LOWEST, LOW, EN),
    *rows("chrf", {}, (EN, TOK), (ZH, SOLID), (SOLID, SOLID), (ODD, EN)),
    ("ter", {}, EN, LOW),
    ("ter", {"normalized": True}, OTHERS, EN),
    ("exact", LOWEST, EN, LOW),
    *rows(
        "exact",
        {},
        (OTHERS, EN),
        (SOLID, SOLID),
        (["I_JUMP I_WALK"] * 100, ["I_WALK I_JUMP"] * 100),
    ),
    *rows(
        "exact", {}, (EN[:9], LOW[:9]), (["de de de ."] * 196, EN)
    ),  # too few to tell; nothing learned
]


def form_lines(metric, options, hypotheses, references, **more):
    """What is said about the form of hypotheses: the lines, and whether the last stopped."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            texts = {"metric": metric, "systems": {"A": hypotheses}, "references": references}
            evaluate(ScoreRequest(**{**texts, **options, **more}))
        except InputError as error:
            return [str(error)], True
    lines = [str(one.message) for one in caught if issubclass(one.category, InputWarning)]
    return [line for line in lines if "Remedy: " in line], False


@pytest.mark.parametrize(("metric", "options", "hypotheses", "references", "cause", "stops"), WRONG)
def test_another_form_stops_or_is_warned_of(metric, options, hypotheses, references, cause, stops):
    size = min(len(hypotheses), len(references))
    given = metric, options, hypotheses[:size], references[:size]
    lines, stopped = form_lines(*given)
    assert stopped is stops and cause in lines[0]
    assert lines[0].startswith("A: ") and lines[0].count("\n") == 0
    assert ("accept_text scores the text as it is" in lines[0]) is stops
    lines, stopped = form_lines(*given, accept_text=True)
    assert not stopped and cause in lines[0]


@pytest.mark.parametrize(("metric", "options", "hypotheses", "references"), RIGHT)
def test_the_same_form_is_silent(metric, options, hypotheses, references):
    assert form_lines(metric, options, hypotheses, references) == ([], False)


def test_the_run_with_another_form_is_named():
    with pytest.raises(InputError, match="^B, run 2: cased, unlike the references"):
        evaluate("bleu", {"A": LOW, "B": [LOW, EN]}, LOW)


def test_the_control_set_is_checked_too():
    with pytest.raises(InputError, match="cased, unlike the references"):
        evaluate(
            "bleu",
            {"A": LOW},
            LOW,
            control={"control_systems": {"A": EN}, "control_references": LOW},
        )


def test_texts_beside_scores_stop_where_their_words_are_compared():
    scores = {"A": [0.1, 0.9] * 98, "B": [0.2, 0.8] * 98}
    given = {"texts": {"references": LOW, "hypotheses": {"A": EN, "B": LOW}}}
    with pytest.raises(InputError, match="^A: cased"):
        import_scores(scores, **given, breakdown={"differences": True})
    with pytest.warns(InputWarning, match="^A: cased"):
        import_scores(
            scores, **given, breakdown={"differences": True}, examples={"accept_text": True}
        )
    with pytest.warns(InputWarning, match="^A: cased"):
        import_scores(scores, **given)


def release(folder, tokenize="moses", **configuration):
    """The folder of a release as far as normalisation knows it, with its texts."""
    texts = {"test.de": DE, "test.norm.de": DE, "test.en": EN, "test.norm.en": moses_of(EN)}
    texts["split.jsonl"] = ["{}"] * len(EN)
    files = {name: "".join(line + "\n" for line in lines) for name, lines in texts.items()}
    return write_release(
        folder, files, configuration={"tokenize": tokenize, "lowercase": True, **configuration}
    )


def moses_of(lines):
    moses = pytest.importorskip("sacremoses").MosesTokenizer(lang="en")
    return [moses.tokenize(line, return_str=True).lower() for line in lines]


def test_hypotheses_of_a_release_are_compared_with_the_references_that_have_their_form(tmp_path):
    made = release(tmp_path / "release")
    found = evaluate("exact", {"A": EN}, release=made)
    assert found.score == 100 and "norm:" not in found.signature
    found = evaluate("exact", {"B": moses_of(EN)}, release=made)
    assert found.score == 100 and "|norm:moses-en+lc|" in found.signature
    # One request, or one system in the normalised form: all in that form.
    for normalise in (None, "release"):
        with pytest.warns(
            InputWarning, match="^B: already tokenised, so normalise did not tokenise again"
        ):
            found = evaluate(
                "exact",
                {"A": EN, "B": moses_of(EN)},
                release=made,
                examples={"normalise": normalise},
            )
        assert [result["exact"] for result in found.figures.values()] == [100, 100]
        assert "|norm:moses-en+lc|" in found.signature


def test_a_release_with_replaced_names_is_scored_in_the_form_of_the_hypotheses(tmp_path):
    made = release(tmp_path / "release", "none", anonymise="cogs", lowercase=False)
    hidden = [line.replace("the", "?x0") for line in EN]
    (made / "test.norm.en").write_text("".join(line + "\n" for line in hidden))
    list_files(made)
    assert [evaluate("exact", {"A": lines}, release=made).score for lines in (EN, hidden)] == [
        100,
        100,
    ]


def test_a_tokeniser_by_name():
    found = evaluate(
        "exact", {"A": EN}, moses_of(EN), examples={"normalise": "en=moses"}, lowercase=True
    )
    assert found.score == 100 and "norm:moses-en" in found.signature
    assert (
        evaluate("exact", {"A": moses_of(EN)}, LOW, examples={"normalise": "en=detokenize"}).score
        == 100
    )
    assert (
        evaluate(
            "exact", {"A": each(solid, ZH)}, each(characters, ZH), examples={"normalise": "zh"}
        ).score
        == 100
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            "moses",
            "normalise='moses' depends on the language: name it, such as normalise='en=moses'",
        ),
        ("detokenize", "name it, such as normalise='en=detokenize'"),
        ("release", "which release? Give release"),
        ("mosse", "there is no tokeniser 'mosse'"),
    ],
)
def test_a_normalisation_that_cannot_be_done_is_refused(given, expected):
    with pytest.raises(InputError) as caught:
        normalisation_of(given, None)
    assert expected in str(caught.value)


def test_names_in_logical_forms_cannot_be_replaced_in_hypotheses(tmp_path):
    with pytest.raises(InputError, match="names in logical forms"):
        normalisation_of("release", Release.open(release(tmp_path / "release", anonymise="cogs")))


def test_normalise_is_refused_where_nothing_is_compared_with_references():
    with pytest.raises(InputError, match="normalise='jieba' is for metrics that compare"):
        evaluate(ExactMatch([["a"]]), {"A": ["a"]}, examples={"normalise": "jieba"})


def test_a_training_text_in_another_form_than_the_references_stops(tmp_path):
    (tmp_path / "train").write_text("".join(line + "\n" for line in EN))
    given = {"references": LOW, "by": "frequency"}
    for train, name in ((tmp_path / "train", f"{tmp_path}/train"), (EN, "train")):
        with pytest.raises(
            InputError, match=f"^references: in lower case, unlike {name}, which are cased"
        ):
            evaluate("exact", {"A": LOW}, breakdown={"train": train}, **given)
        with pytest.warns(InputWarning, match="^references: in lower case, unlike"):
            evaluate(
                "exact",
                {"A": LOW},
                breakdown={"train": train},
                examples={"accept_text": True},
                **given,
            )
    with pytest.raises(InputError, match="^references: in lower case"):
        import_scores(
            {"A": [0.0, 1.0] * 98},
            texts={"references": LOW},
            by="frequency",
            breakdown={"train": EN},
        )
    assert form_lines("exact", {}, LOW, LOW, train=LOW, by="frequency") == ([], False)
