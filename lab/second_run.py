"""The second real run (docs/lab/second-run-design.md): is it the composition?

    python lab/second_run.py texts WORK [--shared ../shared/data]
    python lab/second_run.py train WORK [--direction de-en]
    python lab/second_run.py candidates WORK
    python lab/second_run.py translate WORK
    python lab/second_run.py effects WORK

Each step resumes: run the same command again after an interruption. ``all`` runs one after another
what is not done yet, in the order of the design. One process uses one core; several may train in
the same folder. The analysis is in ``second_run_effects.py``.
"""

import argparse
import gzip
import hashlib
import itertools
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from cgbench.engines import Local
from cgbench.locks import BusyError, locked
from cgbench.text.normalisation import Normalisation, normalise_pairs

LANGUAGES = ("de", "en")
DIRECTIONS = ("de-en", "en-de")
POOLS = ("multi30k", "wmt", "ted", "tatoeba")
SEEDS = (1, 2, 3)
VALID, TATOEBA_POOL = 1_000, 20_000

Pair = tuple[str, str]

RULE = (
    "--model=laptop",
    "--device=cpu",
    "--jobs=1",
    "--set=training.max_tokens=2048",
    "--set=text.merges=8000",
    "--set=training.validate_every=500",
    "--set=training.checkpoint_every=500",
)
RELATIVE = ("--set=model.positions=relative",)
LSTM = ("--arch=lstm_lexicon", "--set=model.width=256")
SYSTEMS = {
    "absolute": ("--set=model.positions=sinusoidal",),
    "relative": RELATIVE,
    "rdangle": (
        "--arch=r_dangle",
        "--set=model.encoder_layers=1",
        "--set=model.mixed_layers=1",
        "--set=model.interval=4",
        "--set=model.values=shared",
    ),
    "lstm": LSTM,
    "seqmix": (*RELATIVE, "--method=seqmix"),
}
MEMBERS = {"relative-101": RELATIVE, "lstm-201": LSTM}
"""They measure uncertainty and the likelihood of references, and are no systems."""
UPDATES = 4_000
SUBWORDS = "subwords-0"


def corpus_lines(path: Path) -> list[str]:
    """The lines of a compressed text."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def read_pool(shared: Path, name: str) -> Iterator[tuple[str, Pair, bool]]:
    """The files of a pool, ``{}`` for the language, German first; and whether they are tokens."""
    files = {
        "multi30k": [("multi30k/train.lc.norm.tok.{}.gz", LANGUAGES, True)],
        "wmt": [
            ("wmt-20k/train.{}.gz", LANGUAGES, False),
            ("wmt-opennmt/{}-train.txt.gz", ("tgt", "src"), True),
        ],
        "ted": [("react/valid.{}.gz", LANGUAGES, True), ("react/test.{}.gz", LANGUAGES, True)],
    }
    for pattern, words, is_tokenised in files[name]:
        paths = [str(shared / pattern.format(word)) for word in words]
        yield name, (paths[0], paths[1]), is_tokenised


def normalised(pairs: Sequence[Pair], is_tokenised: bool) -> list[Pair]:
    """German-English pairs in the form that everything reads: Moses tokens in lower case."""
    form = Normalisation("moses", True, LANGUAGES, is_tokenised)
    return list(normalise_pairs(iter(pairs), form, "pairs", Local(1)))


def groups_of(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Pairs that share a sentence, directly or by other pairs, together; groups in the order of a
    hash."""
    parent: dict[tuple[int, str], tuple[int, str]] = {}

    def root(sentence: tuple[int, str]) -> tuple[int, str]:
        parent.setdefault(sentence, sentence)
        while parent[sentence] != sentence:
            parent[sentence] = parent[parent[sentence]]
            sentence = parent[sentence]
        return sentence

    for german, english in pairs:
        parent[root((0, german))] = root((1, english))
    groups = defaultdict(list)
    for pair in dict.fromkeys(pairs):
        groups[root((0, pair[0]))].append(pair)

    def rank(group: Sequence[Pair]) -> str:
        return hashlib.sha256(min(group)[1].encode()).hexdigest()

    return sorted(groups.values(), key=rank)


