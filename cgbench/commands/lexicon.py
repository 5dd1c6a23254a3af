"""``cgbench lexicon``: lexicons for models with lexical translation."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import click

from cgbench.commands.click_types import corpus_words
from cgbench.commands.command import Command, Group, format_option, print_json
from cgbench.commands.options import takes
from cgbench.models.lexicons.learn import LexiconRequest, learn
from cgbench.numbers_as_text import counted
from cgbench.tables import render

EXAMPLE = "cgbench lexicon learn train.de train.en --method ibm2 --out lexicon.json"
SHOWN = 20  # words of a lexicon on the screen


@click.group("lexicon", cls=Group, example=EXAMPLE)
def lexicon_group() -> None:
    """Learn word-translation lexicons."""


@lexicon_group.command("learn", cls=Command, example=EXAMPLE)
@click.argument(
    "corpus", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="TRAIN..."
)
@takes(LexiconRequest, read={"corpus": corpus_words})
@format_option
def learn_command(request: LexiconRequest, form: str) -> None:
    """Learn a lexicon from TRAIN with a method of Akyürek and Andreas (2021).

    TRAIN is two files (source, target), or one with both sides. Words are separated by blanks.
    """
    out = Path(request.out)
    learned = learn(request)
    lexicon = learned.lexicon
    # Print the counts and the first words.
    figures = {
        "out": str(out),
        "method": request.method,
        "pairs": learned.pairs,
        "source_words": learned.source_words,
        "target_words": learned.target_words,
        "words": len(lexicon.source_words),
        "entries": len(lexicon),
        "signature": learned.signature,
    }
    if form == "json":
        print_json(figures)
        return
    first_words = list(islice(lexicon.items(), SHOWN))
    width = max(len(word) for word, _ in first_words)
    click.echo(render((), [(f"{word:{width}}  {_targets(row)}",) for word, row in first_words]))
    if len(lexicon.source_words) > SHOWN:
        click.echo(f"[... {len(lexicon.source_words) - SHOWN:,} more]")
    click.echo(
        f"\n{counted(len(lexicon), 'entry')} for"
        f" {counted(len(lexicon.source_words), 'source word')}; the text has"
        f" {learned.source_words:,} and {counted(learned.target_words, 'target word')} in"
        f" {counted(learned.pairs, 'pair')}\n{learned.signature}\nwritten to {out}"
    )


def _targets(row: Mapping[str, float]) -> str:
    """The strongest entries of a word, with their values."""
    first = [f"{target} {value:,.6g}" for target, value in list(row.items())[:4]]
    return ", ".join(first) + (", ..." if len(row) > len(first) else "")
