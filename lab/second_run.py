"""The second real run (docs/lab/second-run-design.md): is it the composition?

    python lab/second_run.py WORK [--shared ../shared/data] [--directions de-en en-de]
    python lab/second_run.py WORK --steps judge report

Runs the steps one after another, in the order of the design, and resumes: run the same command
again after an interruption. Several processes may work in the same folder; each uses one core.

========= ==========================================================================================
step      result
========= ==========================================================================================
train     ``texts``, and ``runs/DIRECTION/MODEL``: two members, and five systems with three seeds
build     ``builds/DIRECTION/POOL``: the release, and two halves of its candidates with probes
translate ``outputs/DIRECTION/MODEL``; also of the memory and, from English, of Apertium
judge     ``judged/MODEL.npz`` of each build: chrF, which candidates are given, matched pairs
scores    ``scores/*-seeds/*.txt`` of each build: the order of systems, estimates from the sample
report    the tables of docs/lab/second-run.md, ``figures`` and ``examples.txt``
========= ==========================================================================================

The estimate is in ``second_run_effects.py``, the tables and pictures in ``second_run_report.py``.
"""

import argparse
import gzip
import hashlib
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from second_run_effects import match
from second_run_lexical import learn
from second_run_report import DIRECTIONS, LEXICAL_FILE, build_columns, print_report

from cgbench.benchmark.candidates.uncertainty import candidate_lines
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import sentence_chrf
from cgbench.benchmark.release.release import Release
from cgbench.engines import Local
from cgbench.locks import BusyError, locked
from cgbench.studies.parts.by_outputs import judge_run, source_parts
from cgbench.studies.parts.folder import PartsFolder
from cgbench.studies.parts.gate import gate_of
from cgbench.text.normalisation import Normalisation, normalise_pairs
from cgbench.text.tokenizers import detokenizer

LANGUAGES = ("de", "en")
POOLS = ("multi30k", "wmt", "ted", "tatoeba")
SEEDS = (1, 2, 3)
VALID, TATOEBA_POOL = 1_000, 20_000
LARGE_GROUP = 20
"""Larger groups of Tatoeba pairs that share sentences go to the training text."""

Pair = tuple[str, str]
TATOEBA = "tatoeba-de-en/deu.txt.gz"
POOL_FILES = {
    "multi30k": [("multi30k/train.lc.norm.tok.de.gz", "multi30k/train.lc.norm.tok.en.gz", True)],
    "wmt": [
        ("wmt-20k/train.de.gz", "wmt-20k/train.en.gz", False),
        ("wmt-opennmt/tgt-train.txt.gz", "wmt-opennmt/src-train.txt.gz", True),
    ],
    "ted": [
        ("react/valid.de.gz", "react/valid.en.gz", True),
        ("react/test.de.gz", "react/test.en.gz", True),
    ],
}
"""German, English, and whether they are tokens."""

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
    "seqmix": (*RELATIVE, "--method=seqmix"),
    "lstm": LSTM,
    "rdangle": (
        "--arch=r_dangle",
        "--set=model.encoder_layers=1",
        "--set=model.mixed_layers=1",
        "--set=model.interval=4",
        "--set=model.values=shared",
    ),
}
MEMBERS = {"relative-101": RELATIVE, "lstm-201": LSTM}
"""They measure uncertainty and the likelihood of references, and are no systems."""
UPDATES = 4_000
SUBWORDS = "subwords-0"
BUILD = (
    "--preset=laptop",
    "--control",
    "--design=stratified",
    "--device=cpu",
    "--jobs=1",
    "--set=candidates=1/1",
    "--set=degree_side=source",
    "--set=filter_sides=source",
    "--set=max_length=30",
    "--set=beam=1",
)
PARTS = ("--side=source", "--max-length=20")
KNOWN, STRICT = 3, 4
"""Of five probes, for a piece to be known; and for the stricter check."""
EXAMPLES = 20
CONTROLS = ("memory", "apertium")
SEARCH = ("--device=cpu", "--beam=1", "--truncate")
STEPS = ("train", "build", "translate", "judge", "scores", "report")


