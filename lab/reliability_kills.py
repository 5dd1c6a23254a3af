"""Kill a build at random moments and go on with it: is the release the same, byte by byte?

    python lab/reliability_kills.py FOLDER [--kills 200] [--seed 1] [--jobs 2]

FOLDER is made, as by ``bitflips.py``. The command alone is killed (SIGKILL): its workers have to
end by themselves. A build that gets through is compared with the undisturbed one, and the next
begins afresh. A line a kill or finished build goes to FOLDER/kills.jsonl, and the same command goes
on after the last line. The exit status is 1 if a build failed or ended in other bytes.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from reliability_bitflips import BUILD, WORK, build_words, make, release_bytes

SAFETY = 1.1  # kills fall into so many times the seconds of an undisturbed build


def main(arguments: Sequence[str] | None = None) -> int:
    """See the top of this file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    folder = options.folder.absolute()
    make(folder)
    log, out = folder / "kills.jsonl", folder / "killed"
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.is_file() else []
    kills = sum("killed_after" in row for row in rows)
    good = all(row.get("same", True) for row in rows)
    words = [*build_words(folder / "demo", out), "--jobs", options.jobs]
    command = [sys.executable, "-m", "cgbench", *map(str, words)]
    longest = 0.0
    chance = random.Random(f"{options.seed} {len(rows)}")
    while kills < options.kills or (out / WORK / ".cgbench").is_dir():
        wait = (
            None if not longest or kills >= options.kills else chance.uniform(0.2, SAFETY * longest)
        )
        with (folder / "kills.log").open("wb") as said:
            process = subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)
            began = time.monotonic()
            try:
                status = process.wait(wait)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
                row = {"killed_after": round(time.monotonic() - began, 2)}
            else:
                longest = longest or time.monotonic() - began
                same = status == 0 and release_bytes(out) == release_bytes(folder / BUILD)
                good &= same
                row = {"finished": status, "same": same, "kills": kills}
                if not same:
                    print(f"after {kills} kills: status {status}; see {folder / 'kills.log'}")
                    return 1
                shutil.rmtree(out)
        with log.open("a") as file:
            file.write(json.dumps(row) + "\n")
    print(f"{kills} kills, every finished build the same bytes: {good}")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
