"""Load spaCy pipelines by package or folder name.

Loading a spaCy pipeline can run any code: load only those that you trust.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from cgbench.checksums import hash_file
from cgbench.errors import InputError, argument, require

VECTORS = ("tok2vec", "transformer", "curated_transformer")  # factories that other components may depend on
BATCH = 256  # sentences; fixed, because rounding depends on the batch size


def load_pipeline(model: str, trust: bool = False) -> Any:
    """Load a spaCy pipeline by the name of its package or folder, with only the tagger and what it needs.

    :param trust: allow a folder. The code of an installed package has already run; a folder may come from anybody, its
        configuration names functions to call, and its weights may be pickles.
    :raises InputError: spaCy is not installed; the pipeline does not exist, cannot be loaded, or lacks the component.
    """
    spacy = require("spacy", "spacy")
    folder = find_pipeline(model, trust)
    try:
        config = spacy.util.load_config(folder / "config.cfg")
        factories = {name: config["components"][name].get("factory") for name in config["nlp"]["pipeline"]}
        if "tagger" not in factories.values():
            raise InputError(
                f"{model}: this pipeline has no tagger; it has {', '.join(factories) or 'no component'}. "
                f"Choose one with a tagger, such as en_core_web_sm"
            )
        included = {name for name, factory in factories.items() if factory in ("tagger", *VECTORS)}
        return spacy.load(folder, exclude=sorted(set(factories) - included))
    except InputError:
        raise
    except Exception as error:  # spaCy and its components raise many kinds
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"{model}: cannot be loaded as a spaCy pipeline ({line})") from None


def find_pipeline(model: str, trust: bool = False) -> Path:
    """The folder of a spaCy pipeline; runs none of its code.

    :raises InputError: there is no such pipeline, or it is a folder that is not trusted.
    """
    spacy = require("spacy", "spacy")
    if Path(model).exists():
        folder = Path(model)
        if not (folder / "config.cfg").is_file():
            raise InputError(f"{model}: not a spaCy pipeline (a folder with config.cfg)")
        if not trust:
            raise InputError(
                f"{model}: a spaCy pipeline in a folder can run any code when it is loaded; add "
                f"{argument('trust')} if you trust its author"
            )
        return folder
    if spacy.util.is_package(model):
        return _folder_of_package(spacy, model)
    remedy = "" if "/" in model else f"run: python -m spacy download {model}, or "
    raise InputError(
        f"{model}: no spaCy pipeline of this name is installed and there is no such folder; {remedy}"
        "train one with `python -m spacy train`"
    )


def _folder_of_package(spacy: Any, name: str) -> Path:
    """The data folder of an installed pipeline: ``NAME/NAME-VERSION``."""
    package = Path(spacy.util.get_package_path(name))
    if not (package / "meta.json").is_file():
        raise InputError(f"{name}: an installed package, but not a spaCy pipeline")
    meta = spacy.util.get_model_meta(package)
    return package / f"{meta['lang']}_{meta['name']}-{meta['version']}"


def hash_folder(folder: Path) -> str:
    """The SHA-256 of the names and bytes of all files in a folder, in hex."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{hash_file(path)}\n".encode())
    return digest.hexdigest()
