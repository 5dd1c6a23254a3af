"""Exported tasks with shots: what they contain, and Inspect's and lm_eval's own runs of them
without a model.

Where the programs are not installed here, ``CGBENCH_INSPECT`` and ``CGBENCH_LM_EVAL`` name a Python
that has them.
"""

import importlib.util
import json
import os
import subprocess
import sys

import pyarrow.parquet
import pytest

from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.reserved import reserved_pairs
from cgbench.benchmark.release.shots.choose import choose_shots, content_key
from cgbench.errors import InputError


def python_with(module, variable):
    """A Python that has a module; the test is skipped if there is none."""
    found = os.environ.get(variable) or (
        sys.executable if importlib.util.find_spec(module) else None
    )
    return found or pytest.skip(
        f"{module} is not installed here, and {variable} names no Python that has it"
    )


def shots_of(demo, by="cover"):
    return ["--shots", 3, "--shots-by", by, "--shots-from", demo / "train.de", demo / "train.en"]


@pytest.fixture(scope="module")
def release(small_release):
    return small_release.folder


@pytest.fixture(scope="module")
def chosen(small_release, demo):
    return choose_shots(
        list(small_release.lines("source")),
        shots=3,
        shots_from=(demo / "train.de", demo / "train.en"),
        exclude=reserved_pairs(small_release),
    )


