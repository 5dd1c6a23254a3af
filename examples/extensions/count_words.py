"""A command: ``cgbench count-words FILE``."""

import click

from cgbench.commands.command import Command
from cgbench.text.inputs import lines_of
from cgbench.text.plain_text import words_of


@click.command("count-words", cls=Command, example="cgbench count-words test.en")
@click.argument("text")
def count_words(text):
    """Count the words of a text."""
    lines, _ = lines_of(text, "text")
    click.echo(f"{sum(len(words_of(line)) for line in lines):,} words")
