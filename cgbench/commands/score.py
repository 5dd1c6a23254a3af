"""``cgbench score``: cter, bleu, chrf, ter and exact share their options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cgbench.commands.lines import as_options
from cgbench.commands.options import (
    Command,
    FilesType,
    Group,
    command_line,
    default_jobs,
    options,
    safe_tsv_option,
)
from cgbench.errors import InputError

if TYPE_CHECKING:
    from cgbench.benchmark.metrics.result import Evaluation
    from cgbench.text.columns import Column

PATH = click.Path(path_type=Path)
PUBLISHED = "by the preset"  # --published without a name


class Scores(Group):
    """A group whose commands are found without regard to case (``CTER``, ``BLEU``)."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a score."""
        return super().get_command(ctx, cmd_name.lower())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The same, where click looks the name up itself."""
        return super().resolve_command(ctx, [args[0].lower(), *args[1:]] if args else args)


@click.group("score", cls=Scores)
def score_group() -> None:
    """Score systems, with honest statistics, broken down by what makes an example hard."""


HYPOTHESES = click.option(
    "--hyp", "systems", multiple=True, required=True, metavar="SYSTEM=FILE[,FILE...]",
    help="Hypotheses of a system, a file a run (seed); repeatable.",
)  # fmt: skip
CONTROL_HYPOTHESES = click.option(
    "--control-hyp", "control_systems", multiple=True, metavar="SYSTEM=FILE[,FILE...]",
    help="The same systems on the control set, in the same order of runs: what they lose from it.",
)  # fmt: skip
ACCEPT_TEXT = click.option(
    "--accept-text", is_flag=True, help="Score hypotheses that are not written as the references are."
)
REFERENCES = options(
    click.option(
        "--ref", "references", multiple=True, metavar="FILE", help="References, a line an example; repeatable."
    ),
    HYPOTHESES,
    CONTROL_HYPOTHESES,
    click.option(
        "--control-ref", "control_references", multiple=True, metavar="FILE", help="References of the control set."
    ),
    click.option("--source", metavar="FILE", help="Sources, for --by ... --side source and --more-refs."),
    click.option("--control-source", metavar="FILE", help="Sources of the control set, for --more-refs."),
    click.option("--release", type=PATH, help="A release: its test set gives --ref, --source and --table."),
    click.option(
        "--more-refs", type=FilesType(), multiple=True, help="Corpus whose targets of equal sources count too."
    ),
    click.option("--lowercase", is_flag=True, help="Ignore case."),
    click.option(
        "--normalise", metavar="release|[LANG=]NAME",
        help="Normalise hypotheses as the release was, or with a tokeniser (en=moses, jieba), or detokenize.",
    ),
    ACCEPT_TEXT,
)  # fmt: skip
COMMON = options(
    click.option(
        "--by", metavar="NAME", help="Break down by length, degree, frequency, one-shot, uncertainty, difficulty, "
        "reference, perplexity, column:NAME; CTER: also compound-length, context-length, modifier, type.",
    ),
    click.option("--bins", metavar="N|quantiles:N|e1,e2,...", help="Bins of --by (default: quartiles)."),
    click.option("--groups", type=click.Choice(["table6"]), help="COGS' categories as in Akyürek and Andreas 2021."),
    click.option("--side", type=click.Choice(["source", "target"]), help="What --by looks at."),
    click.option("--train", metavar="FILE", help="Training text of that side, for --by degree, ..."),
    click.option("--min-count", type=click.IntRange(1), help="Known n-grams, for --by degree (default 3)."),
    click.option("--table", metavar="FILE", help="A row an example, for --by column:NAME, uncertainty, ..."),
    click.option(
        "--id", "ids", metavar="COLUMN", help="Join the rows of all tables by this column (default: by their order)."
    ),
    click.option("--lm", type=PATH, help="Language model, for --by perplexity."),
    click.option(
        "--paired", type=click.Choice(["calibrated", "bootstrap", "randomization", "mcnemar"]), is_flag=False,
        flag_value="calibrated", help="Test differences (without a name: calibrated).",
    ),
    click.option("--baseline", metavar="SYSTEM", help="The system to compare with (default: the first)."),
    click.option("--all-pairs", is_flag=True, help="Test all systems against all (--paired: how; default calibrated)."),
    click.option("--shared-seeds", is_flag=True, help="Compare run by run: run i of all systems has the same seed."),
    click.option("--samples", type=click.IntRange(1), help="Resamples (default 1000; randomization 10000)."),
    click.option("--seed", type=click.IntRange(0), help="Seed of the resamples (default 12345, as sacrebleu)."),
    click.option("--confidence", is_flag=True, help="95 % bootstrap intervals."),
    click.option("--differences", is_flag=True, help="Where systems differ from the baseline: n-grams, words, kinds."),
    click.option("--plot", type=PATH, help="Draw the bins of --by: a .svg, .png or .pdf."),
    click.option("--report", "page", type=PATH, metavar="FILE.html", help="Make a page of all of it: one HTML file."),
    click.option("--per-example", type=PATH, help="Write a tab-separated row an example."),
    click.option(
        "--format", "form", type=click.Choice(["text", "json", "tsv", "markdown", "latex"]), default="text",
        show_default=True, help="What is printed.",
    ),
    safe_tsv_option,
    click.option("--value-only", is_flag=True, help="Print the figures alone."),
    click.option("--width", type=click.IntRange(0, 12), help="Decimals in text (default 1; scores up to 1: 4)."),
    click.option(
        "--published", is_flag=False, flag_value=PUBLISHED, metavar="[BENCHMARK]", help="Published results, too."
    ),
)  # fmt: skip


@score_group.command("cter", cls=Command)
@click.option("--source", required=True, metavar="FILE", help="Sources, a line an example.")
@click.option("--compounds", required=True, metavar="FILE", help="The compound of each source.")
@click.option("--lexicon", required=True, metavar="FILE|cognition", help="Translations of the atoms.")
@click.option("--atoms", default="cognition", show_default=True, metavar="FILE", help="Atoms by type.")
@click.option(
    "--grammar", default="cognition", show_default=True, metavar="FILE", help="Types of atoms and their order."
)
@click.option(
    "--match",
    type=click.Choice(["substring", "word", "regex"]),
    default="substring",
    show_default=True,
    help="Find translations as characters, as whole words, or as regular expressions.",
)
@click.option("--lowercase", is_flag=True, help="Ignore case.")
@click.option("--group-size", type=click.IntRange(1), default=5, show_default=True, help="Contexts of a compound.")
@click.option("--keep-blanks", is_flag=True, help="Search hypotheses with their blanks (not Chinese).")
@HYPOTHESES
@CONTROL_HYPOTHESES
@click.option("--control-source", metavar="FILE", help="Sources of the control set.")
@click.option("--control-compounds", metavar="FILE", help="The compound of each of them.")
@click.option("--human", metavar="FILE", help="Human judgements, 1 right, 0 wrong.")
@click.option("--reasons", is_flag=True, help="Print why rows are wrong.")
@COMMON
def cter_command(reasons: bool, **given: Any) -> None:
    """Compound translation error rate: instance and aggregate, by phrase type, with reasons."""
    _score("cter", given, reasons)


def _sacre(name: str, kind: str, summary: str) -> None:
    """The command of one of sacrebleu's metrics."""

    @score_group.command(name, cls=Command, help=summary)
    @REFERENCES
    @click.option("--tokenize", metavar="NAME", hidden=kind != "bleu", help="sacrebleu's tokeniser (default 13a).")
    @click.option("--preset", default="sacrebleu", show_default=True, help="react, cognition, lexicon or sacrebleu.")
    @click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="An option of sacrebleu's class.")
    @click.option("--jobs", type=click.IntRange(1), help="Processes for large input; they change no figure.")
    @COMMON
    def command(
        preset: str,
        tokenize: str | None,
        assignments: tuple[str, ...],
        jobs: int | None,
        lowercase: bool,
        **given: Any,
    ) -> None:
        from cgbench.settings import parse_assignments

        chosen = {"preset": preset, "tokenize": tokenize, "lowercase": lowercase, "jobs": default_jobs(jobs)}
        _score(kind, given | {"settings": parse_assignments(assignments)} | chosen)


