"""Flip random bits in the files of a finished workspace and its release: is each found, or without
effect?

    python lab/reliability_bitflips.py FOLDER [--flips 1000] [--seed 1] [--rebuild 10]

FOLDER is made: a tiny demo corpus and a finished ``build-react`` of it. A flip is made in a copy of
it (hard links), and what reads the flipped file is asked:

- a file of a step: does the workspace name it? Every ``--rebuild``-th time the build is run again,
  and has to end in the bytes of the undisturbed release; and always where nothing was named.
- a file of the release: does ``cgbench verify`` refuse it?
- anything else: the build is run again.

A line a flip goes to FOLDER/flips.jsonl; the same command goes on after the last line. A flip that
ended the process is the one that was begun and has no end: it counts as "crash". The exit status is
1 if any flip was harmful: the result changed, nothing was said, or what was said is not one line.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

TINY = (
    *("--preset", "demo", "--members", "2", "--model", "tiny", "--jobs", "1"),
    *(
        "--set",
        "candidates=120",
        "--set",
        "training.max_updates=3",
        "--set",
        "text.merges=80",
        "--set",
        "beam=1",
        "--set",
        "accept_ensemble=true",
    ),
)
HARMLESS = ("named", "made again", "refused", "no effect", "no result")
BUILD, LOG = "build", "flips.jsonl"
OUT, WORK = "release", "release.work"  # in the folder of a build


def call(*words: object) -> tuple[int, str]:
    """Run the command line in this process; return its exit status and what it said on standard
    error.
    """
    from click.testing import CliRunner

    from cgbench.cli import main

    result = CliRunner().invoke(main, [str(word) for word in words])
    if result.exception and not isinstance(result.exception, SystemExit):
        return -1, f"traceback: {result.exception!r}"
    return result.exit_code, result.stderr


def build_words(demo: Path, out: Path) -> list[object]:
    """The command of a build in the folder ``out``; the inputs stay where they are."""
    words: list[object] = ["build-react"]
    for option, name in (("--train", "train"), ("--pool", "pool"), ("--exclude", "valid")):
        words += [option, demo / f"{name}.de", demo / f"{name}.en"]
    return [*words, *TINY, "--out", out / OUT]


def make(folder: Path) -> None:
    """Make the demo corpus and the undisturbed build, unless they are there."""
    from cgbench.data_recipes.demo.corpus import write_demo

    if not (folder / BUILD / OUT / "manifest.json").is_file():
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "demo").mkdir(parents=True)
        write_demo(folder / "demo", train_pairs=1000, pool_pairs=500, valid_pairs=20, seed=3)
        status, said = call(*build_words(folder / "demo", folder / BUILD))
        if status:
            raise SystemExit(f"the undisturbed build failed: {said}")


def release_bytes(folder: Path) -> dict[str, bytes]:
    """Every file of a build's release, by its name in the release."""
    paths = [path for path in (folder / OUT).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder / OUT)): path.read_bytes() for path in paths}


def files_of(build: Path) -> list[Path]:
    """All files with a bit to flip, relative."""
    return sorted(
        path.relative_to(build)
        for path in build.rglob("*")
        if path.is_file() and path.stat().st_size
    )


def choose(build: Path, seed: int, number: int) -> tuple[Path, int]:
    """The file and the bit of a flip: any file as likely as another, or, every other time, any
    bit.
    """
    chance = random.Random(f"{seed} {number}")
    files = files_of(build)
    sizes = [(build / path).stat().st_size for path in files]
    path = chance.choices(files, sizes if number % 2 else None)[0]
    return path, chance.randrange(8 * (build / path).stat().st_size)