def write_pairs(folder: Path, name: str, pairs: Sequence[Pair]) -> None:
    """Both sides of a text."""
    for side, language in enumerate(LANGUAGES):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (folder / f"{name}.{language}").write_text(text, encoding="utf-8")


def write_texts(work: Path, shared: Path) -> None:
    """Training text, validation text and the four pools, normalised."""
    folder = work / "texts"
    if (folder / "done").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    rows = (line.split("\t")[:2] for line in corpus_lines(shared / "tatoeba-de-en/deu.txt.gz"))
    tatoeba = normalised([(german, english) for english, german in rows], False)
    groups = iter(groups_of(tatoeba))
    # A few very large groups (translations of translations) go to the training text.
    for name, size, one_each in (
        ("valid", VALID, True),
        ("tatoeba", TATOEBA_POOL, False),
        ("train", sys.maxsize, False),
    ):
        chosen: list[Pair] = []
        waiting = []
        for group in groups:
            if name != "train" and len(group) > 20:
                waiting.append(group)
                continue
            chosen += group[:1] if one_each else group
            if len(chosen) >= size:
                break
        groups = itertools.chain(waiting, groups)
        write_pairs(folder, name, chosen)
        print(f"{name}: {len(chosen):,} pairs")
    for pool in POOLS[:3]:
        pairs = []
        for _, paths, is_tokenised in read_pool(shared, pool):
            sides = (corpus_lines(Path(path)) for path in paths)
            pairs += normalised(list(zip(*sides, strict=True)), is_tokenised)
        write_pairs(folder, pool, pairs)
        print(f"{pool}: {len(pairs):,} pairs")
    (folder / "done").touch()


def text_files(work: Path, name: str, direction: str) -> list[str]:
    """Source and target of a text."""
    return [str(work / "texts" / f"{name}.{language}") for language in direction.split("-")]


def runs_of() -> list[tuple[str, tuple[str, ...]]]:
    """Name and settings of all models, in the order of training."""
    systems = [
        (f"{system}-{seed}", settings) for seed in SEEDS for system, settings in SYSTEMS.items()
    ]
    return [*MEMBERS.items(), *systems]


def train(work: Path, direction: str, name: str, settings: Sequence[str], updates: int) -> None:
    """Train a model, or resume; a finished one is left as it is."""
    folder = work / "runs" / direction
    if (folder / f"{name}.done").exists():
        return
    command = [sys.executable, "-m", "cgbench", "train", *RULE, *settings]
    command += ["--train", *text_files(work, "train", direction)]
    command += ["--valid", *text_files(work, "valid", direction)]
    command += [f"--seed={name.rsplit('-', 1)[1]}", f"--out={folder / name}"]
    command += [f"--set=training.max_updates={updates}"]
    if name != SUBWORDS:
        command += [f"--set=subwords={folder / SUBWORDS}"]
    subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    (folder / f"{name}.done").touch()


def train_all(work: Path, directions: Sequence[str]) -> None:
    """Train every model that is not finished and that no other process trains."""
    for direction in directions:
        (work / "runs" / direction).mkdir(parents=True, exist_ok=True)
        with locked(work / "runs" / direction / "lock", wait=True):
            train(work, direction, SUBWORDS, RELATIVE, 1)
        for name, settings in runs_of():
            lock = work / "runs" / direction / f"{name}.lock"
            with suppress(BusyError), locked(lock, wait=False):
                train(work, direction, name, settings, UPDATES)


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=["texts", "train"])
    parser.add_argument("work", type=Path)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    parser.add_argument("--directions", nargs="+", default=DIRECTIONS)
    options = parser.parse_args()
    if options.step == "texts":
        write_texts(options.work, options.shared)
    elif options.step == "train":
        train_all(options.work, options.directions)


if __name__ == "__main__":
    main()
