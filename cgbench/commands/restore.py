"""``cgbench restore``: restore the text of a text-free release."""

import click

from cgbench.benchmark.release.restore import RestoreRequest, restore
from cgbench.commands.click_types import corpora_words
from cgbench.commands.command import Command, format_option, print_json
from cgbench.commands.options import takes
from cgbench.tables import counted


@click.command("restore", cls=Command, example="cgbench restore release --pool pool.de pool.en")
@takes(RestoreRequest, read={"pools": corpora_words})
@click.argument("release", metavar="RELEASE", type=click.Path())
@format_option
def restore_command(request: RestoreRequest, form: str) -> None:
    """Restore the text of a text-free release from your own copies of the pools.

    The checksum of each pair is checked.
    """
    release = restore(request)
    folder = release.folder
    if form == "json":
        print_json({"out": str(folder), "signature": release.signature})
    else:
        pairs = counted(release.table().num_rows, "pair")
        click.echo(f"restored the text of {pairs} in {folder} ({release.signature})\nnext:  cgbench verify {folder}")
