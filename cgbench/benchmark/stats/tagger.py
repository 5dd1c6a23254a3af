"""Train a part-of-speech tagger from a treebank: for where no spaCy model can be downloaded.

The model, its updates and its evaluation are spaCy's own: a convolutional network over hashed features of words
(``spacy.HashEmbedCNN.v2``) under a softmax (``spacy.Tagger.v2``), trained by Adam, at about the sizes of spaCy's small
models. What is kept is the pipeline that was best on the
development set; ``spacy.load`` and ``cgbench stats --pos`` read it like any other.

The folder holds what spaCy writes, and ``cgbench.json``: accuracy, hashes of both treebanks, seed, versions.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import accumulate, repeat
from pathlib import Path
from typing import Any

from cgbench import __version__
from cgbench.errors import InputError, require
from cgbench.files import sync_file, sync_folder, write_json
from cgbench.progress import bar
from cgbench.steps import hash_file
from cgbench.text.conllu import TAGS, Tagged, read_conllu

RECORD = "cgbench.json"
EMBED = {"width": 96, "depth": 4, "embed_size": 2000, "window_size": 1, "maxout_pieces": 3, "subword_features": True}
DROPOUT = 0.1
BATCH_WORDS = (100.0, 1000.0, 1.001)  # first size, last size, growth a step: spaCy's defaults


@dataclass(frozen=True)
class Report:
    """An evaluation in the course of training: ``step`` updates done, accuracy on the development set in percent."""

    step: int
    loss: float
    accuracy: float


def train_tagger(
    treebank: Path,
    dev: Path,
    out: Path,
    *,
    tags: str = "xpos",
    language: str = "en",
    steps: int = 2400,
    every: int = 200,
    seed: int = 1,
    say: Callable[[Report], None] | None = None,
) -> dict[str, Any]:
    """Train a tagger and write it to the folder ``out``, which appears whole or not at all.

    :param tags: ``xpos`` (the treebank's own; English: Penn Treebank) or ``upos``.
    :param language: code of a spaCy language, which decides how words are normalised; ``xx`` for none of them.
    :param steps: updates; every ``every`` of them, and after the last, the tagger is tried on ``dev``.
    :param say: called with each :class:`Report`.
    :returns: what ``cgbench.json`` holds; ``accuracy`` is in percent of the words of ``dev``.
    :raises InputError: spaCy is not installed or does not know the language; a treebank cannot be read; ``out`` is
        there already.
    """
    spacy = require("spacy", "analysis")
    if tags not in TAGS:
        raise InputError(f"--tags {tags}: choose {' or '.join(TAGS)}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out}: is there already; give a new folder with --out")
    sentences = [_read(path, tags) for path in (treebank, dev)]
    if len({tag for sentence in sentences[0] for tag in sentence.tags}) < 2:
        raise InputError(f"{treebank}: every word has the same {tags} tag; a tagger needs two at least")
    try:
        nlp = spacy.blank(language)
    except ImportError:
        raise InputError(f"--language {language}: no language of spaCy; xx is for any that it does not know") from None

    # spaCy draws initial weights and dropout from numpy's generator; the order of the examples is drawn below.
    spacy.util.fix_random_seed(seed)
    tagger: dict[str, Any] = {"@architectures": "spacy.Tagger.v2", "nO": None, "normalize": False}
    tagger["tok2vec"] = {"@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, **EMBED}
    nlp.add_pipe("tagger", config={"model": tagger})
    examples, held_out = ([_example(nlp, sentence) for sentence in part] for part in sentences)
    optimizer = nlp.initialize(lambda: examples)

    out.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".tmp", dir=out.parent))
    try:
        best: Report | None = None
        reports = []
        for report in _train(nlp, optimizer, examples, held_out, steps, every):
            reports.append(report)
            if best is None or report.accuracy > best.accuracy:
                best = report
                nlp.to_disk(staging / "model")
            if say:
                say(report)
        assert best is not None
        record = {
            "accuracy": best.accuracy,
            "step": best.step,
            "steps": steps,
            "seed": seed,
            "tags": tags,
            "labels": len(nlp.get_pipe("tagger").labels),
            "language": language,
            "treebank": _source(treebank, sentences[0]),
            "dev": _source(dev, sentences[1]),
            "reports": [asdict(report) for report in reports],
            "versions": {"cgbench": __version__, "spacy": spacy.__version__, "thinc": require("thinc", "").__version__},
        }
        write_json(staging / "model" / RECORD, record)
        _publish(staging / "model", out)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return record


def _read(path: Path, tags: str) -> list[Tagged]:
    return list(read_conllu(path, tags))


def _source(path: Path, sentences: list[Tagged]) -> dict[str, Any]:
    words = sum(len(sentence.words) for sentence in sentences)
    return {"file": path.name, "sha256": hash_file(path), "sentences": len(sentences), "words": words}


def _example(nlp: Any, sentence: Tagged) -> Any:
    from spacy.tokens import Doc
    from spacy.training import Example

    blank, gold = Doc(nlp.vocab, words=sentence.words), Doc(nlp.vocab, words=sentence.words, tags=sentence.tags)
    return Example(blank, gold)


def _train(nlp: Any, optimizer: Any, examples: list[Any], dev: list[Any], steps: int, every: int) -> Iterator[Report]:
    """Yield after every so many updates, and after the last."""
    losses: dict[str, float] = {}
    with bar(steps, "train the tagger", "step") as progress:
        for step, batch in zip(range(1, steps + 1), _batches(examples), strict=False):
            nlp.update(batch, drop=DROPOUT, losses=losses, sgd=optimizer)
            optimizer.step_schedules()
            progress.update(1)
            if step % every == 0 or step == steps:
                accuracy = 100 * float(nlp.evaluate(dev)["tag_acc"])
                yield Report(step, round(losses["tagger"], 4), round(accuracy, 4))
                losses = {}


def _batches(examples: list[Any]) -> Iterator[list[Any]]:
    """Batches without end, in a new order in each pass, the words of a batch by :data:`BATCH_WORDS`."""
    from spacy.training.batchers import minibatch_by_words

    sizes: Any = accumulate(repeat(BATCH_WORDS[0]), lambda size, _: min(size * BATCH_WORDS[2], BATCH_WORDS[1]))
    examples = list(examples)
    while True:
        random.shuffle(examples)
        yield from minibatch_by_words(examples, size=sizes)


def _publish(model: Path, out: Path) -> None:
    """Make the folder durable and give it its name."""
    for path in model.rglob("*"):
        if path.is_file():
            sync_file(path)
    for folder in [path for path in model.rglob("*") if path.is_dir()]:
        sync_folder(folder)
    sync_folder(model)
    with contextlib.suppress(FileNotFoundError):
        out.rmdir()  # empty, or it would have been refused
    model.rename(out)
    sync_folder(out.parent)
