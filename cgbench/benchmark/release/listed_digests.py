"""The checksums in a manifest: of each file, without what people wrote in it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cgbench.benchmark.release.card_notes import card_digest
from cgbench.benchmark.release.croissant import croissant_digest
from cgbench.benchmark.release.manifest import CARD, CROISSANT
from cgbench.checksums import known_digest
from cgbench.steps import hash_file

EDITABLE = {CARD: card_digest, CROISSANT: croissant_digest}
"""Files that people also edit; their checksum covers the rest."""


def listed_digest(folder: Path, name: str) -> str:
    """The SHA-256 of a file of a release."""
    digest = EDITABLE.get(name)
    return digest((folder / name).read_bytes()) if digest else hash_file(folder / name)


def listed_digests(folder: Path) -> dict[str, str]:
    """The checksums of all files in the folder of a release that is being written."""
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return {name: listed_digest(folder, name) for name in names}


def is_listed(manifest: Mapping[str, Any], folder: Path, name: str) -> bool:
    """Whether a file of a release is, byte for byte, the one that its manifest lists; each is
    hashed once.
    """
    digest = listed_digest(folder, name) if name in EDITABLE else known_digest(folder / name)
    return bool(manifest.get("files", {}).get(name) == digest)
