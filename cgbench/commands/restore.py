"""``cgbench restore``: restore the text of a text-free release."""

import click

from cgbench.benchmark.release.restore import RestoreRequest, restore
from cgbench.commands.click_types import corpora_words
from cgbench.commands.command import Command, format_option, show
from cgbench.commands.options import takes
from cgbench.numbers_as_text import counted


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
    text = (
        f"restored the text of {counted(release.table().num_rows, 'pair')} in {folder}"
        f" ({release.signature})"
    )
    show(
        form,
        {"out": str(folder), "signature": release.signature},
        f"{text}\nnext:  cgbench verify {folder}",
    )
