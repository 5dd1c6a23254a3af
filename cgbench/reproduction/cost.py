"""The training times of the runs of a table on this machine, estimated from a few updates of each system."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from cgbench.benchmark.react.cost import duration, estimates_wanted
from cgbench.errors import InputError
from cgbench.models.devices import choose_device
from cgbench.progress import working
from cgbench.reproduction.plan import ReproduceRequest, Run
from cgbench.requests import as_path
from cgbench.tables import counted


def forecast(runs: Sequence[Run], request: ReproduceRequest) -> str:
    """One line per run: updates, and at most how long training takes without validation.

    Each system is timed once per benchmark, alone, where its data are in the output folder, in a mirror, or made by
    their generator. Nothing is downloaded and nothing is kept.
    """
    timed: dict[tuple[str, str], float | str] = {}
    lines, seconds = [], []
    for run in runs:
        key = run.benchmark.name, run.system.name
        if run.system.preset and key not in timed:
            timed[key] = time_of(run, request) if estimates_wanted() else ""
        what = f"{run.preset.training.max_updates:,} updates of {run.system.preset}" if run.system.preset else ""
        seconds.append(found := timed.get(key))
        time = f", at most {duration(found)}" if isinstance(found, float) else ""
        lines.append(f"{run.name}  {what}{time}".rstrip())
    known = [value for value in seconds if isinstance(value, float)]
    if known:
        lines.append(
            f"training of {counted(len(known), 'run')}, one after the other: about {duration(sum(known))}, "
            "without validation and translation"
        )
    missing = dict.fromkeys(value for value in timed.values() if isinstance(value, str) and value)
    return "\n".join([*lines, *(f"not estimated: {why}" for why in missing)])


def time_of(run: Run, request: ReproduceRequest) -> float | str:
    """Seconds to train ``run`` to its last update, or why that is unknown."""
    from cgbench.data_recipes.registry import find_recipe
    from cgbench.models.training.timing import time_updates
    from cgbench.reproduction.running import DATA, prepare
    from cgbench.reproduction.texts import learn_dictionaries, learn_run_lexicon, training_texts

    recipe = find_recipe(run.benchmark.data)
    sides = recipe.sides[0], recipe.sides[1]
    with tempfile.TemporaryDirectory() as name, working(f"timing {run.system.name} on {run.benchmark.name}"):
        folder = Path(name)
        data = as_path(request.out) / DATA / run.benchmark.data
        try:
            if not data.is_dir():
                given = {run.system.lexicon_file} - {""}
                prepare(run.benchmark, folder, request.mirror, True, lambda line: None, given)
                data = folder / DATA / run.benchmark.data
            train, _ = training_texts(run, data, sides, folder)
            subwords = learn_dictionaries(run, data, sides, train, folder)
            lexicon = learn_run_lexicon(run, data, sides, folder)
        except (InputError, OSError) as error:
            return f"{run.benchmark.name}: {error}"
        device = choose_device(request.device)
        start, update = time_updates(
            train, subwords, run.preset, folder / "models", device, init=run.start, lexicon=lexicon
        )
    return start + run.preset.training.max_updates * update
