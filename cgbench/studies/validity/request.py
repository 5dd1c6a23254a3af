"""The request of ``validate()`` and ``cgbench validate``."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from cgbench.argument_types import AnyRelease, Bitext, Kind, Name
from cgbench.request import KW_ONLY, Request, option
from cgbench.text.normalisation import TextAcceptance

_SYSTEMS = Kind("systems", "hypotheses by system", lambda it: isinstance(it, Mapping), many=True)


class ValidateRequest(Request):
    """What :func:`~cgbench.studies.validity.validate.validate` is asked for."""

    release: AnyRelease = option(
        help="Release to validate",
    )
    systems: Annotated[Any, _SYSTEMS] | None = option(
        "--hyp",
        default=None,
        help=(
            "Hypotheses for the candidates, or for the test set with --control-hyp; one file per"
            " seed"
        ),
        group="Systems",
    )
    _: KW_ONLY
    control_systems: Annotated[Any, _SYSTEMS] | None = option(
        "--control-hyp",
        default=None,
        help="Hypotheses for the control set",
        group="Systems",
    )
    name: str | None = option(
        default=None,
        help="Family of the ensemble that selected the release",
    )
    measures: bool = option(
        "--measures",
        default=False,
        help=(
            "Show how well each measure of the candidates predicts errors of the ensemble and of"
            " --hyp"
        ),
        group="Systems",
    )
    controls: Bitext | None = option(
        "--controls",
        default=None,
        help=(
            "Training corpus of a translation memory: does the test set separate it from the"
            " systems of --hyp and --control-hyp?"
        ),
        group="Systems",
        metavar="FILES",
    )
    cells: int | None = option(
        "--cells",
        default=None,
        help=(
            "Is degree hard, or uncertainty? Compare systems in four matched cells of at most N "
            "candidates; --sources writes their sources, --hyp reads the translations"
        ),
        group="Systems",
        least=25,
    )
    metric: Literal["bleu", "chrf", "ter", "exact"] = option(
        "--metric",
        default="bleu",
        help="Metric",
        group="Systems",
    )
    preset: str = option(
        "--set preset",
        default="sacrebleu",
        help="BLEU preset: react, cognition, lexicon or sacrebleu",
    )
    tokenize: Name | None = option(
        "--set tokenize",
        default=None,
        help="Tokeniser of sacrebleu",
    )
    cluster: Literal["source", "document"] | None = option(
        "--cluster",
        default=None,
        help="Pairs that belong together: those of a source or of a document",
        group="Systems",
    )
    samples: int | None = option(
        "--set samples",
        default=None,
        help="Number of resamples [default: 1000, or as many as the pairs need]",
        least=1,
    )
    acceptance: TextAcceptance = option(
        default=TextAcceptance(), help="Whether doubtful pairs are read (TextAcceptance)"
    )
    seed: int = option(
        default=12345,
        help="Random seed of resamples",
        least=0,
        group="Advanced",
    )
