"""The options of few-shot examples."""

from typing import Literal

from cgbench.argument_types import Bitext, File, Pairs, Text
from cgbench.request import KW_ONLY, Request, option
from cgbench.text.normalisation import TextAcceptance


class ShotsOptions(Request):
    """How shots are chosen."""

    _: KW_ONLY
    shots: int | None = option(
        "--shots",
        default=None,
        help="Number of examples in each prompt, for {shots} in --prompt",
        least=1,
        most=1000,
        group="Shots",
    )
    shots_from: Bitext | None = option(
        "--shots-from",
        default=None,
        help=(
            "Training pairs to take shots from: a table with both sides, or SOURCE TARGET "
            "(TABLE:COLUMN or files)"
        ),
        metavar="FILES",
        group="Shots",
    )
    shots_by: Literal["cover", "bm25", "random"] = option(
        "--shots-by",
        default="cover",
        help=(
            "How to choose shots. cover: the fewest pairs with all known pieces of the sentence, "
            "then BM25; bm25: BM25 alone; random: at random for each sentence"
        ),
        group="Shots",
    )
    shots_seed: int = option(
        default=0,
        help="Seed of random shots",
        least=0,
    )
    min_count: int = option(
        "--set min_count",
        default=3,
        help="Minimum count in --shots-from for an n-gram to be known, for --shots-by cover",
        least=1,
    )


class ShotsRequest(Request):
    """What :func:`~cgbench.benchmark.release.shots.choose.choose_shots` is asked for."""

    sources: Text = option(
        help="Sentences that need shots; they are never shots themselves",
    )
    _: KW_ONLY
    choice: ShotsOptions = option(
        default=ShotsOptions(), help="How shots are chosen (ShotsOptions)"
    )
    exclude: Pairs = option(
        default=(),
        help="Pairs of sentences that are never shots",
    )
    acceptance: TextAcceptance = option(
        default=TextAcceptance(), help="Whether doubtful pairs are read (TextAcceptance)"
    )


class PromptOptions(Request):
    """Shots of a translation, and prompts as a file."""

    _: KW_ONLY
    choice: ShotsOptions = option(
        default=ShotsOptions(), help="How shots are chosen (ShotsOptions)"
    )
    write_prompts: File | None = option(
        "--write-prompts",
        default=None,
        help=(
            "Write the prompts with their shots and prompt_degree as JSON lines; without --system,"
            " no model is asked"
        ),
        group="Shots",
    )
