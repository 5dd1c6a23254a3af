"""Speed of ``cgbench split --method dbca`` against the code of Moisio et al. 2023 on the same counts.

    python perf/split.py [--dbca CLONE] [--sentences 2000] [--large 1000000] [--divergence 0.5]

CLONE is a checkout of github.com/aalto-speech/dbca, whose ``divide.py`` is run as it is; nothing of it is here. Both
draw 500 examples at each step and take the best, for the same sizes and divergences. ``--large`` times our own on so
many sentences, with 100 drawn at each step, and says how much memory the process took. Texts are generated: words by
Zipf's law, sentences of 5 to 15 words; atoms are words, compounds their bigrams.
"""

from __future__ import annotations

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
from scan import machine

from cgbench.benchmark.divergence.elements import Elements, elements_of, kind_of
from cgbench.benchmark.divergence.measure import divergences
from cgbench.benchmark.splits.search import search
from cgbench.benchmark.splits.split_config import SplitConfig

KIND = kind_of("words", "count")
DRAWN = 500


def text(sentences: int, words: int, seed: int = 1) -> list[str]:
    """Sentences of words by Zipf's law."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(5, 16, sentences)
    shares = 1 / np.arange(1, words + 1)
    chosen = generator.choice(words, lengths.sum(), p=shares / shares.sum())
    ends = np.cumsum(lengths)
    return [" ".join(f"w{one}" for one in chosen[end - size : end]) for end, size in zip(ends, lengths, strict=True)]


def ours(found: Elements, config: SplitConfig) -> dict[str, float]:
    """Seconds of the clock and of the processor, and divergences of our own search."""
    begin, worked = time.perf_counter(), time.process_time()
    side_of = search(found, config)
    seconds = time.perf_counter() - begin
    worked = time.process_time() - worked
    figures = divergences(found, side_of == 0, side_of == 1, KIND)
    sizes = {"train": int((side_of == 0).sum()), "test": int((side_of == 1).sum())}
    return {"seconds": seconds, "cpu": worked, "atom": figures.atom, "compound": figures.compound, **sizes}


def theirs(found: Elements, clone: Path, target: float) -> dict[str, float]:
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
        (folder / "used_sent_ids.txt").write_text("".join(f"{number}\n" for number in range(found.examples)))
        command = [sys.executable, __file__, "--peer", str(folder), "--dbca", str(clone), "--divergence", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def peer(folder: Path, clone: Path, target: float) -> None:
    """Run dbca's code on prepared counts and print what came out."""
    sys.path.insert(0, str(clone))
    import divide
    import torch

    random.seed(1)
    torch.manual_seed(1)
    # It stops with an error when fewer sentences are left than it draws; some are taken before the first step.
    steps = -DRAWN - 10 + len((folder / "used_sent_ids.txt").read_text().splitlines())
    made = divide.FromEmptySets(data_dir=str(folder), subsample_size=DRAWN, subsample_iter=1)
    begin, worked = time.perf_counter(), time.process_time()
    made.divide_corpus(
        target_atom_div=0.0, target_com_div=target, min_test_percent=0.19, max_test_percent=0.21, max_iters=steps,
        save_cp=10**9, output_dir=str(folder),
    )  # fmt: skip
    seconds, worked = time.perf_counter() - begin, time.process_time() - worked
    atom, compound = map(float, made.get_divergences())
    train, test = map(int, made.get_subset_sizes())
    said = {"seconds": seconds, "cpu": worked, "atom": atom, "compound": compound, "train": train, "test": test}
    print(json.dumps(said))


def row(what: str, found: dict[str, float]) -> str:
    return (
        f"| {what} | {found['seconds']:.2f} s ({found['cpu']:.2f} s CPU) | {found['atom']:.4f} | "
        f"{found['compound']:.4f} | {found['train']:,} + {found['test']:,} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dbca", type=Path, help="a checkout of dbca")
    parser.add_argument("--sentences", type=int, default=2_000, help="of the text that both split")
    parser.add_argument("--words", type=int, default=300, help="different ones in it")
    parser.add_argument("--divergence", type=float, default=0.5, help="compound divergence to reach")
    parser.add_argument("--large", type=int, help="sentences that our own splits alone")
    parser.add_argument("--peer", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        peer(options.peer, options.dbca, options.divergence)
        return
    warm = elements_of(KIND, [("text", text(50, 20))])
    ours(warm, SplitConfig(method="dbca", divergence=0.5))  # compiles, where that has not been done
    print(f"{datetime.date.today()}, {machine()}\n")
    print("| what | time | atom divergence | compound divergence | train + test |\n|---|---|---|---|---|")
    if options.dbca:
        found = elements_of(KIND, [("text", text(options.sentences, options.words))])
        other = theirs(found, options.dbca, options.divergence)
        sizes = {"train_size": float(other["train"]), "test_size": float(other["test"])}
        config = SplitConfig(method="dbca", divergence=options.divergence, candidates=DRAWN, **sizes)
        mine = ours(found, config)
        print(row(f"`split`, {options.sentences:,} sentences", mine))
        times = [other[name] / mine[name] for name in ("seconds", "cpu")]
        print(row(f"dbca, the same = {times[0]:.0f} x, of CPU {times[1]:.0f} x", other))
    if options.large:
        lines = text(options.large, 50_000)
        begin = time.perf_counter()
        found = elements_of(KIND, [("text", lines)])
        counted = time.perf_counter() - begin
        mine = ours(found, SplitConfig(method="dbca", divergence=options.divergence))
        print(row(f"`split`, {options.large:,} sentences; counting them {counted:.1f} s more", mine))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"\nmemory, the text with it: {memory:,.0f} MB; {len(found.compounds.names):,} compounds")


if __name__ == "__main__":
    main()
