"""Checkpoints: folders of JSON and safetensors files that hold a complete model; no pickles.

A checkpoint has ``config.json`` (written last, so its presence means a complete folder),
``model.safetensors``, ``subwords.json``, ``SHA256SUMS`` (checksums of these three; missing in old
checkpoints) and ``metrics.jsonl``. To resume training it also has ``training_state.safetensors``
and, if the best model is kept, ``best.safetensors``. See ``docs/reference/formats.md``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.checksums import SUMS, check_recorded, digests_of, first_damaged, write_sums
from cgbench.errors import InputError, argument
from cgbench.files import (
    atomic_path,
    check_shape,
    ordinary_file,
    ordinary_folder,
    read_json,
    to_json,
    write_atomic,
    write_json,
)
from cgbench.models.config.architectures import OUTSIDE, build_model
from cgbench.models.config.common import MethodConfig, ModelConfig, TrainingConfig
from cgbench.models.config.lstm_lexicon import LSTMLexiconConfig
from cgbench.models.config.presets import section_config
from cgbench.models.text.subwords import FILE as SUBWORDS
from cgbench.models.text.subwords import Subwords
from cgbench.steps import hash_file, hash_value

if TYPE_CHECKING:
    from torch import Tensor, nn

FORMAT = 2
CONFIG, MODEL, METRICS = "config.json", "model.safetensors", "metrics.jsonl"
STATE, BEST = (
    "training_state.safetensors",
    "best.safetensors",
)  # for resuming; not part of the model
MEMBER = "member-{}"
BESIDE = "ensemble"  # the folder next to a workspace for its published members
ENSEMBLE = "ensemble.json"  # in the folder of an ensemble; written last
# Tensors that are not parameters: of the Proto-Transformer, of a one-word lexicon, of BART and
# Marian (transformers).
CONSTANTS = {"prototypes", "clustered", "aligned", "final_logits_bias", "slot"}
LEXICON = "rows"  # of a model with a lexicon: a parameter if learned, else a constant
OURS = "cgbench"  # key of our configuration in the config.json of a fine-tuned Hugging Face model
DIGEST = "sha256"  # the tensor with the digest of the others
MOST_LAYERS = 1_000  # per side; more would take too long to build
MOST_WIDTH = 1 << 20  # of all other sizes
DAMAGED = "the checkpoint is damaged or not from cgbench"

_CONFIG = {
    "model": {str: (str, bool, int, float)},
    "training": {str: (str, bool, int, float)},
    "source_size": lambda value: _count(value, 4),
    "target_size": lambda value: _count(value, 4),
    "subwords": str,
    "method?": {str: (str, bool, int, float)},
    "preset?": str,
    "seed?": lambda value: _count(value, 0),
    "updates?": lambda value: _count(value, 0),
    "precision?": str,
    "processes?": lambda value: _count(value, 1),
    "init?": str,
    "lexicon?": str,
    "corpus?": {str: str},
}


def _count(value: Any, least: int) -> bool:
    return type(value) is int and least <= value < 1 << 63


@dataclass(frozen=True)
class CheckpointConfig:
    """The content of ``config.json``.

    :param preset: name of the preset of the model.
    :param updates: updates of the kept parameters.
    :param subwords: digest of the subwords, which members of an ensemble share.
    :param corpus: sha256 of the training files, by the caller's names.
    :param processes: number of processes in training.
    :param init: hash of the external model that it started from; ``lexicon``: of the lexicon file,
        if any.
    """

    model: ModelConfig
    training: TrainingConfig
    source_size: int
    target_size: int
    subwords: str
    preset: str = ""
    seed: int = 0
    updates: int = 0
    method: MethodConfig = field(default_factory=MethodConfig)
    processes: int = 1
    init: str = ""
    lexicon: str = ""
    corpus: dict[str, str] = field(default_factory=dict)


def save_checkpoint(
    folder: Path, config: CheckpointConfig, tensors: Mapping[str, Tensor], subwords: Subwords
) -> None:
    """Write a complete checkpoint; an interrupted call leaves a folder without ``config.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (CONFIG, SUMS):
        (folder / name).unlink(missing_ok=True)
    subwords.save(folder)
    write_tensors(folder / MODEL, tensors)
    seal_checkpoint(folder, [SUBWORDS, MODEL], config_dict(config))


