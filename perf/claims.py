"""Measure every ratio that README and docs/lab/performance.md claim, and fail if one is 1.3 times
worse.

    python perf/claims.py                       # or: make perf-claims
    python perf/claims.py --only scan.py        # the rows of one program
    CORPORA=folder LMPLZ=.../lmplz python perf/claims.py

``claims.tsv`` has one row per claim: the program of this folder that measures it, the beginning of
the row that the program prints, the claim as this row has it (``0.61 x `wc -w```), whether more or
less is better, and the processors for which it was measured (words of /proc/cpuinfo, ``!word`` for
none such; nothing for all). Programs that compare one thread with one thread take processor times,
so other work on the machine hardly matters. It matters for those that use all cores or wait for
memory, such as the scan: the load is printed before each program.

Without CORPORA, texts of the same size are made, whose scan takes 1.12 times as long relative to
``wc -w`` (processor time, 2026-11-29); without LMPLZ, the rows that need it are not measured.
"""

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scan import make_corpora

from cgbench.machine import description

FOLDER = Path(__file__).parent
LIMIT = 1.3
PAIRS, TRAINED = 4_500_000, 160_000  # of the corpora that are made
RANGE = r"(?: \([^()]*\))?"  # of repeated runs, behind a number


@dataclass(frozen=True)
class Claim:
    """A row of ``claims.tsv``."""

    command: str
    row: str
    claim: str
    good: str
    processor: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """The number with what follows it, as programs and pages write it."""
        unit = self.claim.removeprefix(self._digits)
        return re.compile(rf"(?<![\d.])(\d[\d.,]*){RANGE}{re.escape(unit)}")

    @property
    def _digits(self) -> str:
        return self.claim.partition(" ")[0].rstrip("%")

    @property
    def value(self) -> float:
        """The number that is claimed."""
        return float(self._digits)

    def measured(self, output: str) -> float | None:
        """The number in the first row of a printed table that is meant, or None."""
        for line in output.splitlines():
            cells = [cell.strip() for cell in line.strip("| \n").split(" | ")]
            if cells[0].startswith(self.row) and len(cells) > 1:
                match = self.pattern.search(cells[1])
                return float(match[1].replace(",", "")) if match else None
        return None

    def holds(self, value: float) -> bool:
        """Whether a measured value is less than ``LIMIT`` times worse than the claim."""
        worse = value / self.value if self.good == "less" else self.value / max(value, 1e-9)
        return worse < LIMIT

    def is_for(self, processor: str) -> bool:
        """Whether it was measured on such a processor."""
        words = set(processor.replace("(R)", "").split())
        return all(
            word[1:] not in words if word.startswith("!") else any(word in name for name in words)
            for word in self.processor.split()
        )


def read_claims() -> list[Claim]:
    """All rows."""
    with (FOLDER / "claims.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [Claim(**{name: text or "" for name, text in row.items()}) for row in rows]


def processor() -> str:
    """What is known of the processor: its name and abilities."""
    info = Path("/proc/cpuinfo")
    return info.read_text() if info.is_file() else description()


def run(command: str, values: dict[str, str]) -> str:
    """What a program prints; nothing if it fails."""
    for name, value in values.items():
        command = command.replace(name, value)
    program, *arguments = command.split()
    print(f"## {command} (load {os.getloadavg()[0]:.1f})\n", flush=True)
    done = subprocess.run(
        [sys.executable, FOLDER / program, *arguments], stdout=subprocess.PIPE, text=True
    )
    print(done.stdout, flush=True)
    return "" if done.returncode else done.stdout


def measure(claims: Sequence[Claim], values: dict[str, str]) -> list[tuple[Claim, str]]:
    """Run each program once; every claim with what became of it."""
    here = processor()
    results = []
    for command in dict.fromkeys(claim.command for claim in claims):
        rows = [claim for claim in claims if claim.command == command]
        lacking = [name for name in ("CORPORA", "LMPLZ") if name in command and name not in values]
        if not any(claim.is_for(here) for claim in rows):
            results += [(claim, "another processor") for claim in rows]
            continue
        if lacking:
            results += [(claim, f"not measured: {lacking[0]} is not set") for claim in rows]
            continue
        output = run(command, values)
        for claim in rows:
            value = claim.measured(output)
            if value is None:
                results.append((claim, "FAILED: no such row"))
            else:
                results.append((claim, f"{value:g}" if claim.holds(value) else f"WORSE: {value:g}"))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="beginning of the commands to run")
    options = parser.parse_args()
    claims = [claim for claim in read_claims() if claim.command.startswith(options.only)]
    values = {name: os.environ[name] for name in ("CORPORA", "LMPLZ") if name in os.environ}
    with tempfile.TemporaryDirectory() as folder:
        if "CORPORA" not in values and any("CORPORA" in claim.command for claim in claims):
            values["CORPORA"] = folder
            make_corpora(Path(folder), TRAINED, PAIRS)
        results = measure(claims, values)
    print(f"{description()}\n\n| program | row | claim | measured |\n|---|---|---|---|")
    for claim, result in results:
        print(f"| {claim.command} | {claim.row} | {claim.claim} | {result} |")
    bad = [result for _, result in results if result.startswith(("FAILED", "WORSE"))]
    if bad:
        sys.exit(f"{len(bad)} of {len(results)} claims do not hold within {LIMIT} times")


if __name__ == "__main__":
    main()