def corpus_lines(path: Path) -> list[str]:
    """The lines of a compressed text."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def normalised(pairs: Sequence[Pair], is_tokenised: bool) -> list[Pair]:
    """German-English pairs in the form that everything reads: Moses tokens in lower case."""
    form = Normalisation("moses", True, LANGUAGES, is_tokenised)
    return list(normalise_pairs(iter(pairs), form, "pairs", Local(1)))


def groups_of(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Pairs that share a sentence, directly or by other pairs, together; groups in the order of a
    hash.
    """
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


def write_sides(folder: Path, name: str, pairs: Sequence[Pair], direction: str = "de-en") -> None:
    """Both sides of a text."""
    for side, language in enumerate(direction.split("-")):
        write_lines(folder / f"{name}.{language}", [pair[side] for pair in pairs])


def write_texts(work: Path, shared: Path) -> None:
    """Training text, validation text and the four pools, normalised."""
    folder = work / "texts"
    if (folder / "done").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    rows = (line.split("\t")[:2] for line in corpus_lines(shared / TATOEBA))
    tatoeba = normalised([(german, english) for english, german in rows], False)
    groups = iter(groups_of(tatoeba))
    for name, size, one_each in (
        ("valid", VALID, True),
        ("tatoeba", TATOEBA_POOL, False),
        ("train", sys.maxsize, False),
    ):
        chosen: list[Pair] = []
        waiting = []
        for group in groups:
            if name != "train" and len(group) > LARGE_GROUP:
                waiting.append(group)
                continue
            chosen += group[:1] if one_each else group
            if len(chosen) >= size:
                break
        groups = itertools.chain(waiting, groups)
        write_sides(folder, name, chosen)
        print(f"{name}: {len(chosen):,} pairs")
    for pool, files in POOL_FILES.items():
        pairs = []
        for *sides, is_tokenised in files:
            texts = (corpus_lines(shared / side) for side in sides)
            pairs += normalised(list(zip(*texts, strict=True)), is_tokenised)
        write_sides(folder, pool, pairs)
        print(f"{pool}: {len(pairs):,} pairs")
    (folder / "done").touch()


def text_files(work: Path, name: str, direction: str) -> list[Path]:
    """Source and target of a text."""
    return [work / "texts" / f"{name}.{language}" for language in direction.split("-")]


def systems_of_runs() -> list[tuple[str, tuple[str, ...]]]:
    """Name and settings of the runs of all systems, in the order of training."""
    return [
        (f"{system}-{seed}", settings) for seed in SEEDS for system, settings in SYSTEMS.items()
    ]