_sacre("bleu", "bleu", "BLEU, by sacrebleu, or as a paper's script had it.")
_sacre("chrf", "chrf", "chrF, by sacrebleu (chrF++: --set word_order=2).")
_sacre("ter", "ter", "TER, by sacrebleu.")


@score_group.command("exact", cls=Command)
@REFERENCES
@click.option("--preset", metavar="lexicon", help="lexicon: hypotheses end at their first </s>.")
@COMMON
def exact_command(preset: str | None, lowercase: bool, **given: Any) -> None:
    """Exact match of whole sequences; by category with --by column:NAME."""
    _score("exact", given | {"preset": preset, "lowercase": lowercase})


@score_group.command("semantic", cls=Command)
@REFERENCES
@COMMON
def semantic_command(lowercase: bool, **given: Any) -> None:
    """Exact match of logical forms, whatever their variables are called and their conjuncts' order (ReCOGS)."""
    _score("semantic", given | {"lowercase": lowercase})


RENAMED = {"source": "sources", "more_refs": "more_references", "control_source": "control_sources"}


def _score(metric: str, given: dict[str, Any], reasons: bool = False) -> None:
    """Read the texts, score the systems and print the figures."""
    from cgbench.benchmark.metrics.evaluate import evaluate
    from cgbench.text.columns import read_column

    wanted = take_outputs(given, inputs_of(given))
    if given["published"] == PUBLISHED:
        given["published"] = True
    if metric != "cter":
        if not given["references"] and not given["release"]:
            raise InputError("references are needed: --ref FILE (or --release DIR)")
        for key in ("references", "control_references"):
            given[key] = [read_column(name, "reference", "target", ids=given["ids"]) for name in given[key]]
    given["systems"] = read_hypotheses(given["systems"], ids=given["ids"])
    given["control_systems"] = read_hypotheses(given["control_systems"], "--control-hyp", given["ids"]) or None
    found = evaluate(metric, **{RENAMED.get(name, name): value for name, value in given.items()})
    wanted.show(found, reasons)


