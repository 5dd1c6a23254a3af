"""What ten minutes on a laptop buy: the figures of docs/lab/laptop.md.

    python lab/laptop.py texts WORK [--shared ../shared/data]
    python lab/laptop.py train WORK NAME SEED PRESET [KEY=VALUE ...]
    python lab/laptop.py score WORK NAME SEED[,SEED ...] [--beam 5]
    python lab/laptop.py table WORK
    python lab/laptop.py compare WORK ENSEMBLE [ENSEMBLE ...] [--reference ENSEMBLE]
    python lab/laptop.py final WORK [--shared ../shared/data] [--precision float32]

``texts`` writes 20,000 training pairs of Tatoeba (German-English, at least seven words, Moses,
lower case), other pairs of Tatoeba, the captions of Multi30k, news of WMT and talks of TED, and
cuts each pool to 2,000 candidates. ``train`` trains one member and logs its processor seconds.
``score`` measures the candidates, a noisy version of each and shuffled pairs with the members of
some seeds. ``table`` compares. ``compare`` gives the spread of ensembles that differ only in their
seeds, such as d2800.1+2.beam5, or compares them with another one. ``final`` is a new user's build,
to be run alone on a quiet machine: one command, with its time by the clock.
"""

import argparse
import gzip
import html
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "noise"))
from planting import KINDS, Text
from tables import auc, ranks, table

from cgbench.benchmark.build.react.build_react import build_react
from cgbench.benchmark.build.react.demo import HARD
from cgbench.benchmark.candidates.ensemble_quality import PAIRED_ANEW
from cgbench.benchmark.candidates.selection import GIVEN_DEGREE, select_rows, selection_sizes
from cgbench.benchmark.candidates.uncertainty import candidate_lines, measure_sources
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import chrf_and_bleu, sentence_chrf
from cgbench.benchmark.release.release import Release
from cgbench.engines import Local
from cgbench.models.config.presets import load_preset
from cgbench.models.ensemble import Ensemble
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.trainer import train_model
from cgbench.text.normalisation import Normalisation, normalise_pairs

LANGUAGES = ("de", "en")
TATOEBA = "tatoeba-de-en/deu.txt.gz"
OTHER_POOLS = {
    "multi30k": [("multi30k/train.lc.norm.tok.de.gz", "multi30k/train.lc.norm.tok.en.gz")],
    "wmt": [
        ("wmt-20k/train.de.gz", "wmt-20k/train.en.gz"),
        ("wmt-opennmt/tgt-train.txt.gz", "wmt-opennmt/src-train.txt.gz"),
    ],
    "ted": [(f"react/{name}.de.gz", f"react/{name}.en.gz") for name in ("valid", "test")],
}
"""German and English files of the pools that are not Tatoeba's."""
TRAIN, VALID, POOL, CANDIDATES = 20_000, 500, 40_000, 2_000
FEWEST_WORDS = 7  # of a pair of Tatoeba, so that its mean is about ten tokens
POOLS = ("tatoeba", *OTHER_POOLS)
MEASURE = "reference_pe_stu"
NEAR = 5  # candidates between a pair and its neighbours
SHARES, PLANTINGS = (0.0, 0.05, 0.10, 0.30), 15
NOISY = {
    MEASURE: "noisy",
    "degree": "noisy_degree",
    "target_length": "noisy_target_length",
}
SELECTION = {
    "drop": 0,
    "drop_reference": "1/20",
    "drop_by": MEASURE + GIVEN_DEGREE,
    "window": "3/10",
    "select": "1/20",
    "seed": 1,
    "degree_side": "target",
}


