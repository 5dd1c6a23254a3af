"""A release as others read it: datasets, hubs, Croissant; without text and restored; exported,
cleaned.
"""

import json
import re
import shutil
import sys
import types
import warnings
from pathlib import Path

import pytest
from small_build import copy_build, release_bytes
from small_release import build_release

from cgbench.benchmark.release.card_notes import marked_part
from cgbench.benchmark.release.clean import clean
from cgbench.benchmark.release.release import Release
from cgbench.errors import InputError
from cgbench.models.servers.answers import cut_reasoning

TEST = "data/test-00000-of-00001.parquet"
TARGETS = ("inspect", "lm-eval", "mt-metrics-eval")
NOTES = {
    "origin": "### Origin of the text\n\nGenerated.",
    "contact": "### Contact\n\nus",
    "metadata": "source_datasets: [original]",
}
FIELDS = {"citeAs": "@misc{x}", "rai:personalSensitiveInformation": "None."}
"""What people write into the card and the metadata of the release."""


@pytest.fixture(scope="module")
def built(tmp_path_factory, small_release, corpora):
    """A release with notes and a licence, of the steps of the small release; tests only read it."""
    out = copy_build(small_release.folder, tmp_path_factory.mktemp("outside") / "release")
    release = build_release(corpora, out, "--set", "licence=CC BY 4.0")[0]
    card, metadata = release / "README.md", release / "croissant.json"
    text = card.read_text()
    for name, written in NOTES.items():
        assert marked_part(name) in text
        text = text.replace(marked_part(name), marked_part(name, written))
    card.write_text(text)
    metadata.write_text(json.dumps(json.loads(metadata.read_text()) | FIELDS))
    return release


@pytest.fixture(scope="module")
def without_text(built, corpora, tmp_path_factory):
    """The same without text; tests only read it."""
    out = copy_build(built, tmp_path_factory.mktemp("without") / "release")
    build_release(corpora, out, "--set", "licence=CC BY 4.0", "--text", "none")
    return out


