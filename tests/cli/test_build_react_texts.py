"""Texts that do not fit stop a build and its dry run with one line; --accept-text goes on, and the
release says so.
"""

import json


def capitalised(demo, folder, stem):
    """A corpus of the demo, in upper case."""
    names = []
    for language in ("de", "en"):
        names.append(folder / f"cased.{language}")
        names[-1].write_text((demo / f"{stem}.{language}").read_text().title())
    return names


def test_a_pool_in_another_case_stops_unless_accepted(demo, run, tmp_path):
    pool = capitalised(demo, tmp_path, "pool")
    train = (demo / "train.de", demo / "train.en")
    words = [
        "build-react",
        "--train",
        *train,
        "--pool",
        *pool,
        "--preset",
        "demo",
        "--until",
        "candidates",
    ]
    words += ["--set", "min_length=1", "--set", "candidates=100", "--out", tmp_path / "out"]
    for extra in ([], ["--dry-run"]):
        result = run(*words, *extra, status=2)
        (line,) = result.stderr.splitlines()
        assert line.startswith(
            f"error: {pool[0]} {pool[1]}: cased, but {train[0]} {train[1]} is in lower case; "
        )
        assert line.endswith("; use --accept-text to accept the text as it is")
    assert not (tmp_path / "out").exists()
    run(*words, "--lowercase", "--dry-run")

    known = ("--pool", demo / "pool.de", demo / "pool.en")
    result = run(*words, *known, "--accept-text", "--format", "json")
    manifest = json.loads(result.stdout)
    said = [line.removeprefix("warning: ") for line in result.stderr.splitlines()]
    names = said[0].replace("--lowercase", "lowercase")  # releases store names of arguments
    for path in (*pool, *train):
        names = names.replace(str(path), path.name)
    assert len(said) == len(manifest["warnings"]) == 2 and names in manifest["warnings"]
    assert said[0].startswith(f"{pool[0]} {pool[1]}: cased, but ") and said[1].startswith(
        "the test set has only "
    )
    assert " --accept-text " in manifest["command"]


def test_nothing_is_said_of_texts_that_fit(corpora, run, tmp_path):
    words = [
        *corpora,
        "--preset",
        "demo",
        "--until",
        "candidates",
        "--set",
        "candidates=20",
        "--out",
        tmp_path / "out",
    ]
    result = run("build-react", *words, "--accept-text", "--format", "json")
    assert [line[:31] for line in result.stderr.splitlines()] == ["warning: the test set has only "]
    assert "--accept-text" not in json.loads(result.stdout)["command"]
