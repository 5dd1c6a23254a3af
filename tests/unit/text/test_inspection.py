"""What is found of which texts: each kind of fault in texts made for it, and nothing in texts that
fit.
"""

import gzip
import itertools
import json
from dataclasses import replace
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from shared_data import SHARED, needs

from cgbench.errors import InputWarning
from cgbench.text.formats import CorpusSpec
from cgbench.text.inspection import SIDES, CorpusSample, inspect, take_sample
from cgbench.text.normalisation import Normalisation
from cgbench.text.profile import is_unspaced, profile
from cgbench.text.sampling import READ, RUN, RUNS, spread

EN = ("the dog", "a cat", "he", "she", "my friend", "the old man", "you and I")
DE = ("der Hund", "eine Katze", "er", "sie", "mein Freund", "der alte Mann", "du und ich")
EN_VERBS = (
    "is not in the house",
    "was with us for a day",
    "has that from you",
    "have it on the table",
)
DE_VERBS = (
    "ist nicht im Haus",
    "war für einen Tag bei uns",
    "hat das von dir",
    "hat es auf dem Tisch",
)
PAIRS = [
    (
        f"{DE[i][0].upper()}{DE[i][1:]} {DE_VERBS[j]}, und {DE[k]} auch.",
        f"{EN[i].title()} {EN_VERBS[j]}, {EN[k]} too.",
    )
    for i, j, k in itertools.product(range(7), range(4), range(7))
]
HELD = Normalisation(languages=("de", "en"))
MOSES = replace(HELD, tokenize="moses")
NOTHING = Normalisation(languages=SIDES)


def sample(pairs, name="a"):
    return CorpusSample(CorpusSpec((Path(f"{name}.de"), Path(f"{name}.en"))), pairs)


def change(work):
    return [(work(source), work(target)) for source, target in PAIRS]


def tokenised(line):
    return line.replace(",", " ,").replace(".", " .")


TOKENISED = change(tokenised)
LOWER = change(lambda line: tokenised(line).lower())
ESCAPED = change(lambda line: tokenised(line).replace("u", "&apos;", 1))
BEGUN_IN_LOWER = change(lambda line: (line := tokenised(line))[0].lower() + line[1:])
SWAPPED = [pair[::-1] for pair in PAIRS]
TURNED = [{"en": target, "de": source} for source, target in PAIRS]
EN_ZH, EN_FORMS = (Normalisation(languages=("en", other)) for other in ("zh", "lf"))


def said(train, pool, asked=HELD):
    return inspect(sample(train, "train"), [sample(pool, "pool")], asked)


@pytest.mark.parametrize(
    ("train", "pool", "asked"),
    [
        (PAIRS, PAIRS, MOSES),
        (TOKENISED, TOKENISED, HELD),
        (TOKENISED, LOWER, replace(HELD, lowercase=True)),
        (TOKENISED, PAIRS, replace(MOSES, lowercase=True, detokenize=True)),
        ([("jump twice", "JUMP JUMP")] * 50, [("walk", "WALK")] * 50, NOTHING),
        ([("x _ 1 .", "4")] * 50, [("x _ 1 .", "12")] * 50, EN_FORMS),
        (PAIRS[:9], LOWER[:9], HELD),
    ],
    ids=["raw", "tokenised", "lower", "detokenised", "commands", "forms", "too few to tell"],
)
def test_texts_that_fit_have_no_finding(train, pool, asked):
    assert said(train, pool, asked) == []


@pytest.mark.parametrize(
    ("train", "pool", "asked", "expected"),
    [
        (PAIRS, TOKENISED, MOSES, "pool.de pool.en: already tokenised"),
        (
            PAIRS,
            TOKENISED,
            HELD,
            "pool.de pool.en: tokenised (final periods and commas stand apart), but",
        ),
        (
            TOKENISED,
            PAIRS,
            HELD,
            "pool.de pool.en: not tokenised, but train.de train.en is tokenised",
        ),
        (
            PAIRS,
            change(str.upper),
            MOSES,
            "pool.de pool.en: in capitals, but train.de train.en is not in capitals",
        ),
        (PAIRS, [(a, tokenised(b)) for a, b in PAIRS], HELD, "pool.en: tokenised"),
        (
            PAIRS,
            change(str.lower),
            MOSES,
            "pool.de pool.en: in lower case, but train.de train.en is cased",
        ),
        (
            change(str.lower),
            PAIRS,
            MOSES,
            "pool.de pool.en: cased, but train.de train.en is in lower case",
        ),
        (
            PAIRS,
            SWAPPED,
            replace(MOSES, languages=("a", "b")),
            "pool.de pool.en: source and target are",
        ),
    ],
)
def test_what_would_spoil_a_benchmark_stops(train, pool, asked, expected):
    assert any(
        finding.stops and finding.text.startswith(expected) for finding in said(train, pool, asked)
    )


