"""The extensions of ``examples/extensions``, as an installed package: one module each, and one line
that registers it; and a package that is broken.
"""

import json
import re
import sys
import tomllib
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from web import listening

from cgbench.text import table_formats

EXAMPLES = Path(__file__).parents[2] / "examples" / "extensions"
PYPROJECT = tomllib.loads((EXAMPLES / "pyproject.toml").read_text())
GROUPS = PYPROJECT["project"]["entry-points"]
METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
TEXTS = {
    "ref": ["the cat saw a dog", "a dog ran", "the dog ran home", "a cat"],
    "good": ["the cat saw a dog", "a dog ran", "the dog ran", "a cat"],
    "poor": ["the", "a", "dog", "dog"],
}


def write_package(folder, name, groups):
    """The metadata of an installed package."""
    information = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(METADATA.format(name=name))
    lines = []
    for group, entries in groups.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    (information / "entry_points.txt").write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The package of the examples on the path."""
    write_package(tmp_path / "site", "cgbench-examples", GROUPS)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.syspath_prepend(EXAMPLES)
    table_formats.is_added.cache_clear()
    yield
    table_formats.is_added.cache_clear()
    for path in EXAMPLES.glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, lines in TEXTS.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines))
    return ("--ref", "ref", "--hyp", "good", "--hyp", "poor")


def test_each_extension_is_one_module_and_one_line():
    lines = [value for entries in GROUPS.values() for value in entries.values()]
    modules = sorted(path.stem for path in EXAMPLES.glob("*.py"))
    assert sorted(line.partition(":")[0] for line in lines) == modules
    assert PYPROJECT["tool"]["setuptools"]["py-modules"] == modules  # without, pip installs none


@pytest.mark.parametrize("page", ["add-a-command", "add-an-analysis", "add-an-export-target"])
def test_the_documentation_registers_what_its_code_defines(page):
    text = (EXAMPLES.parents[1] / "docs" / "how-to" / f"{page}.md").read_text(encoding="utf-8")
    defined = {}
    for code in re.findall("```python\n(.*?)```", text, re.DOTALL):
        exec(code, defined)
    for group, entry in re.findall(r'entry-points."cgbench.(\w+)"\]\n[\w-]+ = "(.+)"', text):
        assert entry.partition(":")[2] in defined, (group, entry)


def test_a_metric(installed, files, run):
    assert "word-recall" in run("score", "--help").stdout
    found = json.loads(run("score", "word-recall", *files, "--format", "json").stdout)
    assert found[0]["value"] == pytest.approx(100 * 13 / 14)


def test_a_feature(installed, files, run):
    found = run("score", "exact", *files, "--by", "vowels", "--bins", "3", "--format", "tsv").stdout
    assert "\tvowels\t" in found
    failed = run("score", "exact", *files, "--by", "vowels", "--train", "ref", status=2)
    assert "--train has no effect on --by vowels" in failed.stderr
    near = run("score", "exact", *files, "--by", "vowel", status=2)
    assert "did you mean vowels?" in near.stderr


def test_a_test_of_significance(installed, files, run):
    command = ("score", "exact", "chrf", *files, "--paired", "sign", "--format", "json")
    rows = json.loads(run(*command).stdout)
    # Of the four examples, the poor system loses three by exact match and four by chrF.
    p_values = {row["metric"]: row["p_value"] for row in rows if row["system"] == "poor"}
    assert list(p_values.values()) == [2 / 2**3, 2 / 2**4]
    assert all("paired:sign" in row["signature"] for row in rows)
    failed = run("score", "exact", *files, "--paired", "sing", status=2).stderr
    assert "--paired sing: it must be one of calibrated, " in failed
    assert "mcnemar, sign or true or false; did you mean sign?" in failed
    two_runs = ("--hyp", "twice=good,poor")
    failed = run("score", "exact", *files, *two_runs, "--paired", "sign", status=2).stderr
    assert "--paired sign compares one run with one run" in failed


def test_a_form_of_output(installed, files, run):
    printed = run("score", "exact", *files, "--format", "csv").stdout
    assert printed.splitlines()[0].startswith("metric,figure,system,")
    assert "did you mean csv?" in run("score", "exact", *files, "--format", "cvs", status=2).stderr


def test_a_reader_of_scores(installed, files, run):
    Path("a.percent").write_text("12.5 %\n50%\n")
    scores = ("score", "import", "--scores", "a=a.percent", "--format", "json")
    assert json.loads(run(*scores).stdout)["value"] == 31.25


def test_an_analysis_with_an_option_of_its_own(installed, files, run):
    assert "--repeats" in run("score", "exact", "--help").stdout
    assert "repeated outputs" not in run("score", "exact", *files).stdout
    printed = run("score", "exact", *files, "--repeats", "--output", "page.html").stdout
    assert "\nrepeated outputs in %    poor  4   25.0" in printed
    assert "repeated outputs in %" in Path("page.html").read_text()


def test_an_export_target_with_an_option_of_its_own(installed, small_release, tmp_path, run):
    assert "--header" in run("export", "--help").stdout
    out = tmp_path / "out"
    run("export", small_release.folder, "--to", "pairs-tsv", "--out", out, "--header")
    assert (out / "pairs.tsv").read_text().splitlines()[0] == "source\ttarget"
    other = ("export", small_release.folder, "--to", "lm-eval", "--out", tmp_path / "other")
    assert "--header has no effect on --to lm-eval" in run(*other, "--header", status=2).stderr


def test_a_command(installed, files, run):
    assert "Added:\n  count-words" in run("--help").stdout
    assert run("count-words", "ref").stdout == "14 words\n"


def test_a_format_of_corpora(installed, files, run):
    pairs = zip(TEXTS["ref"], TEXTS["good"], strict=True)
    Path("corpus.aligned").write_text("".join(f"{left} ||| {right}\n" for left, right in pairs))
    columns = ("--ref", "corpus.aligned:source", "--hyp", "a=corpus.aligned:target")
    by_column = json.loads(run("score", "exact", *columns, "--format", "json").stdout)
    assert by_column["value"] == 75
    assert "3 training pairs" in run("split", "--corpus", "corpus.aligned", "--out", "split").stdout
    Path("bad.aligned").write_text("no bars\n")
    failed = run("score", "exact", "--ref", "bad.aligned:source", "--hyp", "good", status=2)
    assert "bad.aligned, line 1: write SOURCE ||| TARGET" in failed.stderr


def test_a_preset_of_models(installed, run):
    rows = json.loads(run("models", "--format", "json").stdout)["presets"]
    assert "two-layers" in [row["name"] for row in rows]
    described = json.loads(run("models", "two-layers", "--format", "json").stdout)
    settings = {row["name"]: row["value"] for row in described["settings"]}
    assert settings["model.encoder_layers"] == 2
    assert "did you mean two-layers?" in run("models", "two-layer", status=2).stderr


def test_a_kind_of_server(installed, files, run):
    posted = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            posted.append((self.path, body))
            text = body["messages"][-1]["content"].upper()
            answer = {"model": "m", "message": {"role": "assistant", "content": text}}
            data = json.dumps(answer | {"done_reason": "stop", "eval_count": 3}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *words):
            pass

    with listening(Handler) as url:
        words = ("translate", "--system", f"ollama:{url}?model=m", "--prompt", "{source}")
        run(*words, "ref", "--output", "out")
    assert Path("out").read_text().splitlines() == [line.upper() for line in TEXTS["ref"]]
    assert {path for path, _ in posted} == {"/api/chat"}
    assert posted[0][1]["options"] == {"temperature": 0.0, "num_predict": 512}


KINDS = (
    *("commands", "metrics", "features", "analyses", "exports", "servers", "formats"),
    *("tests", "forms", "readers", "architectures", "presets", "recipes"),
)


def test_a_broken_package_is_one_line(tmp_path, monkeypatch, files, run, small_release):
    broken = {f"cgbench.{kind}": {"broken": "no_such_module:THING"} for kind in KINDS}
    write_package(tmp_path / "site", "broken-package", broken)
    monkeypatch.syspath_prepend(tmp_path / "site")
    table_formats.is_added.cache_clear()
    for words in (("--help",), ("score", "--help"), ("score", "bleu", "--help")):
        (line,) = run(*words).stderr.splitlines()
        assert line.startswith("warning: ") and "(of the package broken-package)" in line
    assert run("score", "exact", *files).stderr == ""
    for words in (("models",), ("data", "list")):
        lines = run(*words).stderr.splitlines()
        assert lines and all(line.startswith("warning: ") for line in lines)
    for words in (
        ("broken",),
        ("score", "broken", *files),
        ("score", "exact", *files, "--by", "broken"),
        ("score", "exact", *files, "--paired", "broken"),
        ("score", "exact", *files, "--format", "broken"),
        ("score", "import", "--scores", "a=ref.broken"),
        ("export", small_release.folder, "--to", "broken", "--out", tmp_path / "out"),
        ("translate", "--system", "broken:http://127.0.0.1:9?model=m", "ref", "--output", "o"),
        ("score", "exact", "--ref", "ref.broken:a", "--hyp", "good"),
        ("models", "broken"),
    ):
        errors = run(*words, status=2).stderr.splitlines()
        assert "no_such_module:THING cannot be loaded" in errors[-1], words
    table_formats.is_added.cache_clear()
