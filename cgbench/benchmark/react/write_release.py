"""Write a finished release: the test set, the split, all measures of the candidates, a manifest and a card.

It is a function of the inputs and the settings: two builds give the same bytes. The selection is already in the table
of candidates; nothing is decided here.
"""

import json
import platform
import shlex
import shutil
from collections.abc import Mapping, Sequence, Set
from importlib import metadata
from pathlib import Path
from typing import Any, TypeAlias

from cgbench import __version__
from cgbench.benchmark.candidates.correlations import as_jsonl, correlations_of
from cgbench.benchmark.candidates.originals import original_pairs
from cgbench.benchmark.candidates.scan import content_of
from cgbench.benchmark.candidates.selection import count_stages
from cgbench.benchmark.candidates.strata import design_of
from cgbench.benchmark.candidates.table import ROW_KEYS, control_table
from cgbench.benchmark.candidates.uncertainty import candidate_lines
from cgbench.benchmark.react.build_plan import Built
from cgbench.benchmark.react.request import default_settings
from cgbench.benchmark.release.data_tables import (
    chosen_rows,
    data_tables,
    figures_of,
    sample_table,
    with_text,
    without_text,
    write_table,
)
from cgbench.benchmark.release.manifest import (
    CONTROL,
    CORRELATIONS,
    DATA,
    FORMAT,
    ID,
    MANIFEST,
    SAMPLE,
    SPLIT,
    keeps_normalised,
    normalised_text,
    stem_of,
    table_file,
    text_files,
)
from cgbench.benchmark.release.publishing import move_into_place, write_manifest
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.work_folder import shown_names
from cgbench.errors import InputWarning
from cgbench.files import write_atomic
from cgbench.models.checkpoints import ensemble_identity
from cgbench.models.external.addresses import shown_name
from cgbench.steps import Workspace, hash_file
from cgbench.text.remote import as_given, is_address
from cgbench.text.streams import split_name
from cgbench.text.tokenizers import versions as tokenizer_versions

Texts: TypeAlias = tuple[Sequence[str], Sequence[str]]
"""The sources and targets of pairs."""
PACKAGES = ("numpy", "numba", "pyarrow", "torch", "tokenizers", "safetensors", "sacremoses")


def write_release(built: Built, out: Path, workspace: Workspace) -> Release:
    """Write the results of a build to ``out``.

    A build that stops early (``until``) writes the candidates with the measures known so far.
    Everything is written to the workspace first, so a full disk leaves ``out`` as it was. ``manifest.json`` comes last
    and completes the release. Parts of an existing card that people wrote are kept.
    """
    staging = workspace.root / "release"
    shutil.rmtree(staging, ignore_errors=True)
    (staging / DATA).mkdir(parents=True)
    normalised = candidate_lines(built.candidates)
    texts = candidate_lines(built.candidates, original=True)
    keeps = keeps_normalised({"configuration": built.plan.request.as_dict()})
    # The text files: the original, and beside it the form that selected the pairs.
    control = built.control
    control_texts = None
    if control:
        where = control.rows["pool"], control.rows["line"]
        control_texts = original_pairs(built.plan.inputs.pools, *where, built.plan.train.normalisation)
    control_form = (control.sources, control.targets) if control else None
    for name, content in _texts(built, texts, control_texts).items():
        write_atomic(staging / name, content)
    if keeps:
        for name, content in _texts(built, normalised, control_form).items():
            write_atomic(staging / normalised_text(name), content)
    for name, content in _rows(built).items():
        write_atomic(staging / name, content)
    measure = built.plan.request.ranking.uncertainty if built.plan.uncertainty else None
    write_atomic(staging / CORRELATIONS, as_jsonl(correlations_of(built.table, measure)))
    languages = built.plan.inputs.languages
    tables = data_tables(
        built.table, texts, normalised if keeps else None, languages, built.plan.request.execution.until
    )
    if control and control_texts and control_form:
        table = control_table(control, built.pools).append_column("content", [content_of(*control_form)])
        tables["control"] = with_text(table, control_texts, control_form if keeps else None, languages)
    inputs = built.plan.inputs
    corpora = [path for spec in (inputs.train, *inputs.pools, *inputs.exclude) for path in spec.paths]
    further = (*inputs.known.values(), inputs.ensemble, inputs.reverse, inputs.lm, *inputs.difficulty)
    names = shown_names(map(str, filter(None, (*corpora, *further))))
    manifest = _manifest(built, names)
    del texts, normalised  # free memory before the tables are written and read for the card
    if built.plan.request.release_options.release_text == "none":
        tables = {name: without_text(table) for name, table in tables.items()}
        left_out = text_files(manifest)
        manifest |= {"text": "none", "texts": {name: hash_file(staging / name) for name in left_out}}
        for name in left_out:
            (staging / name).unlink()
    for name, table in tables.items():
        write_table(table, staging / table_file(name))
    manifest = write_manifest(manifest, staging, tables, out)
    written = {
        "steps": {step.name: step.key for step in built.plan.steps},
        "signature": manifest["signature"],
        "folder": str(out.resolve()),
        "inputs": {name: str(Path(path).absolute()) for path, name in names.items() if not is_address(name)},
    }
    move_into_place(staging, out, [*manifest["files"], MANIFEST], written)
    return Release(out, manifest, workspace.root.parent)