@pytest.mark.parametrize(
    ("train", "pool", "asked", "expected"),
    [
        (
            PAIRS,
            PAIRS,
            HELD,
            "train.de train.en, pool.de pool.en: punctuation is attached to words",
        ),
        (TOKENISED, ESCAPED, HELD, "pool.de pool.en: escaped as by Moses"),
        (TOKENISED, BEGUN_IN_LOWER, HELD, "pool.de pool.en: sentences do not begin in upper case"),
        (
            TOKENISED,
            [*PAIRS[:100], *TOKENISED[100:]],
            HELD,
            "pool.de pool.en: 49% of the final periods",
        ),
    ],
)
def test_what_does_less_harm_is_said(train, pool, asked, expected):
    findings = said(train, pool, asked)
    assert [finding.text for finding in findings if finding.text.startswith(expected)]
    assert not any(finding.stops for finding in findings)


@pytest.mark.parametrize(("escaped", "of"), [(0, 20), (0, 100), (6, 300), (19, 1000), (19, 196)])
def test_a_text_with_few_lines_that_are_escaped_is_no_text_without_escapes(escaped, of):
    """One line in 40 of the training text; of the pool as many, or too few lines to tell."""
    plain = list(itertools.islice(itertools.cycle(TOKENISED), of))
    marked = [tuple(side.replace("u", "&apos;", 1) for side in pair) for pair in plain]
    train = [*TOKENISED] * 10
    train[:49] = [tuple(side.replace("u", "&apos;", 1) for side in pair) for pair in train[:49]]
    assert not [
        one for one in said(train, [*marked[:escaped], *plain[escaped:]]) if "escaped" in one.text
    ]


def test_a_long_text_without_escapes_is_told_apart():
    assert any(
        "pool.de pool.en: not escaped, but" in finding.text for finding in said(ESCAPED, TOKENISED)
    )


def test_a_raw_french_text_is_not_taken_for_a_tokenised_one():
    french = [
        ("Pourquoi est-ce que tu ne viens pas ? Je suis là !", "Why don't you come? I am here!")
    ] * 30
    french += [("Il n'est pas là.", "He is not here.")] * 30
    assert said(french, french, replace(MOSES, languages=("fr", "en"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "我每天都和另一个医生在地板上玩。",
        "私は毎日医者と床で遊びます。",
        "ฉันเล่นกับหมออีกคนบนพื้นทุกวัน",
    ],
)
def test_text_without_blanks_stops_and_says_what_to_do(text):
    pairs = [("i play with another doctor every day .", text)] * 40
    asked = Normalisation(languages=("en", "xx"))
    (finding,) = inspect(sample(pairs), [], asked)
    assert finding.stops and 'no blanks between words (1.0 "words" per line)' in finding.text
    assert "tokenize='xx=char'" in str(InputWarning(finding.text))
    assert inspect(sample(pairs), [], replace(asked, tokenize="target=char")) == []
    assert [one.stops for one in inspect(sample(pairs), [], replace(asked, tokenize="moses"))][-1]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["他的女儿昨天没有来上学。", "我们明天去北京看朋友。"], True),
        (["เขาไม่ได้มาโรงเรียนเมื่อวานนี้"], True),
        (["他 的 女儿 昨天 没有 来 上学 。"], False),  # words
        ([" ".join("他的女儿昨天没有来上学。")], False),  # characters
        ([], False),
        (["", " "], False),
    ],
)
def test_is_unspaced(lines, expected):
    assert is_unspaced(lines) is expected
    many = profile(lines * 20)  # what is looked at before a build asks the same
    assert (many.unspaced is not None) is expected
    assert profile(lines).unspaced is None


def test_chinese_words_with_blanks_are_words():
    pairs = [
        ("he is happy .", "随着 他 的 继续 、 他 开始 好转 。"),
        ("it is cold .", "泰勒 最近 情绪 不好 。"),
    ] * 30
    assert inspect(sample(pairs), [], EN_ZH) == []


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [
        (TURNED, None, "columns en,de are read, but it has de,en; give columns="),
        ([{"id": "7", "de": a, "en": b} for a, b in PAIRS], None, "give columns='de,en'"),
        (TURNED, ("en", "de"), "column en is read as de; give columns='de,en'"),
    ],
)
def test_a_forgotten_or_wrong_columns_option(tmp_path, rows, columns, expected):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    findings = inspect(take_sample(CorpusSpec((tmp_path / "a.jsonl",), columns)), [], MOSES)
    assert any(expected in str(InputWarning(finding.text)) for finding in findings)


