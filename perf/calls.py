"""How much Python a reader meets: calls of functions of cgbench, and the files that they are in.

    python perf/calls.py

Counts one training update of the preset ``tiny``, and one self-attention over one grid.
"""

import collections
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import torch
from model_work import Setting, Training, sentences, training_batches

import cgbench
from cgbench.models.config.presets import load_preset
from cgbench.models.parts.attention import SelfAttention
from cgbench.models.parts.ragged import Layout

ROOT = str(Path(cgbench.__file__).parent)


def count(work: Callable[[], object]) -> collections.Counter[tuple[str, str]]:
    """Calls by file and function; what a call makes of generators and comprehensions is not counted
    again.
    """
    calls: collections.Counter[tuple[str, str]] = collections.Counter()

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if (
            event == "call"
            and code.co_filename.startswith(ROOT)
            and not code.co_name.startswith("<")
        ):
            calls[code.co_filename[len(ROOT) + 1 :], code.co_name] += 1

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def main() -> None:
    """Print the counts, and with ``-v`` each function's."""
    torch.set_num_threads(1)
    training = Training(load_preset("tiny").model, Setting("cpu", 1, torch.float32))
    source, target = sentences(200)
    batch = training_batches(source, target, 512)[0]
    pair = source.take(batch), target.take(batch)
    training.update(source.take(batch), target.take(batch))
    attention, layout = SelfAttention(64, 4, 0.0), Layout([9] * 4)
    x = torch.randn(layout.tokens, 64)
    attention(x, layout)  # the layout of a batch is made once, for all layers

    for name, work in {
        "one training update": lambda: training.update(*pair),
        "one self-attention": lambda: attention(x, layout),
    }.items():
        calls = count(work)
        print(f"{name}: {calls.total()} calls in {len({file for file, _ in calls})} files")
        if "-v" in sys.argv:
            for (file, function), number in calls.most_common():
                print(f"  {number:4} {file} {function}")


if __name__ == "__main__":
    main()
