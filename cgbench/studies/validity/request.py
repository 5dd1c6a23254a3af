"""The request of ``validate()`` and ``cgbench validate``."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from cgbench.argument_types import AnyRelease, Bitext, Kind, Name
from cgbench.requests import KW_ONLY, option, request

_SYSTEMS = Kind("systems", "hypotheses by system", lambda it: isinstance(it, Mapping), many=True)


@request
class ValidateRequest:
    """What :func:`~cgbench.studies.validity.validate.validate` is asked for."""

    release: AnyRelease = option(help="Release to validate", python_only=True)
    systems: Annotated[Any, _SYSTEMS] | None = option(
        default=None,
        help=(
            "Hypotheses for the candidates, or for the test set with --control-hyp; one file per"
            " seed"
        ),
        group="Systems",
        flag="hyp",
    )
    _: KW_ONLY
    control_systems: Annotated[Any, _SYSTEMS] | None = option(
        default=None, help="Hypotheses for the control set", group="Systems", flag="control-hyp"
    )
    name: str | None = option(
        default=None, help="Family of the ensemble that selected the release", python_only=True
    )
    measures: bool = option(
        default=False,
        help=(
            "Show how well each measure of the candidates predicts errors of the ensemble and of"
            " --hyp"
        ),
        group="Systems",
    )
    controls: Bitext | None = option(
        default=None,
        help=(
            "Training corpus of a translation memory: does the test set separate it from the"
            " systems of --hyp and --control-hyp?"
        ),
        group="Systems",
        metavar="FILES",
    )
    cells: int | None = option(
        default=None,
        help=(
            "Is degree hard, or uncertainty? Compare systems in four matched cells of at most N "
            "candidates; --sources writes their sources, --hyp reads the translations"
        ),
        group="Systems",
        least=25,
    )
    metric: Literal["bleu", "chrf", "ter", "exact"] = option(
        default="bleu", help="Metric", group="Systems"
    )
    preset: str = option(
        default="sacrebleu",
        help="BLEU preset: react, cognition, lexicon or sacrebleu",
        group="Systems",
    )
    tokenize: Name | None = option(
        default=None, help="Tokeniser of sacrebleu", group="Systems", metavar="NAME"
    )
    cluster: Literal["source", "document"] | None = option(
        default=None,
        help="Pairs that belong together: those of a source or of a document",
        group="Systems",
    )
    samples: int | None = option(
        default=None,
        help="Number of resamples [default: 1000, or as many as the pairs need]",
        group="Advanced",
        least=1,
    )
    seed: int = option(default=12345, help="Random seed of resamples", least=0, group="Advanced")
