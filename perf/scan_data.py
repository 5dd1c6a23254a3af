"""Speed of generating SCAN: its commands against an interpreter of each, and the whole set against
copying its files.

    python perf/scan_data.py [--repeat 5]

Prints a Markdown table. Times are the best of the repeats, ratios the median of pairs taken in
turns, of processor time for the commands; the interpreter must give the same actions, or nothing is
printed.
"""

import argparse
import datetime
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from scan import CGBENCH, run

from cgbench.data_recipes.scan import commands
from cgbench.machine import description


def interpret(command: str) -> list[str]:
    """The actions of a command, from its words alone."""
    words = command.split()
    for joint in ("and", "after"):
        if joint in words:
            place = words.index(joint)
            parts = [interpret(" ".join(part)) for part in (words[:place], words[place + 1 :])]
            return parts[0] + parts[1] if joint == "and" else parts[1] + parts[0]
    for word, times in (("twice", 2), ("thrice", 3)):
        if words[-1] == word:
            return interpret(" ".join(words[:-1])) * times
    act = [] if words[0] == "turn" else [f"I_{words[0].upper()}"]
    turn = [f"I_TURN_{words[-1].upper()}"] if words[-1] in ("left", "right") else []
    if "around" in words:
        return (turn + act) * 4
    return turn * (2 if "opposite" in words else 1) + act


def timed(function: Callable[[], object]) -> float:
    """Seconds of processor time that a call takes."""
    began = time.process_time()
    function()
    return time.process_time() - began


def generation(repeat: int) -> str:
    """The row of the commands alone."""
    found = commands()
    if any(" ".join(interpret(command)) != actions for command, actions in found.items()):
        raise SystemExit("the interpreter gives other actions")
    pairs = [
        (timed(commands.__wrapped__), timed(lambda: [interpret(each) for each in found]))
        for _ in range(repeat)
    ]
    ours, plain = (min(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(two / one for one, two in pairs)
    measured = f"{ours:.3f} s CPU; an interpreter {plain:.3f} s = {ratio:.1f} x"
    return f"| {len(found):,} commands and their actions | {measured} | 1 s |"


def whole_set(repeat: int) -> str:
    """The row of the command that writes all splits."""
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(repeat):
            out, copy = Path(folder, f"scan-{number}"), Path(folder, f"copy-{number}")
            command = " ".join((*CGBENCH, "data get scan --offline --out", str(out)))
            ours = run(["sh", "-c", f"{command} 2> /dev/null"])
            pairs.append(
                (ours, run(["sh", "-c", f"cp -r {out} {copy} && sync {copy}/* {copy}/*/*"]))
            )
        size = sum(path.stat().st_size for path in out.rglob("*")) / 1e6
    fast, copied = (min(column, key=lambda one: one.wall) for column in zip(*pairs, strict=True))
    ratio = statistics.median(one.wall / two.wall for one, two in pairs)
    measured = (
        f"{fast.wall:.2f} s ({fast.cpu:.2f} s CPU) = {ratio:.1f} x copying the files to disk"
        f" ({copied.wall:.2f} s)"
    )
    return f"| `cgbench data get scan --offline`, whole command, {size:.0f} MB | {measured} | 2 s |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    rows = [generation(repeat), whole_set(repeat)]
    print(f"{datetime.date.today()}, {description()}\n\n| what | measured | goal |\n|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
