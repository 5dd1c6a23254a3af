"""Cache the results of steps under a key of everything they depend on.

A step is a pure function of its slice of the configuration, the bytes of its inputs and its
revision. Its key is a hash of these three. The result folder is written atomically (all files are
synced, then one rename), so an interrupted build resumes when the same command is run again. A
damaged result is reported and computed again; its files are checked once per process.

Layout under a workspace's root::

    <step>/<key>/            a finished result, with step.json: inputs and outputs, no spare files
    <step>/<key>.partial/    an unfinished result, from which a resumable step resumes
    <step>/<key>.lock        held while the step runs
    lock                     held while a command works in this workspace
"""

import hashlib
import json
import multiprocessing
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cgbench import __version__
from cgbench.argument_types import AnyEngine, AnyFunction
from cgbench.checksums import digests_of, first_damaged
from cgbench.checksums import hash_file as hash_file  # many modules import it from here
from cgbench.engines import Engine, Local
from cgbench.errors import InputError, argument, warn
from cgbench.files import read_json, sync, write_json
from cgbench.locks import locked
from cgbench.machine import runs_remotely
from cgbench.progress import working
from cgbench.records import Record
from cgbench.request import KW_ONLY, Request, option

STEPS = ".cgbench"  # the folder inside a command's output that is its workspace
NEW = "runs (no earlier result)"
KEY_LENGTH = 16  # hex digits of a SHA-256 that name a folder; step.json is compared in full


def hash_value(value: Any) -> str:
    """The SHA-256 of a JSON value in canonical form, in hex."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def in_short(lines: Sequence[str]) -> list[str]:
    """Lines of :meth:`Workspace.why`, of which all steps without an earlier result share the last:
    in a first run, this is no news of each of them.
    """
    names = [line.removesuffix(f": {NEW}") for line in lines if line.endswith(f": {NEW}")]
    if len(names) < 2:
        return list(lines)
    others = [line for line in lines if not line.endswith(f": {NEW}")]
    return [*others, f"no earlier result, so these run: {', '.join(names)}"]


class Step(Record):
    """The identity of a step: its name, configuration, inputs, and the revision of its code.

    ``inputs`` maps a name to a hash: of a file's bytes, or the key of the step that made it. Raise
    ``revision`` whenever the code of a step changes what it writes.

    ``grows`` is not part of the identity: (setting, file). A step may start from the result of the
    same step with a smaller value of the setting, if that result has the file.
    """

    name: str
    config: Mapping[str, Any]
    inputs: Mapping[str, str]
    revision: int = 1
    grows: tuple[str, str] | None = None

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything the result depends on, as JSON."""
        return {
            "step": self.name,
            "config": dict(self.config),
            "inputs": dict(self.inputs),
            "revision": self.revision,
            "version": __version__,
        }

    @property
    def key(self) -> str:
        """The hash of :attr:`recipe`."""
        return hash_value(self.recipe)


