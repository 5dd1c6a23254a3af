"""Execute the runs of a table (data, training, translation, scores), each once, possibly on several
machines.

In the output folder, ``data/`` has the prepared sets, and ``runs/<name>/<key>/`` a run with its
identity (``step.json``), its translations (``<split>.hypotheses``) and its scores
(``result.json``).
"""

import shutil
import time
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.argument_types import as_path
from cgbench.checksums import first_damaged
from cgbench.data_recipes import registry
from cgbench.data_recipes.prepared import RECORD, get, read_set_record
from cgbench.data_recipes.writer import GENERATED, RELEASED
from cgbench.engines import Needs
from cgbench.errors import InputError, argument
from cgbench.files import write_atomic, write_json
from cgbench.locks import BusyError, locked
from cgbench.models.checkpoints import read_config
from cgbench.models.devices import choose_device
from cgbench.models.external.addresses import shown_name
from cgbench.models.search_settings import DEFAULT_SEARCH, SearchSettings
from cgbench.reproduction import texts
from cgbench.reproduction.hpd import hpd_figures, hpd_inputs
from cgbench.reproduction.measured import Translated, measure_test
from cgbench.reproduction.plan import ReproduceRequest, Run, plan
from cgbench.reproduction.tables import Benchmark
from cgbench.request import accepts
from cgbench.steps import Step, Workspace, hash_value
from cgbench.text.streams import read_lines

RUNS, DATA, RESULT, MODEL, TEXT = "runs", "data", "result.json", "model", "text"
MOST_WAYS = 3  # files named that must be downloaded by hand


@accepts(ReproduceRequest)
def reproduce(request: ReproduceRequest) -> list[str]:
    """Execute the missing runs of a table: data, training, translation, scores.

    :returns: one line per failed run, and per benchmark whose data are unavailable; all others are
        executed
    :raises InputError: a system or benchmark is not in the table, or cannot be run.
    """
    return run_all(plan(request), request)


def run_all(runs: Sequence[Run], request: ReproduceRequest) -> list[str]:
    """Execute all missing runs; those that another process is executing come last, and are waited
    for.

    :returns: as :func:`reproduce`
    """
    out, device, say = (
        as_path(request.out),
        choose_device(request.device),
        request.tasks.say or (lambda line: None),
    )
    # Prepare the data sets; one that is unavailable does not stop the others.
    records: dict[tuple[str, ...], dict[str, Any]] = {}
    failed: list[str] = []
    for name, benchmark in {_text_of(run): run.benchmark for run in runs}.items():
        lexicon_files = {run.system.lexicon_file for run in runs if _text_of(run) == name} - {""}
        try:
            records[name] = prepare_benchmark(
                benchmark, out, request.mirror, request.offline, say, lexicon_files
            )
        except InputError as error:
            failed.append(f"{benchmark.name}: {error}")
            say(failed[-1])
    # Find the runs that are not done.
    workspace = Workspace(out / RUNS)
    engine = request.tasks.workers
    engine.share(out)
    steps = []
    for run in runs:
        if _text_of(run) in records:
            try:
                inputs = inputs_of(run, records[_text_of(run)])
                inputs |= hpd_inputs(run, out / DATA / run.benchmark.data)
                steps.append((run, run.step(inputs)))
            except InputError as error:
                failed.append(f"{run.name}: {error}")
                say(failed[-1])
    pending = [(run, step) for run, step in steps if not workspace.done(step)]
    say(f"{len(steps) - len(pending)} of {len(runs)} runs are done")
    # Execute them; then wait for those of other processes.
    for wait in (False, True):
        busy = []
        tasks = [(run, step, out, device, wait) for run, step in pending]
        for name, seconds, problem in engine.run(
            _run_one, tasks, Needs(gpus=int(device == "cuda"))
        ):
            if problem is None:
                say(f"{name}: done in {seconds:,.0f} s")
            elif problem == "busy":
                busy.append(name)
            else:
                failed.append(f"{name}: {problem}")
                say(failed[-1])
        pending = [(run, step) for run, step in pending if run.name in busy]
        if pending:
            say(f"{len(pending)} runs are being executed by other processes; waiting for them")
    return failed