def flipped_copy(build: Path, copy: Path, path: Path, bit: int) -> None:
    """Copy a build by hard links, the flipped file apart: it is a new one, so no time stamp can
    look the same.
    """
    shutil.copytree(build, copy, copy_function=os.link)
    data = bytearray((build / path).read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    (copy / path).unlink()
    (copy / path).write_bytes(data)


def step_of(build: Path, path: Path) -> Any:
    """The step that a file belongs to, by the undisturbed record; None if it is no part of a
    result.
    """
    from cgbench.steps import STEPS, Step

    parts = path.parts
    record = build.joinpath(*parts[:4], "step.json")
    if parts[:2] != (WORK, STEPS) or len(parts) < 5 or not record.is_file():
        return None
    values = json.loads(record.read_bytes())
    return Step(values["step"], values["config"], values["inputs"], values["revision"])


def judge(folder: Path, path: Path, bit: int, work: Path, rebuild: bool) -> tuple[str, str]:
    """Flip a bit in a copy and ask what reads it. Returns what came of it, and what was said."""
    from cgbench.steps import STEPS, Workspace

    build, copy = folder / BUILD, work / "build"
    shutil.rmtree(copy, ignore_errors=True)
    flipped_copy(build, copy, path, bit)
    if path.parts[:2] != (WORK, STEPS):
        if path.name == ".gitignore":
            return "no result", ""
        status, said = call("verify", copy / OUT)
        return ("unnoticed" if status == 0 else one_line("refused", status, said)), said
    step = step_of(build, path)
    damaged = Workspace(copy / WORK / STEPS).damaged(step) if step else None
    if damaged and not rebuild:
        return "named", str(damaged.relative_to(copy))
    status, said = call(*build_words(folder / "demo", copy))
    if status:
        return one_line("refused", status, said), said
    if release_bytes(copy) != release_bytes(build):
        return "changed", said
    return ("made again" if "is damaged" in said else "no effect"), said


def one_line(outcome: str, status: int, said: str) -> str:
    """``outcome``, if what was said is a line and an exit status that a user's mistake has."""
    lines = [line for line in said.splitlines() if not line.startswith("warning: ")]
    return outcome if status in (1, 2) and len(lines) <= 1 else "said badly"


def run(folder: Path, flips: int, seed: int, rebuild: int) -> Iterator[dict[str, Any]]:
    """Make the flips that the log does not have; yield all that it has then."""
    log = folder / LOG
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.is_file() else []
    done = {
        row["flip"]: row for row in rows if row["seed"] == seed
    }  # the end of a flip replaces its beginning
    for row in done.values():
        row.setdefault("outcome", "crash")
        yield row
    with log.open("a") as out, tempfile.TemporaryDirectory(dir=folder) as work:

        def note(row: dict[str, Any]) -> None:
            out.write(json.dumps(row) + "\n")
            out.flush()

        for number in range(flips):
            if number in done:
                continue
            path, bit = choose(folder / BUILD, seed, number)
            row: dict[str, Any] = {"seed": seed, "flip": number, "file": str(path), "bit": bit}
            note(row)
            again = bool(rebuild) and number % rebuild == 0
            outcome, said = judge(folder, path, bit, Path(work), again)
            row |= {"outcome": outcome, "said": said.strip()[-300:]}
            note(row)
            yield row


def main(arguments: Sequence[str] | None = None) -> int:
    """See the top of this file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--rebuild", type=int, default=10, help="run the build again every so many flips; 0: never"
    )
    options = parser.parse_args(arguments)
    folder = options.folder.absolute()
    os.environ["CGBENCH_LOG_EVERY"] = "0"  # what is said must not depend on how busy the machine is
    make(folder)
    before = {path: (folder / BUILD / path).read_bytes() for path in files_of(folder / BUILD)}
    began = time.monotonic()
    counts: Counter[str] = Counter()
    for row in run(folder, options.flips, options.seed, options.rebuild):
        counts[row["outcome"]] += 1
        if row["outcome"] not in HARMLESS:
            print(
                f"{row['outcome']}: {row['file']}, bit {row['bit']}: {row.get('said', '')}",
                flush=True,
            )
    if before != {path: (folder / BUILD / path).read_bytes() for path in files_of(folder / BUILD)}:
        raise SystemExit(
            "a flip reached the undisturbed build: its copies are not what they should be"
        )
    print(
        f"{sum(counts.values())} flips in {time.monotonic() - began:.0f} s:"
        f" {dict(counts.most_common())}"
    )
    return int(any(outcome not in HARMLESS for outcome in counts))


if __name__ == "__main__":
    sys.exit(main())
