"""The demo corpus: its grammar on sentences a person can check, and the record of what its pool holds."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pytest
import twins
from hypothesis import given, settings
from hypothesis import strategies as st

from cgbench.data_recipes.demo.corpus import KINDS, write_demo
from cgbench.data_recipes.demo.grammar import Clause, Meaning, NounPhrase, Place, translate
from cgbench.data_recipes.demo.lexicon import lexicon
from cgbench.data_recipes.demo.sampler import RandomDraw, Sampler, held_out
from cgbench.errors import InputError

WORDS = lexicon()
NOUNS = {noun.english[0]: noun for noun in WORDS.nouns}
ADJECTIVES = {adjective.english: adjective for adjective in WORDS.adjectives}
VERBS = {verb.infinitive: verb for table in WORDS.verbs.values() for verb in table}
PRONOUNS = {noun.english[0]: NounPhrase(noun, "", plural=plural) for noun, plural in WORDS.pronouns}
ADVERBS = {adverb.english: adverb for adverb in (*WORDS.times, *WORDS.frequencies, *WORDS.manners)}
LINKS = {link.german: link for link in (*WORDS.connectives, *WORDS.conjunctions)}
PREPOSITIONS = {preposition.english: preposition for preposition in (*WORDS.places, *WORDS.goals)}
MODALS = {modal.german[1]: modal for modal in (*WORDS.present_modals, *WORDS.past_modals)}


def phrase(text: str, plural: bool = False, relative: Clause | None = None) -> NounPhrase:
    """Read 'the old dog' (the noun in the singular); the determiner may be '-'."""
    determiner, *adjective, noun = text.split()
    return NounPhrase(
        NOUNS[noun],
        determiner.strip("-"),
        ADJECTIVES[adjective[0]] if adjective else None,
        plural,
        relative,
    )


def place(preposition: str, text: str) -> Place:
    return Place(PREPOSITIONS[preposition], phrase(text))


def clause(verb: str, subject: NounPhrase | None, **parts: object) -> Clause:
    return Clause(VERBS[verb], subject, **parts)  # type: ignore[arg-type]


def says(verb: str, subject: NounPhrase, **parts: object) -> Meaning:
    return Meaning("statement", clause(verb, subject, **parts))


ANNA = NounPhrase(WORDS.names[0], "")
OPENS = clause("aufmachen", phrase("the teacher"), object=phrase("the door"))
SENTENCES = {
    "separable verb, particle at the end": (
        Meaning("statement", OPENS._replace(time=ADVERBS["today"])),
        "der lehrer macht heute die tür auf .",
        "the teacher opens the door today .",
    ),
    "separable verb, infinitive with zu": (
        Meaning("infinitive", clause("versuchen", ANNA), clause("aufmachen", None, object=phrase("the old suitcase"))),
        "anna versucht , den alten koffer aufzumachen .",
        "anna tries to open the old suitcase .",
    ),
    "perfect, inversion after a fronted adverbial": (
        Meaning(
            "statement",
            OPENS._replace(subject=phrase("all child", True), tense="past", time=ADVERBS["yesterday"], fronted=True),
        ),
        "gestern haben alle kinder die tür aufgemacht .",
        "yesterday all children opened the door .",
    ),
    "dative and accusative, strong endings": (
        says("geben", PRONOUNS["we"], object=phrase("- cold water"), indirect=phrase("many old dog", True)),
        "wir geben vielen alten hunden kaltes wasser .",
        "we give cold water to many old dogs .",
    ),
    "mixed endings, weak masculine, a stem of its own": (
        says("kennen", phrase("my old neighbor"), object=phrase("a tired student")),
        "mein alter nachbar kennt einen müden studenten .",
        "my old neighbor knows a tired student .",
    ),
    "relative clause, accusative masculine": (
        says(
            "schlafen",
            phrase("the dog", relative=clause("sehen", phrase("the boy"), gap="object")),
            place=place("in", "the garden"),
        ),
        "der hund , den der junge sieht , schläft im garten .",
        "the dog that the boy sees sleeps in the garden .",
    ),
    "relative clause, dative feminine": (
        says(
            "sein",
            phrase("the woman", relative=clause("helfen", PRONOUNS["i"], gap="object")),
            predicate=ADJECTIVES["tired"],
        ),
        "die frau , der ich helfe , ist müde .",
        "the woman who i help is tired .",
    ),
    "relative clause, plural after a preposition": (
        says(
            "sein",
            phrase(
                "the house",
                True,
                clause("wohnen", PRONOUNS["they"], place=Place(PREPOSITIONS["in"], None), gap="place"),
            ),
            predicate=ADJECTIVES["old"],
            tense="past",
        ),
        "die häuser , in denen sie wohnen , waren alt .",
        "the houses in which they live were old .",
    ),
    "relative clause at the end: one comma, no comma before the stop": (
        says("suchen", ANNA, object=phrase("the child", relative=clause("weglaufen", None, gap="subject"))),
        "anna sucht das kind , das wegläuft .",
        "anna looks for the child who runs away .",
    ),
    "subordinate clause in front": (
        Meaning(
            "first",
            clause("singen", PRONOUNS["she"]),
            clause("aufwachen", phrase("the bird", True), frequency=ADVERBS["often"]),
            LINKS["wenn"],
        ),
        "wenn die vögel oft aufwachen , singt sie .",
        "when the birds often wake up , she sings .",
    ),
    "complement clause, negated determiner": (
        Meaning(
            "that", clause("wissen", PRONOUNS["i"]), clause("anrufen", phrase("our doctor"), object=phrase("no king"))
        ),
        "ich weiß , dass unser arzt keinen könig anruft .",
        "i know that our doctor phones no king .",
    ),
    "question with do, an before a vowel": (
        Meaning("question", clause("lesen", phrase("the child"), object=phrase("a interesting book"))),
        "liest das kind ein interessantes buch ?",
        "does the child read an interesting book ?",
    ),
    "question with a modal that takes do": (
        Meaning("why", clause("einschlafen", PRONOUNS["he"], tense="past", modal=MODALS["wollte"])),
        "warum wollte er einschlafen ?",
        "why did he want to fall asleep ?",
    ),
    "modal verb, adverb between modal and infinitive": (
        says(
            "abholen",
            phrase("this cook"),
            object=phrase("two hero", True),
            modal=MODALS["kann"],
            frequency=ADVERBS["often"],
        ),
        "dieser koch kann oft zwei helden abholen .",
        "this cook can often pick up two heroes .",
    ),
    "negation": (
        says("warten", phrase("the queen"), object=phrase("the bus"), negated=True),
        "die königin wartet nicht auf den bus .",
        "the queen does not wait for the bus .",
    ),
    "participle and modal verb at the end of their clauses": (
        Meaning(
            "last",
            clause("schlafen", PRONOUNS["he"], modal=MODALS["muss"]),
            clause("zurückkommen", phrase("the driver"), tense="past", time=ADVERBS["yesterday"]),
            LINKS["obwohl"],
        ),
        "er muss schlafen , obwohl der fahrer gestern zurückgekommen ist .",
        "he must sleep although the driver came back yesterday .",
    ),
    "relative clause in the subject position, modal verb last": (
        says(
            "lachen",
            phrase("a child", relative=clause("einladen", PRONOUNS["we"], modal=MODALS["soll"], gap="object")),
            tense="future",
            object=phrase("every monkey"),
        ),
        "ein kind , das wir einladen sollen , wird über jeden affen lachen .",
        "a child who we should invite will laugh at every monkey .",
    ),
    "coordination": (
        Meaning("and", clause("schlafen", phrase("the cat", True)), clause("sitzen", PRONOUNS["i"]), LINKS["aber"]),
        "die katzen schlafen , aber ich sitze .",
        "the cats sleep , but i sit .",
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_meaning_in_both_languages(name: str) -> None:
    sentence, german, english = SENTENCES[name]
    assert translate(sentence) == (german, english)


def test_contractions() -> None:
    zu = PREPOSITIONS["to"]
    went = clause("gehen", PRONOUNS["i"])
    places = [place("to", "the old bridge"), place("to", "the house"), Place(zu, phrase("the school", True))]
    places += [place("to", "this school"), place("into", "the house")]
    german = [translate(Meaning("statement", went._replace(place=there)))[0] for there in places]
    assert german == [
        "ich gehe zur alten brücke .",
        "ich gehe zum haus .",
        "ich gehe zu den schulen .",
        "ich gehe zu dieser schule .",
        "ich gehe ins haus .",
    ]


def clauses(part: Meaning | Clause | NounPhrase | Place | None) -> list[Clause]:
    """Return all clauses of a meaning."""
    if isinstance(part, Meaning):
        return clauses(part.main) + clauses(part.other)
    if isinstance(part, Clause):
        inner = [clauses(phrase) for phrase in (part.subject, part.object, part.indirect, part.place)]
        return [part, *(clause for found in inner for clause in found)]
    if isinstance(part, Place):
        return clauses(part.phrase)
    return [] if part is None else clauses(part.relative)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), novel=st.booleans())
def test_combinations_are_held_out_by_rule(seed: int, novel: bool) -> None:
    sentence = Sampler(RandomDraw(seed), novel).sentence()
    for part in clauses(sentence):
        phrases = [part.subject, part.object, part.indirect, part.place.phrase if part.place else None]
        adverbs = [part.time, part.frequency, part.manner]
        pairs: list[tuple[NamedTuple, NamedTuple]] = [(part.verb, adverb) for adverb in adverbs if adverb]
        pairs += [(part.verb, part.object.noun)] if part.object else []
        pairs += [(part.verb, part.subject.noun)] if part.subject and part.subject.noun in WORDS.nouns else []
        pairs += [(one.noun, one.adjective) for one in phrases if one and one.adjective]
        pairs += [(part.place.preposition, part.place.phrase.noun)] if part.place and part.place.phrase else []
        assert all(held_out(*pair) == novel for pair in pairs)
    if sentence.form in ("first", "last", "that", "infinitive") and not novel:
        assert len(clauses(sentence)) == 2  # a relative clause in a complex sentence is a nesting held out


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), novel=st.booleans())
def test_sentences_are_tokens_between_single_blanks(seed: int, novel: bool) -> None:
    for text in translate(Sampler(RandomDraw(seed), novel).sentence()):
        assert text == " ".join(text.split()) == text.lower()
        assert text[-1] in ".?" and ", ," not in text and ", ." not in text and "  " not in text
        assert "-" not in text and "+" not in text and "_" not in text


class Demo(NamedTuple):
    folder: Path
    train: list[tuple[str, str]]
    valid: list[tuple[str, str]]
    pool: list[tuple[str, str]]
    kinds: list[str]
    counts: list[Counter[str]]  # words of the training text, by side

    def of(self, kind: str) -> list[tuple[str, str]]:
        return [pair for pair, recorded in zip(self.pool, self.kinds, strict=True) if recorded == kind]


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
        list(zip(read_lines(folder / f"{name}.de"), read_lines(folder / f"{name}.en"), strict=True)) for name in names
    )
    counts = [Counter(word for pair in train for word in pair[side].split()) for side in range(2)]
    return Demo(folder, train, valid, pool, read_lines(folder / "pool.kinds"), counts)


def test_files_counts_and_shares(demo: Demo) -> None:
    assert {path.name for path in demo.folder.iterdir()} == {
        "train.de", "train.en", "valid.de", "valid.en", "pool.de", "pool.en", "pool.kinds",
    }  # fmt: skip
    assert (len(demo.train), len(demo.valid), len(demo.pool), len(demo.kinds)) == (8000, 100, 4000, 4000)
    shares = Counter(demo.kinds)
    assert shares == dict(zip(KINDS, (1400, 1600, 600, 400), strict=True))
    assert all(line and line == " ".join(line.split()) for pair in demo.train + demo.valid + demo.pool for line in pair)
    # In random order: each kind is spread over both halves.
    first = Counter(demo.kinds[:2000])
    assert all(0.4 < first[kind] / shares[kind] < 0.6 for kind in KINDS)


def test_training_repeats_sentences_and_has_several_hundred_words(demo: Demo) -> None:
    assert sum(count for count in Counter(demo.train).values() if count >= 3) > 0.05 * len(demo.train)
    assert all(len(words) > 700 for words in demo.counts)


def test_the_record_of_kinds_is_true(demo: Demo) -> None:
    counts = demo.counts
    trained = [{pair[side] for pair in demo.train} for side in range(2)]

    def rare(pair: tuple[str, str]) -> list[int]:
        return [counts[side][word] for side in range(2) for word in pair[side].split() if counts[side][word] < 3]

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
    common = {form for noun in WORDS.nouns for form in noun.german}
    planted = Counter(
        sum(counts[form] for form in set(noun.german)) for noun in WORDS.rare_nouns if common.isdisjoint(noun.german)
    )
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
    bigrams = {two for source, _ in demo.train for two in zip(source.split(), source.split()[1:], strict=False)}

    def novel_share(pairs: list[tuple[str, str]]) -> float:
        found = [two in bigrams for source, _ in pairs for two in zip(source.split(), source.split()[1:], strict=False)]
        return 1 - sum(found) / len(found)

    assert novel_share(demo.of("noise")) > 2 * novel_share(demo.of("near-copy"))
    assert novel_share(demo.of("noise")) > novel_share(demo.of("new-combination"))
    targets = {target for _, target in demo.of("noise")}
    assert len(targets) > 0.8 * len(demo.of("noise"))


def test_the_bytes_are_the_same_everywhere(demo: Demo) -> None:
    """Whatever the platform, the version of Python and the order of its hashes, which differs from run to run."""
    digest = sha256(b"".join(path.read_bytes() for path in sorted(demo.folder.iterdir()))).hexdigest()
    assert digest == "d74f7248b1f19d7f137eaca727f34ef90dfca21aeea4bfa96a66d30186f9b808"


def test_another_seed_is_another_corpus(tmp_path: Path, demo: Demo) -> None:
    write_demo(tmp_path, train_pairs=1000, pool_pairs=0, valid_pairs=20, seed=2)
    assert not set(read_lines(tmp_path / "valid.de")) & {source for source, _ in demo.valid}


def test_draws_cover_their_range_and_shuffle_keeps_items() -> None:
    draw = RandomDraw(3)
    assert {draw.below(4) for _ in range(200)} == {0, 1, 2, 3}
    common = Counter(draw.common("abcd") for _ in range(2000))
    assert common["a"] > common["b"] > common["d"] > 0
    items = list(range(50))
    draw.shuffle(items)
    assert items != list(range(50)) and sorted(items) == list(range(50))


def test_bad_sizes_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="train_pairs=10"):
        write_demo(tmp_path / "demo", train_pairs=10)
    with pytest.raises(InputError, match="pool_pairs=-1"):
        write_demo(tmp_path / "demo", pool_pairs=-1)
    assert not (tmp_path / "demo").exists()


def test_which_parts_are_unknown_and_which_combinations_new_is_planted(tmp_path: Path) -> None:
    write_demo(tmp_path / "plain", train_pairs=2000, pool_pairs=200, valid_pairs=20)
    write_demo(tmp_path / "parts", train_pairs=2000, pool_pairs=200, valid_pairs=20, parts=60)
    for path in (tmp_path / "plain").iterdir():  # nothing else changes
        assert path.read_bytes() == (tmp_path / "parts" / path.name).read_bytes()
    folder = tmp_path / "parts" / "parts"
    texts = {
        name: list(zip(read_lines(folder / f"{name}.de"), read_lines(folder / f"{name}.en"), strict=True))
        for name in ("train", "test", "held-out", "combinations")
    }
    kinds = read_lines(folder / "test.kinds")
    assert Counter(kinds) == {"few-contexts": 30, "new-combination": 30}
    plain = [Counter(" ".join(read_lines(tmp_path / "plain" / f"train.{side}")).split()) for side in ("de", "en")]
    planted = Counter(texts["train"]) - Counter(
        zip(*(read_lines(tmp_path / "plain" / f"train.{side}") for side in ("de", "en")), strict=True)
    )
    assert set(planted.values()) == {3}  # copies of one sentence per word
    new = [{word for pair in planted for word in pair[side].split() if not plain[side][word]} for side in (0, 1)]
    for pair, kind in zip(texts["test"], kinds, strict=True):
        if kind == "new-combination":
            assert all(counts[word] >= 3 for counts, text in zip(plain, pair, strict=True) for word in text.split())
        else:
            assert new[1].intersection(pair[1].split())
            assert all(plain[1][word] or word in new[1] for word in pair[1].split())
    sides = {side for name in ("train", "held-out", "combinations") for pair in texts[name] for side in pair}
    assert not sides & {side for pair in texts["test"] for side in pair}
