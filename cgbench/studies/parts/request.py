"""The request of ``parts()`` and ``cgbench parts``."""

from typing import Literal

from cgbench.argument_types import AnyRelease, Bitext, Bitexts, Folder, Text
from cgbench.request import KW_ONLY, Request, option
from cgbench.text.normalisation import PairOptions, TextAcceptance


class PartsRequest(Request):
    """What :func:`~cgbench.studies.parts.parts.parts` is asked for."""

    release: AnyRelease | None = option(
        default=None,
        help="Release or split with the test set",
    )
    _: KW_ONLY
    out: Folder = option(
        "--out",
        help="Folder of the probes",
        group="Output",
    )
    test: Bitext | None = option(
        "--test",
        default=None,
        help="Test set, instead of a release",
        group="Input",
    )
    train: Bitext | None = option(
        "--train",
        default=None,
        help="Training corpus [default: that of the release, if it has not moved]",
        group="Input",
    )
    corpora: Bitexts | None = option(
        "--from",
        default=None,
        help=(
            "Corpus to take probes from, without what is in the training corpus unless all of it"
            " is; repeatable [default: the pools of a release]"
        ),
        group="Input",
    )
    hold_back: int | None = option(
        "--hold-back",
        default=None,
        help=(
            "Take probes from this many random pairs of the training corpus, and write the rest, to"
            " be trained on, to OUT/train.source and OUT/train.target"
        ),
        least=1,
        unit="pairs",
        group="Input",
    )
    compounds: Text | None = option(
        "--set compounds",
        default=None,
        help="File with the compound of each test pair, as for CTER: shorter compounds are pieces",
    )
    pieces: str = option(
        "--pieces",
        default="ngrams",
        help="Type of pieces: ngrams, or atoms: words, scan, cogs, lispress, table:FILE,FILE,FILE",
        group="Pieces",
    )
    side: Literal["source", "target"] | None = option(
        "--side",
        default=None,
        help="Side of the pieces [default: that of the release; else target, and source for atoms]",
        group="Pieces",
    )
    min_count: int | None = option(
        "--min-count",
        default=None,
        help="Minimum count for an n-gram to be known [default: that of the release; else 3]",
        least=1,
        group="Pieces",
    )
    k: int = option(
        "--k",
        default=5,
        help="Number of probes per piece",
        least=1,
        group="Probes",
    )
    max_length: int = option(
        "--max-length",
        default=30,
        help="Maximum length of the source of a probe",
        least=1,
        unit="words",
        group="Probes",
    )
    text: PairOptions = option(
        default=PairOptions(), help="How text is read and normalised (PairOptions)"
    )
    acceptance: TextAcceptance = option(
        default=TextAcceptance(), help="Whether doubtful pairs are read (TextAcceptance)"
    )