def _text_of(run: Run) -> tuple[str, ...]:
    return run.benchmark.name, run.benchmark.form, *run.benchmark.splits


def prepare_benchmark(
    benchmark: Benchmark,
    out: Path,
    mirror: str | Sequence[str] | None,
    offline: bool,
    say: Callable[[str], None],
    lexicon_files: Collection[str] = (),
) -> dict[str, Any]:
    """Prepare the data of a benchmark; return the record of the prepared set.

    :param lexicon_files: extra files that are wanted but not required.
    :raises InputError: a split is unavailable.
    """
    # A set that is there is kept, if it is unchanged and from this version of the recipe.
    folder = out / DATA / benchmark.folder
    recipe = registry.find_recipe(benchmark.data)
    with locked(out / DATA / f"{benchmark.folder}.reproduce", wait=True):
        record = (
            read_set_record(folder, recipe.name)
            if (folder / RECORD).is_file()
            else {"splits": {}, "revision": None}
        )
        if record["revision"] != recipe.revision or not _unchanged(folder, record, benchmark):
            released = any(
                record["splits"].get(split, {}).get("origin") == RELEASED
                for split in benchmark.splits
            )
            if released and offline and not mirror and not recipe.generates_released:
                raise InputError(
                    f"{folder}: prepared from the released files, but changed, or of an older"
                    f" version; give these files with {argument('mirror')}, or delete the folder"
                )
            prepared = get(
                recipe,
                folder,
                mirror=mirror,
                offline=offline,
                extras=bool(lexicon_files),
                say=say,
                form=benchmark.form,
            )
            record = prepared.record
            if missing := [split for split in benchmark.splits if split not in record["splits"]]:
                ways = "; ".join(prepared.to_get[:MOST_WAYS])
                further = (
                    f"; and {len(prepared.to_get) - MOST_WAYS} more files"
                    if prepared.to_get[MOST_WAYS:]
                    else ""
                )
                raise InputError(
                    f"{', '.join(missing)} of {recipe.name} unavailable; {ways}{further}"
                )
        elif not record["files"].keys() >= set(lexicon_files) and (mirror or not offline):
            # Files that were unavailable when the set was prepared may be available now.
            try:
                record = get(
                    recipe,
                    folder,
                    mirror=mirror,
                    offline=offline,
                    extras=True,
                    say=say,
                    form=benchmark.form,
                ).record
            except InputError as error:
                say(f"{benchmark.name}: {error}")
    # Name the splits that are not the released ones.
    if generated := generated_splits(record, benchmark):
        say(
            f"{benchmark.name}: {', '.join(generated)} are generated; for the released files, give"
            f" a mirror that has them and delete {folder}"
        )
    return record


def inputs_of(run: Run, record: Mapping[str, Any]) -> dict[str, str]:
    """The hashes of all files of a prepared set that a run reads, by name.

    :raises InputError: its lexicon is missing.
    """
    names = [name for split in run.benchmark.splits for name in record["splits"][split]["files"]]
    if lexicon := run.system.lexicon_file:
        if lexicon not in record["files"]:
            raise InputError(
                f"{lexicon} of {run.benchmark.data} is unavailable (cgbench data describe"
                f" {run.benchmark.data}); give a folder that has it with {argument('mirror')}, or"
                f" run {run.system.name} (learned), which learns one"
            )
        names.append(lexicon)
    return {name: record["files"][name] for name in names}


def _unchanged(folder: Path, record: Mapping[str, Any], benchmark: Benchmark) -> bool:
    if not all(split in record["splits"] for split in benchmark.splits):
        return False
    names = {name for split in benchmark.splits for name in record["splits"][split]["files"]}
    lexicon_files = {system.lexicon_file for system in benchmark.systems.values()}
    names |= lexicon_files & record["files"].keys()
    return first_damaged(folder, {name: record["files"][name] for name in names}) is None