def samples_of(folder):
    return [
        json.loads(line)
        for line in (folder / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def test_a_task_of_inspect_has_pairs_shots_and_documents(release, run, demo, tmp_path, chosen):
    found = run("export", release, "--to", "inspect", "--out", tmp_path / "task", *shots_of(demo))
    assert "cgbench_de_en.py, pairs.jsonl" in found.stdout
    opened = Release.open(release)
    rows = zip(opened.split(), opened.lines("source"), opened.lines("target"), chosen, strict=True)
    for sample, (row, source, target, choice) in zip(
        samples_of(tmp_path / "task"), rows, strict=True
    ):
        assert (sample["id"], sample["target"]) == (row["line"], target)
        shown = "".join(f"German: {one}\nEnglish: {other}\n\n" for one, other in choice.pairs)
        assert sample["input"].endswith(f"translation alone.\n\n{shown}German: {source}\nEnglish:")
        assert sample["metadata"]["prompt_degree"] == choice.prompt_degree
        assert sample["metadata"]["document"] == f"line-{row['line']}"
    run("export", release, "--to", "inspect", "--out", tmp_path / "plain")
    first = samples_of(tmp_path / "plain")[0]
    assert (
        first["input"].endswith(f"\n\n{opened.lines('source')[0]}")
        and "shots" not in first["metadata"]
    )


def test_the_signature_of_a_release_is_no_code(small_release, tmp_path):
    from cgbench.benchmark.release.export.inspect_task import write_inspect
    from cgbench.benchmark.release.export.pairs import export_pairs

    pairs = export_pairs(small_release)
    hostile = 'x")\nimport os; os.abort()  # """ {name} \ud800'
    forged = Release(small_release.folder, {**small_release.manifest, "signature": hostile})
    object.__setattr__(pairs, "release", forged)
    write_inspect(pairs, tmp_path)
    text = (tmp_path / "cgbench_de_en.py").read_text(encoding="utf-8")
    assert f"version={json.dumps(hostile)}" in text
    compile(text, "task", "exec")


def test_inspect_runs_the_task_and_its_log_is_scored(release, run, demo, tmp_path):
    program = python_with("inspect_ai", "CGBENCH_INSPECT")
    run("export", release, "--to", "inspect", "--out", tmp_path / "task", *shots_of(demo))
    # mockllm counts tokens with a vocabulary that tiktoken downloads
    code = (
        "import tiktoken, types; tiktoken.get_encoding = lambda name:"
        " types.SimpleNamespace(encode=lambda text, **_: text.split()); from inspect_ai import"
        " eval; from inspect_ai.model import *; log = eval('cgbench_de_en.py',"
        " model='mockllm/model', log_dir='logs', display='none')[0]; print(log.status,"
        " len(log.samples), {s.id for s in log.samples} and {name: metric.value for name, metric in"
        " log.results.scores[0].metrics.items()})"
    )
    done = subprocess.run(
        [program, "-c", code], cwd=tmp_path / "task", capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("success 35 {'mean': "), done.stdout + done.stderr
    log = next((tmp_path / "task/logs").glob("*.eval"))
    answers = run(
        "score", "bleu", "--hyp", f"mock={log}", "--release", release, "--format", "json"
    ).stdout
    lines = tmp_path / "same.txt"
    lines.write_text("Default output from mockllm/model\n" * 35)
    again = run(
        "score", "bleu", "--hyp", f"mock={lines}", "--release", release, "--format", "json"
    ).stdout
    assert json.loads(answers)["value"] == json.loads(again)["value"]
    scores = run("score", "import", "--scores", f"mock={log}", "--format", "json").stdout
    assert json.loads(scores)["n"] == 35


def test_a_task_of_lm_eval_has_shots_for_each_document(release, run, demo, tmp_path, chosen):
    run("export", release, "--to", "lm-eval", "--out", tmp_path / "task", *shots_of(demo))
    rows = pyarrow.parquet.read_table(tmp_path / "task/test.parquet").to_pylist()
    shown = [[(shot["source"], shot["target"]) for shot in row["shots"]] for row in rows]
    assert shown == [list(choice.pairs) for choice in chosen]
    assert [row["prompt_degree"] for row in rows] == [choice.prompt_degree for choice in chosen]
    text = (tmp_path / "task/cgbench_de_en.yaml").read_text(encoding="utf-8")
    assert "sampler: !function pairs.OwnShots\n" in text and "num_fewshot: 3\n" in text
    assert not (tmp_path / "task/fewshot.parquet").exists()


def test_lm_eval_shows_each_document_its_own_shots(release, run, demo, tmp_path, chosen):
    program = python_with("lm_eval", "CGBENCH_LM_EVAL")
    run("export", release, "--to", "lm-eval", "--out", tmp_path / "task", *shots_of(demo))
    code = (
        "import json, lm_eval, sys; from lm_eval.tasks import TaskManager\ndef evaluate(**more):\n "
        "   manager = TaskManager(include_path='task', include_defaults=False)\n    return"
        " lm_eval.simple_evaluate(model='dummy', tasks=['cgbench_de_en'], task_manager=manager,"
        " log_samples=True, bootstrap_iters=0, **more)['samples']['cgbench_de_en']\ntry:"
        " evaluate(num_fewshot=2)\nexcept AssertionError as error: print(error,"
        " file=sys.stderr)\njson.dump([one['arguments'][0][0] for one in evaluate()],"
        " open('prompts.json', 'w'))\n"
    )
    environment = {
        **os.environ,
        "HF_DATASETS_CACHE": str(tmp_path / "cache"),
        "HF_HOME": str(tmp_path / "home"),
    }
    options = {"capture_output": True, "text": True, "check": False, "env": environment}
    done = subprocess.run([program, "-c", code], cwd=tmp_path, **options)
    assert (
        "was exported with 3 few-shot examples per sentence: run it with --num_fewshot 3"
        in done.stderr
    )
    assert done.returncode == 0, done.stderr[-2000:]
    sources = Release.open(release).lines("source")
    prompts = json.loads((tmp_path / "prompts.json").read_text())
    for prompt, source, choice in zip(prompts, sources, chosen, strict=True):
        shown = "".join(f"German: {one}\nEnglish: {other}\n\n" for one, other in choice.pairs)
        assert prompt == f"{shown}German: {source}\nEnglish:"


def test_no_shot_of_an_export_is_in_the_release(small_release, run, demo, tmp_path):
    """Shots from the pool itself, which the candidates come from: all of them are left out, with
    the test set.
    """
    reserved = reserved_pairs(small_release)
    table = small_release.table("candidates")
    assert len(reserved) == 2 * 35 + table.num_rows
    pool = ["--shots-from", demo / "pool.de", demo / "pool.en"]
    words = ["export", small_release.folder, "--to", "inspect", "--shots", 3, *pool]
    run(*words, "--out", tmp_path / "task", "--shots-by", "bm25")
    sources, targets = (
        {content_key(text) for text in side} for side in zip(*reserved, strict=True)
    )
    lines = [
        (demo / f"pool.{side}").read_text(encoding="utf-8").splitlines() for side in ("de", "en")
    ]
    rows = {row for sample in samples_of(tmp_path / "task") for row in sample["metadata"]["shots"]}
    assert len(rows) > 20
    for row in rows:
        assert (
            content_key(lines[0][row - 1]) not in sources
            and content_key(lines[1][row - 1]) not in targets
        )


def test_shots_are_for_targets_that_have_prompts(release, run, demo, tmp_path):
    words = ["export", release, "--out", tmp_path / "out"]
    said = run(*words, "--to", "mt-metrics-eval", *shots_of(demo), status=2).stderr
    assert (
        "--shots has no effect on --to mt-metrics-eval" in said
        or "--shots-from has no effect" in said
    )
    assert "shots_from" not in run(*words, "--to", "inspect", "--shots", 3, status=2).stderr
    with pytest.raises(InputError, match="shots is missing"):
        choose_shots(["a"], shots_from=[["a"], ["b"]])
