"""A finished benchmark folder: the test set, the split, every candidate's figures, a manifest and a card.

Everything in it but ``timings.json`` is a function of the inputs and the settings: two builds give the same bytes.
"""

from __future__ import annotations

import json
import platform
import shlex
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from cgbench import __version__
from cgbench.benchmark.candidate_uncertainty import read_uncertainty
from cgbench.benchmark.card import write_card
from cgbench.benchmark.react import Built, selection_sizes
from cgbench.benchmark.selection import STAGES, count_stages, select
from cgbench.errors import InputError
from cgbench.files import atomic_path, read_json, sync_folder, to_json, write_atomic, write_json
from cgbench.models.training.ensemble import ensemble_identity
from cgbench.steps import Workspace, hash_file, hash_value

FORMAT = 1
TIMINGS = "timings.json"
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
PACKAGES = ("numpy", "numba", "pyarrow", "torch", "tokenizers", "safetensors", "sacremoses")
ROW_KEYS = ("line", "pool", "pool_line", "source_length", "target_length", "pieces", "degree")


def write_release(built: Built, out: Path, staging: Path) -> dict[str, Any]:
    """Select the test set and write the release to ``out``. Returns the manifest.

    A build that stopped earlier (``built.plan.until``) has no selection: its candidates are written, with what is known
    of them. Everything is written to ``staging`` first, on the same disk: a full disk leaves ``out`` as it was.
    ``manifest.json`` comes last and makes the release whole.

    :raises InputError: the measure asked for is not one that the ensemble gives.
    """
    import pyarrow.parquet

    config, languages = built.plan.config, built.plan.inputs.languages
    table = _candidate_table(built)
    texts = [_read_lines(built.candidates / f"candidates.{side}") for side in ("source", "target")]
    counts = dict(built.counts)
    figures: dict[str, Any] = {"degree": summary(table["degree"].to_numpy())}
    if built.perplexity:
        figures["perplexity"] = summary(table["perplexity"].to_numpy())
    seeds: dict[str, Any] = {"cut": config.seed}
    contents: dict[str, str] = {}
    examples: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    if built.uncertainty:
        rows = table.to_pylist()
        for row, values in zip(rows, read_uncertainty(built.uncertainty), strict=True):
            row.update(values)
        figures["uncertainty"] = summary([row[config.uncertainty] for row in rows])
        seeds["members"] = _member_seeds(built)
    if built.plan.until == "release":
        stages = _select(built, rows)
        chosen = [number for number, stage in enumerate(stages) if stage == "selected"]
        chosen.sort(key=lambda number: rows[number]["line"])
        counts |= count_stages(stages)
        seeds["selection"] = config.seed
        figures["selected"] = {
            "degree": summary([rows[number]["degree"] for number in chosen]),
            "uncertainty": summary([rows[number][config.uncertainty] for number in chosen]),
        }
        if built.perplexity:
            figures["selected"]["perplexity"] = summary([rows[number]["perplexity"] for number in chosen])
        for language, lines in zip(languages, texts, strict=True):
            contents[f"test.{language}"] = "".join(lines[number] + "\n" for number in chosen)
        contents["split.jsonl"] = "".join(_split_row(rows[number]) for number in chosen)
        examples = [{**rows[number], "source": texts[0][number], "target": texts[1][number]} for number in chosen[:5]]
    else:
        for language, lines in zip(languages, texts, strict=True):
            contents[f"candidates.{language}"] = "".join(line + "\n" for line in lines)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "until": built.plan.until,
        "version": __version__,
        "versions": _versions(built),
        "configuration": config.as_dict(),
        "device": built.plan.device,
        "languages": list(languages),
        "inputs": _inputs(built),
        "licence": config.licence,
        "counts": counts,
        "figures": figures,
        "seeds": seeds,
        "command": command(built),
        "warnings": built.warnings,
        "timings": TIMINGS,
    }
    contents["README.md"] = write_card(manifest, examples)

    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    for name, content in contents.items():
        write_atomic(staging / name, content)
    with atomic_path(staging / "candidates.parquet") as temporary:
        pyarrow.parquet.write_table(_with_columns(table, rows), temporary, compression="zstd")
    manifest["files"] = {path.name: hash_file(path) for path in sorted(staging.iterdir())}
    manifest["signature"] = signature(manifest)
    write_json(staging / "manifest.json", manifest)
    _move(staging, out, [*manifest["files"], "manifest.json"])
    return manifest