def corpus_lines(path: Path) -> list[str]:
    """The lines of a compressed text, with characters for Moses' entities."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [html.unescape(line.rstrip("\n")) for line in file]


def write_texts(work: Path, shared: Path) -> None:
    """Training text, validation text and pools, raw and normalised; and the candidates."""
    rows = [line.split("\t") for line in corpus_lines(shared / TATOEBA)]
    pairs = [(german, english) for english, german in rows if len(english.split()) >= FEWEST_WORDS]
    random.Random(1).shuffle(pairs)
    ends = np.cumsum([TRAIN, VALID, POOL])
    slices = np.split(np.arange(len(pairs)), ends)[:-1]
    corpora = {
        name: [pairs[index] for index in indices]
        for name, indices in zip(("train", "valid", "tatoeba"), slices, strict=True)
    }
    for pool, files in OTHER_POOLS.items():
        corpora[pool] = [
            pair
            for names in files
            for pair in zip(*(corpus_lines(shared / name) for name in names), strict=True)
        ]
    folder = work / "texts"
    folder.mkdir(parents=True, exist_ok=True)
    normalisation = Normalisation("moses", True, LANGUAGES, True)
    for name, corpus in corpora.items():
        normalised = normalise_pairs(iter(corpus), normalisation, name, Local(1))
        for prefix, lines in (("raw.", corpus), ("", list(normalised))):
            for side, language in enumerate(LANGUAGES):
                text = "".join(f"{pair[side]}\n" for pair in lines)
                (folder / f"{prefix}{name}.{language}").write_text(text, encoding="utf-8")
    for pool in POOLS:
        build_react(
            train=text_files(work, "train"),
            pools=[text_files(work, pool)],
            out=work / f"cand-{pool}",
            preset="small",
            candidates=CANDIDATES,
            until="candidates",
            jobs=1,
        )


def text_files(work: Path, name: str) -> tuple[Path, Path]:
    """Both sides of a text."""
    source, target = (work / "texts" / f"{name}.{language}" for language in LANGUAGES)
    return source, target


def processor_seconds() -> float:
    """Of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def train(work: Path, name: str, seed: int, preset_name: str, changes: Sequence[str]) -> None:
    """Train a member, and log its processor seconds and validation losses."""
    settings = dict(change.split("=", 1) for change in changes)
    preset = load_preset(preset_name).replace(settings)
    files, out = text_files(work, "train"), work / "models" / f"{name}-{seed}"
    subwords, began = Subwords.learn(*files, preset.text), processor_seconds()
    valid = text_files(work, "valid")
    train_model(files, valid, subwords, preset, seed, out, "cpu", keep_state=False)
    entries = map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
    losses = [(entry["update"], entry["valid_loss"]) for entry in entries if "valid_loss" in entry]
    row = {"name": name, "seed": seed, "cpu": processor_seconds() - began, "valid": losses}
    with (work / "log.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")


def noisy_pairs(pairs: Sequence[tuple[str, str]], work: Path) -> list[tuple[str, str]]:
    """A noisy version of each pair, of the types of ``planting`` that leave the source as it is."""
    vocabulary = Vocabulary.learn(text_files(work, "train")[1], min_count=3)
    targets = [target for _, target in pairs]
    near = [
        [*targets[max(0, row - NEAR) : row], *targets[row + 1 : row + 1 + NEAR]]
        for row in range(len(pairs))
    ]
    text, chance = Text(pairs, near, vocabulary), random.Random(1)
    plants = [plant for kind, plant in KINDS.items() if kind != "source misordered"]
    noisy = []
    for row, pair in enumerate(pairs):
        tries = (plant(row, text, chance) for plant in chance.sample(plants, len(plants)))
        noisy.append(next(spoilt for spoilt in tries if spoilt and spoilt != pair))
    return noisy


