"""Translate a text with an external model or a server."""

from __future__ import annotations

import hashlib
import json
import platform
import warnings
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, cast

from cgbench import __version__
from cgbench.errors import InputError, InputWarning, argument
from cgbench.files import check_output, read_json, to_json, write_atomic
from cgbench.locks import locked
from cgbench.models.devices import choose_device
from cgbench.models.external.addresses import parse_address, read_template
from cgbench.models.external.opening import Planned, plan_member
from cgbench.models.external.server import Server, ask_all, parse_server
from cgbench.models.external.sidecar import FORMAT, sidecar_path
from cgbench.models.external.token_space import SHARD
from cgbench.models.external.uncertainty import work_beside
from cgbench.models.translation_request import NAMED, TranslateRequest
from cgbench.progress import bar
from cgbench.requests import as_path
from cgbench.steps import STEPS, Step, Workspace, hash_value
from cgbench.tables import counted
from cgbench.text.inputs import files_of, lines_of

_ANSWERS = "answers.jsonl"


def plan_system(text: str, prompt: str | None) -> Planned | Server:
    """Resolve the address of a system; nothing is requested or loaded yet."""
    if text.startswith("openai:"):
        if prompt is None:
            raise InputError(
                f"{text}: a server needs a prompt; set {argument('prompt')}, such as "
                "'Translate into English: {source}'"
            )
        return parse_server(text, read_template(prompt, argument("prompt")))
    if parse_address(text).kind == "own":
        raise InputError(
            f"{text}: not an external model; write hf:... or openai:..., or use {argument('model')} for a checkpoint"
        )
    return plan_member(text, prompt)


def translate_by_system(request: TranslateRequest) -> list[str]:
    """Translate, and write the output with its sidecar; an interrupted run resumes.

    :returns: the lines of the output.
    :raises InputError: a sentence is too long for the model, the server fails, or the output contains translations by
        another system or prompt, or of another text.
    """
    output = as_path(cast("str", request.output))
    check_output(sidecar_path(output), files_of(request.sources))
    system, nbest = plan_system(str(request.system), request.prompt), request.nbest
    lines, _ = lines_of(request.sources, "sources")
    device = "cpu" if request.is_server else choose_device(request.device)
    config: dict[str, Any] = {"system": dict(system.identity), "nbest": nbest or 1}
    from_server = isinstance(system, Server)
    if isinstance(system, Planned):
        config |= {"search": request.search, "device": device, "shard": SHARD, "batch_tokens": request.batch_tokens}
    step = Step("translations", config, {"source": hash_value(lines)})
    _check_earlier(output, json.loads(to_json({**config["system"], "source": step.inputs["source"]})))
    workspace = Workspace(work_beside(output) / STEPS)

    def make(out: Path) -> None:
        if isinstance(system, Server):
            _by_server(system, lines, out, nbest or 1)
        else:
            search = {**request.search, "nbest": nbest or 1, "batch_tokens": request.batch_tokens}
            _by_model(system, lines, out, search, device)

    with locked(workspace.root / "lock", wait=False):
        folder = workspace.run(step, make, resumable=True)
    rows = [
        json.loads(line)
        for path in sorted(folder.glob("part-*.jsonl"))
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]
    ]
    written = [_shown(row, nbest, request.format) for row in rows]
    text = "".join(line + "\n" for line in written)
    record: dict[str, Any] = {
        "format": FORMAT,
        "system": config["system"],
        **{name: value for name, value in config.items() if name in ("nbest", "search", "device")},
        "cut": sum(row["nbest"][0]["cut"] for row in rows),
        **({"without_text": [place for place, row in enumerate(rows, 1) if row.get("missing")]} if from_server else {}),
        "lines": len(rows),
        "source": step.inputs["source"],
        "output": hashlib.sha256(text.encode("utf-8")).hexdigest(),
        "versions": _versions(system),
    }
    write_atomic(output, text)
    write_atomic(sidecar_path(output), to_json(record))
    _warn_of(record, from_server)
    return written


def _warn_of(record: Mapping[str, Any], server: bool) -> None:
    lines = record["lines"]
    found = []
    if record["cut"]:
        limit = "?max_tokens=N" if server else argument("max_length_ratio")
        found.append(
            f"{record['cut']:,} of {counted(lines, 'translation')} were cut short; raise the limit with {limit}"
        )
    if missing := record.get("without_text"):
        named = ", ".join(map(str, missing[:NAMED])) + (", ..." if len(missing) > NAMED else "")
        found.append(
            f"the server returned no text for {len(missing):,} of {counted(lines, 'sentence')} (line {named}), for "
            "example because of a filter; these hypotheses are empty"
        )
    for text in found:
        warnings.warn(InputWarning(text), stacklevel=2)


def _check_earlier(output: Path, now: Mapping[str, Any]) -> None:
    """Refuse to overwrite translations by another system or prompt, or of another text: they cost time or money."""
    path = sidecar_path(output)
    if not output.is_file() or not path.is_file():
        return
    record = read_json(path)
    if not isinstance(record, dict) or not isinstance(record.get("system"), dict):
        raise InputError(f"{path}: not written by cgbench; remove it and {output.name}, or choose another output")
    before = {**record["system"], "source": record.get("source")}
    if changed := [name for name in dict.fromkeys((*now, *before)) if before.get(name) != now.get(name)]:
        raise InputError(
            f"{output}: contains translations with another {changed[0]} (see {path.name}); choose another output, or "
            "remove both files"
        )


def _by_model(system: Planned, lines: Sequence[str], out: Path, search: Mapping[str, Any], device: str) -> None:
    """Translate shard by shard; every finished shard is a file."""
    starts = range(0, len(lines), SHARD)
    paths = {start: out / f"part-{start // SHARD:05d}.jsonl" for start in starts}
    waiting = [start for start in starts if not paths[start].is_file()]
    if not waiting:
        return
    finished = sum(len(lines[start : start + SHARD]) for start in starts if start not in waiting)
    with bar(len(lines), "translating", "sentence", initial=finished) as shown:
        member = system.open(device)
        for start in waiting:
            found = member.translate(lines[start : start + SHARD], **search, done=shown.update)
            rows = [
                {
                    "nbest": [
                        {"hypothesis": one.text, "score": one.score, "log_prob": one.log_prob, "cut": one.cut}
                        for one in each
                    ]
                }
                for each in found
            ]
            _write(paths[start], rows)


def _by_server(server: Server, lines: Sequence[str], out: Path, nbest: int) -> None:
    answers = ask_all(server, lines, out / _ANSWERS, nbest=nbest)
    rows = [
        {
            "nbest": [{"hypothesis": text, "cut": cut} for text, cut in zip(answer.texts, answer.cut, strict=True)],
            "missing": answer.missing,
        }
        for answer in answers
    ]
    _write(out / "part-00000.jsonl", rows)
    (out / _ANSWERS).unlink(missing_ok=True)  # in the order in which they came


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    write_atomic(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _shown(row: Mapping[str, Any], nbest: int | None, form: str) -> str:
    """A row of the output: the best hypothesis, in JSON with its scores and the n-best list if requested."""
    every = [{key: value for key, value in one.items() if key != "cut"} for one in row["nbest"]]
    if form != "json":
        return str(every[0]["hypothesis"])
    return json.dumps(every[0] | ({"nbest": every} if nbest else {}), ensure_ascii=False)


def _versions(system: Planned | Server) -> dict[str, str]:
    packages = () if isinstance(system, Server) else ("torch", "transformers")
    versions = {package: metadata.version(package) for package in packages}
    return {"cgbench": __version__, "python": platform.python_version(), **versions}