def generated_splits(record: Mapping[str, Any], benchmark: Benchmark) -> list[str]:
    """The splits of a benchmark that are generated instead of released, by the record of a prepared
    set.
    """
    if registry.find_recipe(benchmark.data).generates_released:
        return []
    return [split for split in benchmark.splits if record["splits"][split]["origin"] == GENERATED]


def _run_one(
    run: Run, step: Step, out: Path, device: str, wait: bool
) -> tuple[str, float, str | None]:
    """Execute one run; return its name, its time in seconds, and the error, if any."""
    began = time.monotonic()

    def make(folder: Path) -> None:
        execute(run, step, out / DATA / run.benchmark.folder, folder, device)

    try:
        Workspace(out / RUNS).run(step, make, resumable=True, wait=wait)
    except BusyError:
        return run.name, 0.0, "busy"
    except InputError as error:
        return run.name, 0.0, str(error)
    except Exception as error:  # the failure of one run must not end the others
        path = Workspace(out / RUNS).result(step).with_suffix(".error")
        write_atomic(path, traceback.format_exc())
        return run.name, 0.0, f"{type(error).__name__}: {error} (see {path})"
    return run.name, time.monotonic() - began, None


def execute(run: Run, step: Step, data: Path, folder: Path, device: str) -> None:
    """Train, translate and measure, resuming from earlier work in ``folder``."""
    if (folder / RESULT).is_file():
        delete_unneeded(folder)  # interrupted while cleaning
        return
    # Train and test, or describe the text if the table has no system.
    began = time.time()
    sides = registry.find_recipe(run.benchmark.data).sides[:2]
    record = read_set_record(data, run.benchmark.data)
    cut = any(record["splits"][split]["rows"] > run.rows for split in run.benchmark.tests)
    if run.system.preset:
        figures = train_and_test(run, data, (sides[0], sides[1]), folder, device)
    elif run.system.pipeline:
        figures = hpd_figures(run, data, (sides[0], sides[1]), folder, folder / TEXT, device)
    else:
        figures = describe_test(run, data, sides[run.benchmark.side == "target"])
    # Record the scores with the settings that they are from.
    write_json(
        folder / RESULT,
        {
            "benchmark": run.benchmark.name,
            "system": run.system.name,
            "preset": run.system.preset,
            "scale": run.scale,
            "fraction": run.fraction,
            "seed": run.seed,
            "updates": run.preset.training.max_updates if run.system.preset else 0,
            "device": device,
            **(
                {"precision": read_config(folder / MODEL).training.precision}
                if run.system.preset
                else {}
            ),
            **({"init": shown_name(run.start.planned.address)} if run.start else {}),
            "rows": run.rows if cut else 0,
            "generated": generated_splits(record, run.benchmark),
            "settings": settings_of(step),
            "ended": int(time.time()),
            "seconds": round(time.time() - began),
            "figures": figures,
        },
    )
    delete_unneeded(folder)


def delete_unneeded(folder: Path) -> None:
    """Delete files that a finished run does not need."""
    shutil.rmtree(folder / TEXT, ignore_errors=True)
    model, log = folder / MODEL, folder / "metrics.jsonl"
    if not model.is_dir():
        return
    if not log.is_file():
        write_atomic(log, (model / "metrics.jsonl").read_text(encoding="utf-8"))
    shutil.rmtree(model)


def describe_test(run: Run, data: Path, side: str) -> dict[str, float]:
    """Mean degree and number of novel n-grams of one side of the first test."""
    from cgbench.benchmark.build.stats.stats import stats

    test = next(iter(run.benchmark.tests))
    (row,) = stats(data / f"{run.benchmark.train}.{side}", data / f"{test}.{side}").rows
    novel = {
        f"novel word {order}-grams": float(orders.novel) for order, orders in row.words.items()
    }
    return {"degree": row.degree, **novel}


