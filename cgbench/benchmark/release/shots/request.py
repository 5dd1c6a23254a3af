"""The options of few-shot examples."""

from typing import ClassVar, Literal

from cgbench.argument_types import Bitext, File, Pairs, Text
from cgbench.requests import KW_ONLY, option, request


@request
class ShotsOptions:
    """How shots are chosen."""

    _: KW_ONLY
    shots: int | None = option(
        default=None,
        help="Number of examples in each prompt, for {shots} in --prompt",
        least=1,
        most=1000,
        group="Shots",
    )
    shots_from: Bitext | None = option(
        default=None,
        help=(
            "Training pairs to take shots from: a table with both sides, or SOURCE TARGET "
            "(TABLE:COLUMN or files)"
        ),
        metavar="FILES",
        group="Shots",
    )
    shots_by: Literal["cover", "bm25", "random"] = option(
        default="cover",
        help=(
            "How to choose shots. cover: the fewest pairs with all known pieces of the sentence, "
            "then BM25; bm25: BM25 alone; random: at random for each sentence"
        ),
        group="Shots",
    )
    shots_seed: int = option(default=0, help="Seed of random shots", least=0, python_only=True)
    min_count: int = option(
        default=3,
        help="Minimum count in --shots-from for an n-gram to be known, for --shots-by cover",
        least=1,
        group="Shots",
    )


@request
class ShotsRequest(ShotsOptions):
    """What :func:`~cgbench.benchmark.release.shots.choose.choose_shots` is asked for."""

    sources: Text = option(
        help="Sentences that need shots; they are never shots themselves", python_only=True
    )
    _: KW_ONLY
    exclude: Pairs = option(
        default=(), help="Pairs of sentences that are never shots", python_only=True
    )


@request
class PromptOptions(ShotsOptions):
    """Shots of a translation, and prompts as a file."""

    given: ClassVar[frozenset[str]]  # the names that were given
    _: KW_ONLY
    write_prompts: File | None = option(
        default=None,
        help=(
            "Write the prompts with their shots and prompt_degree as JSON lines; without --system,"
            " no model is asked"
        ),
        group="Shots",
    )
