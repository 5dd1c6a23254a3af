"""The demo corpus: its grammar on sentences a person can check, and the record of what its pool
holds.
"""

from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pytest
import twins
from hypothesis import given, settings
from hypothesis import strategies as st

from cgbench.data_recipes.demo.corpus import KINDS, write_demo
from cgbench.data_recipes.demo.grammar import (
    Clause,
    NounPhrase,
    RandomDraw,
    Sampler,
    Word,
    is_held_out,
    rows,
    sentence_pair,
    words,
)
from cgbench.errors import InputError

TABLES = ("noun", "name", "adjective", "verb", "time", "frequency", "manner", "place", "goal")
LINKS = ("connective", "conjunction", "that", "to")
WORDS = {
    word.forms[1][0]: word
    for table in reversed((*TABLES, *LINKS))
    for word in reversed(words(table))
}
PRESENT, PAST, FUTURE, CAN = rows("tense")[:4]


def phrase(text: str, plural: bool = False, relative: Clause | None = None) -> NounPhrase:
    """Read 'the old dog' (the noun in the singular); a name stands alone."""
    *determiner, noun = text.split()
    adjective = WORDS[determiner[1]] if len(determiner) > 1 else None
    return NounPhrase(WORDS[noun], determiner[0] if determiner else "", adjective, plural, relative)


def clause(
    verb: str, subject: str | NounPhrase | None, tense: tuple[str, ...] = PRESENT, **parts: object
) -> Clause:
    if isinstance(subject, str):
        subject = phrase(subject)
    return {
        "verb": WORDS[verb],
        "tense": tense,
        **({"subject": subject} if subject else {}),
        **parts,
    }


def sentence(
    rule: tuple[str, ...], main: Clause, second: Clause | None = None, link: Word | None = None
) -> Clause:
    return main | {"rule": rule, "second": second, "link": link}


def rule(german: str) -> tuple[str, ...]:
    return next(row for row in rows("sentence") if row[2] == german)


PLAIN = rule("{statement} .")
SENTENCES = {
    "separable verb, particle at the end": (
        sentence(
            PLAIN, clause("open", "the teacher", object=phrase("the door"), time=WORDS["today"])
        ),
        "der lehrer macht heute die tür auf .",
        "the teacher opens the door today .",
    ),
    "separable verb, infinitive with zu": (
        sentence(
            rule("{statement} , {second[to]} ."),
            clause("try", "anna"),
            clause("open", None, object=phrase("the old suitcase")),
            words("to")[0],
        ),
        "anna versucht , den alten koffer aufzumachen .",
        "anna tries to open the old suitcase .",
    ),
    "perfect, inversion after a fronted adverbial": (
        sentence(
            rule("{front} {inverted} ."),
            clause(
                "open",
                phrase("my child", True),
                PAST,
                object=phrase("the door"),
                front=WORDS["yesterday"],
            ),
        ),
        "gestern haben meine kinder die tür aufgemacht .",
        "yesterday my children opened the door .",
    ),
    "dative and accusative, strong endings": (
        sentence(
            PLAIN,
            clause(
                "give", "she", object=phrase("the cold water"), person=phrase("many old dog", True)
            ),
        ),
        "sie gibt vielen alten hunden das kalte wasser .",
        "she gives the cold water to many old dogs .",
    ),
    "mixed endings, weak masculine, a stem of its own": (
        sentence(PLAIN, clause("know", "my old neighbor", object=phrase("a friendly student"))),
        "mein alter nachbar kennt einen freundlichen studenten .",
        "my old neighbor knows a friendly student .",
    ),
    "relative clause, accusative masculine; contraction": (
        sentence(
            PLAIN,
            clause(
                "sleep",
                phrase("the dog", relative=clause("see", "the boy")),
                place=phrase("the garden")._replace(preposition=WORDS["in"]),
            ),
        ),
        "der hund , den der junge sieht , schläft im garten .",
        "the dog that the boy sees sleeps in the garden .",
    ),
    "relative clause, dative plural, modal verb last": (
        sentence(
            PLAIN, clause("see", "he", object=phrase("the man", True, clause("help", "anna", CAN)))
        ),
        "er sieht die männer , denen anna helfen kann .",
        "he sees the men who anna can help .",
    ),
    "relative clause about its subject, perfect with sein": (
        sentence(
            PLAIN,
            clause(
                "look for",
                "anna",
                object=phrase("the child", relative=clause("come back", None, PAST)),
            ),
        ),
        "anna sucht das kind , das zurückgekommen ist .",
        "anna looks for the child who came back .",
    ),
    "subordinate clause in front": (
        sentence(
            rule("{link} {second[dependent]} , {inverted} ."),
            clause("sing", "she"),
            clause("get up", phrase("the bird", True), frequency=WORDS["often"]),
            WORDS["when"],
        ),
        "wenn die vögel oft aufstehen , singt sie .",
        "when the birds often get up , she sings .",
    ),
    "complement clause, negated determiner": (
        sentence(
            next(row for row in rows("sentence") if row[0] == "matrix that"),
            clause("say", "he"),
            clause("phone", "a doctor", object=phrase("no king")),
            WORDS["that"],
        ),
        "er sagt , dass ein arzt keinen könig anruft .",
        "he says that a doctor phones no king .",
    ),
    "question with do, an before a vowel": (
        sentence(
            rule("{inverted} ?"), clause("read", "the child", object=phrase("a interesting book"))
        ),
        "liest das kind ein interessantes buch ?",
        "does the child read an interesting book ?",
    ),
    "adverb between auxiliary and infinitive": (
        sentence(
            PLAIN,
            clause(
                "pick up",
                "this cook",
                FUTURE,
                object=phrase("two student", True),
                frequency=WORDS["often"],
            ),
        ),
        "dieser koch wird oft zwei studenten abholen .",
        "this cook will often pick up two students .",
    ),
    "coordination": (
        sentence(
            rule("{statement} , {link} {second[statement]} ."),
            clause("sleep", phrase("the cat", True)),
            clause("sit", "he"),
            WORDS["but"],
        ),
        "die katzen schlafen , aber er sitzt .",
        "the cats sleep , but he sits .",
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_sentence_in_both_languages(name: str) -> None:
    parts, german, english = SENTENCES[name]
    assert sentence_pair(parts) == (german, english)


def test_contractions() -> None:
    for german, preposition, place in (
        ("zur alten straße", "to", phrase("the old street")),
        ("zum haus", "to", phrase("the house")),
        ("zu den schulen", "to", phrase("the school", True)),
        ("zu dieser schule", "to", phrase("this school")),
        ("ins haus", "into", phrase("the house")),
    ):
        going = clause("go", "he", place=place._replace(preposition=WORDS[preposition]))
        assert sentence_pair(sentence(PLAIN, going))[0] == f"er geht {german} ."


def clauses(clause: Clause) -> list[Clause]:
    """All clauses within a clause."""
    inner = [part.relative if isinstance(part, NounPhrase) else part for part in clause.values()]
    return [
        clause,
        *(deeper for part in inner if isinstance(part, dict) for deeper in clauses(part)),
    ]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), novel=st.booleans())
