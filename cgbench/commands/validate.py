"""``cgbench validate``: is a release what it claims to be?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from cgbench.commands.options import Command, choose_device, format_option, work_option
from cgbench.commands.score import read_hypotheses
from cgbench.errors import InputError

PATH = click.Path(path_type=Path)


@click.command("validate", cls=Command)
@click.argument("release", metavar="[FAMILY=]DIR")
@click.option(
    "--hyp",
    "systems",
    multiple=True,
    metavar="SYSTEM=FILE[,FILE...]",
    help="Hypotheses of the candidates, or with --control-hyp of the test set; a file a run; repeatable.",
)
@click.option(
    "--control-hyp",
    "control_systems",
    multiple=True,
    metavar="SYSTEM=FILE[,FILE...]",
    help="Those of the control set.",
)
@click.option(
    "--other",
    "others",
    multiple=True,
    metavar="FAMILY=DIR",
    help="A release that another ensemble selected from the same candidates; repeatable.",
)
@click.option("--metric", default="bleu", show_default=True, help="bleu, chrf, ter or exact.")
@click.option(
    "--preset", default="sacrebleu", show_default=True, help="Of BLEU: react, cognition, lexicon or sacrebleu."
)
@click.option("--tokenize", metavar="NAME", help="sacrebleu's tokeniser.")
@click.option("--samples", type=click.IntRange(1), help="Resamples (default 1000, or what the pairs need).")
@click.option("--seed", type=click.IntRange(0), help="Seed of the resamples and draws (default 12345).")
@click.option("--draws", type=click.IntRange(0), default=0, help="Ensembles of each size to draw from the members.")
@click.option("--sample", type=click.IntRange(10), help="Candidates that these score (default 1000).")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@click.option(
    "--sources", type=PATH, metavar="FILE", help="Write the sources of the candidates, to be translated, and end."
)
@work_option
@format_option
def validate_command(
    release: str,
    systems: tuple[str, ...],
    control_systems: tuple[str, ...],
    others: tuple[str, ...],
    metric: str,
    preset: str,
    tokenize: str | None,
    samples: int | None,
    seed: int | None,
    draws: int,
    sample: int | None,
    device: str,
    sources: Path | None,
    work: Path | None,
    form: str,
) -> None:
    """Say whether a release is compositional or only hard, ranks systems as its pool does, and is stable.

    A FAMILY is whatever the ensemble that selected is called, such as transformer; a system whose name begins with
    it and a / (transformer/seed5) is of that family.
    """
    from cgbench.benchmark.release.release import Release
    from cgbench.benchmark.validity.members import candidate_texts
    from cgbench.benchmark.validity.validate import validate
    from cgbench.files import check_output, write_atomic

    family, folder = _named(release)
    opened = Release.open(folder, work)
    if sources:
        check_output(sources, [opened.folder])
        write_atomic(sources, "".join(f"{line}\n" for line in candidate_texts(opened)[0]))
        return
    named = [_named(other) for other in others]
    for name, other in named:
        if name is None:
            raise InputError(f"--other {other}: say whose selection it is: --other FAMILY={other}")
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        raise InputError(f"--other {max(names, key=names.count)}: the name is given twice; name releases apart")
    options: dict[str, Any] = {}
    if metric != "exact":
        options["preset"] = preset
    if tokenize:
        options["tokenize"] = tokenize
    found = validate(
        opened,
        read_hypotheses(systems) if systems else None,
        control_systems=read_hypotheses(control_systems, "--control-hyp") if control_systems else None,
        name=family,
        others={str(name): other for name, other in named},
        metric=metric,
        samples=samples,
        **({} if seed is None else {"seed": seed}),
        draws=draws,
        **({} if sample is None else {"sample": sample}),
        device=choose_device(device) if draws else "cpu",
        **options,
    )
    click.echo(found.report(form))


def _named(word: str) -> tuple[str | None, str]:
    """``FAMILY=DIR`` or ``DIR``; a folder whose own name has a ``=`` is one without a name before it."""
    name, sign, folder = word.partition("=")
    if not sign or Path(word).is_dir():
        return None, word
    if not re.fullmatch(r"[^/]+", name):
        raise InputError(f"{word}: a family's name is without / and not empty")
    return name, folder