def _texts(built: Built, texts: Texts, control: Texts | None = None) -> dict[str, str]:
    """The text files, by name, with the lines of one form of the candidates and the control set."""
    until = built.plan.request.execution.until
    chosen = chosen_rows(built.table) if until == "release" else range(len(texts[0]))
    sets = [(stem_of(until), [[lines[row] for row in chosen] for lines in texts])]
    if until == "release" and built.plan.request.drawing.design == "stratified":
        sampled = chosen_rows(built.table, "sample")
        sets.append(("sample", [[lines[row] for row in sampled] for lines in texts]))
    if control:
        sets.append(("control", list(map(list, control))))
    return {
        f"{stem}.{language}": "".join(line + "\n" for line in lines)
        for stem, sides in sets
        for language, lines in zip(built.plan.inputs.languages, sides, strict=True)
    }


def _rows(built: Built) -> dict[str, str]:
    """The files with one row per pair of a set, by name."""
    contents = {}
    if built.plan.request.execution.until == "release":
        hidden = {"content", "stage"}
        if built.plan.request.release_options.release_text == "none":
            hidden |= {*built.table.column_names} - {*without_text(built.table).column_names}
        test_rows = built.table.take(chosen_rows(built.table)).to_pylist()
        contents[SPLIT] = "".join(_split_row(row, hidden) for row in test_rows)
        if built.plan.request.drawing.design == "stratified":
            contents[SAMPLE] = "".join(_split_row(row, hidden) for row in sample_table(built.table).to_pylist())
    if control := built.control:
        control_rows = control_table(control, built.pools).to_pylist()
        contents[CONTROL] = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in control_rows)
    return contents


def _split_row(row: dict[str, Any], hidden: Set[str]) -> str:
    ordered = {key: row[key] for key in ROW_KEYS} | {key: value for key, value in row.items() if key not in hidden}
    return json.dumps(ordered, ensure_ascii=False) + "\n"


def _manifest(built: Built, names: Mapping[str, str]) -> dict[str, Any]:
    """The manifest without the checksums of the files.

    :param names: the name of each input in the release, by its path.
    """
    plan, request = built.plan, built.plan.request
    # Counts, seeds and the design of the draws.
    counts, design = dict(built.counts), {}
    seeds: dict[str, Any] = {"cut": request.seed}
    if plan.uncertainty:
        members = plan.ensemble.members if plan.ensemble else None
        seeds["members"] = [int(step.config["seed"]) for step in members] if members else None
    if plan.request.execution.until == "release":
        counts |= count_stages(built.table["stage"].to_pylist())
        seeds["selection"] = request.seed
        design = design_of(built.table, counts)
        if "sample" in design:
            counts["sample"] = design["sample"]["drawn"]
    control_degrees: list[float] = built.control.rows["degree"].tolist() if built.control else []
    return {
        "format": FORMAT,
        "id": ID,
        "until": plan.request.execution.until,
        "version": __version__,
        "versions": _versions(built),
        "configuration": request.as_dict(),
        "device": plan.device,
        **({"precision": plan.ensemble.preset.training.precision} if plan.ensemble else {}),
        "languages": list(plan.inputs.languages),
        "inputs": _inputs(built, names),
        "licence": request.release_options.licence,
        "counts": counts,
        "figures": figures_of(built.table, request.ranking.uncertainty, control_degrees),
        **({"design": design} if design else {}),
        **({"balance": built.control.balance} if built.control else {}),
        **({"ensemble": built.quality} if built.quality else {}),
        **({"noise": built.noise} if built.noise else {}),
        "seeds": seeds,
        "command": command(built, names),
        "warnings": [_renamed(as_given(str(InputWarning(warning))), names) for warning in built.warnings],
    }


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """A line of text with the paths of inputs replaced by their names in the release."""
    for path in sorted(names, key=len, reverse=True):
        text = text.replace(path, names[path]) if path != names[path] else text
    return text