def seal_checkpoint(folder: Path, names: list[str], config: dict[str, Any]) -> None:
    """Write the checksums of a folder's files, then its ``config.json``."""
    text = to_json(config)
    write_sums(
        folder, {**digests_of(folder, names), CONFIG: hashlib.sha256(text.encode()).hexdigest()}
    )
    write_atomic(folder / CONFIG, text)


def config_dict(config: CheckpointConfig) -> dict[str, Any]:
    """The content of ``config.json``."""
    return {"format": FORMAT, **asdict(config)}


def read_config(folder: Path) -> CheckpointConfig:
    """Read ``config.json``."""
    path = folder / CONFIG
    if not folder.is_dir():
        raise InputError(f"{folder}: no such checkpoint folder")
    if not os.path.lexists(path):
        raise InputError(
            f"{folder}: no {CONFIG}; not a checkpoint, or its training is not finished"
        )
    data = read_json(ordinary_file(path))
    check_recorded(path)
    if isinstance(data, dict) and OURS in data:
        data = data[OURS]
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"{path}: not a checkpoint of format {FORMAT}")
    values = {key: value for key, value in data.items() if key != "format"}
    check_shape(values, _CONFIG, path, DAMAGED)
    if "precision" in values:  # of 0.2, where training.precision may be auto
        values["training"]["precision"] = values.pop("precision")
    try:
        for section in ("model", "training", "method"):
            values[section] = section_config(section, values.get(section, {}))
        config = CheckpointConfig(**values)
    except (KeyError, TypeError) as error:
        raise InputError(f"{path}: not a checkpoint configuration ({error})") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    # A model of this configuration can be built in reasonable time.
    for name, value in vars(config.model).items():
        most = MOST_LAYERS if "layers" in name else MOST_WIDTH
        if type(value) is int and value > most:
            raise InputError(
                f"{path}: model.{name} is {value:,}, above the maximum of {most:,}; {DAMAGED}"
            )
    return config


def check_native(folder: Path, config: CheckpointConfig) -> None:
    """Check that a checkpoint is a native model."""
    if config.model.architecture in OUTSIDE:
        name = (
            f"hf:BASE?adapter={folder}"
            if (folder / "adapter_config.json").is_file()
            else f"hf:{folder}"
        )
        raise InputError(
            f"{folder}: is a fine-tuned Hugging Face model; write {name} (translate"
            f" {argument('system')}, uncertainty {argument('member')}, train {argument('init')})"
        )


def load_checkpoint(
    folder: Path, device: str = "cpu"
) -> tuple[nn.Module, Subwords, CheckpointConfig]:
    """Return the model (in evaluation mode, float32), its subwords and its configuration."""
    from cgbench.models.shapes import shapes_only

    config = read_config(folder)
    check_native(folder, config)
    subwords = Subwords.load(folder)
    if (subwords.digest, subwords.source_size, subwords.target_size) != (
        config.subwords,
        config.source_size,
        config.target_size,
    ):
        raise InputError(
            f"{folder}: the subwords differ from those that the model was trained with"
        )
    tensors, _ = read_tensors(folder / MODEL)
    with shapes_only():
        model = build_model(config.model, config.source_size, config.target_size)
    needed = model.state_dict()
    for name in sorted(needed.keys() | tensors.keys()):
        needed_shape, shape = (
            tuple(table[name].shape) if name in table else None for table in (needed, tensors)
        )
        if needed_shape != shape:
            raise InputError(
                f"{folder / MODEL}: {name} has shape {shape or 'none'}, but {CONFIG} needs"
                f" {needed_shape or 'none'}"
            )
    for name, tensor in needed.items():
        if tensor.dtype != tensors[name].dtype:
            raise InputError(
                f"{folder / MODEL}: {name} has type {tensors[name].dtype} instead of"
                f" {tensor.dtype}; {DAMAGED}"
            )
    check_finite(folder / MODEL, tensors)
    model.load_state_dict(tensors, assign=True)
    return model.to(device).eval(), subwords, config