def split(folder):
    return [
        json.loads(line)
        for line in (folder / "split.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def text(folder, side):
    return (folder / f"test.{side}").read_text(encoding="utf-8").splitlines()


def test_nothing_of_this_machine_is_in_it(built, demo):
    for name, data in release_bytes(built).items():
        assert str(demo).encode() not in data and b"/tmp" not in data, name
    manifest = json.loads((built / "manifest.json").read_text())
    assert [file["path"] for file in manifest["inputs"]["train"]["files"]] == [
        "train.de",
        "train.en",
    ]


def test_the_card_begins_with_what_hubs_read(built):
    hub = pytest.importorskip("huggingface_hub")
    card = hub.DatasetCard.load(built / "README.md")
    data = card.data.to_dict()
    assert data["language"] == ["de", "en"] and data["license"] == "cc-by-4.0"
    assert data["task_categories"] == ["translation"] and data["size_categories"] == ["n<1K"]
    assert data["source_datasets"] == ["original"]  # of the notes
    assert [config["config_name"] for config in data["configs"]] == ["default", "candidates"]
    for config in data["configs"]:
        (file,) = config["data_files"]
        assert len(list(built.glob(file["path"]))) == 1
    assert (
        "### Contact\n\nus\n" in card.text
        and "| Generalisation type | compositional |" in card.text
    )


@pytest.mark.parametrize(
    ("stated", "keys"),
    [
        (None, {"license": "unknown"}),
        ("MIT", {"license": "mit"}),
        ("CC BY 2.0 FR", {"license": "other", "license_name": "cc-by-2.0-fr"}),
        ("<b>", {"license": "other", "license_name": "b"}),
        ("自由", {"license": "other", "license_name": "other"}),
    ],
)
def test_licences(stated, keys):
    from cgbench.benchmark.release.card_front import licence_keys

    assert licence_keys(stated) == keys


def test_datasets_load_it(built, tmp_path):
    datasets = pytest.importorskip("datasets")
    found = datasets.load_dataset(str(built), cache_dir=str(tmp_path))
    assert list(found) == ["test"]
    rows = found["test"].to_list()
    assert [row["translation"]["de"] for row in rows] == text(built, "de")
    assert [row["translation"]["en"] for row in rows] == text(built, "en")
    for row, expected in zip(rows, split(built), strict=True):
        assert {key: row[key] for key in expected} == expected
    candidates = datasets.load_dataset(str(built), "candidates", cache_dir=str(tmp_path))[
        "candidates"
    ]
    assert len(candidates) == 300 and candidates["stage"].count("selected") == 35


@pytest.mark.slow
def test_croissant_validates_and_loads(built, monkeypatch):
    mlcroissant = pytest.importorskip("mlcroissant")
    monkeypatch.chdir(built)
    dataset = mlcroissant.Dataset(str(built / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    said = " ".join(dataset.metadata.ctx.issues.warnings)
    assert "citeAs" not in said and "license" not in said and "@context" not in said
    rows = list(dataset.records("test"))
    assert [row["test/translation"]["test/translation/en"].decode() for row in rows] == text(
        built, "en"
    )
    assert [row["test/degree"] for row in rows] == [row["degree"] for row in split(built)]
    assert (
        sum(row["candidates/stage"] == b"selected" for row in dataset.records("candidates")) == 35
    )


def test_croissant_is_what_the_release_is(built):
    import pyarrow.parquet

    value = json.loads((built / "croissant.json").read_text())
    manifest = json.loads((built / "manifest.json").read_text())
    for record_set, file in zip(value["recordSet"], value["distribution"], strict=True):
        schema = pyarrow.parquet.read_schema(built / file["contentUrl"])
        fields = {field["@id"].partition("/")[2] for field in record_set["field"]}
        assert fields == set(schema.names)
        assert file["sha256"] == manifest["files"][file["contentUrl"]]
        for field in record_set["field"]:
            sources = [inner["source"] for inner in field.get("subField", [field])]
            assert all(
                source["extract"]["column"] == field["@id"].partition("/")[2] for source in sources
            )
    # Those that NeurIPS asks for: five of the build's, one of its people's.
    asked = (
        "dataLimitations dataBiases personalSensitiveInformation dataUseCases dataSocialImpact"
        " hasSyntheticData"
    )
    assert all(f"rai:{name}" in value for name in asked.split())
    assert value["rai:personalSensitiveInformation"] == "None." and value["citeAs"] == "@misc{x}"


def test_what_people_write_in_the_metadata_is_theirs(release, run):
    path = release / "croissant.json"
    value = json.loads(path.read_text())
    path.write_text(
        json.dumps({**value, "url": "https://example.org", "datePublished": "2026-11-22"})
    )
    run("verify", release)
    path.write_text(json.dumps({**value, "rai:dataBiases": "None."}))
    assert "DIFFERS croissant.json" in run("verify", release, status=1).stdout


def test_notes_stay_when_it_is_built_again_and_change_no_signature(built, corpora, run, tmp_path):
    out = copy_build(built, tmp_path / "release")
    before = Release.open(out)
    card, path = out / "README.md", out / "croissant.json"
    card.write_text(card.read_text().replace("\nus\n", "\nthem\n"))
    value = json.loads(path.read_text())
    path.write_text(json.dumps({**value, "url": "https://example.org"}))
    build_release(corpora, out, "--set", "licence=CC BY 4.0")
    text = card.read_text()
    assert "\nthem\n" in text and "Generated." in text
    assert json.loads(path.read_text()) == {**value, "url": "https://example.org"}
    assert Release.open(out).manifest == before.manifest
    run("verify", out)


def test_a_release_without_text_holds_none(without_text, built, run):
    manifest = json.loads((without_text / "manifest.json").read_text())
    assert manifest["text"] == "none" and manifest["signature"] != Release.open(built).signature
    assert {*manifest["texts"]} == {"test.de", "test.en"} and not list(without_text.glob("test.*"))
    words = {
        word
        for side in ("de", "en")
        for line in text(built, side)
        for word in line.split()
        if len(word) > 5
    }
    for name, data in release_bytes(without_text).items():
        found = {word for word in words if word.encode() in data}
        assert len(found) <= (3 if name == "README.md" else 0), (
            name,
            found,
        )  # words of the card itself
    run("verify", without_text)
    release = Release.open(without_text)
    assert "source" not in release.test.columns and "source" not in release.candidates.columns
    score = ("score", "exact", "--release", without_text, "--hyp", built / "test.en")
    for words in (("stats", "--release", without_text), score):
        assert "this release has no text; cgbench restore adds it" in run(*words, status=2).stderr


def test_text_that_comes_back_is_found_by_its_hash(without_text, built, demo, run, tmp_path):
    out = tmp_path / "release"
    shutil.copytree(without_text, out)
    before = Release.open(out).signature
    # The user's copy: one table, with other lines in front.
    sides = [(demo / f"pool.{side}").read_text().splitlines() for side in ("de", "en")]
    rows = [("x", "y"), *zip(*sides, strict=True)]
    (tmp_path / "pool.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in rows))
    (command,) = re.findall("^cgbench restore .*", (out / "README.md").read_text(), re.M)
    assert (
        {*re.findall("--[a-z]+", command)}
        == {"--pool"}
        <= {*re.findall("--[a-z]+", run("restore", "--help").stdout)}
    )
    said = run("restore", out, "--pool", tmp_path / "pool.tsv", "--columns", "1,2").stdout
    assert "restored the text of 300 pairs" in said
    for name in ("test.de", "test.en"):
        assert (out / name).read_bytes() == (built / name).read_bytes()
    run("verify", out)
    release = Release.open(out)
    assert release.signature == before and release.manifest["text"] == "restored"
    assert (
        release.candidates["target"].tolist() == Release.open(built).candidates["target"].tolist()
    )
    assert (
        "hypothesis"
        not in (out / "README.md").read_text().partition("## Examples")[2].partition("## Use")[0]
    )
    assert (
        "this release already has its text"
        in run("restore", out, "--pool", tmp_path / "pool.tsv", status=2).stderr
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--pool", "valid.de", "valid.en"],
            "300 of the 300 pairs of this pool in the release are not in it",
        ),
        (
            ["--pool", "changed.de", "pool.en"],
            "1 of the 300 pairs of this pool in the release are not in it",
        ),
        (
            ["--pool", "pool.de", "pool.en", "--pool", "valid.de", "valid.en"],
            "2 given, but the release has 1: ",
        ),
        (["--pool", "nowhere.de", "pool.en"], "nowhere.de: no such file"),
    ],
)
def test_a_copy_that_is_another_text(
    without_text, demo, run, tmp_path, monkeypatch, words, message
):
    out = tmp_path / "release"
    shutil.copytree(without_text, out)
    for name in ("pool.de", "pool.en", "valid.de", "valid.en"):
        shutil.copy(demo / name, tmp_path)
    lines = (tmp_path / "pool.de").read_text().splitlines()
    line, *_ = (row["line"] for row in split(out))
    lines[line - 1] += " !"
    (tmp_path / "changed.de").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    before = release_bytes(out)
    assert message in run("restore", out, *words, status=2).stderr
    assert release_bytes(out) == before


def test_a_restore_that_was_stopped_is_finished(without_text, demo, run, tmp_path, monkeypatch):
    from cgbench.benchmark.release import restore

    words = ["--pool", demo / "pool.de", demo / "pool.en"]
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    for out in (whole, stopped):
        shutil.copytree(without_text, out)
    run("restore", whole, *words)
    moves = []

    def replace(self, target, real=Path.replace):
        if restore.ARRIVING in self.parts and self.parent.name != restore.ARRIVING:
            moves.append(self)
            if len(moves) == 2:
                raise KeyboardInterrupt
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    run("restore", stopped, *words, status=130)
    monkeypatch.undo()
    assert release_bytes(stopped) != release_bytes(whole)
    run("restore", stopped, *words)
    assert release_bytes(stopped) == release_bytes(whole)


@pytest.mark.parametrize("target", TARGETS)
def test_an_export_is_whole_the_same_every_time_and_replaced(release, run, tmp_path, target):
    out = tmp_path / "out"
    run("export", release, "--to", target, "--out", out)
    first = release_bytes(out)
    assert json.loads(first["cgbench.json"])["signature"] == Release.open(release).signature
    assert not [name for name in (path.name for path in tmp_path.iterdir()) if name.startswith(".")]
    run("export", release, "--to", target, "--out", out)
    assert release_bytes(out) == first
    (out / "mine").write_text("")
    said = run("export", release, "--to", target, "--out", out, status=2).stderr
    assert "mine: does not belong to the export" in said
    assert (out / "mine").exists()


def test_an_export_that_fails_leaves_nothing(release, run, tmp_path, monkeypatch):
    from cgbench.benchmark.release.export import target

    def broken(pairs, folder):
        (folder / "half").write_text("half")
        raise InputError("the disk is full")

    run("export", release, "--to", "mt-metrics-eval", "--out", tmp_path / "out")
    before = release_bytes(tmp_path / "out")
    failing = target.ExportTarget(broken)
    monkeypatch.setitem(target.TARGETS, "mt-metrics-eval", lambda: failing)
    for out in ("out", "new"):
        run("export", release, "--to", "mt-metrics-eval", "--out", tmp_path / out, status=2)
    assert {path.name for path in tmp_path.iterdir()} == {"release", "out"}
    assert release_bytes(tmp_path / "out") == before


def test_what_is_not_exported(release, without_text, run, tmp_path):
    def refused(*words, folder=release, out=tmp_path / "out"):
        return run("export", folder, "--out", out, *words, status=2).stderr

    assert "--to lmeval: no such target; did you mean lm-eval?" in refused("--to", "lmeval")
    assert "--to zip: no such target; there is inspect, lm-eval, mt-metrics-eval" in refused(
        "--to", "zip"
    )
    assert "this release has no text" in refused("--to", "lm-eval", folder=without_text)
    assert "release: the folder holds something else" in refused("--to", "lm-eval", out=release)
    (release / "test.de").write_text((release / "test.de").read_text().replace(" ", "  ", 1))
    said = refused("--to", "lm-eval")
    assert "does not pass verify: test.de: SHA-256 is" in said and "see cgbench verify" in said
    assert not (tmp_path / "out").exists()


def test_a_licence_that_nobody_stated_is_said(release, run, tmp_path):
    from cgbench.benchmark.release.export.export import check_licence
    from cgbench.errors import InputWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_licence(Release.open(release).manifest)
    with pytest.warns(InputWarning, match="no licence of the inputs is stated"):
        check_licence({"licence": None})


def test_lm_eval_runs_the_task_with_its_dummy_model(release, run, tmp_path, monkeypatch):
    lm_eval = pytest.importorskip("lm_eval")
    from lm_eval.tasks import TaskManager

    run("export", release, "--to", "lm-eval", "--out", tmp_path / "task")
    monkeypatch.chdir(tmp_path)  # not where the task is
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))

    def evaluate(folder, **more):
        manager = TaskManager(include_path=str(folder), include_defaults=False)
        return lm_eval.simple_evaluate(
            model="dummy",
            tasks=["cgbench_de_en"],
            task_manager=manager,
            bootstrap_iters=0,
            log_samples=True,
            **more,
        )

    found = evaluate(tmp_path / "task")
    samples = found["samples"]["cgbench_de_en"]
    assert [sample["doc"]["source"] for sample in samples] == text(release, "de")
    assert samples[0]["arguments"][0][0] == f"German: {text(release, 'de')[0]}\nEnglish:"
    assert [sample["target"] for sample in samples] == [f" {line}" for line in text(release, "en")]
    scores = found["results"]["cgbench_de_en"]
    assert {"bleu,first-line", "chrf,first-line", "ter,first-line"} <= set(scores)
    assert samples[0]["filtered_resps"] == ["lol"]
    for sample in evaluate(tmp_path / "task", num_fewshot=3)["samples"]["cgbench_de_en"]:
        *shots, last = sample["arguments"][0][0].split("\n\n")
        assert last == f"German: {sample['doc']['source']}\nEnglish:" and len(shots) == 3
        for shot in shots:
            source, target = re.fullmatch("German: (.*)\nEnglish: (.*)", shot).groups()
            assert source not in text(release, "de") and target not in text(release, "en")
    # The answer has reasoning and line breaks before its first line, and a second line.
    answers = iter(f"<think>\nHm.\n</think>\n\n{line}\nGerman" for line in text(release, "en"))
    monkeypatch.setattr(
        "lm_eval.models.dummy.DummyLM.generate_until",
        lambda self, requests, **_: [next(answers) for _ in requests],
    )
    assert evaluate(tmp_path / "task")["results"]["cgbench_de_en"][
        "bleu,first-line"
    ] == pytest.approx(100)
    monkeypatch.setattr("cgbench.benchmark.release.export.lm_eval.sides_of", lambda *_: ())
    run("export", release, "--to", "lm-eval", "--out", tmp_path / "none")
    with pytest.raises(AssertionError, match="no documents available for sampling"):
        evaluate(tmp_path / "none", num_fewshot=1)


def test_the_task_says_what_the_harness_asks_for(release, run, tmp_path):
    """Where the harness is not installed: the file's keys, and a loader that finds the pairs beside
    it.
    """
    import yaml

    run("export", release, "--to", "lm-eval", "--out", tmp_path / "task")
    lines = (tmp_path / "task/cgbench_de_en.yaml").read_text().splitlines()
    assert lines.pop() == "custom_dataset: !function pairs.load"
    task = yaml.safe_load("\n".join(lines))
    assert (
        task["task"] == "cgbench_de_en"
        and task["test_split"] == "test"
        and task["fewshot_split"] == "fewshot"
    )
    assert task["doc_to_text"] == "German: {{source}}\nEnglish:"
    assert task["generation_kwargs"]["until"] == [
        "\nGerman:"
    ]  # a line break would cut an answer that begins with one
    pattern = task["filter_list"][0]["filter"][0]["regex_pattern"]
    for answer in ("the cat", " the cat\nGerman", "\n\n the cat\n(or: a cat)"):
        assert re.findall(pattern, answer)[0].strip() == "the cat"
    # Reasoning is taken out as `translate` does; the harness takes the fallback "" where nothing
    # matches.
    for answer in (
        *("<think>\nHm.\n</think>\n\nthe cat", "Hm.\n</think> the cat\nor"),
        "<think>a</think>\n<think>b</think>the cat",
        *(
            "Sure! <think>a</think>the cat",
            "<think>Hm.\nthe cat",
            "<think>Hm.</think>",
            "the cat <think>Hm",
        ),
    ):
        line = next(iter((cut_reasoning(answer) or "").splitlines()), "")
        assert [match.strip() for match in re.findall(pattern, answer)] == (
            [line] if line else []
        ), answer
    asked = []
    stub = types.ModuleType("datasets")
    stub.load_dataset = lambda *words, **options: asked.append((words, options))
    space = {"__file__": str(tmp_path / "task/pairs.py")}
    exec((tmp_path / "task/pairs.py").read_text(), space)
    before = sys.modules.get("datasets")
    sys.modules["datasets"] = stub
    try:
        space["load"](version=1.0)
    finally:
        sys.modules.pop("datasets")
        sys.modules.update({"datasets": before} if before else {})
    files = [str(tmp_path / f"task/{name}.parquet") for name in ("fewshot", "test")]
    assert asked == [(("parquet",), {"data_files": file, "split": "train"}) for file in files]


def test_few_shot_examples_are_no_test_pairs(release, run, tmp_path, monkeypatch):
    import pyarrow.parquet
    import yaml

    from cgbench.benchmark.release.export import lm_eval

    run("export", release, "--to", "lm-eval", "--out", tmp_path / "task")
    shots = pyarrow.parquet.read_table(tmp_path / "task/fewshot.parquet").to_pydict()
    table = Release.open(release).candidates
    candidates = dict(
        zip(zip(table["source"], table["target"], strict=True), table["stage"], strict=True)
    )
    assert len(shots["source"]) > 100
    assert {candidates[pair] for pair in zip(shots["source"], shots["target"], strict=True)} <= {
        "rest",
        "window",
    }
    assert not set(shots["source"]) & set(text(release, "de")) and not set(shots["target"]) & set(
        text(release, "en")
    )
    monkeypatch.setattr(lm_eval, "MOST_SHOTS", 7)
    run("export", release, "--to", "lm-eval", "--out", tmp_path / "few")
    assert 4 <= len(pyarrow.parquet.read_table(tmp_path / "few/fewshot.parquet")) <= 7
    monkeypatch.setattr(lm_eval, "sides_of", lambda *_: ())
    said = run("export", release, "--to", "lm-eval", "--out", tmp_path / "none").stderr
    assert "no pairs outside its test set for few-shot examples" in said
    assert not (tmp_path / "none/fewshot.parquet").exists()
    lines = (tmp_path / "none/cgbench_de_en.yaml").read_text().splitlines()[:-1]
    assert yaml.safe_load("\n".join(lines))["fewshot_config"] == {"samples": []}


def test_mt_metrics_eval_reads_the_set_by_degree(release, run, tmp_path):
    pytest.importorskip("mt_metrics_eval")
    from mt_metrics_eval import data, meta_info

    run("export", release, "--to", "mt-metrics-eval", "--out", tmp_path / "set")
    info = meta_info.MetaInfo("refA", {}, set(), set())
    found = data.EvalSet("set", "de-en", info=info, path=str(tmp_path))
    assert found.src == text(release, "de") and found.all_refs == {"refA": text(release, "en")}
    assert found.sys_outputs == {"ensemble": [row["hypothesis"] for row in split(release)]}
    by_degree = [f"degree_{int(10 * row['degree'] + 1e-9) / 10}" for row in split(release)]
    assert found.DomainsPerSeg() == by_degree and set(found.domain_names) == set(by_degree)
    assert len(found.doc_names) == 35


def test_the_files_of_an_evalset(release, run, tmp_path):
    run("export", release, "--to", "mt-metrics-eval", "--out", tmp_path / "set")
    docs = (tmp_path / "set/documents/de-en.docs").read_text().splitlines()
    rows = split(release)
    assert [doc.split("\t")[1] for doc in docs] == [f"line-{row['line']}" for row in rows]
    for doc, row in zip(docs, rows, strict=True):
        low = float(doc.split("\t")[0].removeprefix("degree_"))
        assert low <= row["degree"] + 1e-9 < low + 0.1 + 1e-8
    assert (tmp_path / "set/sources/de-en.txt").read_bytes() == (release / "test.de").read_bytes()
    assert (tmp_path / "set/references/de-en.refA.txt").read_bytes() == (
        release / "test.en"
    ).read_bytes()


def test_results_of_other_settings_and_half_written_files_are_swept(built, corpora, run, tmp_path):
    out = copy_build(built, tmp_path / "release")
    work = tmp_path / "release.work/.cgbench"
    build_release(corpora, out, "--set", "beam=1", "--set", "licence=CC BY 4.0")
    steps = {
        path: json.loads((path / "step.json").read_text())
        for path in (work / "uncertainty").glob("*/")
    }
    (old,) = (path for path, step in steps.items() if step["config"]["beam"] == 2)
    measured = {
        path: json.loads((path / "step.json").read_text())
        for path in (work / "ensemble-quality").glob("*/")
    }
    (other,) = (
        path
        for path, step in measured.items()
        if step["inputs"]["uncertainty"].startswith(old.name)
    )
    # Only the first of the two builds has a control set.
    (of_control,) = (work / "control-quality").glob("*/step.json")
    assert json.loads(of_control.read_text())["inputs"]["uncertainty"].startswith(old.name)
    (work / "member-0/0000000000000000.partial").mkdir()
    (work / "ensemble.old").mkdir()
    (out / ".split.jsonl.77.tmp").write_text("half")
    (out / ".mine.tmp").write_text("mine")
    expected = {
        str(path)
        for path in (
            old,
            other,
            work / "control-quality",
            work / "ensemble.old",
            work / "member-0/0000000000000000.partial",
        )
    }
    expected.add(str(out / ".split.jsonl.77.tmp"))
    rows = json.loads(run("clean", out, "--dry-run", "--format", "json").stdout)
    found = {row["path"] for row in rows["found"] if not row["path"].endswith(".lock")}
    assert found == expected and not rows["removed"] and old.exists()
    assert "deleted" in run("clean", out).stdout
    assert not any(map(Path.exists, map(Path, expected))) and (out / ".mine.tmp").exists()
    assert "nothing to delete" in run("clean", out).stdout
    explained = build_release(
        corpora, out, "--set", "beam=1", "--set", "licence=CC BY 4.0", "--set", "explain=true"
    )[1].stderr
    assert ": runs" not in explained
    run("clean", tmp_path / "release.work", "--all")
    assert (
        not list(work.glob("*/*/")) and (tmp_path / "release.work/ensemble/ensemble.json").exists()
    )
    run("verify", out)


def test_what_cannot_be_cleaned(tmp_path, run):
    assert "neither a release nor a workspace of cgbench" in run("clean", tmp_path, status=2).stderr
    (tmp_path / "x.work/.cgbench/scan-1").mkdir(parents=True)
    assert (
        "no result is known to be unused; --all removes"
        in run("clean", tmp_path / "x", status=2).stderr
    )
    assert (tmp_path / "x.work/.cgbench/scan-1").is_dir()
    from cgbench.locks import locked

    with (
        locked(tmp_path / "x.work/.cgbench/lock", wait=False),
        pytest.raises(InputError, match="another cgbench"),
    ):
        clean(tmp_path / "x", everything=True)
