"""A build that takes seconds, and what of its output must be the same every time."""

import json

from cgbench.benchmark.release.listed_digests import listed_digest, listed_digests
from cgbench.benchmark.release.manifest import FORMAT, digest, signature
from cgbench.files import write_json
from cgbench.steps import hash_file

# Candidates of three shards of the uncertainty step, so that workers share them and a kill falls
# between them; a test set of more than one page; short translations, because members of a few
# updates never end one.
SMALL = (
    *("--preset", "demo", "--members", "2", "--model", "tiny"),
    *("--set", "candidates=300", "--set", "select=35"),
    *(
        "--set",
        "training.max_updates=6",
        "--set",
        "training.checkpoint_every=3",
        "--set",
        "text.merges=300",
    ),
    *("--set", "beam=2", "--set", "max_length_ratio=0.1"),
    *("--set", "accept_ensemble=true"),  # these members have learned nothing
)
MORE = ("--control", "--set", "licence=MIT <b>")  # of the fixture ``small_release``


def settings_of(preset="react", **changes):
    """A request for a build whose texts nobody reads."""
    from cgbench.benchmark.build.react.request import BuildRequest

    return BuildRequest("train", "pool", out="out", preset=preset, **changes)


def pair(demo, stem):
    """The two files of a corpus of the demo."""
    return demo / f"{stem}.de", demo / f"{stem}.en"


def release_bytes(folder):
    """Every file of a release, by its name in the folder."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


CANDIDATES = "data/candidates-00000-of-00001.parquet"


def candidates_of(folder):
    """The table of candidates of a release."""
    import pyarrow.parquet

    return pyarrow.parquet.read_table(folder / CANDIDATES)


def copy_build(built, to):
    """A release with what is beside it, at another place."""
    import shutil

    shutil.copytree(built, to)
    shutil.copytree(f"{built}.work", f"{to}.work")
    return to


def rehash(release):
    """Make manifest and metadata agree with changed files: what a forger would do."""
    if (release / "croissant.json").is_file():
        metadata = json.loads((release / "croissant.json").read_text())
        for file in metadata["distribution"]:
            file["sha256"] = hash_file(release / file["contentUrl"])
        write_json(release / "croissant.json", metadata)
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["files"] = {name: listed_digest(release, name) for name in manifest["files"]}
    manifest["signature"] = signature(manifest)
    rewrite(release, manifest)


def rewrite(release, manifest):
    """A manifest with the digest of what it says."""
    write_json(release / "manifest.json", {**manifest, "digest": digest(manifest)})


def write_release(folder, files, **manifest):
    """A finished release of these files by their names, as far as its manifest knows it."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    plain = {"format": FORMAT, "until": "release", "languages": ["de", "en"], "signature": "x"}
    parts = ("files", "counts", "figures", "configuration", "inputs")
    list_files(folder, {**plain, **{name: {} for name in parts}, **manifest})
    return folder


def list_files(release, manifest=None):
    """The manifest of a release made by hand (default: its own), with the checksums of the files in
    its folder.
    """
    manifest = manifest or json.loads((release / "manifest.json").read_text())
    (release / "manifest.json").unlink(missing_ok=True)
    rewrite(release, {**manifest, "files": listed_digests(release)})
