"""``cgbench validate``: is a release what it claims to be?"""

import json
import re
from pathlib import Path

import click

from cgbench.commands.command import Command, command_line, format_option, grouped_option
from cgbench.commands.options import takes
from cgbench.errors import InputError
from cgbench.request import changed
from cgbench.studies.validity.request import ValidateRequest


@click.command(
    "validate",
    cls=Command,
    example="cgbench validate release --hyp A=a.en --hyp B=b.en --hyp C=c.en",
)
@click.argument("release", metavar="[FAMILY=]RELEASE", type=click.Path())
@takes(ValidateRequest)
@grouped_option(
    "Systems",
    "--sources",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=(
        "Write the sources of the candidates (of --cells, with their ids in FILE.jsonl) to"
        " translate, and stop"
    ),
)
@grouped_option(
    "Output",
    "--report",
    "page",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Write an HTML report on --measures",
)
@grouped_option(
    "Advanced",
    "--work",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Workspace of the release, with texts, models and finished steps [default: RELEASE.work]",
)
@format_option
def validate_command(
    request: ValidateRequest, sources: Path | None, page: Path | None, work: Path | None, form: str
) -> None:
    """Check whether a release is compositional or only hard, and ranks systems as its pool does.

    FAMILY names the type of ensemble that selected the release, such as transformer. Systems of
    that type are named FAMILY/NAME, such as transformer/seed5.
    """
    from cgbench.benchmark.release.card_notes import add_results
    from cgbench.benchmark.release.manifest import CARD
    from cgbench.benchmark.release.release import Release
    from cgbench.files import check_output, write_atomic
    from cgbench.studies.validity.validate import candidate_texts, cell_sources, validate

    family, folder = _named(request.release)
    opened = Release.open(folder, work)
    request = changed(request, release=opened, name=family)
    if sources:
        check_output(sources, [opened.folder])
        rows = cell_sources(opened, request.cells) if request.cells else None
        lines = candidate_texts(opened)[0] if rows is None else [row["source"] for row in rows]
        if rows and sources.suffix == ".jsonl":
            lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        write_atomic(sources, "".join(f"{line}\n" for line in lines))
        return
    if page and not request.measures:
        raise InputError("--report needs --measures")
    if page:
        check_output(page, [opened.folder])
    result = validate(request)
    if page:
        from cgbench.studies.validity.page import measures_page

        write_atomic(page, measures_page(result, command_line()))
    click.echo(result.report(form))
    if result.card_lines and not add_results(opened.folder / CARD, result.card_lines):
        click.echo(
            f"note: {opened.folder / CARD} was not changed: no marks of a part `validity`, or"
            " read-only",
            err=True,
        )


def _named(word: str) -> tuple[str | None, str]:
    """``FAMILY=DIR`` or ``DIR``; a folder whose own name has a ``=`` is one without a name before
    it.
    """
    name, sign, folder = word.partition("=")
    if not sign or Path(word).is_dir():
        return None, word
    if not re.fullmatch(r"[^/]+", name):
        raise InputError(f"{word}: a family's name is without / and not empty")
    return name, folder