@pytest.mark.parametrize("columns", [None, ("de", "en"), ("de_tok", "en_tok")])
def test_columns_that_are_meant_have_no_finding(tmp_path, columns):
    rows = [{"de": a, "en": b, "de_tok": a, "en_tok": b} for a, b in PAIRS]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert inspect(take_sample(CorpusSpec((tmp_path / "a.jsonl",), columns)), [], MOSES) == []


def test_answers_of_arithmetic_are_no_forgotten_column(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"What is {n} + 1 ?\t{n + 1}\n" for n in range(50)))
    assert inspect(take_sample(CorpusSpec((tmp_path / "a.tsv",))), [], NOTHING) == []


def test_a_sample_is_the_same_of_every_form(tmp_path):
    pairs = [(f"ein {n} .", f"a {n} .") for n in range(3 * RUN * RUNS)]
    for side, language in enumerate(("de", "en")):
        text = "".join(pair[side] + "\n" for pair in pairs).encode()
        (tmp_path / f"a.{language}").write_bytes(text)
        (tmp_path / f"a.{language}.gz").write_bytes(gzip.compress(text))
    rows = [{"source": source, "target": target} for source, target in pairs]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    names = (("a.de", "a.en"), ("a.de.gz", "a.en.gz"), ("a.parquet",))
    plain, *others = [
        take_sample(CorpusSpec(tuple(tmp_path / one for one in name))).pairs for name in names
    ]
    assert others == [plain, plain]


@pytest.mark.parametrize(
    "lines", [0, 5, RUN * RUNS, 2 * RUN * RUNS, 2 * RUN * RUNS + 1, 40 * RUN * RUNS, READ + 999]
)
def test_a_sample_is_spread_evenly(lines):
    numbers = [int(line) for line in spread(map(str, range(lines)))]
    if lines <= 2 * RUN * RUNS:
        assert numbers == list(range(lines))
        return
    assert RUN * RUNS <= len(numbers) <= 2 * RUN * RUNS
    begins = numbers[::RUN]
    (gap,) = {b - a for a, b in itertools.pairwise(begins)}
    assert numbers[: 2 * RUN] == [*range(RUN), *range(gap, gap + RUN)]
    assert begins[-1] + gap >= min(lines, READ)


def corpus(stem, *endings):
    return CorpusSpec(tuple(SHARED / f"{stem}{ending}" for ending in endings))


WMT = ("wmt-20k/train.", "de.gz", "en.gz")
REACT = ("react/valid.", "de.gz", "en.gz")


@needs(
    "tatoeba-de-en/deu.txt.gz",
    "multi30k",
    "wmt-20k",
    "react",
    "tatoeba-en-zh",
    "cognition",
    "cogs",
    "pcfg",
)
@pytest.mark.parametrize(
    ("train", "pool", "asked", "stops"),
    [
        (REACT, ("react/cg_test.", "de.gz", "en.gz"), HELD, 0),
        (
            ("multi30k/train.lc.norm.tok.", "de.gz", "en.gz"),
            ("react/test.", "de.gz", "en.gz"),
            HELD,
            0,
        ),
        (WMT, ("wmt-20k/test.", "de", "en"), MOSES, 0),
        (
            ("tatoeba-en-zh/cmn_train_tokenized", ".tsv"),
            ("tatoeba-en-zh/cmn_dev_tokenized", ".tsv"),
            EN_ZH,
            0,
        ),
        (("cogs/dev", ".tsv"), ("cogs/test", ".tsv"), EN_FORMS, 0),
        (
            ("pcfg/random10k.train.", "src", "tgt"),
            ("pcfg/systematicity.test.", "src", "tgt"),
            NOTHING,
            0,
        ),
        (WMT, REACT, HELD, 2),
        (WMT, REACT, MOSES, 2),
        (WMT, ("wmt-20k/test.", "en", "de"), MOSES, 1),
        (("cognition/valid.", "en", "zh"), ("cognition/cg-test.", "en", "zh"), EN_ZH, 1),
    ],
)
def test_real_texts(train, pool, asked, stops):
    findings = inspect(take_sample(corpus(*train)), [take_sample(corpus(*pool))], asked)
    assert sum(finding.stops for finding in findings) == stops
    if not stops:
        assert findings == []