def test_combinations_are_held_out_by_rule(seed: int, novel: bool) -> None:
    everything = clauses(Sampler(RandomDraw(seed), novel).sentence())
    for part in everything:
        arguments = [phrase for phrase in part.values() if isinstance(phrase, NounPhrase)]
        pairs = [
            (part["verb"], part[name])
            for name in ("front", "time", "frequency", "manner")
            if part.get(name)
        ]
        pairs += [
            (p.preposition or part["verb"], p.noun) for p in arguments if p.noun.kind == "noun"
        ]
        pairs += [(phrase.noun, phrase.adjective) for phrase in arguments if phrase.adjective]
        assert all(is_held_out(*pair) == novel for pair in pairs)
    if "second" in everything[0] and not novel:
        assert len(everything) == 2  # a relative clause in a complex sentence is a nesting held out


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), novel=st.booleans())
def test_sentences_are_tokens_between_single_blanks(seed: int, novel: bool) -> None:
    for text in sentence_pair(Sampler(RandomDraw(seed), novel).sentence()):
        assert text == " ".join(text.split()) == text.lower()
        assert text[-1] in ".?" and ", ," not in text and ", ." not in text and "  " not in text
        assert not set("-+_/") & set(text)


class Demo(NamedTuple):
    folder: Path
    train: list[tuple[str, str]]
    valid: list[tuple[str, str]]
    pool: list[tuple[str, str]]
    kinds: list[str]
    counts: list[Counter[str]]  # words of the training text, by side

    def of(self, kind: str) -> list[tuple[str, str]]:
        return [
            pair for pair, recorded in zip(self.pool, self.kinds, strict=True) if recorded == kind
        ]


def read_lines(path: Path) -> list[str]:
    text = path.read_bytes().decode("utf-8")
    assert text.endswith("\n")
    return text[:-1].split("\n")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo")
    write_demo(folder, train_pairs=8000, pool_pairs=4000, valid_pairs=100, seed=1)
    names = ("train", "valid", "pool")
    train, valid, pool = (
        list(zip(read_lines(folder / f"{name}.de"), read_lines(folder / f"{name}.en"), strict=True))
        for name in names
    )
    counts = [Counter(word for pair in train for word in pair[side].split()) for side in range(2)]
    return Demo(folder, train, valid, pool, read_lines(folder / "pool.kinds"), counts)


