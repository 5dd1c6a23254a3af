"""Write a finished release: the test set, the split, all measures of the candidates, a manifest and
a card.

It is a function of the inputs and the settings: two builds give the same bytes. The selection is
already in the table of candidates; nothing is decided here.
"""

import hashlib
import itertools
import platform
import shlex
import shutil
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from cgbench import __version__
from cgbench.benchmark.build.react.build_plan import Built
from cgbench.benchmark.build.react.request import default_settings
from cgbench.benchmark.candidates.correlations import as_jsonl, correlations_of
from cgbench.benchmark.candidates.division import POOL_SHARE
from cgbench.benchmark.candidates.ensemble_quality import control_step, stop_of
from cgbench.benchmark.candidates.originals import original_pairs
from cgbench.benchmark.candidates.row_texts import read_side
from cgbench.benchmark.candidates.selection import count_stages
from cgbench.benchmark.candidates.strata import design_of
from cgbench.benchmark.candidates.table import control_table
from cgbench.benchmark.candidates.uncertainty import candidate_lines
from cgbench.benchmark.release.data_tables import (
    data_tables,
    figures_of,
    text_contents,
    with_text,
    without_text,
    write_sets,
)
from cgbench.benchmark.release.manifest import (
    CORRELATIONS,
    DATA,
    FORMAT,
    ID,
    MANIFEST,
    keeps_normalised,
)
from cgbench.benchmark.release.publishing import move_into_place, write_manifest
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.work_folder import shown_names
from cgbench.errors import InputWarning
from cgbench.files import write_atomic
from cgbench.models.checkpoints import ensemble_identity
from cgbench.models.external.addresses import shown_name
from cgbench.steps import Step, Workspace, hash_file
from cgbench.text.hashes import content_of
from cgbench.text.normalisation import SIDES
from cgbench.text.remote import as_given, is_address
from cgbench.text.streams import split_name
from cgbench.text.tokenizers import versions as tokenizer_versions

PACKAGES = ("numpy", "numba", "pyarrow", "torch", "tokenizers", "safetensors", "sacremoses")


def write_release(built: Built, out: Path, workspace: Workspace) -> Release:
    """Write the results of a build to ``out``.

    A build that stops early (``until``) writes the candidates with the measures known so far.
    Everything is written to the workspace first, so a full disk leaves ``out`` as it was.
    ``manifest.json`` comes last and completes the release. Parts of an existing card that people
    wrote are kept.
    """
    staging = workspace.root / "release"
    shutil.rmtree(staging, ignore_errors=True)
    (staging / DATA).mkdir(parents=True)
    plan, inputs, languages = built.plan, built.plan.inputs, built.plan.inputs.languages
    divided = [inputs.division.corpus] if inputs.division else []
    specs = (*divided, inputs.train, *inputs.pools, *inputs.exclude)
    corpora = [path for spec in specs for path in spec.paths]
    further = (
        *inputs.known.values(),
        inputs.ensemble,
        inputs.reverse,
        inputs.lm,
        *inputs.difficulty,
    )
    names = shown_names(map(str, filter(None, (*corpora, *further))))
    manifest = _manifest(built, names)
    keeps = keeps_normalised(manifest)
    # The tables, with the original text and beside it the form that selected the pairs.
    tables = data_tables(
        built.table,
        candidate_lines(built.candidates, original=True),
        candidate_lines(built.candidates) if keeps else None,
        languages,
    )
    if control := built.control:
        form = control.sources, control.targets
        scanned = [read_side(control.rows, built.pools, side) for side in SIDES]
        texts = original_pairs(
            inputs.pools, built.pools, control.rows, scanned, plan.train.normalisation
        )
        table = control_table(control, built.pools).append_column("content", [content_of(*form)])
        tables["control"] = with_text(table, texts, form if keeps else None, languages)
    if plan.request.release_options.release_text == "none":
        contents = itertools.chain(
            *(text_contents(manifest, *table).items() for table in tables.items())
        )
        hashes = {
            file: hashlib.sha256(content.encode("utf-8")).hexdigest() for file, content in contents
        }
        manifest |= {"text": "none", "texts": hashes}
        tables = {name: without_text(table) for name, table in tables.items()}
    write_sets(manifest, tables, staging)
    measure = plan.request.ranking.uncertainty if plan.uncertainty else None
    write_atomic(staging / CORRELATIONS, as_jsonl(correlations_of(built.table, measure)))
    manifest = write_manifest(manifest, staging, tables, out)
    written = {
        "steps": {step.name: step.key for step in _steps_of(built)},
        "signature": manifest["signature"],
        "folder": str(out.resolve()),
        "inputs": {
            name: str(Path(path).absolute()) for path, name in names.items() if not is_address(name)
        },
    }
    move_into_place(staging, out, [*manifest["files"], MANIFEST], written)
    return Release(out, manifest, workspace.root.parent)


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
        "warnings": [
            _renamed(as_given(str(InputWarning(warning))), names) for warning in built.warnings
        ],
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
        "pool": [
            entry(text, pool.lines) for text, pool in zip(plan.pools, built.pools, strict=True)
        ],
        "exclude": [entry(text, None) for text in plan.exclude],
    }
    if division := inputs.division:
        result["corpus"] = {
            "files": list(map(file, division.corpus.paths, division.hashes)),
            "columns": division.corpus.columns,
            "settings": division.settings,
            "counts": division.counts,
        }
    if inputs.known:
        keys = plan.ngrams.inputs
        result["known_from"] = {
            side: file(folder, keys[f"known-{side}"]) for side, folder in inputs.known.items()
        }
    if inputs.difficulty:
        result["difficulty"] = [
            file(path, hash_file(split_name(path)[0])) for path in inputs.difficulty
        ]
    if plan.perplexity:
        result["lm"] = file(inputs.lm, plan.perplexity.inputs["lm"]) | {
            "side": plan.perplexity.config["side"]
        }
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
        result["ensemble"] = {
            "path": names[str(inputs.ensemble)],
            "identity": ensemble_identity(inputs.ensemble),
        }
    return result


