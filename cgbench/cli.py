"""The ``cgbench`` command: what is in :mod:`cgbench.commands`, gathered."""

from __future__ import annotations

import click

from cgbench import __version__
from cgbench.commands.augment import augment_group
from cgbench.commands.average import average_command
from cgbench.commands.build_react import build_react_command
from cgbench.commands.clean import clean_command
from cgbench.commands.data import data_group
from cgbench.commands.degree import degree_command
from cgbench.commands.demo import demo_command
from cgbench.commands.export import export_command
from cgbench.commands.inspect import inspect_command
from cgbench.commands.lexicon import lexicon_group
from cgbench.commands.lm import lm_group
from cgbench.commands.models import models_command
from cgbench.commands.options import Group
from cgbench.commands.overlap import overlap_command
from cgbench.commands.power import power_command
from cgbench.commands.report import report_command
from cgbench.commands.reproduce import reproduce_group
from cgbench.commands.restore import restore_command
from cgbench.commands.score import score_group
from cgbench.commands.score_import import import_command
from cgbench.commands.split import split_command
from cgbench.commands.stats import stats_command
from cgbench.commands.train import train_command, train_ensemble_command
from cgbench.commands.translate import translate_command
from cgbench.commands.uncertainty import uncertainty_command
from cgbench.commands.validate import validate_command
from cgbench.commands.verify import verify_command
from cgbench.commands.warm_up import warm_up_command


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Build benchmarks of compositional generalisation from real text, score systems, train the models."""


for command in (
    score_group,
    power_command,
    stats_command,
    overlap_command,
    lm_group,
    models_command,
    train_command,
    train_ensemble_command,
    translate_command,
    uncertainty_command,
    average_command,
    inspect_command,
    data_group,
    lexicon_group,
    augment_group,
    reproduce_group,
    build_react_command,
    degree_command,
    split_command,
    verify_command,
    validate_command,
    report_command,
    export_command,
    restore_command,
    clean_command,
    demo_command,
    warm_up_command,
):
    main.add_command(command)
score_group.add_command(import_command)
