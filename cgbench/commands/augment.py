"""``cgbench augment``: generate new training pairs."""

from pathlib import Path

import click

from cgbench.commands.click_types import corpora_words, corpus_words
from cgbench.commands.command import Command, Group, format_option, show
from cgbench.commands.options import takes
from cgbench.data_recipes.augmentation import AugmentRequest, augment_corpus
from cgbench.data_recipes.csl.augment_csl import CSLRequest, augment_by_csl
from cgbench.data_recipes.geca import SharedRows
from cgbench.errors import InputError
from cgbench.numbers_as_text import counted
from cgbench.text.formats import CorpusSpec
from cgbench.text.streams import form as form_of

EXAMPLE = "cgbench augment geca train.de train.en --out new.de new.en --samples 500"
CSL_EXAMPLE = "cgbench augment csl train.src train.tgt --out new.src new.tgt --rules-out rules.txt"


@click.group("augment", cls=Group, example=EXAMPLE)
def augment_group() -> None:
    """Generate new training pairs."""


@augment_group.command("geca", cls=Command, example=EXAMPLE)
@click.argument(
    "corpus", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="TRAIN..."
)
@takes(AugmentRequest, read={"corpus": corpus_words, "tests": corpora_words})
@format_option
def geca_command(request: AugmentRequest, form: str) -> None:
    """Generate pairs by swapping fragments that occur in the same contexts (GECA; Andreas, 2020).

    TRAIN is two files (source, target), or one with both sides.
    """
    train, out = request.corpus, request.out
    if (
        isinstance(train, tuple)
        and len(out) == 2
        and len(train) == 1
        and form_of(train[0]) == "plain"
    ):
        raise InputError(
            f"--out took {out[0]} and {out[1]}, which leaves {train[0]} alone for TRAIN; put TRAIN"
            " first, and name two files behind --out, or one that ends in .tsv"
        )
    # Generate the pairs, then print the counts.
    result = augment_corpus(request)
    augmented = result.augmented
    figures = {
        "out": [str(path) for path in result.out],
        "pairs": len(augmented.pairs),
        "written": result.written,
        "training_pairs": augmented.training_pairs,
        "templates": augmented.templates,
        "shared_templates": augmented.shared,
        "tuples": augmented.tuples,
        "settings": {
            name: getattr(request, name) for name in ("size", "max_length", "samples", "seed")
        },
        "tests": [{"test": str(test), **vars(seen)} for test, seen in result.tests],
    }
    lines = [
        f"{counted(augmented.training_pairs, 'pair')}, {counted(augmented.templates, 'template')},"
        f" {counted(augmented.tuples, 'fragment tuple')}; {counted(augmented.shared, 'template')}"
        f" with several tuples\n{counted(len(augmented.pairs), 'new pair')}, "
        + (f"in a training corpus of {result.written:,}, " if request.mix else "")
        + f"written to {' '.join(map(str, result.out))}"
    ]
    show(form, figures, "\n".join([*lines, *_shares(result.tests)]))


@augment_group.command("csl", cls=Command, example=CSL_EXAMPLE)
@click.argument(
    "corpus", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="TRAIN..."
)
@takes(CSLRequest, read={"corpus": corpus_words, "tests": corpora_words})
@format_option
def csl_command(request: CSLRequest, form: str) -> None:
    """Generate pairs from a grammar that is induced from the training pairs (CSL; Qiu et al.,
    2022).

    TRAIN is two files (source, target), or one with both sides.
    """
    result = augment_by_csl(request)
    figures = {
        "out": [str(path) for path in result.out],
        "pairs": len(result.pairs),
        "written": result.written,
        "training_pairs": result.training_pairs,
        "distinct": result.distinct,
        "rules": result.rules,
        "derived": result.derived,
        "log_likelihood": result.likelihood,
        "tests": [{"test": str(test), **vars(seen)} for test, seen in result.tests],
    }
    lines = [
        f"{counted(result.training_pairs, 'pair')}, {result.distinct:,} distinct;"
        f" {counted(len(result.rules), 'rule')}, which derive {result.derived:,} of these"
        f" (log-likelihood {result.likelihood:.2f} nats per pair)",
        f"{counted(len(result.pairs), 'new pair')}, "
        + (f"in a training corpus of {result.written:,}, " if request.mix else "")
        + f"written to {' '.join(map(str, result.out))}",
    ]
    show(form, figures, "\n".join([*lines, *_shares(result.tests)]))


def _shares(tests: list[tuple[CorpusSpec, SharedRows]]) -> list[str]:
    return [
        f"{test}: the new pairs contain {seen.pairs:,} of its {counted(seen.rows, 'pair')} and"
        f" {seen.sources:,} of its sources ({seen.sources / max(seen.rows, 1):.1%})"
        for test, seen in tests
    ]