def _versions(built: Built) -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in (*PACKAGES, *(["kenlm"] if built.plan.perplexity else [])):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions | tokenizer_versions(built.plan.train.normalisation.tokenizers)


def _steps_of(built: Built) -> list[Step]:
    """The steps that a release is made of: those of the plan, and the scores of its control set."""
    plan, control = built.plan, built.control
    is_scored = "control" in (built.quality or {})
    if not (plan.uncertainty and control and is_scored):
        return [*plan.steps]
    return [*plan.steps, control_step(plan.uncertainty, control.sources, control.targets)]


def _needs_acceptance(built: Built) -> bool:
    """Whether the build stops unless its ensemble is accepted."""
    finished = built.plan.request.execution.until == "release"
    return finished and built.quality is not None and stop_of(built.quality) is not None


def command(built: Built, names: Mapping[str, str]) -> str:
    """The command that builds this release again: every setting, inputs by their names in the
    release.
    """
    plan, inputs, request = built.plan, built.plan.inputs, built.plan.request
    # The inputs: texts, models, files of values.
    if division := inputs.division:
        corpora = [("--corpus", division.corpus)]
    else:
        corpora = [("--train", inputs.train), *(("--pool", spec) for spec in inputs.pools)]
    corpora += [("--exclude", spec) for spec in inputs.exclude]
    prompts = {
        member.template for member in inputs.members if "prompt" not in member.address.options
    } - {None}
    until, defaults = request.execution.until, default_settings()

    def named(option: str, *paths: Any) -> list[tuple[str, str]]:
        return [(option, names[str(path)]) for path in paths if path]

    # Every input and option, then each setting that is not a default.
    options: list[tuple[str, ...]] = [
        *((option, *(names[str(path)] for path in spec.paths)) for option, spec in corpora),
        *[("--columns", ",".join(spec.columns)) for _, spec in corpora if spec.columns][
            :1
        ],  # shared by all files
        ("--languages", ",".join(inputs.languages)),
        *(
            ("--known-from", f"{side}={names[str(folder)]}")
            for side, folder in inputs.known.items()
        ),
        *named("--ensemble", inputs.ensemble),
        *(("--member", shown_name(member.address)) for member in inputs.members),
        *(("--prompt", str(template)) for template in prompts),  # shared by all members
        *([("--set", f"reverse_ensemble={names[str(inputs.reverse)]}")] if inputs.reverse else []),
        *named("--difficulty", *inputs.difficulty),
        *named("--lm", inputs.lm),
        *([("--accept-text",)] if any(finding.stops for finding in plan.findings) else []),
        *([("--set", "accept_ensemble=true")] if _needs_acceptance(built) else []),
        *(
            [("--set", f"gpus_per_member={n}")]
            if plan.ensemble and (n := plan.ensemble.processes) > 1
            else []
        ),
        ("--device", plan.device, "--out", "DIR"),
        *(
            ("--set", f"{key}={'none' if value is None else value}")
            for key, value in request.as_dict().items()
            if value != defaults.get(key)
        ),
        *(
            [("--set", f"pool_share={share}")]
            if division and (share := division.settings["pool_share"]) != POOL_SHARE
            else []
        ),
        *([("--until", until)] if until != "release" else []),
    ]
    return as_given(shlex.join(["cgbench", "build-react", *itertools.chain.from_iterable(options)]))
