"""The options that say how text is normalised, in whole commands."""

import json

import pytest

from cgbench.benchmark.release.release import Release
from cgbench.models.search_settings import SearchSettings

ONE = ["--preset", "demo", "--set", "candidates=1", "--set", "window=1", "--set", "select=1"]
FORM = "* dog ( x _ {0} ) ; run . agent ( x _ {1} , x _ {0} )"


@pytest.fixture
def forms(tmp_path):
    """Sentences and forms as in COGS; only the variables of the pool are new."""
    lines = [f"the dog runs {word}\t{FORM.format(1, 2)}\n" for word in "abc"]
    (tmp_path / "train.tsv").write_text("".join(lines * 3))
    (tmp_path / "pool.tsv").write_text(f"a b c the dog runs\t{FORM.format(4, 5)} ; run\n")
    return [
        "build-react",
        "--train",
        tmp_path / "train.tsv",
        "--pool",
        tmp_path / "pool.tsv",
        "--languages",
        "en,lf",
        *ONE,
        *("--set", "degree_side=source", "--until", "candidates", "--out", tmp_path / "out"),
    ]


def test_anonymised_variables_are_no_rare_words(run, forms, tmp_path):
    assert "pool 1, known words 0" in run(*forms, status=2).stderr
    run(*forms, "--set", "anonymise=cogs")
    out = tmp_path / "out"
    assert (out / "candidates.lf").read_text() == FORM.format(4, 5) + " ; run\n"
    assert Release.open(out).lines("target", normalised=True) == [FORM.format(0, 1) + " ; run"]
    assert json.loads((out / "manifest.json").read_text())["configuration"]["anonymise"] == "cogs"
    row = json.loads(run("stats", "--release", out, "--side", "target", "--format", "json").stdout)
    assert row["novel_words"] == {"2": 0, "3": 0}  # the training text is anonymised, too


def test_a_tokeniser_for_each_side(run, tmp_path):
    (tmp_path / "t.tsv").write_text("He runs.\t他跑了。\n" * 3)
    (tmp_path / "p.tsv").write_text("Runs he.\t跑了他。\n")
    words = [
        "build-react",
        "--train",
        tmp_path / "t.tsv",
        "--pool",
        tmp_path / "p.tsv",
        "--languages",
        "en,zh",
    ]
    words += [*ONE, "--set", "min_length=1", "--set", "filter_sides=target"]
    out = tmp_path / "out"
    run(*words, "--tokenize", "zh=zh,en=13a", "--until", "candidates", "--out", out)
    # The text is published as it is; each side of its normalised form has its tokeniser.
    assert [(out / f"candidates.{side}").read_text() for side in ("en", "zh")] == [
        "Runs he.\n",
        "跑了他。\n",
    ]
    release = Release.open(out)
    assert [release.lines(side, normalised=True) for side in ("source", "target")] == [
        ["Runs he ."],
        ["跑 了 他 。"],
    ]
    assert "sacrebleu" in json.loads((out / "manifest.json").read_text())["versions"]
    row = json.loads(run("stats", "--release", out, "--side", "target", "--format", "json").stdout)
    assert (row["mean_length"], row["novel_words"]["2"]) == (4.0, 2)
    assert "|tok:zh|" in row["signature"]
    error = run(*words, "--tokenize", "fr=zh", "--out", tmp_path / "x", status=2).stderr
    assert (
        error
        == "error: --tokenize fr=zh: no text of the language 'fr'; there is en and zh and source"
        " and target\n"
    )
    assert not (tmp_path / "x").exists()


def test_moses_is_undone_before_degrees(run, tmp_path):
    pytest.importorskip("sacremoses")
    (tmp_path / "t.en").write_text("he &apos;s here .\n" * 3)
    words = ["degree", "--train", tmp_path / "t.en", "--format", "json", "--detokenize"]
    assert json.loads(run(*words, input="he 's here.\n").stdout)["length"] == 2
    both = json.loads(run(*words, "--tokenize", "moses", input="he's here.\n").stdout)
    assert (both["length"], both["pieces"]) == (4, 1)


def test_the_length_limit_of_a_build_is_that_of_its_translations(run, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from cgbench.benchmark.build.react import ensemble_measures as react

    said = []

    def translate(members, candidates, out, *, search, **options):
        said.append(search)
        (out / "part-00000.jsonl").write_text(
            '{"hypothesis": "a", "rmi": 0.5, "reference_pe_stu": 0.5}\n'
        )

    monkeypatch.setattr(react, "_members", lambda *given: [])
    monkeypatch.setattr(react, "uncertainty_of_candidates", translate)
    measured = '{"members": [], "held_out": null, "candidates": {"pairs": 1}, "warnings": []}'
    monkeypatch.setattr(
        react,
        "measure_quality",
        lambda out, *_, **given: (out / "quality.json").write_text(measured),
    )
    monkeypatch.setattr(react, "texts_in", lambda *given: None)
    (tmp_path / "t.tsv").write_text("a b\tc d\n" * 3)
    (tmp_path / "p.tsv").write_text("b a\td c\n")
    words = [
        "build-react",
        "--train",
        tmp_path / "t.tsv",
        "--pool",
        tmp_path / "p.tsv",
        *ONE,
        "--set",
        "min_length=1",
    ]
    words += [
        "--set",
        "drop=0",
        "--set",
        "drop_reference=0",
        "--until",
        "uncertainty",
        "--device",
        "cpu",
    ]
    words += ["--out", tmp_path / "out"]
    run(*words)
    run(*words, "--set", "max_length_ratio=4", "--set", "max_length_extra=3")
    limited = SearchSettings(max_length_ratio=4.0, max_length_extra=3)
    assert said == [SearchSettings(), limited]
