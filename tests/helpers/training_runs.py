"""A small corpus, a preset that has every kind of event in 14 updates, and how tests train with
them.
"""

import json
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest import mock

from cgbench.models.config.common import TextConfig
from cgbench.models.config.presets import load_preset
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.loop import TrainingRun
from cgbench.models.training.trainer import train_model

EVENTS = {
    "validate_every": 4,
    "checkpoint_every": 3,
    "log_every": 2,
    "max_tokens": 128,
    "accumulation": 2,
}
PRESET = load_preset("tiny").replace(
    {"training.max_updates": 14, "model.attention_dropout": 0.1, "model.activation_dropout": 0.1}
    | {f"training.{name}": value for name, value in EVENTS.items()}
)
DIGESTS = {"train.de": "12"}


def make_corpus(folder):
    """60 pairs to train on, 9 of them to validate on, and their subwords."""
    words = ["rot", "blau", "haus", "baum", "groß", "alt", "neu"]
    lines = [" ".join(words[(i * k) % 7] for k in range(1, 2 + i % 6)) for i in range(60)]
    for name, part in (("train", lines), ("valid", lines[::7])):
        (folder / f"{name}.de").write_text("\n".join(part) + "\n", encoding="utf-8")
        (folder / f"{name}.en").write_text(
            "\n".join(line[::-1] for line in part) + "\n", encoding="utf-8"
        )
    Subwords.learn(folder / "train.de", folder / "train.en", TextConfig(merges=30)).save(folder)
    return folder


def train_until(stop, *arguments, **options):
    """Train a model, but stop this call, like a signal, after ``stop`` updates over all stages
    (None: never).
    """
    real = TrainingRun._stopped

    def stopped(run):
        return (stop is not None and run.progress.earlier + run.progress.update >= stop) or real(
            run
        )

    with mock.patch.object(TrainingRun, "_stopped", stopped):
        return train_model(*arguments, **options)


def train(corpus, out, preset=PRESET, seed=3, stop_after_updates=None, **options):
    files = {name: (corpus / f"{name}.de", corpus / f"{name}.en") for name in ("train", "valid")}
    files.update(options.pop("files", {}))
    texts, subwords = (files["train"], files["valid"]), Subwords.load(corpus)
    return train_until(
        stop_after_updates, *texts, subwords, preset, seed, out, digests=DIGESTS, **options
    )


def start_training(corpus, out, preset="PRESET", **options):
    """A process that trains as :func:`train` does; ``preset`` as code."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from training_runs import *;"
        f"train(Path(sys.argv[2]), Path(sys.argv[3]), {preset})"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(Path(__file__).parent), str(corpus), str(out)], **options
    )


def contents(folder):
    """The bytes of every file of a folder, by its path."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def log_of(folder):
    """The lines of a run's log."""
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


class Killed(BaseException):
    """What a power cut would be."""


@contextmanager
def killed_before(monkeypatch, moment):
    """Stop a run before the n-th of its renames, through which every write goes; yields how many
    there were.
    """
    real, count = Path.replace, [0]

    def replace(self, target):
        count[0] += 1
        if count[0] == moment:
            raise Killed
        return real(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        with suppress(Killed):
            yield count
