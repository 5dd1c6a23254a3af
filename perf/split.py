"""Speed of ``cgbench split --method dbca`` against the code of Moisio et al. 2023 on the same
counts.

    python perf/split.py [--dbca CLONE] [--sentences 2000] [--large 1000000] [--divergence 0.5]
    python perf/split.py --dbca CLONE --text FILE --sentences 800 --divergence 1 --drawn 100 --runs
    8

CLONE is a checkout of github.com/aalto-speech/dbca, whose ``divide.py`` is run as it is; nothing of
it is here. Both draw 500 examples at each step and take the best, for the same sizes and
divergences. ``--large`` times our own on so many sentences, with 100 drawn at each step, and says
how much memory the process took. Texts are generated (words by Zipf's law, sentences of 5 to 15
words) or, with ``--text``, random lines of a file; atoms are words, compounds their bigrams. The
objective is what both maximise: less the distance of the compound divergence from the one to reach,
less the atom divergence. With several runs, each of other seeds and lines, times and figures are
means.
"""

import argparse
import datetime
import json
import pickle
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from cgbench.benchmark.build.splits.assignment import search
from cgbench.benchmark.build.splits.request import SplitConfig
from cgbench.benchmark.measure.divergence.elements import Elements, element_type, elements_of
from cgbench.benchmark.measure.divergence.measure import divergences
from cgbench.machine import description

KIND = element_type("words", "count")
DRAWN = 500
EVERY = 20
"""Steps between two tries to move an example from set to set: the default of dbca's command."""