@dataclass(frozen=True)
class Outputs:
    """What is made of the figures, as the options say."""

    per_example: Path | None
    plot: Path | None
    page: Path | None
    form: str
    width: int | None
    value_only: bool
    safe_tsv: bool

    def show(self, found: Evaluation, reasons: bool = False) -> None:
        """Write the files and print the figures."""
        if self.per_example:
            found.write_per_example(self.per_example, self.safe_tsv)
        if self.page:
            from cgbench.files import write_atomic
            from cgbench.report.score_page import score_page

            warned = [as_options(warning.message) for warning in found.asked.warned] if found.asked else []
            write_atomic(self.page, score_page(found, command=command_line(), notes=warned))
        shown = found.values_only(self.width) if self.value_only else None
        click.echo(shown or found.report(self.form, self.width, reasons, self.safe_tsv))
        if self.plot:
            found.plot(self.plot)


def take_outputs(given: dict[str, Any], inputs: Iterable[Path]) -> Outputs:
    """The options of :data:`COMMON` that say what is made of the figures, taken out of ``given``, and checked.

    :param inputs: the files that are read, none of which is written over.
    :raises InputError: they do not fit together, or a file cannot be written there.
    """
    from cgbench.files import check_output
    from cgbench.plots import is_picture

    taken = ("per_example", "plot", "page", "form", "width", "value_only", "safe_tsv")
    wanted = Outputs(**{name: given.pop(name) for name in taken})
    if wanted.safe_tsv and wanted.form != "tsv" and not wanted.per_example:
        raise InputError("--safe-tsv belongs to --format tsv or --per-example")
    if wanted.value_only and wanted.form != "text":
        raise InputError(f"--value-only prints plain figures; leave --format {wanted.form} out")
    if wanted.plot and not given["by"]:
        raise InputError(f"--plot {wanted.plot}: a plot has the bins of --by side by side; give it")
    if wanted.plot:
        is_picture(wanted.plot, f"--plot {wanted.plot}")
    read = list(inputs) if wanted.per_example or wanted.plot or wanted.page else []
    for path in filter(None, (wanted.per_example, wanted.plot, wanted.page)):
        check_output(path, read)
    return wanted


def split_systems(items: Sequence[str], option: str = "--hyp", *, bare: bool = False) -> dict[str, list[str]]:
    """``SYSTEM=FILE[,FILE2...]``, a file a run, as names of files by system.

    :param bare: keep ``""`` as the name of a system where there is no ``SYSTEM=``; else it is that of the file.
    :raises InputError: a system or a file is given twice, or a name is empty.
    """
    from cgbench.text.columns import short_name
    from cgbench.text.streams import is_there, split_name

    systems: dict[str, list[str]] = {}
    for item in items:
        name, sign, names = item.partition("=")
        if not sign or is_there(split_name(item)[0]):
            name, names = "", item
        paths = [names] if is_there(split_name(names)[0]) else names.split(",")
        name = name or ("" if bare else short_name(paths[0]))
        if name in systems:
            raise InputError(
                f"{option} {item}: the system {name} is given twice; join its runs ({name}=FILE1,FILE2), or name "
                "systems apart (OTHER=FILE)"
            )
        if len({Path(path).absolute() for path in paths}) < len(paths) or not all(paths):
            raise InputError(f"{option} {item}: {'a file is given twice' if all(paths) else 'a file name is empty'}")
        systems[name] = paths
    return systems


def read_hypotheses(items: Sequence[str], option: str = "--hyp", ids: str | None = None) -> dict[str, list[Column]]:
    """``SYSTEM=FILE[,FILE2...]``, a file a run; without ``SYSTEM=`` the file's name is the system's.

    :param ids: the column of tables that says which example a row is of.
    :raises InputError: a system or a file is given twice, or a file cannot be read.
    """
    from cgbench.text.columns import read_column

    return {
        name: [read_column(path, "hypothesis", "prediction", ids=ids) for path in paths]
        for name, paths in split_systems(items, option).items()
    }


def inputs_of(given: dict[str, Any]) -> Iterator[Path]:
    """Every file that the options name."""
    from cgbench.benchmark.metrics.evaluate import release_files
    from cgbench.text.streams import split_name

    if given.get("release"):
        yield from release_files(given["release"]).values()
    for option in (
        "source",
        "control_source",
        "compounds",
        "control_compounds",
        "lexicon",
        "atoms",
        "grammar",
        "human",
        "train",
        "table",
        "lm",
    ):
        if given.get(option) is not None:
            yield split_name(str(given[option]))[0]
    for name in (*given.get("references", ()), *given.get("control_references", ())):
        yield split_name(name)[0]
    for paths in given.get("more_refs", ()):
        yield from paths
    scores = (*given.get("scores", ()), *given.get("control_scores", ()))
    for item in (*given.get("systems", ()), *given.get("control_systems", ()), *scores):
        names = item.partition("=")[2]
        for name in (item, names, *names.split(",")):
            if name:
                yield split_name(name)[0]
