"""Releases of strangers: ``verify`` sees every change, and what reads one is not harmed."""

import json
from itertools import product

import mutators as m
from target import ENGLISH, GERMAN, Target, made

from cgbench.benchmark.release.card_notes import without_notes
from cgbench.benchmark.release.croissant import MANUAL_FIELDS

SUBJECTS = (
    ("das haus", "the house"),
    ("der hund", "the dog"),
    ("ein hund", "a dog"),
    ("der alte hund", "the old dog"),
)
VERBS = (("sieht", "sees"), ("ist", "is"))
OBJECTS = (*SUBJECTS, ("klein", "small"), ("ein haus", "a house"))

CANDIDATES = "data/candidates-00000-of-00001.parquet"
FORMS = {
    "manifest.json": m.json_file,
    "README.md": m.text,
    CANDIDATES: m.parquet_file,
    "data/test-00000-of-00001.parquet": m.parquet_file,
    "croissant.json": m.json_file,
    "split.jsonl": m.json_lines,
}
BUILD = (
    "build-react",
    "--preset",
    "demo",
    "--jobs",
    "1",
    "--device",
    "cpu",
    "--set",
    "min_length=4",
)


POOL = {
    name: "".join(
        " ".join(part[side] for part in parts) + "\n" for parts in product(SUBJECTS, VERBS, OBJECTS)
    )
    for side, name in enumerate(("p.de", "p.en"))
}


def _made(texts, *words):
    """The files of a small release ``r``.

    Its inputs are gone, as of one that came from elsewhere.
    """
    return {
        name: data
        for name, data in made(texts, (*words, "--out", "{}/r")).items()
        if name.startswith("r/")
    }


def _build(*words):
    corpora = ("--train", "{}/t.de", "{}/t.en", "--pool", "{}/p.de", "{}/p.en")
    return _made(POOL | {"t.de": GERMAN, "t.en": ENGLISH}, *BUILD, *corpora, *words)


def unchanged(name, data):
    """What to say of a file that is held to its digest and was accepted: nothing, if it is as it
    was, or what was changed in it is for people to change."""
    ours = EDITABLE.get(name.removeprefix("r/"), bytes)
    return lambda folder: (
        ""
        if ours((folder / name).read_bytes()) == ours(data)
        else "accepted, though it was changed"
    )


EDITABLE = {
    "README.md": lambda data: without_notes(data.decode()),
    "croissant.json": lambda data: {
        key: value for key, value in json.loads(data).items() if key not in MANUAL_FIELDS
    },
}


def _verified(kind, files):
    """``verify`` for every file of a release."""
    for name in sorted(files):
        form = name.removeprefix("r/")
        how = FORMS.get(form, m.text)
        words = ("verify", "{}/r")
        right = unchanged(name, files[name])
        yield Target(
            f"verify {kind}", form, files, name, how, words, right, kind == "release", (1, 2)
        )


def unfinished():
    """Candidates of a build that stopped before any model."""
    yield from _verified("candidates", _build("--until", "candidates", "--set", "candidates=20"))


def splits():
    """A split, read as a release is."""
    files = _made(POOL, "split", "--corpus", "{}/p.de", "{}/p.en", "--method", "random")
    yield from _verified("split", files)
    for form in ("manifest.json", "split.jsonl", "train.en"):
        words = ("stats", "--release", "{}/r", "--side", "source")
        yield Target(
            "stats --release", f"split's {form}", files, f"r/{form}", FORMS.get(form, m.text), words
        )


def finished():
    """A release, chosen by members that were hardly trained."""
    few = (
        "--members",
        "2",
        "--model",
        "tiny",
        "--set",
        "training.max_updates=1",
        "--set",
        "text.merges=9",
        "--set",
        "accept_ensemble=true",
    )
    files = _build(*few, "--set", "beam=1", "--set", "candidates=20", "--set", "select=1/4")
    yield from _verified("release", files)
    files |= {"t.de": GERMAN.encode(), "t.en": ENGLISH.encode()}
    for form in ("manifest.json", "split.jsonl", CANDIDATES):
        words = ("stats", "--release", "{}/r", "--train", "{}/t.de", "{}/t.en")
        yield Target("stats --release", form, files, f"r/{form}", FORMS[form], words, heavy=True)