def score(work: Path, name: str, seeds: Sequence[str], beam: int) -> None:
    """Measure the candidates of both pools with the members of some seeds."""
    members = [work / "models" / f"{name}-{seed}" for seed in seeds]
    for pool in POOLS:
        saved = work / "scores" / f"{name}.{'+'.join(seeds)}.beam{beam}.{pool}.npz"
        if saved.is_file():
            continue
        release = Release.open(work / f"cand-{pool}")
        step = release.step("candidates")
        assert step is not None
        pairs = list(zip(*candidate_lines(step), strict=True))
        sources, targets = zip(*pairs, strict=True)
        began = processor_seconds()
        rows = measure_sources(members, sources, targets, device="cpu", beam=beam)
        seconds = processor_seconds() - began
        ensemble = Ensemble.open(members)

        def unlikely(some: Sequence[tuple[str, str]], ensemble: Ensemble = ensemble) -> np.ndarray:
            lines, references = zip(*some, strict=True)
            return ensemble.score(lines, ensemble.subwords.encode_target(references))["pe_stu"]

        noisy = noisy_pairs(pairs, work)
        half, ngrams = PAIRED_ANEW // 2, release.ngrams()
        assert ngrams is not None
        some = [pairs[row * len(pairs) // PAIRED_ANEW] for row in range(PAIRED_ANEW)]
        turned = [*some[half:], *some[:half]]
        shuffled = [(left[0], right[1]) for left, right in zip(some, turned, strict=True)]
        hypotheses = [row["hypothesis"] for row in rows]
        known = release.table().to_pydict()
        columns = {
            measure: [row[measure] for row in rows]
            for measure in rows[0]
            if measure != "hypothesis"
        }
        saved.parent.mkdir(exist_ok=True)
        np.savez(
            saved,
            **{measure: np.array(values, float) for measure, values in columns.items()},
            **{measure: np.array(known[measure], float) for measure in ("degree", "target_length")},
            content=np.array(known["content"], np.uint64),
            error=100 - np.array(sentence_chrf(hypotheses, list(targets))),
            chrf=chrf_and_bleu(hypotheses, list(targets))["chrf"],
            noisy=unlikely(noisy),
            noisy_degree=[ngrams.degree(target) for _, target in noisy],
            noisy_target_length=[len(target.split()) for _, target in noisy],
            shuffled=np.median(unlikely(shuffled)),
            seconds=seconds,
        )


def hardness(scores: dict[str, np.ndarray]) -> tuple[str, np.ndarray]:
    """What the test set goes by: the members' disagreement, or the entropy of a single one."""
    name = "rmi" if np.ptp(scores["rmi"]) > 1e-3 else "entropy_of_expected"
    return name, scores[name]


def planted(scores: dict[str, np.ndarray], share: float) -> list[float]:
    """With this share of noise: its share of the window and of the test set, and the hard good
    pairs kept, %.
    """
    count, (uncertainty, values) = len(scores["noisy"]), hardness(scores)
    config = {**SELECTION, "uncertainty": uncertainty}
    results = []
    for planting in range(PLANTINGS if share else 1):
        noise = np.zeros(count, bool)
        rows = np.random.default_rng(planting).choice(count, round(share * count), replace=False)
        noise[rows] = True
        columns: dict[str, Any] = {uncertainty: values, "content": scores["content"]}
        for name, noisy in NOISY.items():
            columns[name] = np.where(noise, scores[noisy], scores[name])
        sizes = selection_sizes(config, count)
        stages = np.array(select_rows(columns, config, sizes)[1])
        good = np.flatnonzero(~noise)
        hard = good[np.argsort(-values[good], kind="stable")[: round(HARD * count)]]
        window, test = np.isin(stages, ("window", "selected")), stages == "selected"
        left = np.isin(stages[hard], ("window", "selected", "rest"))
        results.append([noise[window].mean(), noise[test].mean(), left.mean()])
    return [100 * float(value) for value in np.mean(results, axis=0)]


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """The rank correlation."""
    return float(np.corrcoef(ranks(first), ranks(second))[0, 1])


def prediction_rejection(uncertainty: np.ndarray, error: np.ndarray) -> float:
    """PRR: how much of the way from a random order to that of the errors this order goes."""

    def area(order: np.ndarray) -> float:
        remaining = np.cumsum(error[order][::-1])[::-1] / np.arange(len(error), 0, -1)
        return float(remaining.mean())

    oracle, random_order = area(np.argsort(-error)), float(error.mean())
    return (random_order - area(np.argsort(-uncertainty))) / (random_order - oracle)


def print_table(work: Path, reference: str | None, judges: Sequence[str]) -> None:
    """Each scored ensemble on each pool; ``judges`` are systems whose errors are predicted, each
    where the ensemble has none of its members.
    """
    log = [json.loads(line) for line in (work / "log.jsonl").read_text().splitlines()]
    seconds = {(row["name"], str(row["seed"])): row["cpu"] for row in log}
    loss = {(row["name"], str(row["seed"])): min(value for _, value in row["valid"]) for row in log}
    for pool in POOLS:
        files = sorted((work / "scores").glob(f"*.{pool}.npz"))
        scored = {file.name.removesuffix(f".{pool}.npz"): dict(np.load(file)) for file in files}
        rows = []
        for key, scores in scored.items():
            name, seeds, beam = key.split(".")
            runs = [(name, seed) for seed in seeds.split("+")]
            uncertainty, values = hardness(scores)
            others = [
                scored[judge]["error"]
                for judge in judges
                if judge in scored and not set(runs) & members_of(judge)
            ]
            prr = [prediction_rejection(values, error) for error in others]
            rho = [spearman(values, error) for error in others]
            noise = np.arange(2 * len(values)) >= len(values)
            agreement = "-"
            if reference in scored and reference != key:
                agreement = f"{spearman(values, hardness(scored[reference])[1]):.2f}"
            row = [
                f"{name}, {len(runs)} members, {beam}",
                f"{sum(seconds[run] for run in runs) / 60:.1f}",
                f"{float(scores['seconds']) / 60:.1f}",
                f"{np.mean([loss[run] for run in runs]):.3f}",
                f"{float(scores['chrf']):.1f}",
                uncertainty,
                agreement,
                f"{np.mean(rho):.2f}" if rho else "-",
                f"{np.mean(prr):.2f}" if prr else "-",
                f"{auc(np.r_[scores[MEASURE], scores['noisy']], noise):.3f}",
            ]
            for share in SHARES:
                window, _, kept = planted(scores, share)
                row.append(f"{window:.1f} / {kept:.1f}")
            rows.append(row)
        head = ["members", "training, minutes", "candidates, minutes", "validation loss", "chrF"]
        head += ["order by", "with the reference's order", "with others' errors", "PRR"]
        head += ["AUC of noise", *(f"{share:.0%} noise: window / kept" for share in SHARES)]
        print(f"\n{pool}\n\n{table(rows, head)}")


def window_of(scores: dict[str, np.ndarray]) -> np.ndarray:
    """Which candidates are in the window, bool ``[candidates]``, if nothing is planted."""
    uncertainty, values = hardness(scores)
    config = {**SELECTION, "uncertainty": uncertainty}
    columns: dict[str, Any] = {name: scores[name] for name in ("content", *NOISY)}
    columns[uncertainty] = values
    stages = select_rows(columns, config, selection_sizes(config, len(values)))[1]
    return np.isin(np.array(stages), ("window", "selected"))


def spread(values: Sequence[float], digits: int) -> str:
    """The mean, and the lowest and the highest value."""
    mean, *ends = (f"{value:.{digits}f}" for value in (np.mean(values), min(values), max(values)))
    return mean if len(values) == 1 else f"{mean} ({ends[0]} to {ends[1]})"


def print_comparison(work: Path, group: Sequence[str], reference: str | None) -> None:
    """The spread of a group of ensembles, or how they compare with another one, on each pool."""
    columns = []
    for pool in POOLS:
        keys = [*group, *([reference] if reference else [])]
        scored = {key: dict(np.load(work / "scores" / f"{key}.{pool}.npz")) for key in keys}
        if reference is None:
            pairs = [(first, second) for first in group for second in group if first != second]
            columns.append(quality_rows(scored, group) | agreement_rows(scored, pairs, ""))
        else:
            pairs = [(key, reference) for key in group]
            back = [(reference, key) for key in group]
            agreement = agreement_rows(scored, pairs, "") | agreement_rows(scored, back, ", back")
            columns.append(quality_rows(scored, [reference]) | agreement)
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    print(table(rows, ["", *POOLS]))


def quality_rows(scored: dict[str, dict[str, np.ndarray]], group: Sequence[str]) -> dict[str, str]:
    """Translation and noise of the ensembles of a group."""
    noise = [
        auc(
            np.r_[scored[key][MEASURE], scored[key]["noisy"]],
            np.arange(2 * len(scored[key]["noisy"])) >= len(scored[key]["noisy"]),
        )
        for key in group
    ]
    rows = {
        "chrF": spread([float(scored[key]["chrf"]) for key in group], 1),
        "AUC of noise": spread(noise, 3),
    }
    by_share = {share: [planted(scored[key], share) for key in group] for share in SHARES}
    for share, results in by_share.items():
        rows[f"noise in the window, {share:.0%} planted"] = spread([row[0] for row in results], 1)
    for share, results in by_share.items():
        rows[f"kept, {share:.0%} planted"] = spread([row[2] for row in results], 1)
    return rows


def agreement_rows(
    scored: dict[str, dict[str, np.ndarray]], pairs: Sequence[tuple[str, str]], name: str
) -> dict[str, str]:
    """How the order of the first ensemble of each pair agrees with that of the second, and with its
    errors.
    """
    windows = {key: window_of(scores) for key, scores in scored.items()}
    shared = [
        100 * float((windows[first] & windows[second]).sum() / windows[first].sum())
        for first, second in pairs
    ]
    rows = {f"shared windows{name}": spread(shared, 0)}
    for measure in ("rmi", "entropy_of_expected"):
        orders = {
            key: hardness(scores)[1] if measure == "rmi" else scores[measure]
            for key, scores in scored.items()
        }
        rho = [spearman(orders[first], orders[second]) for first, second in pairs]
        prr = [
            prediction_rejection(orders[first], scored[second]["error"]) for first, second in pairs
        ]
        rows[f"correlation by {measure}{name}"] = spread(rho, 2)
        rows[f"PRR of {measure}{name}"] = spread(prr, 2)
    return rows


def members_of(key: str) -> set[tuple[str, str]]:
    """The runs of a scored ensemble."""
    name, seeds, _ = key.split(".")
    return {(name, seed) for seed in seeds.split("+")}


def final(work: Path, shared: Path, precision: str) -> None:
    """A new user's build from one raw corpus of 60,000 pairs, of which 40,000 are the pool; two
    cores.
    """
    if not (work / "texts").is_dir():
        write_texts(work, shared)
    corpus = text_files(work, "raw.corpus")
    for path, *halves in zip(
        corpus, text_files(work, "raw.train"), text_files(work, "raw.tatoeba"), strict=True
    ):
        path.write_text("".join(half.read_text(encoding="utf-8") for half in halves), "utf-8")
    words = ["cgbench", "build-react", "--preset", "laptop", "--tokenize", "moses", "--lowercase"]
    words += ["--corpus", *map(str, corpus), "--set", "pool_share=2/3", "--control"]
    words += ["--out", str(work / f"final-{precision}"), "--jobs", "2"]
    words += ["--set", f"training.precision={precision}"]
    for extra in (["--dry-run"], []):
        began = time.monotonic()
        subprocess.run([*words, *extra], check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(
            f"{time.monotonic() - began:.1f} s by the clock; processor so far"
            f" {used.ru_utime:.1f} s; largest process {used.ru_maxrss / 1024:.0f} MiB",
            flush=True,
        )


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["texts", "train", "score", "table", "compare", "final"])
    parser.add_argument("work", type=Path)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--reference", help="the ensemble whose order is the reference")
    parser.add_argument("--judges", nargs="*", default=[], help="whose errors are predicted")
    options = parser.parse_args()
    work, words = options.work, options.words
    if options.what == "texts":
        write_texts(work, options.shared)
    elif options.what == "train":
        train(work, words[0], int(words[1]), words[2], words[3:])
    elif options.what == "score":
        score(work, words[0], words[1].split(","), options.beam)
    elif options.what == "table":
        print_table(work, options.reference, options.judges)
    elif options.what == "compare":
        print_comparison(work, words, options.reference)
    else:
        final(work, options.shared, options.precision)


if __name__ == "__main__":
    main()
