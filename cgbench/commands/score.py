"""``cgbench score``: cter, bleu, chrf, ter and exact share their options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cgbench.commands.options import Command, FilesType, Group, default_jobs, options
from cgbench.errors import InputError

if TYPE_CHECKING:
    from cgbench.benchmark.metrics.base import Metric
    from cgbench.benchmark.metrics.cter import Cter
    from cgbench.text.columns import Column

PATH = click.Path(path_type=Path)
TEXT_FEATURES = ("length", "degree", "frequency", "one-shot", "perplexity")
FEATURES_OF = {
    "bins": None,
    "groups": ("column:",),
    "side": TEXT_FEATURES,
    "train": ("degree", "frequency", "one-shot"),
    "min_count": ("degree",),
    "table": ("degree", "uncertainty", "perplexity", "column:"),
    "lm": ("perplexity",),
}
"""Options of ``--by``, and the features that they are for (None: all)."""
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
REFERENCES = options(
    click.option(
        "--ref", "references", multiple=True, metavar="FILE", help="References, a line an example; repeatable."
    ),
    HYPOTHESES,
    click.option("--source", metavar="FILE", help="Sources, for --by ... --side source and --more-refs."),
    click.option("--release", type=PATH, help="A release: its test set gives --ref, --source and --table."),
    click.option(
        "--more-refs", type=FilesType(), multiple=True, help="Corpus whose targets of equal sources count too."
    ),
    click.option("--lowercase", is_flag=True, help="Ignore case."),
)
COMMON = options(
    click.option(
        "--by", metavar="NAME", help=f"Break down by {', '.join(TEXT_FEATURES)}, uncertainty, column:NAME; CTER: also "
        "compound-length, context-length, modifier, type.",
    ),
    click.option("--bins", metavar="N|quantiles:N|e1,e2,...", help="Bins of --by (default: quartiles)."),
    click.option("--groups", type=click.Choice(["table6"]), help="COGS' categories as in Akyürek and Andreas 2021."),
    click.option("--side", type=click.Choice(["source", "target"]), help="What --by looks at."),
    click.option("--train", metavar="FILE", help="Training text of that side, for --by degree, ..."),
    click.option("--min-count", type=click.IntRange(1), help="Known n-grams, for --by degree (default 3)."),
    click.option("--table", metavar="FILE", help="A row an example, for --by column:NAME, uncertainty, ..."),
    click.option("--lm", type=PATH, help="Language model, for --by perplexity."),
    click.option("--paired", type=click.Choice(["bootstrap", "randomization", "mcnemar"]), help="Test differences."),
    click.option("--baseline", metavar="SYSTEM", help="The system to compare with (default: the first)."),
    click.option("--samples", type=click.IntRange(1), help="Resamples (default 1000; randomization 10000)."),
    click.option("--seed", type=click.IntRange(0), help="Seed of the resamples (default 12345, as sacrebleu)."),
    click.option("--confidence", is_flag=True, help="95 % bootstrap intervals."),
    click.option("--per-example", type=PATH, help="Write a tab-separated row an example."),
    click.option(
        "--format", "form", type=click.Choice(["text", "json", "tsv", "markdown", "latex"]), default="text",
        show_default=True, help="What is printed.",
    ),
    click.option("--value-only", is_flag=True, help="Print the figures alone."),
    click.option("--width", type=click.IntRange(0, 12), default=1, show_default=True, help="Decimals in text."),
    click.option(
        "--published", is_flag=False, flag_value=PUBLISHED, metavar="[BENCHMARK]", help="Published results, too."
    ),
)  # fmt: skip


@score_group.command("cter", cls=Command)
@click.option("--source", required=True, metavar="FILE", help="Sources, a line an example.")
@click.option("--compounds", required=True, metavar="FILE", help="The compound of each source.")
@click.option("--lexicon", required=True, metavar="FILE|cognition", help="Translations of the atoms.")
@click.option("--atoms", default="cognition", show_default=True, metavar="FILE", help="Atoms by part of speech.")
@click.option("--group-size", type=click.IntRange(1), default=5, show_default=True, help="Contexts of a compound.")
@click.option("--keep-blanks", is_flag=True, help="Search hypotheses with their blanks (not Chinese).")
@HYPOTHESES
@click.option("--human", metavar="FILE", help="Human judgements, 1 right, 0 wrong.")
@click.option("--reasons", is_flag=True, help="Print why rows are wrong.")
@COMMON
def cter_command(
    source: str,
    compounds: str,
    lexicon: str,
    atoms: str,
    group_size: int,
    keep_blanks: bool,
    human: str | None,
    reasons: bool,
    **given: Any,
) -> None:
    """Compound translation error rate: instance and aggregate, by phrase type, with reasons."""
    from cgbench.benchmark.metrics.cter import Cter
    from cgbench.benchmark.metrics.cter_lexicon import Atoms, Lexicon
    from cgbench.text.columns import read_column

    sources = read_column(source, "source")
    metric = Cter(
        sources,
        read_column(compounds, "compound"),
        Lexicon.read(lexicon),
        Atoms.read(atoms),
        group_size=group_size,
        keep_blanks=keep_blanks,
    )
    if given["side"] == "target":
        raise InputError("--side target: CTER has no references; what --by looks at is the source")
    judgements = read_column(human, "human_correct", "human", "correct") if human else None
    benchmark = "CoGnition" if atoms == "cognition" else None
    given |= {"source": source, "compounds": compounds, "lexicon": lexicon, "atoms": atoms, "human": human}
    _score(metric, sources, sources, source, benchmark, "CTER", given, cter=metric, human=judgements, reasons=reasons)


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
        from cgbench.benchmark.metrics.bleu import SacreMetric
        from cgbench.settings import parse_assignments

        chosen: dict[str, Any] = dict(parse_assignments(assignments))
        if tokenize is not None:
            chosen["tokenize"] = tokenize
        if lowercase:
            if kind == "ter":
                raise InputError("--lowercase: TER ignores case unless --set case_sensitive=true")
            chosen["lowercase"] = True
        sources, references, against = _references(given)
        benchmark = {"react": "ReaCT", "cognition": "CoGnition", "lexicon": "Tatoeba en-zh"}.get(preset)
        metric = SacreMetric(kind, references, preset, chosen, default_jobs(jobs))
        shown = metric.name if kind != "bleu" else "BLEU"
        _score(metric, sources, _first(references, against), against, benchmark, shown, given)


_sacre("bleu", "bleu", "BLEU, by sacrebleu, or as a paper's script had it.")
_sacre("chrf", "chrf", "chrF, by sacrebleu (chrF++: --set word_order=2).")
_sacre("ter", "ter", "TER, by sacrebleu.")


@score_group.command("exact", cls=Command)
@REFERENCES
@click.option("--preset", default="sacrebleu", metavar="lexicon", help="lexicon: hypotheses end at their first </s>.")
@COMMON
def exact_command(preset: str, lowercase: bool, **given: Any) -> None:
    """Exact match of whole sequences; by category with --by column:NAME."""
    from cgbench.benchmark.metrics.exact_match import ExactMatch

    if preset not in ("sacrebleu", "lexicon"):
        raise InputError(f"--preset {preset} is no way to count exact matches; there is lexicon")
    sources, references, against = _references(given)
    metric = ExactMatch(references, lowercase=lowercase, cut_end=preset == "lexicon")
    _score(metric, sources, _first(references, against), against, None, "exact match", given)


def _references(given: dict[str, Any]) -> tuple[Column | None, list[list[str]], str]:
    """The sources (if given), the references of each example, and the name of the first file of these."""
    from cgbench.benchmark.metrics.features import more_references, release_files
    from cgbench.text.columns import read_column

    if given["release"]:
        files = release_files(given["release"])
        given["references"] = given["references"] or (str(files["reference"]),)
        given["source"] = given["source"] or str(files["source"])
        given["table"] = given["table"] or str(files["table"])
    names = given["references"]
    if not names:
        raise InputError("references are needed: --ref FILE (or --release DIR)")
    columns = [read_column(name, "reference", "target") for name in names]
    for column in columns[1:]:
        if len(column) != len(columns[0]):
            raise InputError(
                f"{columns[0].name} has {len(columns[0]):,} lines and {column.name} has {len(column):,}: "
                "a reference of each example is needed"
            )
    if not len(columns[0]):
        raise InputError(f"{names[0]}: there is no example in it")
    if not any(text.strip() for column in columns for text in column.values):
        raise InputError(f"{names[0]}: every reference is empty, and no score is defined")
    sources = read_column(given["source"], "source") if given["source"] else None
    if sources and len(sources) != len(columns[0]):
        raise InputError(
            f"{sources.name} has {len(sources):,} lines and {names[0]} has {len(columns[0]):,}: check where they part"
        )
    references = [list(example) for example in zip(*(column.values for column in columns), strict=True)]
    if given["more_refs"]:
        if sources is None:
            raise InputError("--more-refs finds references by their source; give --source")
        more = more_references(given["more_refs"], sources.values)
        references = [list(dict.fromkeys([*own, *others])) for own, others in zip(references, more, strict=True)]
    return sources, references, names[0]


def _first(references: Sequence[Sequence[str]], name: str) -> Column:
    from cgbench.text.columns import Column

    return Column(name, [example[0] for example in references])


def _score(
    metric: Metric,
    sources: Column | None,
    targets: Column,
    against: str,
    benchmark: str | None,
    published_metric: str,
    given: dict[str, Any],
    cter: Cter | None = None,
    human: Column | None = None,
    reasons: bool = False,
) -> None:
    from cgbench.benchmark.metrics.evaluation import Comparison
    from cgbench.benchmark.metrics.published import published
    from cgbench.benchmark.metrics.report import report, values_only
    from cgbench.benchmark.metrics.scoring import read_systems, score, warnings_of, write_per_example
    from cgbench.benchmark.metrics.significance import SEED
    from cgbench.files import check_output

    _check_together(given)
    if given["per_example"]:
        check_output(given["per_example"], _inputs(given))
    seed = SEED if given["seed"] is None else given["seed"]
    comparison = Comparison(given["paired"], given["baseline"], given["samples"], seed, confidence=given["confidence"])
    rows = []
    if given["published"] is not None:
        name = benchmark if given["published"] == PUBLISHED else given["published"]
        if name is None:
            raise InputError("--published: of which benchmark? Name it, such as --published 'COGS gen'")
        rows = published(name, published_metric)
    systems = read_systems(given["systems"], metric.n, against)
    breakdown = _breakdown(metric.n, sources, targets, given, cter)
    scored = score(metric, systems, comparison, breakdown, human, rows)
    for warning in warnings_of(metric, systems, comparison, breakdown is not None):
        click.echo(f"warning: {warning}", err=True)
    if given["per_example"]:
        write_per_example(given["per_example"], scored, systems)
    if given["value_only"]:
        click.echo(values_only(scored, given["width"]))
    else:
        click.echo(report(scored, given["form"], given["width"], reasons))


def _check_together(given: dict[str, Any]) -> None:
    """Refuse an option that would do nothing beside the others."""
    by = given["by"]
    for option, features in FEATURES_OF.items():
        if given[option] is None or (option == "table" and given.get("release")):
            continue
        name = f"--{option.replace('_', '-')}"
        if by is None:
            raise InputError(f"{name} belongs to --by")
        if features and not by.startswith(features):
            raise InputError(f"{name} does nothing for --by {by}; leave it out")
    if given["groups"] and given["bins"]:
        raise InputError("--groups and --bins both say what the bins are; give one")
    if not (given["paired"] or given["confidence"] or by is not None):
        for option in ("samples", "seed"):
            if given[option] is not None:
                raise InputError(f"--{option} belongs to --confidence, --paired or --by")
    if given["value_only"] and given["form"] != "text":
        raise InputError(f"--value-only prints plain figures; leave --format {given['form']} out")


def _inputs(given: dict[str, Any]) -> Iterator[Path]:
    """Every file that the options name."""
    from cgbench.text.columns import split_name

    for option in ("source", "compounds", "lexicon", "atoms", "human", "train", "table", "lm"):
        if given.get(option) is not None:
            yield split_name(str(given[option]))[0]
    for name in given.get("references", ()):
        yield split_name(name)[0]
    for paths in given.get("more_refs", ()):
        yield from paths
    for item in given["systems"]:
        names = item.partition("=")[2]
        for name in (item, names, *names.split(",")):
            if name:
                yield split_name(name)[0]


def _table_of(*names: str | None) -> str | None:
    """The first of the files given that is a table: its other columns are about the same examples."""
    from cgbench.text.columns import split_name
    from cgbench.text.formats import form

    paths = (split_name(name)[0] for name in names if name)
    return next((str(path) for path in paths if form(path) != "plain"), None)


def _breakdown(n: int, sources: Column | None, targets: Column, given: dict[str, Any], cter: Cter | None) -> Any:
    from cgbench.benchmark.metrics.features import Material, make_feature
    from cgbench.benchmark.metrics.scoring import Breakdown

    if given["by"] is None:
        return None
    text = sources if given["side"] == "source" else targets
    table = given["table"] or _table_of(given["source"], *given.get("references", ()))
    material = Material(text, given["train"], table, given["lm"], cter, given["min_count"] or 3)
    feature = make_feature(given["by"], n, material)
    if given["groups"] and feature.labels is None:
        raise InputError(f"--groups {given['groups']} puts labels together; {given['by']} has numbers")
    return Breakdown(feature, given["bins"], bool(given["groups"]))
