"""Speed of models, as ratios against peers and limits measured in the same run.

    pip install '.[perf]'                       # Hugging Face transformers, the peer
    python perf/models.py                             # everything on a CPU, with all cores
    python perf/models.py train decode --repeat 9     # and the others
    python perf/models.py train --precision bfloat16  # on a CPU, which otherwise uses float32
    python perf/models.py --device cuda               # in bfloat16, under 8 minutes; also ensemble

Prints a Markdown table. What is compared runs in turn, A B B A ..., in one process; ratios are
medians of the ratios of neighbours, with their range. Models have random weights and sentences
random words, with lengths as in IWSLT14.
"""

import argparse
import datetime
import importlib

import torch
from model_work import Setting

from cgbench.machine import description, usable_cores
from cgbench.models.training.reproducible import reproducible

PARTS = {
    "train": ("model_training", "train"),
    "laptop": ("model_training", "laptop"),
    "decode": ("model_inference", "decode"),
    "translate": ("model_inference", "translate"),
    "r-dangle": ("model_training", "r_dangle"),
    "uncertainty": ("model_inference", "uncertainty"),
    "lstm": ("lstm", "lstm"),
    "ensemble": ("gpu", "ensemble"),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all that the device has"
    )
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--threads", type=int, default=usable_cores(), help="on a CPU")
    parser.add_argument(
        "--precision", choices=["float32", "bfloat16"], help="on a CPU float32 unless set"
    )
    parser.add_argument("--repeat", type=int, default=5, help="rounds that count")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    precision = options.precision or ("float32" if options.device == "cpu" else "bfloat16")
    setting = Setting(options.device, options.repeat, getattr(torch, precision))
    parts = options.parts or [
        part for part in PARTS if options.device != "cpu" or part != "ensemble"
    ]
    rows = []
    with reproducible(options.threads, options.device, seed=0):
        for part in parts:
            module, function = PARTS[part]
            rows += getattr(importlib.import_module(module), function)(setting)
    gpu = "" if options.device == "cpu" else f"{torch.cuda.get_device_name()}, "
    where = f"{gpu}{description()}"
    print(
        f"{datetime.date.today()}, {where}, torch {torch.__version__}, {options.threads} threads,"
        f" {precision}\n"
    )
    print("| what | measured | goal |\n|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
