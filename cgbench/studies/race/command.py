"""The command ``cgbench race``."""

import click

from cgbench.commands.command import Command, format_option, print_json
from cgbench.commands.lines import report_requirements
from cgbench.commands.options import takes
from cgbench.studies.race.request import RaceRequest


@click.command(
    "race",
    cls=Command,
    example=(
        "cgbench race --system openai:http://localhost:8000/v1?model=a --system"
        " openai:http://localhost:8001/v1?model=b --release releases/react --prompt 'Translate into"
        " English: {source}' -o race"
    ),
)
@format_option
@takes(RaceRequest)
def race_command(request: RaceRequest, form: str) -> None:
    """Ask servers the same examples in random order, and stop when it is certain which one is
    better.

    Prints one line per batch: the difference of each pair of systems, its interval and p-value,
    valid at any stop. The race ends when a system is better, when systems are equivalent within
    --margin, or when the --budget is spent. Results apply to this test set. An interrupted race
    resumes; answers, scores and the result are in --output. With --format json, the lines go to
    standard error, and the result is printed.
    """
    from cgbench.studies.race.race import Race

    race = Race(request)
    for line in race.dry_run() if request.dry_run else race.run():
        click.echo(line, err=form == "json")
    if request.dry_run:
        return
    if form == "json":
        print_json(race.result())
    report_requirements(race.requirements())