def train_and_test(
    run: Run, data: Path, sides: tuple[str, str], folder: Path, device: str
) -> dict[str, float]:
    """Train a model, translate the tests, and return all scores."""
    from cgbench.models.training.trainer import train_model

    benchmark, preset = run.benchmark, run.preset
    text = folder / TEXT
    train, valid = texts.training_texts(run, data, sides, text)
    if spans := texts.training_spans(run, data, text):
        preset = preset.replace({"method.spans": str(spans)})
    # Skip a validation that decides nothing.
    if not (preset.training.patience or preset.training.keep == "best"):
        valid = None
    subwords = texts.learn_dictionaries(run, data, sides, train, text)
    lexicon = texts.learn_run_lexicon(run, data, sides, text)
    model = folder / MODEL
    train_model(
        *(train, valid, subwords, preset, run.seed, model, device),
        init=run.start,
        lexicon=lexicon,
        title=run.name,
        keep_state=False,
    )
    figures: dict[str, float] = {}
    for split, measures in benchmark.tests.items():
        tested = translate_test(run, model, data, split, sides, folder, device)
        for name in measures:
            figures.update(measure_test(name, tested))
    return figures


def settings_of(step: Step) -> str:
    """A hash of all settings except the seed."""
    return hash_value({**step.recipe, "step": "", "config": {**step.config, "seed": 0}})[:16]


def translate_test(
    run: Run, model: Path, data: Path, split: str, sides: tuple[str, str], folder: Path, device: str
) -> Translated:
    """Translate a test split, or some of its rows, depending on the scale."""
    from cgbench.models.ensemble import Ensemble

    source, target = (texts.read_side(run.benchmark, data, split, side) for side in sides)
    rows = texts.chosen_rows(run, len(source))
    sources, references = ([side[row] for row in rows.tolist()] for side in (source, target))
    references = [texts.spelled(run, reference) for reference in references]
    path = folder / f"{split.replace('/', '.')}.hypotheses"
    if not path.is_file() and run.start and run.start.is_whole:
        translations = _by_whole_model(run, model, sources, references, device)
        write_atomic(path, "".join(f"{item.text}\n" for item in translations))
    elif not path.is_file():
        ensemble = Ensemble.open([model], device)
        settings = SearchSettings(
            beam=run.system.beam,
            length_penalty=run.system.length_penalty,
            length_offset=run.system.length_offset,
        )
        # Beam search has the limits of the papers; otherwise no correct answer is truncated.
        exact = any("exact match" in name for name in run.benchmark.tests[split])
        if exact or run.system.beam == 1:
            settings = _without_truncation(settings, ensemble, sources, references)
        translations = ensemble.translate(sources, settings, progress=True)
        write_atomic(path, "".join(f"{item.text}\n" for item in translations))
    hypotheses = list(read_lines(path))
    other_splits = [name for name in run.benchmark.splits if name != split]
    return Translated(
        run.benchmark, data, split, sides, rows, sources, references, hypotheses, other_splits
    )


def _by_whole_model(
    run: Run, model: Path, sources: Sequence[str], references: Sequence[str], device: str
) -> list[Any]:
    """Translate by a fine-tuned model of transformers; no correct answer is truncated."""
    from cgbench.models.external.opening import plan_member

    member = plan_member(f"hf:{model}").open(device)
    longest = max((len(ids) for ids in member.encode_targets(references)), default=0)
    extra = longest + DEFAULT_SEARCH.max_length_extra
    nbest = member.translate(sources, SearchSettings(beam=run.system.beam, max_length_extra=extra))
    return [best for best, *_ in nbest]


def _without_truncation(
    settings: SearchSettings, ensemble: Any, sources: Sequence[str], references: Sequence[str]
) -> SearchSettings:
    """The settings with room for every reference, and for as many more tokens as usual."""
    reference_lengths = np.array([len(ids) for ids in ensemble.subwords.encode_target(references)])
    extra = settings.extra_for(ensemble.lengths(sources), reference_lengths)
    return replace(settings, max_length_extra=settings.max_length_extra + extra)
