"""The sidecar file of an external system's translations, which records how they were made; written
with the output.

``cgbench score`` reads it and adds it to the signature.
"""

import json
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cgbench import __version__
from cgbench.errors import InputError, warn
from cgbench.files import check_shape, read_json, to_json, write_atomic
from cgbench.numbers_as_text import counted

FORMAT = 1
PROMPT = ("prompt", "system_message", "answer")
"""Parts of a system that the text of its requests depends on, and how its answers are read."""
_REMEDY = "translate again, or remove the file to score the translations without it"
_ANSWERS = {"asked": int, "incomplete": int, "causes": {str: int}}
_SHAPE = {
    "format": int,
    "system": {"kind": str},
    "output": str,
    "search?": {str: (int, float)},
    "answers?": _ANSWERS,
}
_SETTINGS = {
    "beam": "beam",
    "length_penalty": "lenpen",
    "max_length_ratio": "ratio",
    "max_length_extra": "extra",
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max",
    "max_completion_tokens": "max",
}


def _digest(data: bytes) -> str:
    import hashlib  # loads OpenSSL

    return hashlib.sha256(data).hexdigest()


def sidecar_path(output: Path) -> Path:
    """The sidecar file of an output."""
    return output.with_name(f"{output.name}.system.json")


def read_sidecar(output: Path) -> dict[str, Any] | None:
    """Read the sidecar of some translations; None if there is none."""
    path = sidecar_path(output)
    if not output.is_file() or not path.is_file():
        return None
    record: Any = read_json(path)
    check_shape(record, _SHAPE, path, _REMEDY)
    if record["format"] != FORMAT:
        raise InputError(
            f"{path}: has format {record['format']}, but this version reads {FORMAT}; {_REMEDY}"
        )
    if _digest(output.read_bytes()) != record["output"]:
        raise InputError(f"{path}: does not belong to the translations in {output.name}; {_REMEDY}")
    return dict(record)


def check_earlier(output: Path, now: Mapping[str, Any]) -> None:
    """Refuse to overwrite translations by another system or prompt, or of another text: they cost
    time or money.

    :param now: the identity of the system, and the hash of the ``source``.
    """
    path = sidecar_path(output)
    if not output.is_file() or not path.is_file():
        return
    record = read_json(path)
    if not isinstance(record, dict) or not isinstance(record.get("system"), dict):
        raise InputError(
            f"{path}: not written by cgbench; remove it and {output.name}, or choose another output"
        )
    before, now = {**record["system"], "source": record.get("source")}, json.loads(to_json(now))
    if changed := [
        name for name in dict.fromkeys((*now, *before)) if before.get(name) != now.get(name)
    ]:
        raise InputError(
            f"{output}: contains translations with another {changed[0]} (see {path.name}); choose"
            " another output, or remove both files"
        )


def write_output(
    output: Path,
    rows: Sequence[Mapping[str, Any]],
    nbest: int | None,
    form: str,
    record: Mapping[str, Any],
    packages: Sequence[str] = (),
) -> list[str]:
    """Write the output and its sidecar.

    :param rows: ``{"nbest": [{"hypothesis": ..., "cut": ...}, ...]}``, one per sentence.
    :param record: what the sidecar says of the system; :param packages: whose versions it says.
    :returns: the lines of the output.
    """
    written = [_shown(row, nbest, form) for row in rows]
    text = "".join(line + "\n" for line in written)
    from importlib import metadata

    versions = {"cgbench": __version__, "python": platform.python_version()}
    sidecar = {
        "format": FORMAT,
        **record,
        "cut": sum(row["nbest"][0]["cut"] for row in rows),
        "lines": len(rows),
        "output": _digest(text.encode("utf-8")),
        "versions": versions | {package: metadata.version(package) for package in packages},
    }
    write_atomic(output, text)
    write_atomic(sidecar_path(output), to_json(sidecar))
    return written


def warn_of_cut(rows: Sequence[Mapping[str, Any]], limit: str) -> None:
    """Warn of translations that a limit has cut."""
    if cut := sum(row["nbest"][0]["cut"] for row in rows):
        warn(
            f"{cut:,} of {counted(len(rows), 'translation')} were cut short; raise the limit with"
            f" {limit}"
        )


def _shown(row: Mapping[str, Any], nbest: int | None, form: str) -> str:
    """A row of the output: the best hypothesis, in JSON with its scores and the n-best list if
    requested.
    """
    every = [
        {key: value for key, value in hypothesis.items() if key != "cut"}
        for hypothesis in row["nbest"]
    ]
    if form != "json":
        return str(every[0]["hypothesis"])
    return json.dumps(
        every[0] | row.get("measures", {}) | ({"nbest": every} if nbest else {}), ensure_ascii=False
    )


def settings_label(record: Mapping[str, Any]) -> str:
    """The settings of translations for a signature: ``hf-beam5-lenpen1.0-ratio1.2-extra10``.

    The label excludes the model and its weights, so that all seeds of a model share it. A prompt
    appears as a digest.
    """
    system = record["system"] | (record.get("search") or {})
    words = [system["kind"]]
    words += [
        f"{short}{system[name]}"
        for name, short in _SETTINGS.items()
        if system.get(name) is not None
    ]
    if system.get("dtype", "float32") != "float32":
        words.append(system["dtype"])
    words += [str(system[name]) for name in ("source", "target") if name in system]
    if prompt := "\n".join(str(system[name]) for name in PROMPT if name in system):
        words.append(f"prompt@{_digest(prompt.encode())[:8]}")
    return re.sub(r"[^\w.@-]", "_", "-".join(map(str, words)))