def text(sentences: int, words: int, seed: int = 1) -> list[str]:
    """Sentences of words by Zipf's law."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(5, 16, sentences)
    shares = 1 / np.arange(1, words + 1)
    chosen = generator.choice(words, lengths.sum(), p=shares / shares.sum())
    ends = np.cumsum(lengths)
    return [
        " ".join(f"w{one}" for one in chosen[end - size : end])
        for end, size in zip(ends, lengths, strict=True)
    ]


def ours(found: Elements, config: SplitConfig) -> dict[str, float]:
    """Seconds of the clock and of the processor, and divergences of our own search."""
    begin, worked = time.perf_counter(), time.process_time()
    side_of = search(found, config)
    seconds = time.perf_counter() - begin
    worked = time.process_time() - worked
    figures = divergences(found, side_of == 0, side_of == 1, KIND)
    sizes = {"train": int((side_of == 0).sum()), "test": int((side_of == 1).sum())}
    return {
        "seconds": seconds,
        "cpu": worked,
        "atom": figures.atom,
        "compound": figures.compound,
        **sizes,
    }


def theirs(found: Elements, options: argparse.Namespace, seed: int) -> dict[str, float]:
    """The same of dbca's code, in a process of its own."""
    import torch

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, one in (("atom", found.atoms), ("compound", found.compounds)):
            places = torch.from_numpy(np.stack([one.rows, one.ids.astype(np.int64)]))
            size = (one.examples, len(one.names))
            matrix = torch.sparse_coo_tensor(places, torch.from_numpy(one.weights), size).coalesce()
            torch.save(matrix, folder / f"{file}_freqs.pt")
            ids = {element: number for number, element in enumerate(one.names)}
            (folder / f"{file.replace('compound', 'com')}_ids.pkl").write_bytes(pickle.dumps(ids))
        (folder / "used_sent_ids.txt").write_text(
            "".join(f"{number}\n" for number in range(found.examples))
        )
        command = [
            sys.executable,
            __file__,
            "--peer",
            str(folder),
            "--dbca",
            str(options.dbca),
            "--seed",
            str(seed),
        ]
        command += [
            "--drawn",
            str(options.drawn),
            "--divergence",
            str(options.divergence),
            "--share",
            *options.share,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def peer(folder: Path, options: argparse.Namespace) -> None:
    """Run dbca's code on prepared counts and print what came out."""
    sys.path.insert(0, str(options.dbca))
    import divide
    import torch

    random.seed(options.seed)
    torch.manual_seed(options.seed)
    # It stops with an error when fewer sentences are left than it draws; some are taken before the
    # first step.
    steps = -options.drawn - 10 + len((folder / "used_sent_ids.txt").read_text().splitlines())
    low, high = map(float, options.share)
    made = divide.FromEmptySets(
        data_dir=str(folder), subsample_size=options.drawn, subsample_iter=1
    )
    begin, worked = time.perf_counter(), time.process_time()
    made.divide_corpus(
        target_atom_div=0.0,
        target_com_div=options.divergence,
        min_test_percent=low,
        max_test_percent=high,
        max_iters=steps,
        save_cp=10**9,
        output_dir=str(folder),
        move_a_sample_iter=EVERY,
    )
    seconds, worked = time.perf_counter() - begin, time.process_time() - worked
    atom, compound = map(float, made.get_divergences())
    train, test = map(int, made.get_subset_sizes())
    said = {
        "seconds": seconds,
        "cpu": worked,
        "atom": atom,
        "compound": compound,
        "train": train,
        "test": test,
    }
    print(json.dumps(said))


def row(what: str, runs: list[dict[str, float]], target: float) -> str:
    """A row of the table: means over runs."""
    mean = {name: sum(run[name] for run in runs) / len(runs) for name in runs[0]}
    objective = sum(-abs(run["compound"] - target) - run["atom"] for run in runs) / len(runs)
    return (
        f"| {what} | {mean['seconds']:.2f} s ({mean['cpu']:.2f} s CPU) | {objective:.3f} |"
        f" {mean['atom']:.4f} | {mean['compound']:.4f} | {mean['train']:,.0f} +"
        f" {mean['test']:,.0f} |"
    )


def compare(options: argparse.Namespace) -> None:
    """Ours and dbca's on the same counts, of the same sizes."""
    mine, other = [], []
    for seed in range(1, options.runs + 1):
        if options.text:
            lines = random.Random(seed).sample(
                options.text.read_text("utf-8").splitlines(), options.sentences
            )
        else:
            lines = text(options.sentences, options.words, seed)
        found = elements_of(KIND, [("text", lines)])
        other.append(theirs(found, options, seed))
        sizes = {"train_size": float(other[-1]["train"]), "test_size": float(other[-1]["test"])}
        given = {
            "divergence": options.divergence,
            "candidates": options.drawn,
            "seed": seed,
            **sizes,
        }
        mine.append(ours(found, SplitConfig(method="dbca", **given)))
    print(
        row(
            f"`split`, {options.sentences:,} sentences, {options.runs} runs",
            mine,
            options.divergence,
        )
    )
    times = [
        sum(run[name] for run in other) / sum(run[name] for run in mine)
        for name in ("seconds", "cpu")
    ]
    print(
        row(
            f"dbca, the same = {times[0]:.0f} x, of CPU {times[1]:.0f} x", other, options.divergence
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dbca", type=Path, help="a checkout of dbca")
    parser.add_argument(
        "--sentences", type=int, default=2_000, help="sentences of the text that both split"
    )
    parser.add_argument(
        "--words", type=int, default=300, help="different words in a generated text"
    )
    parser.add_argument("--text", type=Path, help="draw the sentences from this file")
    parser.add_argument("--runs", type=int, default=1, help="number of seeds")
    parser.add_argument(
        "--drawn", type=int, default=DRAWN, help="examples that both draw at each step"
    )
    parser.add_argument(
        "--share",
        nargs=2,
        default=["0.19", "0.21"],
        help="bounds of the test set's share, for dbca",
    )
    parser.add_argument(
        "--divergence", type=float, default=0.5, help="compound divergence to reach"
    )
    parser.add_argument(
        "--large", type=int, help="number of sentences that only our own code splits"
    )
    parser.add_argument("--peer", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        peer(options.peer, options)
        return
    warm = elements_of(KIND, [("text", text(50, 20))])
    ours(warm, SplitConfig(method="dbca", divergence=0.5))  # compiles, where that has not been done
    print(f"{datetime.date.today()}, {description()}\n")
    head = "| what | time | objective | atom divergence | compound divergence | train + test |"
    print(f"{head}\n|---|---|---|---|---|---|")
    if options.dbca:
        compare(options)
    if options.large:
        lines = text(options.large, 50_000)
        begin = time.perf_counter()
        found = elements_of(KIND, [("text", lines)])
        counted = time.perf_counter() - begin
        mine = ours(found, SplitConfig(method="dbca", divergence=options.divergence))
        what = f"`split`, {options.large:,} sentences; counting them {counted:.1f} s more"
        print(row(what, [mine], options.divergence))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"\nmemory, the text with it: {memory:,.0f} MB; {len(found.compounds.names):,}"
            " compounds"
        )


if __name__ == "__main__":
    main()
