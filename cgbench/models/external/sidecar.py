"""The sidecar file of an external system's translations, which records how they were made.

``cgbench score`` reads it and adds it to the signature.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cgbench.errors import InputError
from cgbench.files import check_shape, read_json

FORMAT = 1
_REMEDY = "translate again, or remove the file to score the translations without it"
_SHAPE = {"format": int, "system": {"kind": str}, "output": str, "search?": {str: (int, float)}}
_SEARCH = (("beam", "beam"), ("length_penalty", "lenpen"), ("max_length_ratio", "ratio"), ("max_length_extra", "extra"))
_SERVER = (("temperature", "temperature"), ("max_tokens", "max"))


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
        raise InputError(f"{path}: has format {record['format']}, but this version reads {FORMAT}; {_REMEDY}")
    if hashlib.sha256(output.read_bytes()).hexdigest() != record["output"]:
        raise InputError(f"{path}: does not belong to the translations in {output.name}; {_REMEDY}")
    return dict(record)


def settings_label(record: Mapping[str, Any]) -> str:
    """The settings of translations for a signature: ``hf-beam5-lenpen1.0-ratio1.2-extra10``.

    The label excludes the model and its weights, so that all seeds of a model share it. A prompt appears as a digest.
    """
    system, search = record["system"], record.get("search") or {}
    words = [system["kind"]]
    words += [f"{short}{search[name]}" for name, short in _SEARCH if name in search]
    words += [f"{short}{system[name]}" for name, short in _SERVER if name in system]
    if system.get("dtype", "float32") != "float32":
        words.append(system["dtype"])
    words += [str(system[name]) for name in ("source", "target") if name in system]
    if "prompt" in system:
        words.append(f"prompt@{hashlib.sha256(str(system['prompt']).encode()).hexdigest()[:8]}")
    return re.sub(r"[^\w.@-]", "_", "-".join(map(str, words)))
