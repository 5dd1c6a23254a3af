"""``build-react --corpus``: one corpus is divided, and the release says and checks how."""

import json
import shutil

import pytest

from tests.helpers.small_build import SMALL

LANGUAGES = ("de", "en")


@pytest.fixture(scope="module")
def words(demo, tmp_path_factory):
    """One corpus of the demo's training text and pool, which have other sentences."""
    folder = tmp_path_factory.mktemp("one")
    files = [folder / f"all.{language}" for language in LANGUAGES]
    for file, language in zip(files, LANGUAGES, strict=True):
        texts = [(demo / f"{stem}.{language}").read_text() for stem in ("train", "pool")]
        file.write_text("".join(texts) + "\n")  # the last pair is empty
    return [
        "build-react",
        "--corpus",
        *files,
        *SMALL,
        "--languages",
        "de,en",
        "--until",
        "candidates",
    ]


@pytest.fixture(scope="module")
def built(words, run, tmp_path_factory):
    out = tmp_path_factory.mktemp("built") / "out"
    return out, run(*words, "--out", out)


def test_the_division_is_told_recorded_written_and_verified(built, words, run):
    out, result = built
    manifest = json.loads((out / "manifest.json").read_text())
    corpus, inputs = manifest["inputs"]["corpus"], manifest["inputs"]
    counts = corpus["counts"]
    assert counts["pairs"] == counts["train"] + counts["pool"] + 1 and counts["empty"] == 1
    assert (inputs["train"]["pairs"], inputs["pool"][0]["pairs"]) == (
        counts["train"],
        counts["pool"],
    )
    line = (
        f"corpus: {counts['pairs']:,} pairs, by sentence: {counts['train']:,} for training,"
        f" {counts['pool']:,} in the pool, 1 with an empty side in neither"
    )
    assert line in result.stderr.splitlines()
    # The sides are where the report says.
    work = out.with_name("out.work")
    for side, expected in (("train", counts["train"]), ("pool", counts["pool"])):
        for language in LANGUAGES:
            text = (work / "corpus" / f"{side}.{language}").read_text()
            assert text.count("\n") == expected
    card = (out / "README.md").read_text()
    assert f"was divided into the training text ({counts['train']:,} pairs)" in card
    assert "Train the systems to be tested on the training text" in card
    assert "--corpus all.de all.en" in manifest["command"] and "--pool " not in manifest["command"]
    assert "ok      division of the corpus" in run("verify", out).stdout


def test_the_same_bytes_in_another_folder_and_a_dry_run_writes_nothing(built, words, run, tmp_path):
    dry = run(*words, "--out", tmp_path / "new", "--dry-run").stdout
    assert dry.startswith("corpus: ") and not list(tmp_path.iterdir())
    run(*words, "--out", tmp_path / "new")
    for path in built[0].rglob("*"):
        if path.is_file():
            assert (tmp_path / "new" / path.relative_to(built[0])).read_bytes() == path.read_bytes()


def test_verify_sees_another_division(built, words, run, tmp_path):
    out = tmp_path / "out"
    run(*words, "--out", out)
    record = json.loads((out / "manifest.json").read_text())
    record["inputs"]["corpus"]["settings"]["pool_share"] = "1/3"
    (out / "manifest.json").write_text(json.dumps(record))
    assert (
        "DIFFERS division of the corpus: train: other pairs" in run("verify", out, status=1).stdout
    )
    # Without the corpus it cannot be checked.
    shutil.rmtree(tmp_path / "out.work")
    shutil.copytree(built[0], tmp_path / "alone")
    assert (
        "skipped division of the corpus: the corpus is not here"
        in run("verify", tmp_path / "alone").stdout
    )


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            ["--train", "{de}", "{en}"],
            "--corpus is divided into training corpus and pool; leave",
        ),
        (["--pool", "{de}", "{en}"], "leave --pool out"),
        (["--set", "pool_share=1/1"], "--set pool_share=1/1: "),
    ],
)
def test_what_does_not_fit(words, run, tmp_path, extra, message):
    names = {"de": words[2], "en": words[3]}
    extra = [str(word).format(**names) for word in extra]
    assert message in run(*words, *extra, "--out", tmp_path / "out", status=2).stderr


def test_a_corpus_given_twice_is_told_of_the_option(words, run, tmp_path):
    files = words[2:4]
    twice = ["build-react", "--train", *files, "--pool", *files, *words[4:]]
    said = run(*twice, "--out", tmp_path / "out", status=2).stderr
    assert (
        "if you have one corpus, --corpus instead of --train and --pool, which divides it" in said
    )
    said = run("build-react", "--train", *files, "--out", tmp_path / "out", status=2).stderr
    assert "--pool: it is missing; give a training corpus and a pool, or one corpus" in said
