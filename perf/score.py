"""Speed of the scores, as ratios against a peer in the same run.

    python perf/score.py                       # makes its own text
    python perf/score.py --repeat 5
    python perf/score.py --outputs REF HYP     # BLEU, exact match and TER of one system: of these

Prints a Markdown table, in processor time, which other work on the machine disturbs less. One
system is scored by the whole command and by the whole ``sacrebleu``. CTER is the whole command on
10,800 rows against a plain script of its rules; the paired bootstrap is the whole command against
the whole ``sacrebleu --paired-bs`` on the same files. Both run in turn; times are the best.
"""

import argparse
import datetime
import os
import platform
import random
import statistics
import sys
import tempfile
from pathlib import Path

from scan import CGBENCH, head, in_turn, run

PLAIN = Path(__file__).with_name("plain_cter.py")
ROWS, GROUP = 10_800, 5
LINES, SYSTEMS = 6_750, 3
ONE = 3_003  # lines of newstest2014
PEER_TER = "sacrebleu's TER"


def write_compounds(folder: Path) -> None:
    """A made-up language in the form of CoGnition: compounds of known atoms, five contexts each."""
    rng = random.Random(1)
    nouns = [f"noun{number}" for number in range(19)]
    adjectives = [f"adj{number}" for number in range(11)]
    verbs = [f"verb{number}" for number in range(19)]
    letters = [chr(0x4E00 + number) for number in range(3000)]
    entries = {
        word: rng.sample(letters, rng.randrange(1, 6)) for word in (*nouns, *adjectives, *verbs)
    }
    entries["mod0"] = [letters[0] + letters[1]]
    kinds = [("N", nouns), ("ADJ", adjectives), ("V", verbs)]
    atoms = [
        "DET\tthe\tthe",
        "MOD\tmod0\the liked",
        *(f"{kind}\t{word}\t{word}" for kind, words in kinds for word in words),
    ]
    (folder / "atoms").write_text("\n".join(atoms) + "\n")
    lexicon = ["the\t/", *(f"{word}\t{'/'.join(some)}" for word, some in entries.items())]
    (folder / "lexicon").write_text("\n".join(lexicon) + "\n")
    sources, compounds, hypotheses = [], [], []
    for number in range(ROWS // GROUP):
        words = ["the", rng.choice(adjectives), rng.choice(nouns)]
        if number % 3 == 1:
            words.insert(0, rng.choice(verbs))
        compound = " ".join(words) + (" he liked" if number % 2 else "")
        for _ in range(GROUP):
            sources.append(f"yesterday they all said that {compound} ran away")
            compounds.append(compound)
            said = [
                rng.choice(entries[word])
                for word in words
                if word in entries and rng.random() > 0.05
            ]
            said += rng.choices(letters, k=15)
            rng.shuffle(said)
            hypotheses.append(" ".join(said))
    for name, lines in (("source", sources), ("compounds", compounds), ("hypotheses", hypotheses)):
        (folder / name).write_text("\n".join(lines) + "\n")


def write_systems(folder: Path) -> None:
    """References of the length of IWSLT14's, and systems that differ a little."""
    rng = random.Random(2)
    letters = "etaoinshrdlu"
    spelt = {}

    def word() -> str:
        rank = min(30_000, int(rng.paretovariate(0.8)))
        return spelt.setdefault(
            rank, "".join(rng.choices(letters, k=2 + len(str(rank)) + rng.randrange(3)))
        )

    words = [word() for _ in range(200_000)]
    references = [
        rng.choices(words, k=max(2, int(rng.lognormvariate(2.9, 0.55)))) for _ in range(LINES)
    ]
    (folder / "ref").write_text("".join(" ".join(line) + "\n" for line in references))
    for system in range(SYSTEMS):
        noise = 0.3 + 0.01 * system
        lines = [
            [rng.choice(words) if rng.random() < noise else word for word in line]
            for line in references
        ]
        (folder / f"s{system}").write_text("".join(" ".join(line) + "\n" for line in lines))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--outputs", nargs=2, type=Path, metavar=("REF", "HYP"))
    options = parser.parse_args()
    repeat = options.repeat
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_compounds(folder)
        write_systems(folder)
        given = [
            "--source",
            folder / "source",
            "--compounds",
            folder / "compounds",
            "--lexicon",
            folder / "lexicon",
        ]
        given += ["--set", f"atoms={folder / 'atoms'}"]
        cter = [*CGBENCH, "score", "cter", *given, "--hyp", f"x={folder / 'hypotheses'}"]
        ours, plain = in_turn(
            repeat, lambda: run(cter), lambda: run([sys.executable, PLAIN, folder])
        )
        shown = ours.output.partition(" = ")[2].partition("(")[2].partition(")")[0]
        if shown != plain.output.strip():
            raise SystemExit(f"the twins differ: {shown} and {plain.output}")
        hypotheses = [folder / f"s{system}" for system in range(SYSTEMS)]
        first = ["--ref", folder / "ref.one", "--hyp", f"s0={folder / 's0.one'}"]
        texts = options.outputs or (folder / "ref", folder / "s0")
        for name, text in zip(("ref", "s0"), texts, strict=True):
            head(text, ONE, folder / f"{name}.one")
        peer_of_one = [sys.executable, "-m", "sacrebleu", folder / "ref.one"]
        peer_of_one += ["-i", folder / "s0.one", "-m"]
        # In turns, so that all see the same machine.
        commands = {
            "bleu": [*CGBENCH, "score", "bleu", *first],
            "exact": [*CGBENCH, "score", "exact", *first],
            "ter": [*CGBENCH, "score", "ter", *first, "--set", "jobs=1"],
            "peer": [*peer_of_one, "bleu"],
        }
        rounds = [
            {name: run(command).cpu for name, command in commands.items()}
            for _ in range(2 * repeat + 1)
        ]
        cpu = {name: statistics.median(times[name] for times in rounds) for name in commands}
        cpu[PEER_TER] = run([*peer_of_one, "ter"]).cpu  # once: half a minute
        systems = [
            word
            for number, path in enumerate(hypotheses)
            for word in ("--hyp", f"s{number}={path}")
        ]
        score = [
            *CGBENCH,
            "score",
            "bleu",
            "--ref",
            folder / "ref",
            *systems,
            "--paired",
            "bootstrap",
        ]
        sacrebleu = [
            sys.executable,
            "-m",
            "sacrebleu",
            folder / "ref",
            "-i",
            *hypotheses,
            "-m",
            "bleu",
            "--paired-bs",
        ]
        paired, peer = in_turn(
            repeat, lambda: run(score), lambda: run([*sacrebleu, "--paired-bs-n", "1000"])
        )
    print(
        f"{datetime.date.today()}, {platform.processor() or platform.machine()}, {os.cpu_count()}"
        " cores,",
        end=" ",
    )
    print(f"Python {platform.python_version()}\n")
    print("| what | measured | goal |\n|---|---|---|")
    for name, goal in (("bleu", "1.1 x"), ("exact", "0.7 x")):
        print(
            f"| {name} of one system, {ONE:,} lines, processor time | {cpu[name]:.2f} s = "
            f"{cpu[name] / cpu['peer']:.2f} x sacrebleu's BLEU ({cpu['peer']:.2f} s) | {goal} |"
        )
    print(
        f"| TER of one system, {ONE:,} lines, processor time | {cpu['ter']:.2f} s; sacrebleu's"
        f" TER ({cpu[PEER_TER]:.2f} s) takes {cpu[PEER_TER] / cpu['ter']:.1f} x as long | 10 x |"
    )
    print(
        f"| CTER of {ROWS:,} rows, whole command | {ours.cpu:.2f} s CPU ="
        f" {ours.cpu / plain.cpu:.2f} x plain Python ({plain.cpu:.2f} s), {ours.memory:.0f} MB |"
        " 1 s |"
    )
    print(
        f"| paired bootstrap, 1,000 samples, {SYSTEMS} systems, {LINES:,} lines | {paired.cpu:.2f}"
        f" s CPU = {paired.cpu / peer.cpu:.2f} x sacrebleu ({peer.cpu:.2f} s), {paired.memory:.0f}"
        f" MB ({peer.memory:.0f} MB) | 0.5 x |"
    )


if __name__ == "__main__":
    main()
