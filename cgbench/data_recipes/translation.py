"""German-English translation: IWSLT14 as prepared by fairseq, ReaCT, and the WMT14 pool from which
ReaCT was drawn.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, starmap, zip_longest
from pathlib import Path

from cgbench.data_recipes.recipe import NO_LICENCE, Recipe, Source, Sources, Split, Writer
from cgbench.data_recipes.sources import released
from cgbench.engines import Engine
from cgbench.errors import InputError
from cgbench.text.formats import CorpusSpec, Pair, read_pairs
from cgbench.text.normalisation import map_pairs
from cgbench.text.streams import read_lines
from cgbench.text.tokenizers import tokenizer

LANGUAGES = ("de", "en")
DROPPED = ("<url>", "<talkid>", "<keywords>")  # lines with metadata of a talk
_TAGS = re.compile(r"</?(?:title|description)>")
_SEGMENT = re.compile(r'<seg id="[0-9]*">\s*|\s*</seg>\s*')
EVERY = 23  # every 23rd training pair is a validation pair
TRAIN, VALID, TEST = 160_239, 7_283, 6_750

TALKS = "de-en.tgz"
TESTS = ("TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012")
DANGLE = ("mswellhao/Dangle", "27223ebf7a9dfeb2fec0c06c67fe9ec5fc7eefc9")
REACT_ROWS = {"train": TRAIN, "valid": VALID, "test": TEST, "cg_test": 3_000}
BPE = "bpe."  # prefix of the names of released subword files

WMT_TRAIN = {
    "training-parallel-europarl-v7.tgz": "training/europarl-v7.de-en",
    "training-parallel-commoncrawl.tgz": "commoncrawl.de-en",
    "training-parallel-nc-v9.tgz": "training/news-commentary-v9.de-en",
}
WMT_URLS = {
    "training-parallel-europarl-v7.tgz": (
        "https://www.statmt.org/wmt13/training-parallel-europarl-v7.tgz"
    ),
    "training-parallel-commoncrawl.tgz": (
        "https://www.statmt.org/wmt13/training-parallel-commoncrawl.tgz"
    ),
    "training-parallel-nc-v9.tgz": "https://www.statmt.org/wmt14/training-parallel-nc-v9.tgz",
    "dev.tgz": "https://www.statmt.org/wmt14/dev.tgz",
    "test-full.tgz": "https://www.statmt.org/wmt14/test-full.tgz",
}
WMT_TEST = ("newstest2014-deen-src.de.sgm", "newstest2014-deen-ref.en.sgm")


def talk_lines(path: Path) -> Iterator[str]:
    """The text of an IWSLT training file, without tags."""
    for line in read_lines(path, sentences=False):
        if not any(tag in line for tag in DROPPED):
            yield _TAGS.sub("", line)


def segment_lines(path: Path) -> Iterator[str]:
    """The text of an IWSLT or WMT test file (``<seg id="1"> ... </seg>``), with plain
    apostrophes.
    """
    for line in read_lines(path, sentences=False):
        if "<seg id" in line:
            yield _SEGMENT.sub("", line).replace("\u2019", "'")


def aligned(files: Sequence[Path], read: Callable[[Path], Iterable[str]]) -> Iterator[Pair]:
    """Pairs of the lines that ``read`` gives of two files.

    :raises InputError: they have different numbers of lines.
    """
    for row, (source, target) in enumerate(zip_longest(*map(read, files)), 1):
        if source is None or target is None:
            raise InputError(
                f"{files[source is not None]}: row {row} is missing; the file may be cut short"
            )
        yield source, target


def tokenized(pairs: Iterable[Pair], text_name: str, engine: Engine) -> Iterator[Pair]:
    """Tokenise and lowercase both sides."""
    tokenizer("moses", LANGUAGES[0])  # report a missing package before any work
    yield from map_pairs(_tokenize, pairs, text_name, engine)


def filter_by_length(
    pairs: Iterable[Pair], shortest: int, longest: int, ratio: float
) -> Iterator[Pair]:
    """Drop pairs with a side that is too short or too long, or more than ``ratio`` times as long as
    the other.
    """
    for source, target in pairs:
        lengths = (len(source.split()), len(target.split()))
        if (
            shortest <= min(lengths)
            and max(lengths) <= longest
            and max(lengths) <= ratio * min(lengths)
        ):
            yield " ".join(source.split()), " ".join(target.split())


def _tokenize(block: list[Pair]) -> list[Pair]:
    first, second = (tokenizer("moses", language) for language in LANGUAGES)
    return [(first(source).lower(), second(target).lower()) for source, target in block]


def iwslt14(sources: Sources) -> dict[str, list[Pair]] | None:
    """Training, validation and test pairs of IWSLT14, tokenised and lowercased; None without its
    archive.
    """
    train = sources.find(*(f"train.tags.de-en.{language}" for language in LANGUAGES))
    tests = [
        sources.find(*(f"IWSLT14.{test}.de-en.{language}.xml" for language in LANGUAGES))
        for test in TESTS
    ]
    if not train:
        return None
    talks = tokenized(aligned(train, talk_lines), "training", sources.engine)
    pairs = list(filter_by_length(talks, 1, 175, 1.5))
    tested: list[Pair] = []
    for files in tests:
        assert files is not None  # they are in the same archive
        tested += _segments(files, sources.engine)
    return {
        "train": [pair for row, pair in enumerate(pairs, 1) if row % EVERY],
        "valid": pairs[EVERY - 1 :: EVERY],
        "test": tested,
    }


def _segments(files: Sequence[Path], engine: Engine) -> Iterator[Pair]:
    return tokenized(aligned(files, segment_lines), files[0].name, engine)


def prepare_iwslt14(sources: Sources, out: Writer) -> None:
    """Write IWSLT14 as words."""
    splits = iwslt14(sources)
    if splits is None:
        for name in ("train", "valid", "test"):
            if files := sources.find(*(f"{name}.{language}" for language in LANGUAGES)):
                out.split(name, read_pairs(CorpusSpec(files)))
        return
    for name, pairs in splits.items():
        out.split(name, pairs)


def prepare_react(sources: Sources, out: Writer) -> None:
    """Write the released sets of ReaCT as words and, under ``bpe``, in its authors' subwords.

    Without the released training pairs, those of IWSLT14 are prepared.
    """
    pairs: dict[str, list[Pair]] = {}
    for folder, prefix in (("", ""), ("bpe/", BPE)):
        for name in REACT_ROWS:
            if files := sources.find(*(f"{prefix}{name}.{language}" for language in LANGUAGES)):
                pairs[folder + name] = list(read_pairs(CorpusSpec(files)))
                out.split(folder + name, pairs[folder + name])
    if "train" in pairs or (talks := iwslt14(sources)) is None:
        return
    out.split("train", talks["train"])
    out.note(
        "train: prepared from IWSLT14 by this tokeniser; the released train.de and train.en were"
        " not available"
    )
    for name in ("valid", "test"):
        released_pairs = pairs.get(name, [])
        versions = zip(talks[name], released_pairs, strict=False)
        if rows := [
            row for row, (tokenised_pair, pair) in enumerate(versions, 1) if tokenised_pair != pair
        ]:
            out.note(
                f"{name}: {len(rows):,} of {len(released_pairs):,} released rows differ from the"
                f" output of this tokeniser, first row {rows[0]}; the released rows are kept, but"
                " train is from this tokeniser"
            )


def prepare_wmt14(sources: Sources, out: Writer) -> None:
    """Write the pool, tokenised and lowercased like IWSLT14; no pair is dropped."""
    stems = [Path(path).name for path in WMT_TRAIN.values()]
    if all(
        corpora := [
            sources.find(*(f"{stem}.{language}" for language in LANGUAGES)) for stem in stems
        ]
    ):
        pairs = chain.from_iterable(read_pairs(CorpusSpec(files)) for files in corpora if files)
        out.split("train", tokenized(pairs, "training", sources.engine))
    if files := sources.find("newstest2013.de", "newstest2013.en"):
        out.split("valid", tokenized(read_pairs(CorpusSpec(files)), "valid", sources.engine))
    if files := sources.find(*WMT_TEST):
        out.split("test", _segments(files, sources.engine))


def _talk_sources() -> Iterator[Source]:
    yield Source(
        TALKS,
        f"https://dl.fbaipublicfiles.com/fairseq/data/iwslt14/{TALKS}",
        folder="iwslt14-de-en",
    )
    for language in LANGUAGES:
        names = [
            f"train.tags.de-en.{language}",
            *(f"IWSLT14.{test}.de-en.{language}.xml" for test in TESTS),
        ]
        yield from (
            Source(name, folder="iwslt14-de-en", archive=TALKS, member=f"de-en/{name}")
            for name in names
        )


def _react_sources(splits: Iterable[str], bpe: bool) -> Iterator[Source]:
    for kind, prefix in (("raw", ""), ("bpe", BPE))[: 1 + bpe]:
        for split in splits:
            for language in LANGUAGES:
                name = f"{split}.{language}"
                yield released(
                    *DANGLE, f"ReaCT_data/{kind}_data/{name}", prefix + name, folder="react"
                )


def _wmt_sources() -> Iterator[Source]:
    yield from starmap(Source, WMT_URLS.items())
    for language in LANGUAGES:
        for archive, path in WMT_TRAIN.items():
            yield Source(
                f"{Path(path).name}.{language}", archive=archive, member=f"{path}.{language}"
            )
        yield Source(
            f"newstest2013.{language}", archive="dev.tgz", member=f"dev/newstest2013.{language}"
        )
    yield from (
        Source(name, archive="test-full.tgz", member=f"test-full/{name}") for name in WMT_TEST
    )


TED = "CC BY-NC-ND 3.0 (TED)"

RECIPES = (
    Recipe(
        name="iwslt14-de-en",
        summary="German-English talks",
        licence=TED,
        citation=(
            "Cettolo et al., Report on the 11th IWSLT Evaluation Campaign, 2014; preparation:"
            " fairseq"
        ),
        homepage="https://wit3.fbk.eu",
        sides=LANGUAGES,
        size="174,272 pairs",
        splits=(Split("train", TRAIN), Split("valid", VALID), Split("test", TEST)),
        sources=(*_talk_sources(), *_react_sources(("train", "valid", "test"), bpe=False)),
        prepare=prepare_iwslt14,
        revision=2,
        notes=(
            (
                "Moses tokens, lower case; training pairs with 1 to 175 words per side and a length"
                " ratio of at most 1.5; every 23rd is a validation pair; test is dev2010, dev2012"
                " and tst2010 to tst2012"
            ),
            "without the archive: the splits as released with ReaCT",
        ),
    ),
    Recipe(
        name="wmt14-de-en",
        summary="German-English news and web: the pool",
        licence=NO_LICENCE,
        citation=(
            "Bojar et al., Findings of the 2014 Workshop on Statistical Machine Translation, WMT"
            " 2014"
        ),
        homepage="https://www.statmt.org/wmt14/translation-task.html",
        sides=LANGUAGES,
        size="about 4.5 million pairs",
        download="over 1.6 GB",
        splits=(Split("train"), Split("valid", 3_000), Split("test", 3_003)),
        sources=tuple(_wmt_sources()),
        prepare=prepare_wmt14,
        notes=(
            (
                "Moses tokens, lower case, as IWSLT14, so that build-react can use it as a pool;"
                " nothing is filtered"
            ),
            (
                "Europarl v7, Common Crawl, News Commentary v9; valid is newstest2013, test is"
                " newstest2014"
            ),
        ),
    ),
    Recipe(
        name="react",
        summary="compositional generalisation in real text",
        licence=f"{NO_LICENCE}; talks: {TED}",
        citation=(
            "Zheng and Lapata, Real-World Compositional Generalization with Disentangled"
            " Sequence-to-Sequence Learning, Findings of ACL 2023"
        ),
        homepage="https://github.com/mswellhao/Dangle",
        sides=LANGUAGES,
        size="177,272 pairs",
        splits=tuple(
            Split(f"{folder}{name}", rows)
            for folder in ("", "bpe/")
            for name, rows in REACT_ROWS.items()
        ),
        sources=(*_react_sources(REACT_ROWS, bpe=True), *_talk_sources()),
        prepare=prepare_react,
        revision=2,
        notes=(
            (
                "every split as released; train is IWSLT14's, and prepared from its archive if only"
                " that is available"
            ),
            (
                "bpe/*: the same rows in the authors' subwords (10,000 joint merges, '@@ ' within a"
                " word), on which the papers trained; the merges were not released, so only these"
                " files have exactly these subwords"
            ),
        ),
    ),
)
