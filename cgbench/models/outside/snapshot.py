"""The files of a Hugging Face model: found or fetched, looked at before anything is loaded, and known by their bytes.

Weights are read from safetensors alone: a pickle runs whatever its author wrote. Nor does the code run that some
models bring with them, unless somebody allows it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cgbench.digests import known_digest
from cgbench.errors import InputError, require
from cgbench.files import read_json
from cgbench.models.checkpoints import BEST, STATE
from cgbench.models.outside.addresses import Address
from cgbench.steps import hash_value

WEIGHTS = "*.safetensors"
ADAPTER_CONFIG, ADAPTER = "adapter_config.json", "adapter_model.safetensors"
# No pickles (.bin, .pt, .h5) and no code. spm, model: SentencePiece; txt, vocab, bpe: dictionaries and merges.
_FETCHED = ("*.json", WEIGHTS, "*.txt", "*.model", "*.spm", "*.vocab", "*.bpe", "*.jinja")
_BESIDE = (STATE, BEST)  # what a training of ours leaves beside a model
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack")


def find_snapshot(address: Address, fetch: bool = True) -> tuple[Path, str]:
    """The folder of a model, and the commit that it is of (nothing of a folder that was named as such).

    :param fetch: whether the hub is asked for what the cache does not have.
    :raises InputError: there is no such model or revision, it cannot be fetched, or the folder is no model that can be
        loaded safely.
    """
    if not address.revision:
        folder, commit = Path(address.name), ""
    else:
        patterns = [*_FETCHED, *(["*.py"] if "remote_code" in address.options else [])]
        folder = _fetch(address, patterns, local_files_only=not fetch)
        commit = folder.name
    _check(address, folder)
    return folder, commit


def identity_of(folder: Path) -> str:
    """A hash of the files of a model that decide what it answers: configuration, weights, tokeniser, code."""
    names = sorted(
        path.name
        for path in folder.iterdir()
        if path.is_file()
        and not path.name.startswith(".")
        and path.name not in _BESIDE
        and any(path.match(kind) for kind in (*_FETCHED, "*.py"))
    )
    return hash_value({name: known_digest(folder / name) for name in names})


def find_adapter(address: Address) -> Path | None:
    """The folder of the LoRA adapter that an address names; None if it names none.

    :raises InputError: it is none, its weights are no safetensors, or it was trained over another model.
    """
    if (named := address.options.get("adapter")) is None:
        return None
    folder = Path(named)
    if not (folder / ADAPTER_CONFIG).is_file():
        raise InputError(f"{address.text}: {folder} is no adapter: it has no {ADAPTER_CONFIG}")
    if not (folder / ADAPTER).is_file():
        raise InputError(f"{address.text}: {folder} has no {ADAPTER}; {_convert('PeftModel.save_pretrained')}")
    config = read_json(folder / ADAPTER_CONFIG)
    base = config.get("base_model_name_or_path") if isinstance(config, dict) else None
    if not isinstance(base, str) or not base:
        raise InputError(f"{folder / ADAPTER_CONFIG}: does not say which model it belongs to (base_model_name_or_path)")
    # Folders move and IDs lose their owner; the last part of the name stays.
    if Path(base).name != Path(address.name).resolve().name and Path(base).name != Path(address.name).name:
        raise InputError(
            f"{address.text}: the adapter {folder} belongs to {base}, not to {address.name}; if these are the same "
            f"model, say so in {folder / ADAPTER_CONFIG} (base_model_name_or_path)"
        )
    return folder


def _check(address: Address, folder: Path) -> None:
    if not (folder / "config.json").is_file():
        raise InputError(f"{address.text}: {folder} has no config.json: it is no Hugging Face model")
    config: Any = read_json(folder / "config.json")
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise InputError(f"{folder / 'config.json'}: not the configuration of a Hugging Face model (no model_type)")
    if "remote_code" not in address.options:
        told = [folder / name for name in ("config.json", "tokenizer_config.json") if (folder / name).is_file()]
        for path in told:
            found = read_json(path)
            if isinstance(found, dict) and found.get("auto_map"):
                raise InputError(
                    f"{address.text}: {path.name} asks for code that comes with the model (auto_map), which is not "
                    "run; if you have read it and trust it, add remote_code=yes behind a ?"
                )
    if not any(folder.glob(WEIGHTS)):
        pickles = [path.name for kind in _PICKLES for path in sorted(folder.glob(kind))]
        what = f"its weights are in {pickles[0]}, and" if pickles else "it has no weights as safetensors;"
        raise InputError(f"{address.text}: {what} no pickle is loaded; {_convert('PreTrainedModel.save_pretrained')}")


def _convert(saved_by: str) -> str:
    return (
        f"where you trust its author, load it with transformers and write it again ({saved_by}), which writes "
        "safetensors"
    )


def _fetch(address: Address, patterns: list[str], **how: bool) -> Path:
    hub: Any = require("huggingface_hub", "hf")
    try:
        return Path(hub.snapshot_download(address.name, revision=address.revision, allow_patterns=patterns, **how))
    except Exception as error:
        if (reason := _reason(error, address)) is None:
            raise
        raise InputError(f"{address.text}: {reason}") from None


def _reason(error: Exception, address: Address) -> str | None:
    """Why a model could not be fetched; None if that is no matter of the hub. By names: versions differ in classes."""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    where = f"https://huggingface.co/{address.name}"
    for kind, reason in (
        ("GatedRepoError", f"access has to be asked for at {where}; then log in (hf auth login) or set HF_TOKEN"),
        ("RepositoryNotFoundError", f"there is no model {address.name}; a private one needs a login (hf auth login)"),
        ("RevisionNotFoundError", f"the model has no revision {address.revision}; {where}/commits/main lists them"),
        *(
            (
                kind,
                "this revision is not in the cache, and the hub cannot be reached (or HF_HUB_OFFLINE is set); where it "
                f"can: hf download {address.name} --revision {address.revision}",
            )
            for kind in ("LocalEntryNotFoundError", "OfflineModeIsEnabled")
        ),
        ("HFValidationError", f"no name of a model ({error})"),
    ):
        if kind in kinds:
            return reason
    if type(error).__module__.split(".")[0] in ("huggingface_hub", "httpx", "httpx2", "requests"):
        return f"cannot be fetched ({' '.join(str(error).split())[:200]})"
    return None