class Workspace:
    """The folder with the steps of a build.

    ``say`` receives one line per step (for ``--set explain=true``).
    """

    def __init__(self, root: Path, say: Callable[[str], None] | None = None) -> None:
        self.root = root
        self._named: set[Path] = set()  # damaged files already reported
        self.say = say or (lambda line: None)

    def result(self, step: Step) -> Path:
        """The result folder of ``step``."""
        return self.root / step.name / step.key[:KEY_LENGTH]

    def done(self, step: Step) -> bool:
        """Whether ``step`` is finished and its files are intact; warns once about a damaged
        file.
        """
        if not self._finished(step):
            return False
        if (damaged := self.damaged(step)) is None:
            return True
        # Workers do not warn: the command that started them has.
        if (
            damaged not in self._named
            and multiprocessing.parent_process() is None
            and not runs_remotely()
        ):
            self._named.add(damaged)
            warn(f"{damaged} is damaged; {step.name} runs again")
        return False

    def damaged(self, step: Step) -> Path | None:
        """The first file of a finished result that is missing or changed, or None."""
        result = self.result(step)
        record = _read_record(result / "step.json")
        if record is None or {key: record.get(key) for key in step.recipe} != step.recipe:
            return result / "step.json"
        for name, length in record["sizes"].items():
            if not (result / name).is_file() or (result / name).stat().st_size != length:
                return result / name
        name = first_damaged(result, record["outputs"])
        return None if name is None else result / name

    def smaller(self, step: Step) -> Step | None:
        """The step with the largest smaller value of the setting ``step.grows`` and an intact
        result to start from.
        """
        if step.grows is None:
            return None
        setting, file = step.grows
        results = []
        for path in (self.root / step.name).glob("*/step.json"):
            value = ((_read_record(path) or {}).get("config") or {}).get(setting)
            if type(value) is not int or value >= step.config[setting]:
                continue
            candidate = replace(step, config={**step.config, setting: value})
            if self.result(candidate) == path.parent and (path.parent / file).is_file():
                results.append((value, candidate))
        results.sort(key=lambda result: -result[0])
        return next(
            (candidate for _, candidate in results if self.damaged(candidate) is None), None
        )

    def _finished(self, step: Step) -> bool:
        return (self.result(step) / "step.json").is_file()

    def why(self, step: Step) -> str:
        """One line: whether the step has to run, and what has changed since its last run."""
        if self.done(step):
            return f"{step.name}: kept (nothing it depends on has changed)"
        if self._partial(step).is_dir():
            return f"{step.name}: resumes (an earlier run was stopped)"
        if self._finished(step) and (damaged := self.damaged(step)):
            return (
                f"{step.name}: runs ({damaged.relative_to(self.result(step))} of its result is"
                " damaged)"
            )
        if step.grows and (smaller := self.smaller(step)):
            setting = step.grows[0]
            change = f"config.{setting} {smaller.config[setting]} -> {step.config[setting]}"
            return f"{step.name}: continues an earlier result (changed: {change})"
        earlier = sorted(
            (path.stat().st_mtime_ns, path)
            for path in (self.root / step.name).glob("*/step.json")
            if path.is_file()
        )
        before = _read_record(earlier[-1][1]) if earlier else None
        if before is None:
            return f"{step.name}: {NEW}"
        changes = [
            f"{section}.{name} {_short(before[section].get(name))} -> {_short(now.get(name))}"
            for section, now in (("config", step.config), ("inputs", step.inputs))
            for name in sorted(set(before[section]) | set(now))
            if before[section].get(name) != now.get(name)
        ]
        for section, new in (("revision", step.revision), ("version", __version__)):
            if before.get(section) != new:
                changes.append(f"{section} {before.get(section)} -> {new}")
        return f"{step.name}: runs (changed: {'; '.join(changes)})"

    def run(
        self,
        step: Step,
        make: Callable[[Path], None],
        *,
        resumable: bool = False,
        wait: bool = True,
        spare: Sequence[str] = (),
    ) -> Path:
        """Return the result folder of ``step``; run ``make(folder)`` if it does not exist.

        ``make`` fills an empty folder, or, if ``resumable``, the folder of an interrupted run,
        whose files must all have been written atomically.

        :param wait: wait for another process that runs the same step.
        :param spare: files in the folder that are not part of the result and may be deleted.
        :raises BusyError: another process runs the step, and ``wait`` is false.
        """
        result = self.result(step)
        self.say(self.why(step))
        if self.done(step):
            return result
        partial = self._partial(step)
        partial.parent.mkdir(parents=True, exist_ok=True)
        with locked(result.with_name(result.name + ".lock"), wait=wait):
            if self.done(step):
                return result
            if partial.is_dir() and not resumable:
                shutil.rmtree(partial)
            partial.mkdir(exist_ok=True)
            for leftover in partial.rglob(".*.tmp"):
                leftover.unlink()
            began = time.monotonic()
            try:
                with working(step.name):
                    make(partial)
            except OSError:
                if runs_remotely() and self.done(step):
                    return result  # the same task was thought lost, but finished elsewhere
                raise
            self._finish(step, partial, time.monotonic() - began, spare)
        return result

    def _finish(self, step: Step, partial: Path, seconds: float, spare: Sequence[str]) -> None:
        apart = {partial / name for name in spare}
        files = sorted(path for path in partial.rglob("*") if path.is_file() and path not in apart)
        outputs = digests_of(partial, [str(path.relative_to(partial)) for path in files])
        for path in [*files, *{path.parent for path in files}]:
            sync(path)
        sizes = {str(path.relative_to(partial)): path.stat().st_size for path in files}
        record = {**step.recipe, "outputs": outputs, "sizes": sizes, "seconds": round(seconds, 3)}
        write_json(partial / "step.json", record)
        shutil.rmtree(self.result(step), ignore_errors=True)  # a damaged result
        partial.rename(self.result(step))
        sync(partial.parent)

    def _partial(self, step: Step) -> Path:
        result = self.result(step)
        return result.with_name(result.name + ".partial")


def _read_record(path: Path) -> dict[str, Any] | None:
    """The content of ``step.json``; None if it is missing or damaged."""
    try:
        record = read_json(path)
        maps = [record[key] for key in ("config", "inputs", "outputs", "sizes")]
    except (InputError, LookupError, TypeError):
        return None
    return record if all(isinstance(value, dict) for value in maps) else None


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
    return text if len(text) <= 24 else text[:12] + "…"


def check_folder(
    out: Path,
    option: str = "out",
    is_earlier: Callable[[Path], bool] = lambda folder: (folder / STEPS).is_dir(),
) -> None:
    """Check that ``out``, the value of the argument ``option``, is new, empty, or written by an
    earlier run.

    :raises InputError: it contains something else.
    """
    if out.exists() and not out.is_dir():
        raise InputError(
            f"{out}: a file, where {'the output' if option == 'out' else 'a'} folder should be"
        )
    if out.is_dir() and any(out.iterdir()) and not is_earlier(out):
        raise InputError(
            f"{out}: the folder holds something else already; give a new one with"
            f" {argument(option)}"
        )


class TaskOptions(Request):
    """Where the tasks of a job run, and a function that receives a line per step."""

    _: KW_ONLY
    jobs: int | None = option(
        "--jobs",
        default=None,
        help="Number of parallel tasks, which does not change the output [default: all cores]",
        least=1,
        group="Execution",
    )
    engine: AnyEngine | None = option(
        "--engine",
        default=None,
        help=(
            "Where tasks run: here, or on a Ray cluster (HOST:PORT, or auto) [default: local, or"
            " CGBENCH_ENGINE]"
        ),
        metavar="local|ray[:ADDRESS]",
        group="Execution",
    )
    say: AnyFunction | None = option(
        default=None,
        help="Function that receives one line per step: why it runs or is kept",
    )

    @property
    def workers(self) -> Engine:
        """The engine: this machine, unless another is given."""
        return self.engine or Local(self.jobs)
