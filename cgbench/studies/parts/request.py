"""The request of ``parts()`` and ``cgbench parts``."""

from typing import Literal

from cgbench.argument_types import AnyRelease, Bitext, Bitexts, Folder, Text
from cgbench.requests import KW_ONLY, option, request
from cgbench.text.normalisation import PairOptions


@request
class PartsRequest(PairOptions):
    """What :func:`~cgbench.studies.parts.parts.parts` is asked for."""

    release: AnyRelease | None = option(
        default=None, help="Release or split with the test set", python_only=True
    )
    _: KW_ONLY
    out: Folder = option(help="Folder of the probes", group="Output")
    test: Bitext | None = option(default=None, help="Test set, instead of a release", group="Input")
    train: Bitext | None = option(
        default=None,
        help="Training corpus [default: that of the release, if it has not moved]",
        group="Input",
    )
    corpora: Bitexts | None = option(
        default=None,
        help=(
            "Corpus to take probes from, without what is in the training corpus unless all of it"
            " is; repeatable [default: the pools of a release]"
        ),
        flag="from",
        group="Input",
    )
    hold_back: int | None = option(
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
        default=None,
        help="Compound of each test pair, as for CTER: shorter compounds are pieces",
        group="Input",
    )
    pieces: str = option(
        default="ngrams",
        help="Type of pieces: ngrams, or atoms: words, scan, cogs, lispress, table:FILE,FILE,FILE",
        group="Pieces",
    )
    side: Literal["source", "target"] | None = option(
        default=None,
        help="Side of the pieces [default: that of the release; else target, and source for atoms]",
        group="Pieces",
    )
    min_count: int | None = option(
        default=None,
        help="Minimum count for an n-gram to be known [default: that of the release; else 3]",
        least=1,
        group="Pieces",
    )
    k: int = option(default=5, help="Number of probes per piece", least=1, group="Probes")
    max_length: int = option(
        default=30,
        help="Maximum length of the source of a probe",
        least=1,
        unit="words",
        group="Probes",
    )
