"""The files of a release against its manifest, and the manifest against itself."""

import os

from cgbench.benchmark.release.listed_digests import listed_digest
from cgbench.benchmark.release.manifest import (
    CROISSANT,
    MANIFEST,
    digest,
    file_names,
    is_inside,
    signature,
    table_file,
    table_names,
)
from cgbench.benchmark.release.release import Release
from cgbench.files import read_json, to_json


def check_manifest(release: Release) -> str:
    """The manifest against its own digest, and its bytes against the format of cgbench."""
    manifest = release.manifest
    if "digest" not in manifest:
        return "has no digest: it was changed"
    if manifest["digest"] != digest(manifest):
        return "was changed: the digest does not match"
    if release.path(MANIFEST).read_bytes() != to_json(manifest).encode("utf-8"):
        return "is not in the format that cgbench writes"
    return ""


def check_file(name: str, release: Release) -> str:
    """The SHA-256 of a file as listed: without what people wrote in it."""
    if not is_inside(name):
        return "the name leads out of the folder"
    if not os.path.lexists(release.folder / name):
        return "missing"
    release.path(name)  # an ordinary file of the folder
    expected = release.manifest["files"][name]
    sha256 = listed_digest(release.folder, name)
    if sha256 == expected:
        return ""
    return f"SHA-256 is {sha256[:16]}…, the manifest says {str(expected)[:16]}…"


def check_files(release: Release) -> str:
    """The list of files against what such a release consists of, and the signature."""
    manifest = release.manifest
    if strange := sorted(file_names(manifest) ^ set(manifest["files"])):
        return f"the manifest has missing or unexpected files: {', '.join(strange)}"
    if manifest.get("signature") != signature(manifest):
        return "the signature does not match the files"
    return ""


def check_croissant(release: Release) -> str:
    """The Croissant metadata against the manifest: the same files with the same checksums."""
    metadata = read_json(release.path(CROISSANT))
    described = {file["contentUrl"]: file["sha256"] for file in metadata["distribution"]}
    tables = {table_file(name) for name in table_names(release.manifest)}
    listed = {name: release.manifest["files"][name] for name in tables}
    return "" if described == listed else "it names other files"