def cgbench(*words: str | Path) -> None:
    """Run a command with one thread; stop if it fails."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", "cgbench", *words], check=True, env=environment)


def train(work: Path, direction: str, name: str, settings: Sequence[str], updates: int) -> None:
    """Train a model, or resume; a finished one is left as it is."""
    folder = work / "runs" / direction
    if (folder / f"{name}.done").exists():
        return
    corpora = ["--train", *text_files(work, "train", direction)]
    corpora += ["--valid", *text_files(work, "valid", direction)]
    run = [f"--seed={name.rsplit('-', 1)[1]}", f"--set=training.max_updates={updates}"]
    if name != SUBWORDS:
        run.append(f"--set=subwords={folder / SUBWORDS}")
    cgbench("train", *RULE, *settings, *corpora, *run, f"--out={folder / name}")
    (folder / f"{name}.done").touch()


def build(work: Path, direction: str, pool: str) -> None:
    """The release of a pool: candidates with degree and uncertainty, test set, control set, sample;
    and the two halves of the candidates of high and of low degree, with their probes.
    """
    folder, models = work / "builds" / direction / pool, work / "runs" / direction
    trained = all((models / f"{member}.done").exists() for member in MEMBERS)
    if (folder / "done").exists() or not trained:
        return
    corpora = ["--train", *text_files(work, "train", direction)]
    members = [f"--member={models / member}" for member in MEMBERS]
    of_pool = ["--pool", *text_files(work, pool, direction)]
    cgbench("build-react", *BUILD, *members, *corpora, *of_pool, f"--out={folder / 'release'}")
    pairs = candidates_of(Release.open(folder / "release"))
    files = [text_files(work, name, direction) for name in POOLS]
    whole = {pair for both in files for pair in zip(*map(read_lines, both), strict=True)}
    for number, rows in enumerate(halves(folder)):
        chosen = [pairs[row] for row in rows.tolist()]
        words: list[str | Path] = []
        for option, texts in (("--test", chosen), ("--from", sorted(whole - set(chosen)))):
            name = f"{option[2:]}-{number}"
            write_sides(folder, name, texts, direction)
            words += [option, *(folder / f"{name}.{side}" for side in direction.split("-"))]
        cgbench("parts", *PARTS, *words, *corpora, f"--out={folder / f'parts-{number}'}")
    (folder / "done").touch()


def candidates_of(release: Release) -> list[Pair]:
    """The candidates of a release, in the order of its table."""
    step = release.step("candidates")
    assert step is not None
    return list(zip(*candidate_lines(step), strict=True))


def halves(folder: Path) -> list[np.ndarray]:
    """The candidates of high and of low degree in two halves, by the lowest bit of the hash of
    their words.
    """
    columns, _ = build_columns(folder)
    content = Release.open(folder / "release").table().to_pydict()["content"]
    half = np.array([value % 2 for value in content])
    return [np.flatnonzero((columns.high | columns.low) & (half == number)) for number in (0, 1)]


def measure_lexical(work: Path, direction: str) -> None:
    """The negative log-likelihood per word of each candidate's reference under IBM Model 1."""
    model = None
    for pool in POOLS:
        folder = work / "builds" / direction / pool
        if (folder / LEXICAL_FILE).exists() or not (folder / "done").exists():
            continue
        if model is None:
            files = text_files(work, "train", direction)
            model = learn(list(zip(*map(read_lines, files), strict=True)))
        pairs = candidates_of(Release.open(folder / "release"))
        np.save(folder / LEXICAL_FILE, -np.array([model.likelihood(pair) for pair in pairs]))


def sentences_of(work: Path, direction: str) -> list[str]:
    """Everything that a system of a direction translates: candidates and probes of all builds."""
    lines: dict[str, None] = {}
    for pool in POOLS:
        folder = work / "builds" / direction / pool
        lines |= dict.fromkeys(
            source for source, _ in candidates_of(Release.open(folder / "release"))
        )
        for number in (0, 1):
            probes = PartsFolder.open(folder / f"parts-{number}").probes
            lines |= dict.fromkeys(source for source, _ in probes)
    return list(lines)


def translate(work: Path, direction: str, system: str) -> None:
    """The outputs of a model, the memory or Apertium for the sentences of all builds."""
    folder, model = work / "outputs" / direction, work / "runs" / direction / system
    is_ready = system in CONTROLS or model.with_name(f"{system}.done").exists()
    is_built = all((work / "builds" / direction / pool / "done").exists() for pool in POOLS)
    out, source = folder / system, folder / "sentences"
    if out.exists() or not is_ready or not is_built:
        return
    if not source.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_lines(source, sentences_of(work, direction))
    if system == "apertium":
        if direction.startswith("en"):
            translate_by_rules(source, out)
    elif system == "memory":
        memory = f"memory:{','.join(map(str, text_files(work, 'train', direction)))}"
        cgbench("translate", source, f"--system={memory}", f"--output={out}")
    else:
        cgbench("translate", source, f"--model={model}", *SEARCH, f"--output={out}")


def outputs_of(work: Path, direction: str, system: str) -> dict[str, str] | None:
    """The output for each sentence, if there are any."""
    files = [work / "outputs" / direction / name for name in ("sentences", system)]
    return dict(zip(*map(read_lines, files), strict=True)) if files[1].exists() else None


