"""Without the folder of a study, cgbench works as before, without what the study adds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_build import SMALL

import cgbench

PACKAGE = Path(cgbench.__file__).parent
STUDIES = sorted(
    folder.name for folder in (PACKAGE / "studies").iterdir() if (folder / "__init__.py").is_file()
)
ADDED = {
    "agreement": [("score --help", "\n  agreement ")],
    "consistency": [("--help", "\n  consistency ")],
    "parts": [("--help", "\n  parts "), ("score bleu --help", "--parts")],
    "race": [("--help", "\n  race ")],
    "rules": [("score --help", "\n  rules "), ("export --help", "--lexicon")],
    "validity": [("--help", "\n  validate "), ("--help", "\n  power ")],
}
"""Words of help that a study adds."""
CODE = """
import json, sys
from click.testing import CliRunner
from cgbench.cli import Commands, main
outputs = {}
for words in json.loads(sys.argv[1]):
    result = CliRunner().invoke(main, words)
    outputs[" ".join(words)] = [result.exit_code, result.stdout, result.stderr]
context = main.make_context("cgbench", ["--version"], resilient_parsing=True)
for name in main.list_commands(context):
    assert main.get_command(context, name) is not None
print(json.dumps(outputs))
"""


def run_without(study, folder, commands):
    """The exit status and output of commands by name, run by a copy without the study's folder."""
    copy = folder / "cgbench"
    (copy / "studies").mkdir(parents=True)
    for path in PACKAGE.iterdir():
        if path.name != "studies":
            (copy / path.name).symlink_to(path)
    for path in (PACKAGE / "studies").iterdir():
        if path.name not in (study, "__pycache__"):
            (copy / "studies" / path.name).symlink_to(path)
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-c", CODE, json.dumps(commands)]
    ran = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def commands(tmp_path_factory, corpora, small_release):
    """Commands of the three jobs, by the words that they begin with."""
    folder = tmp_path_factory.mktemp("texts")
    lines = [f"a text of number {number}" for number in range(12)]
    texts = {"ref": lines, "a": lines, "b": [line.replace("text", "word") for line in lines]}
    for name, rows in texts.items():
        (folder / name).write_text("".join(f"{row}\n" for row in rows))
    hypotheses = ["--hyp", f"a={folder / 'a'}", "--hyp", f"b={folder / 'b'}"]
    build = ["build-react", *map(str, corpora), *SMALL, "--out", "out", "--dry-run"]
    return [
        ["--help"],
        ["score", "--help"],
        ["score", "bleu", "--help"],
        ["export", "--help"],
        ["score", "bleu", "--ref", str(folder / "ref"), *hypotheses, "--paired"],
        [*map(str, build)],
        ["report", str(small_release.folder), "--out", "report.html"],
    ]


@pytest.fixture(scope="module")
def before(tmp_path_factory, commands):
    """What the whole package prints."""
    return run_without(None, tmp_path_factory.mktemp("whole"), commands)


@pytest.mark.parametrize("study", STUDIES)
def test_all_but_the_study_works_as_before(study, tmp_path, commands, before):
    after = run_without(study, tmp_path, commands)
    for name, (status, stdout, stderr) in before.items():
        assert status == after[name][0] == 0, after[name]
        if name not in dict(ADDED[study]):
            assert after[name][1:] == [stdout, stderr]
    for page, words in ADDED[study]:
        assert words in before[page][1] and words not in after[page][1]
    assert (tmp_path / "report.html").stat().st_size > 10_000
