"""``import cgbench``: the names at the top, and what importing them costs."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import cgbench

TEXTS = ("train", "pool")
HEAVY = ("numpy", "torch", "pandas", "numba", "click", "yaml", "pyarrow", "sacrebleu")


@pytest.mark.parametrize("name", cgbench.__all__)
def test_every_name_resolves(name):
    found = getattr(cgbench, name)
    assert callable(found)
    assert found.__name__ == name
    assert name in dir(cgbench)


def test_no_name_is_that_of_a_module():
    folder = Path(cgbench.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} | {
        path.parent.name for path in folder.glob("*/__init__.py")
    }
    assert not modules & set(cgbench.__all__)
    # importing a module of a like name below does not put itself in its place
    import_module("cgbench.benchmark.build.stats")
    assert callable(cgbench.stats)


def test_an_import_loads_nothing_heavy():
    code = "import sys, cgbench; dir(cgbench); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "cgbench" in loaded
    assert not [name for name in HEAVY if name in loaded]
    assert not [name for name in loaded if name.startswith("cgbench.")]


def loaded_by(*words: str) -> list[str]:
    """The modules that a command loads."""
    code = (
        "import sys; from cgbench.cli import main; main(sys.argv[1:], standalone_mode=False);"
        " print(*sys.modules)"
    )
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


@pytest.fixture
def same_text(tmp_path):
    """A file as reference and hypotheses, as options of ``score``."""
    text = tmp_path / "text"
    text.write_text("the old dog ran\n")
    return ["--ref", str(text), "--hyp", f"a={text}"]


@pytest.mark.parametrize(
    ("command", "most"),
    [
        ("score exact", 115),
        ("score bleu", 123),
        ("score bleu --help", 123),
        ("build-react --help", 62),
        ("--help", 27),
    ],
)
def test_a_start_loads_few_modules(command, most, same_text):
    """A start takes as long as what it imports, so these limits have no slack: who needs a further
    module imports another where it is used.
    """
    files = same_text if command.startswith("score") and "help" not in command else []
    loaded = loaded_by(*command.split(), *files)
    assert len([name for name in loaded if name.partition(".")[0] == "cgbench"]) <= most
    if command == "score exact":
        unused = {"concurrent.futures", "hashlib", "importlib.resources", "logging", "random"}
        unused |= {"shutil", "statistics", "tempfile"}
        assert not unused & {*loaded}


@pytest.mark.parametrize("metric", ["bleu", "exact"])
def test_scores_load_what_they_need(metric, same_text):
    """``score bleu`` and ``score exact`` take as long as their imports: nothing that builds, and no
    compiler.
    """
    loaded = loaded_by("score", metric, *same_text)
    assert "cgbench.benchmark.score.evaluation.evaluate" in loaded
    heavy = (
        "numba",
        "pyarrow",
        "pandas",
        "torch",
        "scipy",
        "multiprocessing",
        "cgbench.models",
        "cgbench.engines",
    )
    heavy += tuple(
        f"cgbench.benchmark.{name}" for name in ("release", "candidates", "parts", "react")
    )
    assert not [name for name in heavy if name in loaded]


def test_training_and_translating_load_no_compiler_of_torch(tmp_path):
    """It takes more than a second, in training, in ``translate`` and in a dry run alike."""
    pytest.importorskip("torch")
    pairs = {"de": "ein haus\nzwei hunde\n" * 9, "en": "a house\ntwo dogs\n" * 9}
    for language, text in pairs.items():
        (tmp_path / language).write_text(text)
    tiny = ("--model", "tiny", "--device", "cpu", "--set", "training.max_updates=1")
    texts = (str(tmp_path / "de"), str(tmp_path / "en"))
    out = str(tmp_path / "model")
    trained = loaded_by("train", *tiny, "--train", *texts, "--out", out)
    words = ("translate", texts[0], "--model", out, "--output", str(tmp_path / "out"))
    for loaded in (trained, loaded_by(*words)):
        assert "torch" in loaded
        assert not {"torch._dynamo", "sympy"} & {*loaded}


def test_a_search_for_candidates_needs_neither_torch_nor_pandas(demo, tmp_path, monkeypatch):
    """Their imports take longer than the search in a small pool."""
    monkeypatch.setenv("CGBENCH_ESTIMATE", "1")
    train, pool = ([str(demo / f"{text}.{side}") for side in ("de", "en")] for text in TEXTS)
    words = ["--train", *train, "--pool", *pool, "--languages", "de,en", "--jobs", "1"]
    words += ["--until", "candidates", "--out", str(tmp_path / "out")]
    loaded = loaded_by("build-react", *words, "--dry-run")
    assert "cgbench.benchmark.candidates.cut" in loaded
    assert not {"torch", "pandas"} & {*loaded}


def test_a_command_ends_without_a_search_for_garbage():
    """With torch, it takes half a second."""
    code = (
        "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 0));"
        " from cgbench.cli import main; main(['--version'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True"


def test_what_editors_see_is_what_runs():
    tree = ast.parse(Path(cgbench.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    assert seen == cgbench._MODULES
    assert sorted(seen) == sorted(cgbench.__all__)


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="module 'cgbench' has no attribute 'blue'"):
        _ = cgbench.blue


def test_a_missing_extra_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(cgbench, "import_module", missing)
    monkeypatch.delitem(cgbench.__dict__, "Ensemble", raising=False)
    with pytest.raises(
        ModuleNotFoundError,
        match=r"cgbench.Ensemble: torch is not installed; run: pip install \"cgbench\[models\]",
    ):
        _ = cgbench.Ensemble


def test_the_version_and_its_date_are_named_alike():
    root = Path(__file__).parents[2]
    citation, changes = ((root / name).read_text() for name in ("CITATION.cff", "CHANGELOG.md"))
    assert f"\nversion: {cgbench.__version__}\n" in citation
    first = re.search(r"^## \[(.+?)\] - (.+)$", changes, re.MULTILINE)
    assert first[1] == cgbench.__version__
    released = re.search(r"^date-released: (.+)$", citation, re.MULTILINE)
    assert (released[1] if released else "unreleased") == first[2]
