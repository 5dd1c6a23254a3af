"""How candidates are ranked, and which are dropped as noise: the settings."""

from typing import Literal

from cgbench.argument_types import File, Paths
from cgbench.benchmark.build.react.filter_options import Side
from cgbench.benchmark.candidates.amounts import Amount, CutAmount
from cgbench.benchmark.candidates.pair_measures import REFERENCE_LIKELIHOOD
from cgbench.request import KW_ONLY, Request, option

LM_SETTINGS = ("drop_perplexity", "lm_side")


class RankingOptions(Request):
    """How candidates are ranked, and which are dropped as noise."""

    _: KW_ONLY
    uncertainty: str = option(
        "--set uncertainty",
        default="rmi",
        help=(
            "Measure that ranks the candidates: rmi (reverse mutual information) or another measure"
            " of the ensemble"
        ),
    )
    select_by: Literal["uncertainty", "difficulty", "easiness"] = option(
        "--set select_by",
        default="uncertainty",
        help=(
            "Ranking of the candidates: by uncertainty, or by the values of --difficulty, where"
            " high values mean hard pairs (difficulty) or easy pairs (easiness)"
        ),
    )
    drop: Amount = option(
        "--set drop",
        default=2_000,
        help="Number or share of the most uncertain candidates to drop",
    )
    drop_perplexity: Amount = option(
        "--set drop_perplexity",
        default=0,
        help=(
            "Number or share of the candidates with the highest perplexity to drop first; needs a"
            " language model"
        ),
    )
    drop_reference: CutAmount = option(
        "--set drop_reference",
        default=0,
        help=(
            "Number or share of the candidates with the least likely references to drop before the"
            " most uncertain ones; auto: at most 1/20, fewer if hardly any noise is estimated; the"
            " paper drops none"
        ),
    )
    drop_by: str = option(
        "--set drop_by",
        default=REFERENCE_LIKELIHOOD,
        help=(
            "Measure that drop_reference ranks by, highest first: reference_pe_stu (negative"
            " log-likelihood of the reference per token) or joint_cross_entropy (of the pair); with"
            " the suffix _given_degree, among candidates of similar degree and length if noise is"
            " estimated to be rare"
        ),
    )
    lm: File | None = option(
        "--lm",
        default=None,
        help="Language model from `lm train`, for the perplexity of each candidate",
        group="Selection",
    )
    lm_side: Side | None = option(
        "--set lm_side",
        default=None,
        help="Side that the language model scores; none: the degree side",
    )
    difficulty: Paths = option(
        "--difficulty",
        default=(),
        help=(
            "File with one value per pair of a pool, from any model; give one per --pool, and --set"
            " select_by=difficulty"
        ),
        group="Advanced",
    )