def _move(staging: Path, out: Path, files: list[str]) -> None:
    """Move the finished files into place, the last one last; what an earlier release listed and this one has not goes.

    Nothing else in the folder is touched: users keep their own files beside a release.
    """
    written = staging.with_name("release.json")  # every name that a release in this folder ever had
    earlier = read_json(written)["files"] if written.is_file() else []
    write_json(written, {"files": sorted({*earlier, *files})})
    (out / files[-1]).unlink(missing_ok=True)
    for name in earlier:
        if name not in files:
            (out / name).unlink(missing_ok=True)
    for name in files:
        (staging / name).replace(out / name)
    sync_folder(out)
    staging.rmdir()


def write_timings(workspace: Workspace, built: Built, out: Path) -> None:
    """Write ``timings.json``: the seconds that each step took when it ran (all its runs, if it was stopped)."""
    seconds = {step.name: workspace.seconds(step) for step in built.plan.steps}
    write_atomic(out / TIMINGS, to_json({"seconds": seconds}))


def signature(manifest: dict[str, Any]) -> str:
    """The short name of exactly this benchmark: method, settings that matter, version, and a hash of it all."""
    config = manifest["configuration"]
    parts = [
        "react",
        f"side:{config['degree_side']}",
        f"min:{config['ngram_min_count']}",
        f"unc:{config['uncertainty']}" if manifest["until"] == "release" else f"until:{manifest['until']}",
        f"seed:{config['seed']}",
        f"n:{manifest['counts'].get('selected', manifest['counts']['candidates'])}",
        f"sha:{hash_value(manifest['files'])[:12]}",
        f"v:{manifest['version']}",
    ]
    return "|".join(parts)


def select_rows(rows: list[dict[str, Any]], config: dict[str, Any], sizes: dict[str, int]) -> tuple[Any, list[str]]:
    """Rank and draw: ``rows`` need ``content`` and the measure; returns ranks and the name of each row's stage."""
    measure = config["uncertainty"]
    if measure not in rows[0]:
        floats = {key for key, value in rows[0].items() if isinstance(value, float)}
        known = sorted(floats - {"degree", "perplexity"})
        raise InputError(f"uncertainty: there is no measure {measure!r}; there is {', '.join(known)}")
    selection = select(
        np.array([row[measure] for row in rows], np.float64),
        np.array([row["content"] for row in rows], np.uint64),
        drop=sizes["drop"],
        window=sizes["window"],
        count=sizes["select"],
        seed=config["seed"],
        perplexity=np.array([row["perplexity"] for row in rows], np.float64) if sizes["drop_perplexity"] else None,
        drop_perplexity=sizes["drop_perplexity"],
    )
    return selection.rank, [STAGES[stage] for stage in selection.stage]


def _select(built: Built, rows: list[dict[str, Any]]) -> list[str]:
    config = built.plan.config
    ranks, stages = select_rows(rows, config.as_dict(), selection_sizes(config, len(rows)))
    for row, rank, stage in zip(rows, ranks, stages, strict=True):
        row["rank"], row["stage"] = int(rank) + 1, stage
    return stages


