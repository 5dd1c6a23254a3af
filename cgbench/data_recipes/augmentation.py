"""Write a training text with new pairs: what ``cgbench augment geca`` does."""

from dataclasses import dataclass
from pathlib import Path

from cgbench.argument_types import Bitext, Bitexts
from cgbench.data_recipes.geca import Augmented, Settings, SharedRows, augment, count_shared, mixed
from cgbench.errors import InputError, argument
from cgbench.files import check_output, write_atomic
from cgbench.request import KW_ONLY, accepts, option
from cgbench.text.formats import CorpusSpec, Pair, form, read_pairs
from cgbench.text.inputs import as_corpus, corpora_of
from cgbench.text.inspection import check_pairs
from cgbench.text.normalisation import TableOptions, TextAcceptance


class AugmentTexts(TableOptions):
    """The texts of an augmentation: what it reads, and what it writes."""

    corpus: Bitext = option(
        help="Training corpus: two files, or one with both sides",
    )
    out: Bitext = option(
        "--out",
        help="Files of the new pairs: two plain files, or one .tsv",
        metavar="FILES",
        group="Output",
    )
    _: KW_ONLY
    tests: Bitexts = option(
        "--test",
        default=(),
        help="Test corpus whose pairs are counted among the new ones; repeatable",
        group="Input",
    )
    mix: float | None = option(
        "--mix",
        default=None,
        help="Write the training corpus with this share of new pairs, repeating the smaller part",
        least=0,
        most=1,
        metavar="SHARE",
        group="Output",
    )
    acceptance: TextAcceptance = option(
        default=TextAcceptance(), help="Whether doubtful pairs are read (TextAcceptance)"
    )


class AugmentRequest(Settings, AugmentTexts):
    """What :func:`augment_corpus` is asked for."""


@dataclass(frozen=True)
class Written:
    """The result of :func:`augment_corpus`.

    :param written: number of pairs in the output; ``out``: its files.
    :param tests: the test texts, and what the new pairs share with them.
    """

    augmented: Augmented
    written: int
    out: tuple[Path, ...]
    tests: list[tuple[CorpusSpec, SharedRows]]


@accepts(AugmentRequest)
def augment_corpus(request: AugmentRequest) -> Written:
    """Make new pairs by GECA (Andreas 2020) and write them, or a mixture with the training text.

    :raises InputError: a text cannot be read, the output cannot be written, or no new pair can be
        made.
    """
    texts = read_texts(request)
    augmented = augment(texts.training, request)
    if not augmented.pairs:
        raise InputError(
            f"{texts.spec}: no new pair can be made with these settings; try a larger"
            f" {argument('size')}"
        )
    written, tests = write_new(texts, augmented.pairs, request.mix)
    return Written(augmented, written, texts.out, tests)


@dataclass(frozen=True)
class Texts:
    """The texts of a request, read."""

    spec: CorpusSpec
    training: list[Pair]
    out: tuple[Path, ...]
    tests: list[tuple[CorpusSpec, list[Pair]]]


def read_texts(request: AugmentTexts) -> Texts:
    """Check the output, and read the training text and the tests.

    :raises InputError: a text cannot be read, or the output cannot be written.
    """
    spec = as_corpus(request.corpus, request.columns, "train")
    out = as_corpus(request.out, None, "out").paths
    tests = corpora_of(request.tests, "test", columns=request.columns)
    _check_out(out, [file for corpus in (spec, *tests) for file in corpus.files])
    check_pairs([spec, *tests], accept=request.acceptance.accept_text)
    test_pairs = [(test, list(read_pairs(test))) for test in tests]
    return Texts(spec, list(read_pairs(spec)), out, test_pairs)


def write_new(
    texts: Texts, new: list[Pair], mix: float | None
) -> tuple[int, list[tuple[CorpusSpec, SharedRows]]]:
    """Write new pairs, or a mixture with the training text; the number of pairs written, and what
    the tests share with the new ones.
    """
    written = new if mix is None else mixed(texts.training, new, mix)
    _write(texts.out, written)
    return len(written), [(test, count_shared(new, pairs)) for test, pairs in texts.tests]


def _check_out(out: tuple[Path, ...], inputs: list[Path]) -> None:
    spec = CorpusSpec(out)
    name = argument("out", str(spec))
    if len(out) == 1 and (form(out[0]) != "tsv" or out[0].suffix != ".tsv"):
        raise InputError(
            f"{name}: a single file with both sides must end in .tsv; or give two files"
        )
    if len(out) == 2 and not spec.is_plain:
        raise InputError(f"{name}: new pairs are written as plain text, not compressed")
    if len(out) == 2 and out[0].absolute() == out[1].absolute():
        raise InputError(f"{name}: give two different files")
    for path in out:
        check_output(path, inputs)


def _write(out: tuple[Path, ...], pairs: list[Pair]) -> None:
    if len(out) == 1:
        write_atomic(out[0], "".join(f"{source}\t{target}\n" for source, target in pairs))
        return
    for side, path in enumerate(out):
        write_atomic(path, "".join(f"{pair[side]}\n" for pair in pairs))
