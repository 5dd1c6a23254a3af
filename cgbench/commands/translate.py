"""The command ``cgbench translate``."""

from itertools import chain

import click

from cgbench.benchmark.release.shots.request import PromptOptions
from cgbench.commands.command import Command
from cgbench.commands.options import takes
from cgbench.models.translation_request import TranslateRequest
from cgbench.request import changed
from cgbench.text.streams import is_stdin, split_name


@click.command(
    "translate",
    cls=Command,
    example="cgbench translate test.de --model models/run --output hypotheses.en",
)
@click.argument("sources", metavar="[SOURCE]", default="-", type=click.Path())
@takes(TranslateRequest, PromptOptions, read={"model": lambda words: [*chain(*words)]})
def translate_command(request: TranslateRequest, options: PromptOptions) -> None:
    """Translate SOURCE by beam search over the mean probabilities of one or several models.

    With --system, an external model or a server translates, and an interrupted command resumes. A
    server's raw answers are kept in FILE.answers.jsonl. With --shots, each prompt shows examples
    chosen for its sentence.

    SOURCE contains one sentence per line: a plain or compressed file, TABLE:COLUMN, or
    standard input.
    """
    from cgbench.models.translation import translated

    models = [*request.model]
    if is_stdin(request.sources) and len(models) > 1 and split_name(models[-1])[0].is_file():
        # --model takes all the words after it, but a text is no folder
        request = changed(request, sources=str(models.pop()), model=models)
    if options.given:
        from cgbench.benchmark.release.reserved import reserved_for
        from cgbench.benchmark.release.shots.prompts import with_shots

        request, written = with_shots(request, options, reserved_for(request.sources))
        if written is not None:
            click.echo(written)
            return
    lines = translated(request)
    if request.output is None or request.server.sends_nothing:
        click.echo("".join(line + "\n" for line in lines), nl=False)