def test_files_counts_and_shares(demo: Demo) -> None:
    assert {path.name for path in demo.folder.iterdir()} == {
        "train.de",
        "train.en",
        "valid.de",
        "valid.en",
        "pool.de",
        "pool.en",
        "pool.kinds",
    }
    assert (len(demo.train), len(demo.valid), len(demo.pool), len(demo.kinds)) == (
        8000,
        100,
        4000,
        4000,
    )
    shares = Counter(demo.kinds)
    assert shares == dict(zip(KINDS, (1400, 1600, 600, 400), strict=True))
    assert all(
        line and line == " ".join(line.split())
        for pair in demo.train + demo.valid + demo.pool
        for line in pair
    )
    # In random order: each kind is spread over both halves.
    first = Counter(demo.kinds[:2000])
    assert all(0.4 < first[kind] / shares[kind] < 0.6 for kind in KINDS)


def test_training_repeats_sentences_and_has_several_hundred_words(demo: Demo) -> None:
    assert sum(count for count in Counter(demo.train).values() if count >= 3) > 0.05 * len(
        demo.train
    )
    assert all(len(words) > 600 for words in demo.counts)


def test_the_record_of_kinds_is_true(demo: Demo) -> None:
    counts = demo.counts
    trained = [{pair[side] for pair in demo.train} for side in range(2)]

    def rare(pair: tuple[str, str]) -> list[int]:
        return [
            counts[side][word]
            for side in range(2)
            for word in pair[side].split()
            if counts[side][word] < 3
        ]

    unknown = [rare(pair) for pair in demo.of("unknown-word")]
    assert all(unknown)
    assert {count for found in unknown for count in found} == {0, 1, 2}
    for kind in ("near-copy", "new-combination"):
        for pair in demo.of(kind):
            assert not rare(pair)
            assert pair[0] not in trained[0] and pair[1] not in trained[1]
    survivors = sum(not rare(pair) for pair in demo.of("noise"))
    assert 0.8 < survivors / len(demo.of("noise")) < 1


def test_rare_words_are_planted_0_1_or_2_times(demo: Demo) -> None:
    counts = demo.counts[0]
    common = {form for noun in words("noun") for form in noun.forms[0]}
    rare = [noun for noun in words("rare noun") if common.isdisjoint(noun.forms[0])]
    planted = Counter(sum(counts[form] for form in set(noun.forms[0])) for noun in rare)
    assert set(planted) == {0, 1, 2} and min(planted.values()) > 10


def test_a_rare_word_is_on_either_side_or_both(demo: Demo) -> None:
    sides = Counter(
        tuple(any(demo.counts[side][word] < 3 for word in pair[side].split()) for side in range(2))
        for pair in demo.of("unknown-word")
    )
    assert all(sides[where] > 20 for where in ((True, True), (True, False), (False, True)))


def test_degrees_tell_near_copies_from_new_combinations(demo: Demo) -> None:
    known = twins.known_ngrams((target for _, target in demo.train), 3)
    near = sorted(twins.degree(target.split(), known) for _, target in demo.of("near-copy"))
    new = sorted(twins.degree(target.split(), known) for _, target in demo.of("new-combination"))
    assert sum(near) / len(near) < 0.3
    assert sum(new) / len(new) > 0.55
    # The candidates are the top tenth or so of the survivors: no near-copy comes close.
    assert near[-1] < new[-len(new) // 4]


def test_noise_is_mostly_garbled_sources(demo: Demo) -> None:
    bigrams = {
        two
        for source, _ in demo.train
        for two in zip(source.split(), source.split()[1:], strict=False)
    }

    def novel_share(pairs: list[tuple[str, str]]) -> float:
        found = [
            two in bigrams
            for source, _ in pairs
            for two in zip(source.split(), source.split()[1:], strict=False)
        ]
        return 1 - sum(found) / len(found)

    assert novel_share(demo.of("noise")) > 2 * novel_share(demo.of("near-copy"))
    assert novel_share(demo.of("noise")) > novel_share(demo.of("new-combination"))
    targets = {target for _, target in demo.of("noise")}
    assert len(targets) > 0.8 * len(demo.of("noise"))


def test_the_bytes_are_the_same_everywhere(demo: Demo) -> None:
    """Whatever the platform, the version of Python and the order of its hashes, which differs from
    run to run.
    """
    digest = sha256(
        b"".join(path.read_bytes() for path in sorted(demo.folder.iterdir()))
    ).hexdigest()
    assert digest == "3fb6c06419107019677c740dffba75b176a37789969842638b25eb34b70be9d0"


def test_another_seed_is_another_corpus(tmp_path: Path, demo: Demo) -> None:
    write_demo(tmp_path, train_pairs=1000, pool_pairs=0, valid_pairs=20, seed=2)
    assert not set(read_lines(tmp_path / "valid.de")) & {source for source, _ in demo.valid}


def test_bad_sizes_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="train_pairs=10"):
        write_demo(tmp_path / "demo", train_pairs=10)
    with pytest.raises(InputError, match="pool_pairs=-1"):
        write_demo(tmp_path / "demo", pool_pairs=-1)
    assert not (tmp_path / "demo").exists()
