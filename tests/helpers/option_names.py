"""Messages as a command shows them, with the option names of its request."""

import click

from cgbench.commands.lines import REQUEST, as_options
from cgbench.request import leaves_of


def shown_by(kind: type, message: str) -> str:
    """A message as the command that makes the request ``kind`` prints it."""
    context = click.Context(click.Command("cgbench"))
    context.meta[REQUEST] = [leaves_of(kind)]
    return as_options(message, context)
