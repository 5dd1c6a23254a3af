"""``cgbench score agreement``: how well metrics agree with people."""

import json

import click

from cgbench.commands.command import Command, formats
from cgbench.commands.options import takes
from cgbench.studies.agreement.request import AgreementRequest


@click.command(
    "agreement",
    cls=Command,
    example=(
        "cgbench score agreement --human ratings.tsv --scores COMET=comet.seg.score --scores"
        " chrF=chrf.seg.score"
    ),
)
@takes(AgreementRequest)
@formats("text", "json", "markdown", "latex")
def agreement_command(request: AgreementRequest, form: str) -> None:
    """Measure how well metrics agree with human judgements, and raters with each other.

    Judgements and scores are of the outputs of several systems for the same examples. Prints
    pairwise accuracy with tie calibration, Kendall's tau, Pearson's correlation and soft pairwise
    accuracy, each with an interval and tests between metrics, beside what one person reaches and
    what random scores reach.
    """
    from cgbench.studies.agreement.agreement import agreement

    result = agreement(request)
    if form == "json":
        click.echo(json.dumps(result.to_json(), indent=1, ensure_ascii=False))
    else:
        click.echo(result.report(form))