def check_finite(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Check that every number is finite."""
    import torch

    for name, tensor in tensors.items():
        # The sum of finite numbers is finite, and one operation.
        if tensor.is_floating_point() and not bool(tensor.sum(dtype=torch.float64).isfinite()):
            raise InputError(
                f"{path}: {name} contains NaN or infinity; {DAMAGED}, or training failed"
            )


def write_tensors(path: Path, tensors: Mapping[str, Tensor], text: str | None = None) -> None:
    """Write tensors and an optional string atomically and deterministically.

    Files other than finished models are not in SHA256SUMS, so they get an extra tensor with the
    digest of the others.
    """
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    if path.name != MODEL:
        contiguous[DIGEST] = torch.tensor(list(_digest(contiguous, text)), dtype=torch.uint8)
    with atomic_path(path) as temporary:
        temporary.touch()
        mode = temporary.stat().st_mode  # safetensors would ignore the umask and leave 0600
        # At most one entry, because safetensors writes several in random order.
        try:
            save_file(contiguous, temporary, None if text is None else {"text": text})
            temporary.chmod(mode)
        except SafetensorError as error:
            # The system's error number (for example, of a full disk) is only in the message.
            if match := re.search(r"os error (\d+)", str(error)):
                raise OSError(int(match[1]), os.strerror(int(match[1])), str(path)) from None
            raise


def read_tensors(path: Path) -> tuple[dict[str, Tensor], str | None]:
    """Read a file from :func:`write_tensors`."""
    ordinary_file(path)
    if path.name == MODEL:
        check_recorded(path)
    with open_tensors(path, "pt") as file:
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        text = (file.metadata() or {}).get("text")
    if (digest := tensors.pop(DIGEST, None)) is not None and bytes(digest.tolist()) != _digest(
        tensors, text
    ):
        raise InputError(f"{path}: is damaged: its checksum does not match")
    return tensors, text


@contextlib.contextmanager
def open_tensors(path: Path, framework: str = "np") -> Iterator[Any]:
    """Open a safetensors file; an error while reading it is an InputError."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework) as file:
            yield file
    except (
        SafetensorError,
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RuntimeError,
    ) as error:
        raise InputError(f"{path}: not a valid safetensors file ({error})") from None


def _digest(tensors: Mapping[str, Tensor], text: str | None) -> bytes:
    """The SHA-256 of tensors, sorted by name, and of the string."""
    import torch

    digest = hashlib.sha256(repr(text).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name!r} {tensor.dtype} {list(tensor.shape)} ".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.digest()


def member_summary(folder: Path) -> dict[str, Any]:
    """Return ``folder`` (its name), ``seed``, ``updates`` and number of ``parameters`` of a
    checkpoint.
    """
    config = read_config(folder)
    with open_tensors(ordinary_file(folder / MODEL)) as tensors:
        counts = {name: math.prod(tensors.get_slice(name).get_shape()) for name in tensors.keys()}  # noqa: SIM118
    is_given = isinstance(config.model, LSTMLexiconConfig) and not config.model.lexicon_is_learned
    constants = CONSTANTS | ({LEXICON} if is_given else set())
    parameters = sum(
        count for name, count in counts.items() if name.rpartition(".")[2] not in constants
    )
    return {
        "folder": folder.name,
        "seed": config.seed,
        "updates": config.updates,
        "parameters": parameters,
    }


def pairs_in_use(folder: Path) -> dict[str, list[int]]:
    """The number of pairs in use and of all, by set (``training``, ``validation``), of a training
    run.
    """
    with (folder / METRICS).open(encoding="utf-8") as file:
        counts = json.loads(next(file, "{}"))
    return {
        name: [counts[f"{prefix}pairs"], counts[f"{prefix}pairs"] + counts[f"{prefix}skipped"]]
        for name, prefix in (("training", ""), ("validation", "validation_"))
        if f"{prefix}pairs" in counts
    }


def publish_ensemble(
    members: list[Path], out: Path, copy: Callable[[str, str], object] = shutil.copy2
) -> None:
    """Copy trained members to ``out/member-0`` and so on; ``ensemble.json`` comes last."""
    for folder in out.glob(MEMBER.format("*")):
        if folder.is_dir():
            shutil.rmtree(folder)
    for index, member in enumerate(members):
        folder = out / MEMBER.format(index)
        shutil.copytree(
            member,
            folder,
            copy_function=copy,
            ignore=shutil.ignore_patterns("step.json", STATE, BEST),
        )
    write_json(out / ENSEMBLE, _listing(len(members)))


def _listing(members: int) -> dict[str, Any]:
    return {"format": 1, "members": [MEMBER.format(index) for index in range(members)]}


def holds_members(ensemble: Path, members: list[Path]) -> bool:
    """Whether a published ensemble consists of exactly these steps' results, byte for byte.

    The folders may be untrusted: nothing outside ``ensemble`` is read.
    """
    folders = [ensemble / MEMBER.format(index) for index in range(len(members))]
    listing = ensemble / ENSEMBLE
    if any(path.is_symlink() for path in (ensemble, listing, *folders)) or not listing.is_file():
        return False
    if listing.read_bytes() != to_json(_listing(len(members))).encode() or set(
        ensemble.glob("member-*")
    ) != {*folders}:
        return False
    for folder, member in zip(folders, members, strict=True):
        outputs = read_json(member / "step.json")["outputs"]
        if not all((folder / name).resolve().is_relative_to(folder.resolve()) for name in outputs):
            return False
        if first_damaged(folder, outputs) is not None:
            return False
    return True


def member_folders(ensemble: Path) -> list[Path]:
    """The member folders of a trained ensemble; a checkpoint is an ensemble of one."""
    if os.path.lexists(ensemble / CONFIG):
        ordinary_file(ensemble / CONFIG)
        return [ensemble]
    name = re.compile(MEMBER.format("[0-9]+"))
    folders = [
        path
        for path in ensemble.glob(MEMBER.format("*"))
        if path.is_dir() and name.fullmatch(path.name)
    ]
    if not folders:
        if (ensemble / METRICS).is_file():
            raise InputError(
                f"{ensemble}: training of this model is not finished; run the training command"
                " again"
            )
        raise InputError(
            f"{ensemble}: contains no trained model; train one with cgbench train or train-ensemble"
        )
    _check_listed(ensemble, {folder.name for folder in folders})
    for folder in folders:
        if not os.path.lexists(ordinary_folder(folder) / CONFIG):
            raise InputError(
                f"{folder}: training of this member is not finished; run the training command again"
            )
    return sorted(folders, key=lambda folder: int(folder.name.rpartition("-")[2]))


def _check_listed(ensemble: Path, names: set[str]) -> None:
    """Check that the members are those that the ensemble was written with, if it lists them.

    :raises InputError: a member was lost, or one was added.
    """
    path = ensemble / ENSEMBLE
    if not os.path.lexists(path):
        return
    listing = read_json(ordinary_file(path))
    listed = listing.get("members") if isinstance(listing, dict) else None
    if not isinstance(listed, list) or {*map(str, listed)} == names:
        return
    missing, added = sorted({*map(str, listed)} - names), sorted(names - {*map(str, listed)})
    what = f"{missing[0]} is missing" if missing else f"{added[0]} is not among them"
    raise InputError(
        f"{ensemble}: {ENSEMBLE} lists {len(listed)} members, but {what}; copy the folder again, or"
        f" name the members that you want, one {argument('model')} each, or list them in"
        f" {ENSEMBLE}"
    )


def ensemble_identity(ensemble: Path) -> str:
    """A hash of all files of an ensemble that determine its output."""
    return hash_value(
        [
            {
                path.name: hash_file(ordinary_file(path))
                for path in sorted(folder.iterdir())
                if not path.is_dir() and path.name not in (METRICS, SUMS, STATE, BEST)
            }
            for folder in member_folders(ensemble)
        ]
    )
