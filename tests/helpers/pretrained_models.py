"""What the tests of models over RoBERTa and over BART share: sentences, and what must hold of every
such model.
"""

import shutil

import pytest
import torch
from external_models import LINES
from training_runs import log_of, train_until

from cgbench.models.config.architectures import build_model
from cgbench.models.external.start import plan_start
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search import beam_search
from cgbench.models.search_settings import SearchSettings

SOURCE = Ragged.pack([[5, 6, 7, 8, 2], [9, 10, 2], [11, 12, 13, 14, 15, 16, 2], [4, 2]])
TARGET = Ragged.pack([[5, 6, 2], [7, 2], [8, 9, 10, 4, 5, 2], [2]])


def lists(ragged):
    return [ids.tolist() for ids in ragged.ids.split(ragged.layout.lengths.tolist())]


def write_corpus(folder, target_of):
    """The lines three times, and what ``target_of`` makes of each: two files."""
    (folder / "source").write_text("".join(f"{line}\n" for line in LINES * 3), encoding="utf-8")
    (folder / "target").write_text(
        "".join(f"{target_of(line)}\n" for line in LINES * 3), encoding="utf-8"
    )
    return folder / "source", folder / "target"


def build(folder, preset, source_size, target_size):
    """A model with the parameters of the one in ``folder``, to be read alone."""
    start, preset = plan_start(f"hf:{folder}", preset)
    torch.manual_seed(1)
    model = build_model(preset.model, source_size, target_size)
    start.load_into(model, source_size)
    return model.eval()


def train(folder, corpus, preset, out, stop_after_updates=None, **options):
    start, preset = plan_start(f"hf:{folder}", preset)
    subwords = start.learn(corpus[1], preset.text)
    return train_until(
        stop_after_updates, corpus, corpus, subwords, preset, 1, out, init=start, **options
    )


def through(layers, x, *more):
    """States [tokens, width] behind layers of transformers."""
    for layer in layers:
        found = layer(x[None], *more)
        x = (found[0] if isinstance(found, tuple) else found).view_as(x)
    return x


def check_search(model):
    """Search and teacher forcing give a translation the same probability."""
    sources = lists(SOURCE)[:2]
    for source, found in zip(
        sources, beam_search([model], Ragged.pack(sources), SearchSettings(beam=3)), strict=True
    ):
        target = Ragged.pack([found[0].tokens])
        log_p = torch.log_softmax(model(Ragged.pack([source]), target.shifted()), 1)
        assert float(log_p.gather(1, target.ids[:, None]).sum()) == pytest.approx(
            found[0].log_prob, abs=1e-4
        )


def check_stopped(train, folder):
    """``train(out, **options)`` trains: a stopped run ends in the bytes of ``folder/whole``, which
    has learned.
    """
    assert train(folder / "whole")
    assert not train(folder / "parts", stop_after_updates=5)
    assert train(folder / "parts")
    for name in ("config.json", "model.safetensors", "subwords.json", "metrics.jsonl"):
        assert (folder / "whole" / name).read_bytes() == (folder / "parts" / name).read_bytes(), (
            name
        )
    losses = [row["valid_loss"] for row in log_of(folder / "whole") if "valid_loss" in row]
    assert losses[-1] < losses[0]
    shutil.rmtree(folder / "parts")
