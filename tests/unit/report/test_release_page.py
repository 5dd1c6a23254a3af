"""The page of a release: what is on it, and that it agrees with what was counted otherwise."""

import itertools
import re
import shutil
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hostile_text import HOSTILE
from page_data import data_of
from twins import spearman

from cgbench.benchmark.build.react.build_react import build_react
from cgbench.benchmark.build.stats.stats import stats
from cgbench.benchmark.candidates.correlations import PLACES
from cgbench.benchmark.release.manifest import digest
from cgbench.benchmark.release.release import Release
from cgbench.errors import InputError
from cgbench.files import write_json
from cgbench.numbers_as_text import typeset
from cgbench.report import release_page as module
from cgbench.report import release_sections as sections
from cgbench.report.names import meaning, with_unit
from cgbench.report.release_data import find_material, funnel, novelty_curves, numeric_columns
from cgbench.report.release_page import release_page


@pytest.fixture(scope="module")
def candidates(demo, tmp_path_factory):
    """Candidates of two pools whose text is hostile in places; tests only read it."""
    folder = tmp_path_factory.mktemp("report")
    lines = [text.replace("\n", " ") for text in HOSTILE]
    for language in ("de", "en"):
        words = (demo / f"train.{language}").read_text(encoding="utf-8").splitlines()
        extra = [f"{line} {number}" for number, line in enumerate(lines)]
        (folder / f"train.{language}").write_text(
            "\n".join([*words, *extra * 3]) + "\n", encoding="utf-8"
        )
        mixed = [" ".join(reversed(line.split(" "))) for line in extra]
        (folder / f"odd.{language}").write_text("\n".join(mixed) + "\n", encoding="utf-8")
    pools = [(demo / "pool.de", demo / "pool.en"), (folder / "odd.de", folder / "odd.en")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build_react(
            train=(folder / "train.de", folder / "train.en"),
            pools=pools,
            out=folder / "out",
            preset="demo",
            until="candidates",
            candidates=60,
            jobs=1,
            accept_text=True,
            min_length=1,
        )


def test_the_page_of_candidates(candidates):
    html = release_page(candidates)
    data = data_of(html)
    at = {name: place for place, name in enumerate(data["fields"])}
    assert len(data["rows"]) == 60 and "hypothesis" not in at
    lines = candidates.lines("target")
    ngrams = candidates.ngrams()
    for row in data["rows"]:
        line = lines[row[at["number"]] - 1]
        assert row[at["cover"]] == [len(piece) for piece in ngrams.cover(line)]
        assert row[at["degree"]] == pytest.approx(ngrams.degree(line), rel=1e-5)
    # what is hostile is in the data, and nowhere as markup
    assert any("onerror" in row[at["target"]] for row in data["rows"])
    assert "<img" not in html and "\x1b" not in html
    assert "licence of the inputs is not stated" in html and "these are candidates" in html
    assert all(meaning(name) for name in numeric_columns(candidates) if name not in PLACES)
    assert html == release_page(Release.open(candidates.folder))
    copied = re.findall('data-copy="([^"]*)"', html)
    assert r"source\_length &" in copied[1].replace("&amp;", "&") and "abbr" not in "".join(copied)


def test_quantiles_stand_below_their_names(candidates):
    html = release_page(Release.open(candidates.folder))
    head, cells = re.search(
        r"<caption>Means and quantiles</caption>\s*<thead>(.*?)</thead>\s*<tbody>\s*<tr>(.*?)</tr>",
        html,
        re.DOTALL,
    ).groups()
    names = re.findall("<th[^>]*>([^<]*)</th>", head)[1:]
    degrees = numeric_columns(candidates)["degree"]
    expected = [degrees.mean(), *np.quantile(degrees, (0, 0.25, 0.5, 0.75, 1))]
    assert names == ["mean", "min", "25%", "median", "75%", "max"]
    assert re.findall("<td[^>]*>([^<]*)</td>", cells) == [f"{value:.3f}" for value in expected]


def test_the_funnel_adds_up(candidates):
    stages = funnel(candidates, numeric_columns(candidates))
    assert [stage.key for stage in stages] == ["pool", "known_words", "within_length", "candidates"]
    for stage in stages:
        assert stage.pools is None or sum(stage.pools) == stage.pairs
    assert stages[0].pools == (2_500, len(HOSTILE)) and stages[1].pools is not None
    rows = re.findall(
        r'<th scope="row">[^<]*</th><td[^>]*>([\d,]+)</td><td[^>]*>([^<]*)</td>',
        release_page(candidates),
    )
    pairs = [stage.pairs for stage in stages]
    shares = [f"{100 * after / before:.1f}%" for before, after in itertools.pairwise(pairs)]
    assert rows[: len(stages)] == list(
        zip([f"{one:,}" for one in pairs], ["\N{EN DASH}", *shares], strict=True)
    )


@pytest.mark.parametrize(
    ("counts", "select_by", "text"),
    [
        (
            {"dropped": 0},
            "uncertainty",
            "No candidates were dropped. The test set is a draw of 3 from the window: the 9 ",
        ),
        ({"dropped": 20}, "uncertainty", "Of the candidates, the 20 most uncertain were dropped."),
        (
            {"dropped": 0, "dropped_reference": 8},
            "easiness",
            "the 8 with the least likely references were dropped.",
        ),
    ],
)
def test_the_selection_is_the_one_of_the_build(counts, select_by, text):
    """A build that drops none by uncertainty does not say that it does."""
    release = SimpleNamespace(
        manifest={"counts": {**counts, "selected": 3, "window": 9}},
        configuration={"select_by": select_by},
    )
    selection = module._selection(release)
    assert text in selection and ("difficult" in selection) == (select_by == "easiness")


def test_novelty_is_that_of_stats(candidates):
    material = find_material(candidates)
    assert not material.missing and len(material.pool) == 60
    lines = candidates.lines("target")
    found = novelty_curves(material.training, {"all": lines}, 1, orders=3)["all"]
    row = stats(release=candidates.folder, side="target", orders=(1, 2, 3)).rows[0]
    assert found == [row.words[order].share for order in (1, 2, 3)]


def test_texts_of_another_size_are_cut_to_the_smallest(candidates):
    material = find_material(candidates)
    lines = candidates.lines("target")
    both = novelty_curves(material.training, {"all": lines, "few": lines[:20]}, 1, orders=2)
    assert both["all"] != novelty_curves(material.training, {"all": lines}, 1, orders=2)["all"]
    assert both["few"] == novelty_curves(material.training, {"few": lines[:20]}, 1, orders=2)["few"]


def test_without_the_workspace_the_training_text_gives_the_same_covers(candidates, tmp_path):
    whole = data_of(release_page(candidates))
    shutil.copytree(candidates.folder, tmp_path / "release")
    alone = Release.open(tmp_path / "release")
    train = [
        candidates.input_path(file["path"]) for file in alone.manifest["inputs"]["train"]["files"]
    ]
    assert data_of(release_page(alone, train=train))["rows"] == whole["rows"]
    with pytest.raises(InputError, match="not the file that the release was built from"):
        release_page(alone, train=train[::-1])


def test_missing_texts_are_notes(candidates, tmp_path):
    shutil.copytree(candidates.folder, tmp_path / "release")
    manifest = Release.open(tmp_path / "release").manifest
    for file in manifest["inputs"]["train"]["files"]:
        file["path"] = "/gone"
    write_json(tmp_path / "release/manifest.json", {**manifest, "digest": digest(manifest)})
    html = release_page(Release.open(tmp_path / "release"))
    assert "the training text was not found" in html and "Covers are not shown" in html
    assert "cover" not in data_of(html)["fields"]


def test_many_examples_are_sampled(candidates, monkeypatch):
    monkeypatch.setattr(sections, "MOST_EXAMPLES", 10)
    html = release_page(candidates)
    rows = data_of(html)["rows"]
    assert len(rows) == 10 and [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert "Showing a random sample of 10 of 60 examples." in html


def test_a_release_that_fails_its_checks(candidates, tmp_path, run):
    folder, out = tmp_path / "release", tmp_path / "page.html"
    shutil.copytree(candidates.folder, folder)
    with (folder / "README.md").open("a") as file:
        file.write("more\n")
    said = run("report", folder, "--out", out, status=2).stderr
    assert (
        "fails its checks (README.md: SHA-256 is" in said
        and said.count("\n") == 1
        and "--force" in said
    )
    assert not out.exists()
    run("report", folder, "--out", out, "--force")
    assert '<li class="bad">README.md: SHA-256 is' in out.read_text(encoding="utf-8")


@pytest.mark.parametrize("key", ["counts", "configuration", "inputs", "command"])
def test_a_manifest_that_lacks_something_is_one_line(candidates, tmp_path, run, key):
    folder, out = tmp_path / "release", tmp_path / "page.html"
    shutil.copytree(candidates.folder, folder)
    manifest = dict(candidates.manifest)
    if key in manifest and isinstance(manifest[key], dict):
        manifest[key] = {}
    else:
        del manifest[key]
    write_json(folder / "manifest.json", manifest)
    said = run("report", folder, "--out", out, "--force", status=2).stderr
    assert "cannot be reported: files are incomplete" in said and said.count("error:") == 1
    assert not out.exists()


def test_bad_input_is_one_line(candidates, tmp_path, run):
    assert (
        "no folder"
        in run("report", candidates.folder, "--out", tmp_path / "a/b.html", status=2).stderr
    )
    assert (
        "manifest.json: no such file"
        in run("report", tmp_path, "--out", tmp_path / "x", status=2).stderr
    )
    before = (candidates.folder / "README.md").read_bytes()
    said = run(
        "report", candidates.folder, "--out", candidates.folder / "README.md", status=2
    ).stderr
    assert "is also an input" in said and (candidates.folder / "README.md").read_bytes() == before
    words = (
        "report",
        candidates.folder,
        "--out",
        tmp_path / "x.html",
        "--pool",
        candidates.folder / "README.md",
    )
    assert "built from 2 pool(s), but 1 given" in run(*words, status=2).stderr
    assert not (tmp_path / "x.html").exists()


def test_correlations_are_those_of_the_figures(candidates):
    html = release_page(candidates)
    columns = numeric_columns(candidates)
    row = re.search(r"source_<wbr>length</abbr></th>(<td.*?)</tr>", html)[1]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", row)
    assert cells[0] == typeset(f"{spearman(columns['source_length'], columns['degree']):+.2f}")
    assert cells[1] == "\N{EN DASH}"  # of a measure with itself


def test_likelihoods_have_a_unit():
    names = ("rmi", "reference_pe_stu", "token_ep_tu", "dual_cross_entropy", "log_prob")
    assert [with_unit(name) for name in names] == [f"{name} (nats)" for name in names]
    others = ("degree", "perplexity", "var", "logvar", "source_length", "rank")
    assert [with_unit(name) for name in others] == list(others)


def test_noise_before_and_after_the_drop():
    # Forty pairs in ten tenths: the first tenth has two unlikely pairs, of which one is dropped.
    columns = {
        "rmi": np.arange(40.0)[::-1],
        "reference_pe_stu": np.ones(40),
        "stage": np.array(["rest"] * 40, object),
    }
    columns["reference_pe_stu"][:2], columns["stage"][0] = 9, "dropped_reference"
    likelihoods = ("pe_stu", "log_prob", "reference_log_prob")
    columns |= {name: np.ones(40) for name in ("source_length", "target_length", *likelihoods)}
    columns["reference_log_prob"] = columns["reference_pe_stu"]
    measures = {"similar": None, "copies": 0.0, "copies_beyond_shuffled": 0.0, "scrambled": None}
    quality = {"candidates": {"shuffled": 5.0, "noise": measures}, "warnings": []}
    release = SimpleNamespace(manifest={"ensemble": quality}, configuration={"uncertainty": "rmi"})
    noise = sections.noise_of_cut(release, columns)
    assert noise["shares"] == pytest.approx([100 * 4 / 40, 100 * 3 / 39])
    assert "all, 1: 100.00" in noise["chart"] and "all, 2: 0.00" in noise["chart"]
    assert "not dropped, 1: 100.00" in noise["chart"]
    for without in ({**quality, "warnings": ["cut"]}, {"candidates": {}, "warnings": []}, None):
        release = SimpleNamespace(
            manifest={"ensemble": without}, configuration={"uncertainty": "rmi"}
        )
        assert sections.noise_of_cut(release, columns) is None
