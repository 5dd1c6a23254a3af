"""Splits as releases: what is written, checked and taken by other commands; what is wrong with
input.
"""

import json
import shutil

import pytest
from click.testing import CliRunner
from small_build import release_bytes

from cgbench.benchmark.build.splits.split import split
from cgbench.benchmark.build.stats.stats import stats
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.verify import verify
from cgbench.cli import main
from cgbench.commands.click_types import corpus_words
from cgbench.data_recipes.scan import commands
from cgbench.errors import InputError
from cgbench.text.formats import CorpusSpec


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scan")
    rows = list(commands().items())[::50]
    (folder / "c.in").write_text("".join(f"{row[0]}\n" for row in rows))
    (folder / "c.out").write_text("".join(f"{row[1]}\n" for row in rows))
    return CorpusSpec((folder / "c.in", folder / "c.out"))


OPTIONS = (
    "--compounds",
    "scan",
    "--set",
    "candidates=20",
    "--set",
    "exchanges=2",
    "--set",
    "licence=MIT",
)


def made(corpus, out, *options):
    arguments = ["split", "--corpus", *map(str, corpus.paths), "--out", str(out), *options]
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


@pytest.fixture(scope="module")
def release(corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("made") / "split"
    result = made(corpus, out, *OPTIONS)
    assert result.exit_code == 0, result.output
    return Release.open(out)


def test_a_split_holds_its_pairs_and_says_what_it_is(corpus, release):
    pairs = list(zip(*(path.read_text().splitlines() for path in corpus.paths), strict=True))
    for name, number in (("train", 0), ("test", 1)):
        expected = [
            pair for pair, side in zip(pairs, release.sets(), strict=True) if side == number
        ]
        read = release.lines if name == "test" else release.train_lines
        assert list(zip(read("source"), read("target"), strict=True)) == expected
    counts = release.manifest["counts"]
    assert counts == {
        "pool": len(pairs),
        "candidates": len(pairs),
        "train": 335,
        "selected": 84,
        "neither": 0,
    }
    assert release.manifest["figures"]["compound_divergence"] > 0.1
    assert release.languages == ("in", "out")
    card = (release.folder / "README.md").read_text()
    assert "MIT" in card and release.signature in card and f"{counts['selected']:,}" in card
    assert verify(release).ok


def test_sentences_in_memory_are_split_as_files_are(corpus, tmp_path):
    sides = [path.read_text().splitlines() for path in corpus.paths]
    of_files = split(corpus, tmp_path / "files", method="random").release
    of_lists = split(tuple(sides), tmp_path / "lists", method="random").release
    for name in ("source", "target"):
        assert of_lists.lines(name) == of_files.lines(name)
        assert of_lists.train_lines(name) == of_files.train_lines(name)
    assert verify(of_lists).ok
    again = split(tuple(sides), tmp_path / "again", method="random").release
    assert release_bytes(again.folder) == release_bytes(of_lists.folder)
    with pytest.raises(InputError, match="^corpus: "):  # and not the name of a temporary file
        split((sides[0], sides[0]), tmp_path / "same", method="random")


def test_the_figures_are_those_of_stats(release, run):
    texts = ("--train", release.train_path("source"), "--test", release.text_path("source"))
    found = json.loads(run("stats", *texts, "--divergence", "scan", "--format", "json").stdout)[
        "divergence"
    ]
    figures = dict(release.manifest["figures"])
    del figures["selected"]
    for name in (
        "atom_chance",
        "compound_chance",
    ):  # the same splits of the same pairs, drawn in another order
        ours, theirs = figures.pop(name), found.pop(name)
        assert ours["mean"] == pytest.approx(theirs["mean"], abs=4 * ours["sd"] / 200**0.5)
        assert ours["z"] == pytest.approx(
            (figures[name.replace("chance", "divergence")] - ours["mean"]) / ours["sd"]
        )
    assert found == pytest.approx(figures)


def test_the_same_bytes_again(corpus, release, tmp_path):
    made(corpus, tmp_path / "again", *OPTIONS)
    assert release_bytes(tmp_path / "again") == release_bytes(release.folder)


@pytest.mark.parametrize(
    "name", ["train.in", "split.tsv", "split.jsonl", "README.md", "manifest.json"]
)
def test_verify_sees_a_change(release, tmp_path, name):
    path = shutil.copytree(release.folder, tmp_path / "x") / name
    path.write_text(
        path.read_text().replace("1", "3", 1) if name != "train.in" else path.read_text() + "run\n"
    )
    result = CliRunner().invoke(main, ["verify", str(tmp_path / "x")])
    assert result.exit_code in (1, 2) and (
        "DIFFERS" in result.output or "error" in result.output.lower()
    )


def test_train_takes_its_training_set(release):
    assert [path.name for path in corpus_words((release.folder,)).paths] == [
        "train.in",
        "train.out",
    ]


def test_a_training_set_that_is_given(corpus, tmp_path):
    folder = tmp_path
    for path in corpus.paths:
        lines = path.read_text().splitlines(keepends=True)
        (folder / f"train{path.suffix}").write_text("".join(lines[:100]))
        (folder / f"pool{path.suffix}").write_text("".join(lines[100:]))
    train, pool = (
        CorpusSpec((folder / f"{name}.in", folder / f"{name}.out")) for name in ("train", "pool")
    )
    options = {"method": "dbca", "compounds": "scan", "test_size": 50, "atom_divergence": 0.0}
    one = split(pool, tmp_path / "out", train=train, **options)
    assert (tmp_path / "out" / "train.in").read_bytes() == (folder / "train.in").read_bytes()
    counts = {"pool": 319, "candidates": 319, "train": 100, "selected": 50, "neither": 269}
    assert one.release.manifest["counts"] == counts
    assert verify(one.release).ok


def refused(corpus, tmp_path, **options):
    with pytest.raises(InputError) as error:
        split(corpus, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
    return str(error.value)


def test_a_divergence_out_of_reach_says_how_near_it_came(corpus, tmp_path):
    said = refused(corpus, tmp_path, compounds="scan", divergence=0.95, exchanges=1)
    assert "0.95 was not reached" in said and "limited by the sizes" in said and "nearest" in said
    one = split(
        corpus, tmp_path / "out", compounds="scan", divergence=0.95, exchanges=1, nearest=True
    )
    (said,) = one.release.manifest["warnings"]
    assert "0.95 was not reached" in said and said.isprintable()


def test_what_a_warning_says_of_settings_is_in_words(corpus, tmp_path):
    options = {
        "divergence": 1.0,
        "method": "dbca",
        "nearest": True,
        "train_size": 20,
        "test_size": 10,
    }
    said = split(corpus, tmp_path / "out", compounds="scan", **options).warnings[0]
    assert said.endswith("more candidates or exchanges may get closer")


def test_no_compounds(tmp_path):
    for side in ("in", "out"):
        (tmp_path / f"w.{side}").write_text("a\nb\nc\n")
    corpus = CorpusSpec((tmp_path / "w.in", tmp_path / "w.out"))
    assert "no example has a compound of words:2" in refused(corpus, tmp_path)


def test_atoms_that_the_test_set_alone_has(tmp_path):
    for side in ("in", "out"):
        (tmp_path / f"w.{side}").write_text(
            "".join(f"w{number} x{number}\n" for number in range(20))
        )
    corpus = CorpusSpec((tmp_path / "w.in", tmp_path / "w.out"))
    warnings = split(corpus, tmp_path / "out", method="random").warnings
    assert "8 of 8 atoms of the test set are not in training" in warnings[0]


def test_what_does_not_belong_together(corpus, tmp_path):
    for options, said in (
        (("--method", "random", "--divergence", "0.1"), "needs --method mcd"),
        (
            ("--method", "length", "--train", str(corpus.paths[0]), str(corpus.paths[1])),
            "does not use a training set",
        ),
        (("--divergence", "a"), "a number from 0 to 1"),
        (("--set", "compunds=scan"), "compounds"),
    ):
        result = made(corpus, tmp_path / "out", *options)
        assert result.exit_code == 2 and said in result.output, result.output
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("x")
    assert "something else already" in made(corpus, tmp_path / "full").output


def test_a_split_has_no_page(release, tmp_path, run):
    said = run("report", release.folder, "--out", tmp_path / "page.html", status=2).stderr
    assert "a split has no report page; use cgbench verify" in said


def test_a_split_is_read_as_a_release_is(release, tmp_path, run):
    """One class and one manifest: every command that reads a release reads a split."""
    assert (release.is_split, release.finished, release.has_text, release.has_control) == (
        True,
        True,
        True,
        False,
    )
    rows = release.split()
    assert [row["line"] for row in rows] == [
        n for n, side in enumerate(release.sets(), 1) if side == 1
    ]
    found = stats(release=release.folder).rows[0]
    assert [row["degree"] for row in rows] == found.degrees.tolist()
    assert release.manifest["figures"]["selected"]["degree"]["mean"] == found.degree
    (tmp_path / "hyp").write_text("".join(f"{line}\n" for line in release.lines("target")))
    words = (
        "--release",
        release.folder,
        "--hyp",
        f"us={tmp_path / 'hyp'}",
        "--by",
        "degree",
        "--format",
        "json",
    )
    bins = json.loads(run("score", "exact", *words).stdout)["bins"]
    assert sum(part["n"] for part in bins) == len(rows) and {part["value"] for part in bins} == {
        100.0
    }
    for ask in (release.table, release.correlations, lambda: release.set_path("control", "source")):
        with pytest.raises(InputError, match="a split has no"):
            ask()
    pandas = pytest.importorskip("pandas")
    assert (
        isinstance(release.test, pandas.DataFrame)
        and release.test["degree"].tolist() == found.degrees.tolist()
    )


@pytest.mark.parametrize(
    ("target", "file"), [("lm-eval", "fewshot.parquet"), ("inspect", "pairs.jsonl")]
)
def test_a_split_is_exported(release, tmp_path, target, file, run):
    run("export", release.folder, "--to", target, "--out", tmp_path / "out")
    assert (tmp_path / "out" / file).is_file()


def test_datasets_loads_a_split(release, tmp_path):
    datasets = pytest.importorskip("datasets")
    found = datasets.load_dataset(str(release.folder), cache_dir=str(tmp_path))
    assert {name: len(one) for name, one in found.items()} == {"train": 335, "test": 84}
    assert [pair["in"] for pair in found["test"]["translation"]] == release.lines("source")
    assert found["test"]["degree"][:] == [row["degree"] for row in release.split()]
    assert set(found["train"]["degree"][:]) == {None}


def test_a_split_names_the_column_of_its_ids(release):
    assert release.manifest["id"] == "line"
    metadata = json.loads((release.folder / "croissant.json").read_text())
    assert [one["key"] for one in metadata["recordSet"]] == [
        {"@id": "train/line"},
        {"@id": "test/line"},
    ]
    for name in ("train", "test"):
        lines = release.table(name)["line"].to_pylist()
        assert len(set(lines)) == len(lines)


def files_of(folder, *sides):
    paths = [folder / f"c.{name}" for name in ("in", "out")]
    for path, lines in zip(paths, sides, strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    return CorpusSpec(tuple(paths))


@pytest.mark.parametrize("method", ["random", "length", "mcd", "dbca", "tmcd"])
def test_copies_of_a_source_stay_together(tmp_path, method):
    """A source in both sets would test the memory; with another target, too."""
    rows = [*commands().items()][::300]
    repeated = [*rows, *((source, f"{target} X") for source, target in rows[::2]), *rows]
    pairs = [*repeated, ("", "I_JUMP"), ("jump", " ")]
    sources, targets = map(list, zip(*pairs, strict=True))
    options = {"nearest": True, "candidates": 5, "exchanges": 1}
    compounds = "words:2"
    corpus = files_of(tmp_path, sources, targets)
    result = split(corpus, tmp_path / "split", method=method, compounds=compounds, **options)
    release, counts = result.release, result.release.manifest["counts"]
    test, train = set(release.lines("source")), set(release.train_lines("source"))
    assert test and train and not test & train and "" not in test | train
    assert counts["copies"] == len(repeated) - len(rows) and counts["empty"] == 2
    assert counts["train"] + counts["selected"] + counts["neither"] == len(pairs)
    assert "2 of" in result.warnings[0] and "have an empty side" in result.warnings[0]
    assert f"{counts['copies']:,} of {len(pairs)} pairs repeat the source" in result.warnings[1]
    assert verify(release).ok


def test_a_source_of_the_fixed_training_set_is_not_tested(tmp_path, corpus):
    sources, targets = (path.read_text().splitlines() for path in corpus.paths)
    result = split(
        corpus,
        tmp_path / "split",
        train=files_of(tmp_path, sources[:40], targets[:40]),
        method="dbca",
        compounds="scan",
        nearest=True,
        candidates=5,
    )
    counts = result.release.manifest["counts"]
    assert counts["trained"] == 40 and counts["train"] == 40
    assert not set(result.release.lines("source")) & set(sources[:40])


def test_verify_finds_a_test_source_in_training(tmp_path, release):
    copy = shutil.copytree(release.folder, tmp_path / "copy")
    train = copy / "train.in" if (copy / "train.in").exists() else next(copy.glob("train.*"))
    lines = train.read_text().splitlines(keepends=True)
    lines[0] = release.lines("source")[0] + "\n"
    train.write_text("".join(lines))
    assert not verify(copy).ok and "its source is in training" in str(verify(copy))
