"""What programs do to hypotheses is recognised from the first line on; real hypotheses are left
alone.
"""

import gzip
import json
import random
import unicodedata

import pytest
from shared_data import SHARED, needs

from cgbench.benchmark.score.evaluation.evaluate import evaluate
from cgbench.errors import InputError, InputWarning
from cgbench.text.hypothesis_form import Reading, damages
from cgbench.text.line_order import displacement

LINES = [
    f'Die Bäckerei „{name}“ öffnete früher, aber "{what}" wäre für {count} Übernächtigte größer.'
    for count, (name, what) in enumerate(
        [
            ("Müller", "Käse"),
            ("Jäger", "Möhre"),
            ("Köhler", "Süßes"),
            ("Gärtner", "Öl"),
            ("Färber", "Blätter"),
            ("Döring", "Tücher"),
        ],
        2,
    )
]
HYPOTHESES = [line.replace("öffnete früher", "war früher offen") for line in LINES]


def pieces(line, begin="", join=" "):
    return " ".join(
        begin + word[:4] + (join + word[4:] if len(word) > 4 else "") for word in line.split(" ")
    )


DAMAGES = {
    "decomposed letters (NFD)": lambda row, line: unicodedata.normalize("NFD", line),
    "UTF-8 that was read as another": lambda row, line: line.encode().decode("latin-1"),
    "marks of SentencePiece": lambda row, line: pieces(line, "\u2581"),
    "pieces of subword-nmt (@@)": lambda row, line: pieces(line, "", "@@ "),
    "marks such as </s>": lambda row, line: f"{line} </s>",
    "soft hyphens": lambda row, line: pieces(line, "", "\xad"),
    "other blanks": lambda row, line: line.replace(" ", "\xa0"),
    "characters of no width": lambda row, line: line.replace(" ", "\u200b "),
    "text in quotes of JSON": lambda row, line: json.dumps(line),
    "an ID and a tab": lambda row, line: f"doc-{row}\t{line}",
    "a number before": lambda row, line: f"{row},{line}",
    "lines of fairseq's log": lambda row, line: f"H-{row}\t-0.2519\t{line}",
    "HTML entities": lambda row, line: line.replace('"', "&quot;").replace("ä", "&auml;"),
}


@pytest.mark.parametrize("n", [1, 2, 6])
@pytest.mark.parametrize("form", DAMAGES)
def test_forms_stop_from_the_first_line_on(form, n):
    hypotheses = [DAMAGES[form](row, line) for row, line in enumerate(HYPOTHESES[:n])]
    for metric in ("exact", "bleu", "chrf"):
        if form == "other blanks" and metric != "exact":
            assert (
                evaluate(metric, hypotheses, LINES[:n]).score
                == evaluate(metric, HYPOTHESES[:n], LINES[:n]).score
            )
            continue
        with pytest.raises(InputError) as caught:
            evaluate(metric, hypotheses, LINES[:n])
        assert form in str(caught.value) and "Remedy: " in str(caught.value)
    of_both = ("pieces", "SentencePiece", "soft hyphens", "no width", "tab", "log")
    if not any(name in form for name in of_both):
        assert damages(hypotheses, hypotheses, Reading()) == []  # both have the form
    assert damages(HYPOTHESES[:n], LINES[:n], Reading()) == []


@pytest.mark.parametrize("n", [1, 3, 15])
def test_chinese_without_a_tokeniser_stops_from_the_first_line_on(n):
    lines = ["我们昨天在学校的花园里面玩耍了一整天。"] * n
    with pytest.raises(
        InputError, match="a whole clause counts as one word. Remedy: tokenize='zh'"
    ):
        evaluate("bleu", lines, lines)
    assert evaluate("bleu", lines, lines, tokenize="zh").score == pytest.approx(100)


