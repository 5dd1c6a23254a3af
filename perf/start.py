"""How long a command takes to start: processor time of ``score exact`` of one line, in turn with
that of importing NumPy and click, which it needs.

    python perf/start.py --repeat 15
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scan import environment_with

from cgbench.machine import description


def processor_seconds(arguments: Sequence[str]) -> float:
    """The processor time of a Python process, with one thread."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = environment_with(OPENBLAS_NUM_THREADS="1")
    subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=15, help="runs of each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "text")
        text.write_text("the old dog ran\n")
        scored = ["-m", "cgbench", "score", "exact", "--ref", str(text), "--hyp", f"a={text}"]
        imported = ["-c", "import numpy, click"]
        processor_seconds(scored)  # writes bytecode
        pairs = [
            (processor_seconds(scored), processor_seconds(imported)) for _ in range(options.repeat)
        ]
    own = statistics.median(start for start, _ in pairs)
    ratio = statistics.median(start / needed for start, needed in pairs)
    print(f"{description()}\n\n| what | measured |\n|---|---|")
    print(f"| start of `score exact` | {own:.3f} s CPU = {ratio:.2f} x `import numpy, click` |")


if __name__ == "__main__":
    main()