def _inputs(built: Built, names: Mapping[str, str]) -> dict[str, Any]:
    plan, inputs = built.plan, built.plan.inputs

    def file(path: Any, sha256: str) -> dict[str, str]:
        return {"path": names[str(path)], "sha256": sha256}

    def entry(text: Any, pairs: int | None) -> dict[str, Any]:
        files = list(map(file, text.spec.paths, text.hashes))
        return {"files": files, "columns": text.spec.columns, "pairs": pairs}

    # The corpora, then the inputs that only some builds have.
    result: dict[str, Any] = {
        "train": entry(plan.train, built.train.lines),
        "pool": [entry(text, pool.lines) for text, pool in zip(plan.pools, built.pools, strict=True)],
        "exclude": [entry(text, None) for text in plan.exclude],
    }
    if inputs.known:
        keys = plan.ngrams.inputs
        result["known_from"] = {side: file(folder, keys[f"known-{side}"]) for side, folder in inputs.known.items()}
    if inputs.difficulty:
        result["difficulty"] = [file(path, hash_file(split_name(path)[0])) for path in inputs.difficulty]
    if plan.perplexity:
        result["lm"] = file(inputs.lm, plan.perplexity.inputs["lm"]) | {"side": plan.perplexity.config["side"]}
    if plan.reverse:
        path = names[str(inputs.reverse)]
        result["reverse_ensemble"] = {"path": path, "identity": plan.reverse.inputs["ensemble"]}
    if inputs.members:
        result["members"] = [
            {
                "name": shown_name(member.address),
                "identity": dict(member.identity),
                "pretrained": member.address.kind != "own",
            }
            for member in inputs.members
        ]
    if inputs.ensemble:
        result["ensemble"] = {"path": names[str(inputs.ensemble)], "identity": ensemble_identity(inputs.ensemble)}
    return result


def _versions(built: Built) -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in (*PACKAGES, *(["kenlm"] if built.plan.perplexity else [])):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions | tokenizer_versions(built.plan.train.normalisation.tokenizers)


def command(built: Built, names: Mapping[str, str]) -> str:
    """The command that builds this release again: every setting, inputs by their names in the release."""
    inputs, request = built.plan.inputs, built.plan.request
    words = ["cgbench", "build-react"]

    def add(option: str, *values: str) -> None:
        words.extend((option, *values))

    def add_paths(option: str, *paths: Any) -> None:
        words.extend(word for path in paths if path for word in (option, names[str(path)]))

    specs = [("--train", inputs.train), *(("--pool", spec) for spec in inputs.pools)]
    specs += [("--exclude", spec) for spec in inputs.exclude]
    for option, spec in specs:
        add(option, *(names[str(path)] for path in spec.paths))
    for columns in [spec.columns for _, spec in specs if spec.columns][:1]:  # shared by all files with both sides
        add("--columns", ",".join(columns))
    add("--languages", ",".join(inputs.languages))
    for side, folder in inputs.known.items():
        add("--known-from", f"{side}={names[str(folder)]}")
    add_paths("--ensemble", inputs.ensemble)
    for member in inputs.members:
        add("--member", shown_name(member.address))
    for template in {member.template for member in inputs.members if "prompt" not in member.address.options} - {None}:
        add("--prompt", str(template))  # shared by all members
    add_paths("--reverse-ensemble", inputs.reverse)
    add_paths("--difficulty", *inputs.difficulty)
    add_paths("--lm", inputs.lm)
    if any(finding.stops for finding in built.plan.findings):
        add("--accept-text")
    if built.plan.ensemble and (together := built.plan.ensemble.processes) > 1:
        add("--set", f"gpus_per_member={together}")
    add("--device", built.plan.device, "--out", "DIR")
    defaults = default_settings()
    for key, value in request.as_dict().items():
        if value != defaults.get(key):
            add("--set", f"{key}={'none' if value is None else value}")
    if request.execution.until != "release":
        add("--until", request.execution.until)
    return as_given(shlex.join(words))
