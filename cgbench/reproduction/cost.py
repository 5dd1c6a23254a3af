"""The training times of the runs of a table on this machine, estimated from a few updates of each system."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from cgbench.argument_types import as_path
from cgbench.benchmark.react.cost import duration, estimates_wanted, training_time
from cgbench.errors import InputError
from cgbench.models.devices import choose_device
from cgbench.reproduction.plan import ReproduceRequest, Run


def forecast(runs: Sequence[Run], request: ReproduceRequest) -> str:
    """One line per run: updates, and at most how long training takes without validation.

    Each system is timed once per benchmark, where its data are in the output folder, in a mirror, or made by their
    generator. Nothing is downloaded or kept.
    """
    times: dict[tuple[str, str], float | str] = {}
    lines, total = [], 0.0
    for run in runs:
        line = run.name
        if preset := run.system.preset:
            key = run.benchmark.name, run.system.name
            if key not in times:
                times[key] = _time_of(run, request) if estimates_wanted() else ""
            line += f"  {run.preset.training.max_updates:,} updates of {preset}"
            if isinstance(seconds := times[key], float):
                line += f", at most {duration(seconds)}"
                total += seconds
        lines.append(line)
    if total:
        lines.append(f"training, one run after the other: about {duration(total)}, without validation and translation")
    reasons = dict.fromkeys(reason for reason in times.values() if isinstance(reason, str) and reason)
    return "\n".join([*lines, *(f"not estimated: {reason}" for reason in reasons)])


def _time_of(run: Run, request: ReproduceRequest) -> float | str:
    """Seconds to train ``run`` to its last update, or why that is unknown."""
    from cgbench.data_recipes.registry import find_recipe
    from cgbench.reproduction.running import DATA, prepare
    from cgbench.reproduction.texts import learn_dictionaries, learn_run_lexicon, training_texts

    source, target, *_ = find_recipe(run.benchmark.data).sides
    sides = source, target
    data = as_path(request.out) / DATA / run.benchmark.data
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            if not data.is_dir():
                lexicons = {run.system.lexicon_file} - {""}
                prepare(run.benchmark, folder, request.mirror, True, lambda line: None, lexicons)
                data = folder / DATA / run.benchmark.data
            train, _ = training_texts(run, data, sides, folder)
            subwords = learn_dictionaries(run, data, sides, train, folder)
            lexicon = learn_run_lexicon(run, data, sides, folder)
        except (InputError, OSError) as error:
            return f"{run.benchmark.name}: {error}"
        device = choose_device(request.device)
        return training_time(train, subwords, run.preset, folder / "models", device, init=run.start, lexicon=lexicon)
