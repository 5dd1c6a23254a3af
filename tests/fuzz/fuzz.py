"""Try many damaged inputs: ``python tests/fuzz/fuzz.py --inputs 100000 --out FOLDER``.

Run again, it resumes. It prints the table of docs/lab/reliability.md and, below, every fault by its
origin; the inputs that are faults lie in FOLDER/faults. Status 1 if there is one.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

import listed
from harness import run
from targets import targets


def main():
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads do not come along into a child
    os.environ["CGBENCH_LOG_EVERY"] = "0"  # what is said must not depend on how busy the machine is
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--inputs", type=int, default=1000, help="in all, shared by the targets alike"
    )
    parser.add_argument("--each", type=int, help="inputs for each target, in place of --inputs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--only", default="", help="targets whose name and form hold this")
    parser.add_argument("--light", action="store_true", help="without what imports PyTorch")
    parser.add_argument(
        "--step", type=int, default=500, help="inputs of a target between two saves"
    )
    parser.add_argument("--listed", action="store_true", help="only the targets of listed.py")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    state = given.out / f"seed-{given.seed}.json"
    counts = json.loads(state.read_text()) if state.is_file() else {}
    tried = (
        [one for group in listed.GROUPS for one in group()]
        if given.listed
        else targets(not given.light)
    )
    chosen = [one for one in tried if given.only in f"{one.name} {one.form}"]
    share = given.each or -(-given.inputs // len(chosen))
    for target in chosen:
        key = f"{target.name}|{target.form}"
        mine = counts.setdefault(
            key, {"tried": 0, "ok": 0, "refused": 0, "faults": {}, "seconds": 0.0}
        )
        while mine["tried"] < share:
            numbers = range(mine["tried"], min(share, mine["tried"] + given.step))
            began = time.monotonic()
            faults = Counter(mine["faults"])
            for number, status, detail in run(target, numbers, given.seed, given.out / "faults"):
                mine["tried"] += 1
                if status in ("ok", "refused"):
                    mine[status] += 1
                else:
                    faults[f"{status}: {detail}"] += 1
                    print(
                        f"{target.name}, {target.form}, input {number}: {status}: {detail}",
                        file=sys.stderr,
                    )
            mine["faults"] = dict(faults)
            mine["seconds"] = round(mine["seconds"] + time.monotonic() - began, 3)
            state.write_text(json.dumps(counts, indent=1))
    wrong = report({f"{one.name}|{one.form}": counts[f"{one.name}|{one.form}"] for one in chosen})
    sys.exit(1 if wrong else 0)


def report(counts):
    """Print the table; return how many faults there are."""
    print("| command | form | inputs | accepted | refused | faults | inputs/s |")
    print("|---|---|---:|---:|---:|---:|---:|")
    total = Counter()
    for key, mine in counts.items():
        wrong = sum(mine["faults"].values())
        rate = mine["tried"] / max(mine["seconds"], 1e-9)
        cells = [
            *key.split("|"),
            *(f"{mine[name]:,}" for name in ("tried", "ok", "refused")),
            f"{wrong}",
            f"{rate:,.0f}",
        ]
        print(f"| {' | '.join(cells)} |")
        total += Counter(tried=mine["tried"], ok=mine["ok"], refused=mine["refused"], wrong=wrong)
    print(
        f"| all | | {total['tried']:,} | {total['ok']:,} | {total['refused']:,} |"
        f" {total['wrong']} | |"
    )
    for key, mine in counts.items():
        for fault, count in sorted(mine["faults"].items(), key=lambda item: -item[1]):
            print(f"\n{key}: {count} x {fault}")
    return total["wrong"]


if __name__ == "__main__":
    main()