def _candidate_table(built: Built) -> Any:
    """The candidates in order; lines counted from 1, in the pool as a whole (``line``) and in its own corpus."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(built.candidates / "candidates.parquet")
    first = np.cumsum([0] + [pool.lines for pool in built.pools])
    line, pool = (table[name].to_numpy() for name in ("line", "pool"))
    columns = {name: table[name] for name in table.column_names if not name.endswith("_offset")}
    columns |= {"line": line + 1, "pool": pool + 1, "pool_line": line - first[pool] + 1}
    names = [*ROW_KEYS, "content"]
    if built.perplexity:
        columns["perplexity"] = np.load(built.perplexity / "perplexity.npy", allow_pickle=False)
        names.append("perplexity")
    return pyarrow.table({name: columns[name] for name in names})


def _split_row(row: dict[str, Any]) -> str:
    hidden = {"content", "stage"}
    ordered = {key: row[key] for key in ROW_KEYS} | {key: value for key, value in row.items() if key not in hidden}
    return json.dumps(ordered, ensure_ascii=False) + "\n"


def _with_columns(table: Any, rows: list[dict[str, Any]]) -> Any:
    """``table`` with what ``rows`` have beyond it."""
    for name in rows[0] if rows else ():
        if name not in table.column_names:
            table = table.append_column(name, [[row[name] for row in rows]])
    return table


def _inputs(built: Built) -> dict[str, Any]:
    plan = built.plan

    def entry(text: Any, pairs: int | None) -> dict[str, Any]:
        files = [
            {"path": str(path), "sha256": sha256} for path, sha256 in zip(text.spec.paths, text.hashes, strict=True)
        ]
        return {"files": files, "columns": text.spec.columns, "pairs": pairs}

    result: dict[str, Any] = {
        "train": entry(plan.train, built.train.lines),
        "pool": [entry(text, pool.lines) for text, pool in zip(plan.pools, built.pools, strict=True)],
        "exclude": [entry(text, None) for text in plan.exclude],
    }
    if plan.inputs.phrases:
        result["ngrams"] = {"path": str(plan.inputs.phrases), "sha256": hash_file(plan.inputs.phrases)}
    if plan.perplexity:
        side, sha256 = plan.perplexity.config["side"], plan.perplexity.inputs["lm"]
        result["lm"] = {"path": str(plan.inputs.lm), "sha256": sha256, "side": side}
    if plan.inputs.ensemble:
        result["ensemble"] = {"path": str(plan.inputs.ensemble), "identity": ensemble_identity(plan.inputs.ensemble)}
    return result


def _member_seeds(built: Built) -> list[int] | None:
    return [int(step.config["seed"]) for step in built.plan.ensemble.members] if built.plan.ensemble else None


def _versions(built: Built) -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in (*PACKAGES, *(["kenlm"] if built.perplexity else [])):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def command(built: Built) -> str:
    """The command that builds this release again, with every setting spelled out."""
    inputs, config = built.plan.inputs, built.plan.config
    words = ["cgbench", "build-react", "--train", *map(str, inputs.train.paths)]
    for option, specs in (("--pool", inputs.pools), ("--exclude", inputs.exclude)):
        for spec in specs:
            words += [option, *map(str, spec.paths)]
    columns = [spec.columns for spec in (inputs.train, *inputs.pools, *inputs.exclude) if spec.columns]
    if columns:  # one option for all corpora with both sides in one file
        words += ["--columns", ",".join(columns[0])]
    words += ["--languages", ",".join(inputs.languages)]
    if inputs.phrases:
        words += ["--ngrams", str(inputs.phrases)]
    if inputs.ensemble:
        words += ["--ensemble", str(inputs.ensemble)]
    if inputs.lm:
        words += ["--lm", str(inputs.lm)]
    words += ["--device", built.plan.device, "--out", "DIR"]
    defaults = type(config)().as_dict()
    for key, value in config.as_dict().items():
        if value != defaults.get(key):
            words += ["--set", f"{key}={'none' if value is None else value}"]
    if built.plan.until != "release":
        words += ["--until", built.plan.until]
    return shlex.join(words)


def summary(values: Any) -> dict[str, float]:
    """Mean and quantiles (minimum, quartiles, maximum) of figures."""
    data = np.array(values, np.float64)
    points = np.quantile(data, QUANTILES)
    return {
        "mean": float(data.mean()),
        **{f"q{int(q * 100)}": float(p) for q, p in zip(QUANTILES, points, strict=True)},
    }


def _read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]