@pytest.mark.parametrize("options", [{}, {"tokenize": "zh"}])
def test_characters_that_no_tokeniser_splits_stop(options):
    """sacrebleu gives 0.0 for such a text against itself."""
    lines = ["".join(chr(0x20000 + 40 * row + column) for column in range(24)) for row in range(22)]
    with pytest.raises(
        InputError, match="a whole clause counts as one word. Remedy: tokenize='char'"
    ):
        evaluate("bleu", lines, lines, **options)
    assert evaluate("bleu", lines, lines, tokenize="char").score == pytest.approx(100)


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter", "exact"])
@pytest.mark.parametrize(
    "lines",
    [
        [
            "".join(chr(0xA984 + (row * 7 + column * 3) % 40) for column in range(24))
            for row in range(22)
        ],
        ["yes", "no", "maybe so"] * 9,
        ["a dog ran", "the cat"] * 9,
        ["one", "two three four five six"] * 5,
    ],
    ids=["Javanese", "words", "phrases", "mixed"],
)
@pytest.mark.parametrize("options", [{}, {"tokenize": "zh"}, {"preset": "react"}])
def test_a_text_against_itself_gets_the_best_score_or_stops(metric, lines, options):
    if options and metric != "bleu":
        return
    try:
        score = evaluate(metric, lines, lines, **options).score
    except InputError as error:
        assert "one word" in error.message or "the references against themselves" in error.message
    else:
        assert score == pytest.approx(0 if metric == "ter" else 100)


def test_the_message_about_short_references_and_the_way_out():
    with pytest.raises(
        InputError,
        match=r"the references against themselves get BLEU 0.0, not 100.0, because they have fewer"
        r" words than its longest n-grams. Remedy: use another metric, such as exact or chrf",
    ):
        evaluate("bleu", ["yes", "no"], ["yes", "no"])
    with pytest.warns(InputWarning, match="against themselves get BLEU 0.0"):
        assert evaluate("bleu", ["yes", "no"], ["yes", "no"], accept_text=True).score == 0
    assert evaluate("bleu", ["yes", "no"], ["yes", "no"], effective_order=True).score > 99


def test_shifted_and_shuffled_hypotheses_stop():
    columns = (
        "Ann Tom Eva Max Joe Kim Lee Sue",
        "cats dogs birds fish ants bees goats pigs",
        "Rome Oslo Bonn Lyon Nice Kiev Riga Cork",
        "red blue green pink grey white black brown",
    )
    rows = zip(*(column.split() for column in columns), strict=True)
    lines = ["{} saw the {} in {}, all {}".format(*row) for row in rows]
    assert displacement(lines, lines) is None
    assert displacement([*lines[1:], "nothing"], lines) == "shifted by 1 line, from line 1 on"
    assert (
        displacement([*lines[:4], "nothing", *lines[4:-1]], lines)
        == "shifted by 1 line, from line 6 on"
    )
    assert (
        displacement([*lines[2:], "nothing", "none"], lines) == "shifted by 2 lines, from line 1 on"
    )
    twice = [
        line for line in lines for _ in range(2)
    ]  # some lines fit one line away, all but the last fit two away
    assert (
        displacement([*twice[2:], "nothing", "none"], twice) == "shifted by 2 lines, from line 1 on"
    )
    assert (
        displacement(random.Random(1).sample(lines, 8), lines)
        == "in another order than the references"
    )
    with pytest.raises(
        InputError,
        match="shifted by 1 line, from line 1 on. Remedy: write one hypothesis per reference",
    ):
        evaluate("bleu", [*lines[1:], "nothing"], lines)


@needs("iwslt14-hypotheses", "react")
def test_real_hypotheses_are_left_alone():
    """Save where the published hypotheses are shifted by a line, which nobody told."""
    texts = []
    for path in ("iwslt14-hypotheses/hypotheses.test.de-en.txt.gz", "react/test.en.gz"):
        with gzip.open(SHARED / path, "rt", encoding="utf-8") as file:
            texts.append(file.read().splitlines())
    shifted = {*range(930, 946), *range(1_076, 1_105), *range(1_794, 1_871)}
    draw = random.Random(5)
    for _ in range(300):
        n = draw.choice((1, 2, 3, 5, 10, 20, 50, 100))
        rows = (
            draw.sample(range(6_750), n)
            if draw.random() < 0.5
            else range(begin := draw.randrange(6_600), begin + n)
        )
        hypotheses, references = ([text[row] for row in rows] for text in texts)
        told = damages(
            hypotheses, references, Reading(words=draw.choice(("blanks", "marks", "characters")))
        )
        assert not told or shifted & {*rows}
    assert displacement(*(text[1_794:1_871] for text in texts)).startswith(
        "shifted by 1 line, from line "
    )
    assert damages(*texts, Reading(words="marks")) == []
