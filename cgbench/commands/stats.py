"""``cgbench stats``: count novel n-grams in test texts."""

from pathlib import Path

import click

from cgbench.benchmark.build.stats.request import StatsRequest
from cgbench.commands.click_types import orders
from cgbench.commands.command import Command, formats
from cgbench.commands.lines import warn_of_texts
from cgbench.commands.options import takes
from cgbench.errors import InputError, argument
from cgbench.text.columns import short_name
from cgbench.text.streams import split_name


def _labelled(tests: tuple[tuple[Path, ...], ...]) -> list[tuple[str, list[Path]]]:
    """``NAME=FILE`` as name and files; without ``NAME=`` the name of the first file, less what
    tells its form.

    :raises InputError: a name is empty.
    """
    labelled = []
    for paths in tests:
        label, sign, first = str(paths[0]).partition("=")
        if not sign or split_name(paths[0])[0].exists():
            label, first = short_name(paths[0]), str(paths[0])
        if not label or not first:
            raise InputError(f"{argument('tests', paths[0])}: write it as NAME=FILE")
        labelled.append((label, [Path(first), *paths[1:]]))
    return labelled


@click.command(
    "stats", cls=Command, example="cgbench stats --train train.en --test test.en --orders 1-4"
)
@takes(StatsRequest, read={"orders": orders, "tests": _labelled})
@formats("text", "json", "tsv", "markdown", "latex")
def stats_command(request: StatsRequest, form: str) -> None:
    """Measure what is new in test texts: compositional degree, and novel n-grams of words and parts
    of speech.

    Prints one row per test text, as in Table 2 of Zheng and Lapata (2023). An n-gram is novel if it
    never occurs in the training text; each one is counted once.
    """
    from cgbench.benchmark.build.stats.stats import stats

    tests = [paths[0] for _, paths in request.tests or () if len(paths) == 1]
    if tests and request.train and len(request.train) == 1 and request.release is None:
        warn_of_texts(request.train[0], tests, request.text.normalisation)
    click.echo(stats(request).report(form))
