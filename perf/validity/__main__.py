"""Do ensembles of different architectures select the same pairs, and what does each lose where its own kind selected?

    python perf/validity FOLDER [--members 3] [--set KEY=VALUE ...] [--jobs 1]
    python perf/validity FOLDER --train T.de T.en --pool P.de P.en --preset small --model small --languages de,en

Without ``--train`` on the demo corpus. Of each architecture (a Transformer, a Universal Transformer, an LSTM; the same
schedule, subwords and training text) two ensembles are trained, from other seeds. Each selects from the same
candidates. Two ensembles of one architecture say what seeds alone change: what two architectures share less than that
is theirs. Every member of the second ensembles translates all candidates greedily, as a system of its family that had
no part in the first ensembles' selections.

Prints what ``cgbench validate`` finds, and writes it to FOLDER/validity.json. Given again, it goes on where it was
stopped. The figures in docs/lab/validity.md are from here.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from cgbench.benchmark.release.release import Release
from cgbench.benchmark.validity.members import candidate_texts
from cgbench.benchmark.validity.validate import validate
from cgbench.cli import main as cgbench
from cgbench.data_recipes.demo.corpus import write_demo
from cgbench.files import write_atomic

ARCHITECTURES = {"transformer": "transformer", "universal": "universal", "lstm": "lstm_lexicon"}
SEEDS = (1, 101)
"""Of the first members; the first ensemble's selections are scored by members of the second."""


def command(*words: object) -> None:
    """One command of cgbench, in this process."""
    print("cgbench", *words, flush=True)
    cgbench([str(word) for word in words], standalone_mode=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--train", nargs="+", type=Path, help="training text, two files or one")
    parser.add_argument("--pool", nargs="+", type=Path, help="the pool, two files or one")
    parser.add_argument("--languages", default="de,en")
    parser.add_argument("--columns", help="source and target column of files that hold both sides")
    parser.add_argument("--preset", default="demo", help="of build-react")
    parser.add_argument("--model", default="demo", help="model preset, whose schedule all architectures have")
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--set", dest="changes", action="append", default=[], help="of models and training; repeatable")
    parser.add_argument("--build", action="append", default=[], help="settings of build-react; repeatable")
    for family in ARCHITECTURES:
        help_text = f"settings of the models of family {family}; repeatable"
        parser.add_argument(f"--{family}", action="append", default=[], help=help_text)
    parser.add_argument("--draws", type=int, default=5, help="ensembles of each size drawn from the members; 0: none")
    parser.add_argument("--metric", default="bleu")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    if bool(given.train) != bool(given.pool):
        parser.error("--train and --pool go together")
    folder = given.folder
    if not given.train:
        corpus = folder / "corpus"
        given.train, given.pool = ([corpus / f"{name}.{side}" for side in ("de", "en")] for name in ("train", "pool"))
        if not given.pool[1].is_file():
            write_demo(corpus)

    releases: dict[str, Release] = {}
    for seed in SEEDS:
        for family in ARCHITECTURES:
            name = family if seed == SEEDS[0] else f"{family}-again"
            releases[name] = build(given, family, seed)
    sources = folder / "sources"
    text = "".join(f"{line}\n" for line in candidate_texts(releases["transformer"])[0])
    if not sources.is_file() or sources.read_text(encoding="utf-8") != text:
        write_atomic(sources, text)
    systems = {
        f"{family}/{number + 1}": translated(folder, family, number, sources)
        for family in ARCHITECTURES
        for number in range(given.members)
    }
    found = validate(
        releases["transformer"],
        systems,
        name="transformer",
        others={name: release for name, release in releases.items() if name != "transformer"},
        metric=given.metric,
        draws=given.draws if given.members > 2 else 0,
    )
    write_atomic(folder / "validity.json", found.report("json") + "\n")
    print(found.report())
    for name, release in releases.items():
        if given.draws and given.members > 2 and name in ("universal", "lstm"):
            print(f"\n{name}\n{validate(release, draws=given.draws).report()}")


def build(given: argparse.Namespace, family: str, seed: int) -> Release:
    """Train an ensemble of a family, and let it select."""
    corpora = ["--languages", given.languages, *(["--columns", given.columns] if given.columns else [])]
    settings = [word for change in (*given.changes, *getattr(given, family)) for word in ("--set", change)]
    members, out = (given.folder / f"{family}-{seed}" / stem for stem in ("members", "release"))
    command(
        *("train-ensemble", "--train", *given.train, *corpora, "--model", given.model, *settings, "--out", members),
        *("--arch", ARCHITECTURES[family], "--members", given.members, "--seed", seed, "--jobs", given.jobs),
        *("--device", "cpu"),
    )
    changes = [word for change in given.build for word in ("--set", change)]
    command(
        *("build-react", "--train", *given.train, "--pool", *given.pool, *corpora, "--preset", given.preset),
        *(*changes, "--ensemble", members, "--out", out, "--jobs", given.jobs, "--device", "cpu"),
    )
    return Release.open(out)


def translated(folder: Path, family: str, number: int, sources: Path) -> Path:
    """The candidates as one member of a second ensemble translates them."""
    out = folder / f"{family}.{number + 1}.hyp"
    model = folder / f"{family}-{SEEDS[1]}" / "members" / f"member-{number}"
    if not out.is_file() or out.stat().st_mtime < sources.stat().st_mtime:
        command("translate", sources, "--model", model, "--beam", 1, "--output", out, "--device", "cpu")
    return out


if __name__ == "__main__":
    main()
