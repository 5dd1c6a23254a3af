"""The commands in the tutorials, in README.md and in other pages run, and print what the pages
show.

A ``console`` block has commands behind ``$`` (continued behind ``>``), each above what it prints.
``[...]`` stands for any text. Versions and checksums are not compared; behind ``<!-- numbers vary
-->`` no number is, as training rounds in other ways on other machines. ``python`` blocks with
``>>>`` are run as doctests in the same folder; one that begins with ``# NAME.py`` becomes that
file.
"""

import doctest
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from few import few

from cgbench.errors import InputWarning

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"(<!-- numbers vary -->\n+)?^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
PACKAGES = ("torch", "transformers", "sacrebleu", "pandas")
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    if "tutorial" in path.parts
    or re.search(r"^(```console|>>> )", path.read_text(encoding="utf-8"), re.MULTILINE)
)


def commands(block):
    """Each command with what it should print."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0] += "\n" + line[2:]
        else:
            found[-1][1] += line + "\n"
    return found


def pattern(shown, numbers):
    """What matches the output that a page shows."""
    parts = [re.escape(masked(part, numbers)) for part in shown.split("[...]")]
    return re.compile(".*".join(parts), re.DOTALL)


def masked(text, numbers):
    text = re.sub(r"\b(v|version|sha|train|test|tr|te):[\da-f.]+", r"\1:", text)
    if numbers:
        text = re.sub(r"[+-]?\d[\d,.]*", "N", text)
        text = re.sub(r"[-+─═ ]*N(?!\w)", " N", text)
        text = re.sub(r" {2,}", " ", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def on_one_core():
    """Let this process have one core, so that no command starts workers, each of which would import
    PyTorch.
    """
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(
            0, {cores[int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % len(cores)]}
        )


def run(command, folder):
    """What a command prints on standard output."""
    tools = folder / ".bin"
    if not tools.exists():
        tools.mkdir()
        for name, words in (("cgbench", "-m cgbench"), ("python", "")):
            (tools / name).write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
            (tools / name).chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        preexec_fn=on_one_core,
        env={
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HF_HUB_OFFLINE": "1",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout


# They train models, or draw intervals of many runs, for half a minute or more.
LONG = [
    f"docs/tutorial/{name}.md"
    for name in (
        "build-a-test-set",
        "hugging-face-ensemble",
        "score-two-systems",
        "ten-minutes",
        "test-an-llm",
        "train-and-compare",
    )
]


@pytest.mark.parametrize("page", few(PAGES, *(page for page in PAGES if page not in LONG)))
def test_page(page, tmp_path, monkeypatch):
    for package in PACKAGES:
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")  # the pages show a terminal of this width
    text = (ROOT / page).read_text(encoding="utf-8")
    if "--dry-run" in text:  # which shows the estimate that other tests do without
        monkeypatch.setenv("CGBENCH_ESTIMATE", "1")
    namespace, ran = {}, 0
    for vary, kind, block in BLOCK.findall(text):
        if kind == "console":
            for command, shown in commands(block):
                printed = run(command, tmp_path)
                ran += 1
                if shown:
                    same = pattern(shown, bool(vary)).fullmatch(masked(printed, bool(vary)))
                    assert same, f"{page}\n$ {command}\n{printed}"
        elif block.startswith("# ") and ".py\n" in block[:40]:
            (tmp_path / block[2 : block.index("\n")]).write_text(block, encoding="utf-8")
        elif ">>>" in block:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InputWarning)
                runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
                test = doctest.DocTestParser().get_doctest(block, namespace, page, page, 0)
                result = runner.run(test, clear_globs=False)
                namespace = test.globs
            assert not result.failed
            ran += result.attempted
    assert ran