def translate_by_rules(source: Path, out: Path) -> None:
    """Apertium's Spanish for English sentences, which it needs as text."""
    if not shutil.which("apertium"):
        print("apertium is not installed: left out", file=sys.stderr)
        return
    as_text = detokenizer("en")
    text = "".join(re.sub(r"\bi\b", "I", as_text(line)) + "\n" for line in read_lines(source))
    command = ["apertium", "-u", "eng-spa"]
    answer = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    write_lines(out, answer.stdout.split("\n")[:-1])


def judge(work: Path, direction: str, pool: str, system: str) -> None:
    """Which candidates are given to a run, what it misses in them, its chrF, and matched pairs."""
    folder = work / "builds" / direction / pool
    out, outputs = folder / "judged" / f"{system}.npz", outputs_of(work, direction, system)
    if out.exists() or outputs is None:
        return
    pairs = candidates_of(Release.open(folder / "release"))
    given, strict = (np.zeros(len(pairs), bool) for _ in range(2))
    missing, chance, knowledge = (np.zeros(len(pairs)) for _ in range(3))
    for number, rows in enumerate(halves(folder)):
        parts = PartsFolder.open(folder / f"parts-{number}")
        of_rows = [outputs[pairs[row][0]] for row in rows.tolist()]
        of_probes = [outputs[source] for source, _ in parts.probes]
        incidence = source_parts(parts, parts.rows)
        outcomes = judge_run(parts, parts.rows, incidence, (of_probes, of_rows))
        assert outcomes.chance is not None
        for passed, least in ((given, KNOWN), (strict, STRICT)):
            passed[rows] = gate_of(incidence, outcomes.probes, least).given
        passed_probes = np.bincount(incidence.probes.piece, outcomes.probes, len(parts.pieces))
        passes = passed_probes / np.maximum(incidence.counts, 1)
        of_pieces = incidence.rows.piece, incidence.rows.sentence
        words = np.array([len(piece.text.split(" ")) for piece in parts.pieces])[of_pieces[0]]
        for values, weights, of_piece in (
            (missing, np.ones(len(words)), ~outcomes.rows),
            (chance, np.ones(len(words)), outcomes.chance),
            (knowledge, words, passes[of_pieces[0]]),
        ):
            sums = np.bincount(of_pieces[1], weights * of_piece, len(rows))
            values[rows] = sums / np.maximum(np.bincount(of_pieces[1], weights, len(rows)), 1)
    references = [target for _, target in pairs]
    score = np.array(sentence_chrf([outputs[source] for source, _ in pairs], references))
    columns, _ = build_columns(folder)
    out.parent.mkdir(exist_ok=True)
    partial = out.with_suffix(".partial.npz")
    np.savez(
        partial,
        score=score,
        given=given,
        strict=strict,
        missing=missing,
        chance=chance,
        knowledge=knowledge,
        pairs=match(columns, given),
    )
    partial.replace(out)


def scores(work: Path, direction: str, pool: str) -> None:
    """Whether the test set ranks the systems as all candidates do, and how far estimates from the
    sample are from the scores of all candidates.
    """
    folder = work / "builds" / direction / pool
    done = [name for name, _ in systems_of_runs() if (folder / "judged" / f"{name}.npz").exists()]
    seeds = {system: [name for name in done if name.startswith(f"{system}-")] for system in SYSTEMS}
    complete = min(map(len, seeds.values()))
    out = folder / "scores" / f"{complete}-seeds"
    if not complete or (out / "done").exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    release = folder / "release"
    candidates = [source for source, _ in candidates_of(Release.open(release))]
    source = direction.split("-")[0]
    samples = read_lines(release / f"sample.{source}")
    hypotheses: dict[str, list[str]] = {"candidates": [], "sample": []}
    for system, names in seeds.items():
        for name in names[:complete]:
            outputs = outputs_of(work, direction, name)
            assert outputs is not None
            for rows, sources in (("candidates", candidates), ("sample", samples)):
                write_lines(out / f"{rows}.{name}", [outputs[source] for source in sources])
        for rows, words in hypotheses.items():
            files = ",".join(str(out / f"{rows}.{name}") for name in names[:complete])
            words += ["--hyp", f"{system}={files}"]
    answers = {
        "ranking": ["validate", str(release), *hypotheses["candidates"], "--metric", "chrf"],
        "estimates": ["score", "chrf", "--release", str(release), *hypotheses["sample"]],
    }
    answers["estimates"] += ["--estimate", "candidates"]
    for name, words in answers.items():
        with (out / f"{name}.txt").open("w") as file:
            command = [sys.executable, "-m", "cgbench", *words]
            subprocess.run(command, check=True, stdout=file)
    (out / "done").touch()


def write_examples(work: Path, direction: str, system: str) -> None:
    """Matched pairs of Tatoeba, with their pieces and outputs, in ``examples.txt``."""
    folder = work / "builds" / direction / "tatoeba"
    file, outputs = folder / "judged" / f"{system}.npz", outputs_of(work, direction, system)
    if not file.exists() or outputs is None:
        return
    run = np.load(file)
    pairs = candidates_of(Release.open(folder / "release"))
    covers = {}
    for number, rows in enumerate(halves(folder)):
        parts = PartsFolder.open(folder / f"parts-{number}")
        for row, places in zip(rows.tolist(), parts.rows, strict=True):
            covers[row] = " | ".join(parts.pieces[place.piece].text for place in places)
    lines = []
    for matched in random.Random(1).sample(run["pairs"].tolist(), min(EXAMPLES, len(run["pairs"]))):
        for row, degree in zip(matched, ("high", "low"), strict=True):
            source, reference = pairs[row]
            lines.append(f"{degree}\t{covers[row]}\t{reference}\t{outputs[source]}")
    write_lines(work / "examples.txt", lines)


def read_lines(path: Path) -> list[str]:
    """The lines of a text."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """Write a text, completely or not at all."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    partial.replace(path)


def run_steps(work: Path, shared: Path, directions: Sequence[str], steps: Sequence[str]) -> None:
    """Everything that is not done and that no other process does, in the order of the design."""

    def do(step: str, name: str, task: Callable[..., None], *words: object) -> None:
        if step in steps:
            lock = work / "locks" / f"{name.replace('/', '.')}.{step}"
            with suppress(BusyError), locked(lock, wait=False):
                task(work, *words)

    do("train", "texts", write_texts, shared)
    for direction in directions:
        do("train", f"{direction}/{SUBWORDS}", train, direction, SUBWORDS, RELATIVE, 1)
        for name, settings in MEMBERS.items():
            do("train", f"{direction}/{name}", train, direction, name, settings, UPDATES)
        for pool in POOLS:
            do("build", f"{direction}/{pool}", build, direction, pool)
        do("build", direction, measure_lexical, direction)
        for name, settings in systems_of_runs():
            do("train", f"{direction}/{name}", train, direction, name, settings, UPDATES)
            for system in (name, *CONTROLS):
                do("translate", f"{direction}/{system}", translate, direction, system)
                for pool in POOLS:
                    do("judge", f"{direction}/{pool}/{system}", judge, direction, pool, system)
        for pool in POOLS:
            do("scores", f"{direction}/{pool}", scores, direction, pool)
    if "report" in steps:
        print_report(work, directions, POOLS, list(SYSTEMS), SEEDS)
        write_examples(work, directions[0], systems_of_runs()[0][0])


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    parser.add_argument("--directions", nargs="+", default=DIRECTIONS, choices=DIRECTIONS)
    parser.add_argument("--steps", nargs="+", default=STEPS, choices=STEPS)
    options = parser.parse_args()
    run_steps(options.work, options.shared, options.directions, options.steps)


if __name__ == "__main__":
    main()
