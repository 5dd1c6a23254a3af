"""Claimed ratios of speed and memory: each has a row in perf/claims.tsv that a program measures."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "perf"))
claims = pytest.importorskip("claims", reason="perf/ is not in the package")
sys.path.pop(0)

PAGES = ("README.md", "docs/index.md", "docs/lab/performance.md")
RATIO = re.compile(r"(?<![\d.])\d[\d.,]*(?: \([^()]*\))? (?:x|times)\b[^|,;.\n]{0,40}")


def text_of(page):
    """A page without code and without goals, which are the last column of a table that says so."""
    lines, has_goals = [], False
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for line in text.split("\n"):
        if not line.startswith("|"):
            has_goals = False
        has_goals |= line.endswith("| goal |")
        lines.append(line.rpartition(" | ")[0] if has_goals else line)
    return re.sub(r"\n(?![\n|])", " ", "\n".join(lines))  # a sentence is one line


def ratios_without_a_claim(text):
    for claim in claims.read_claims():
        text = claim.pattern.sub(
            lambda match, claim=claim: match[0] if claim.value != float(match[1]) else "", text
        )
    rates = [line for line in text.split("\n") if "matrix rate" in line and line.startswith("|")]
    shares = re.findall(r"(?<!MarianMT )\b\d+%", "\n".join(rates))
    return RATIO.findall(text) + shares


@pytest.mark.parametrize("page", PAGES)
def test_every_ratio_has_a_row(page):
    assert ratios_without_a_claim(text_of(ROOT / page)) == []


def test_a_ratio_without_a_row_is_seen():
    assert ratios_without_a_claim("It takes 0.44 (0.40 to 0.50) x the time.") != []
    assert ratios_without_a_claim("twelve, or 12 times as fast") != []
    assert ratios_without_a_claim("| the matrix rate | 99%; MarianMT 31% |") == ["99%"]


def test_every_row_stands_on_a_page_and_has_a_program():
    text = "\n".join(text_of(ROOT / page) for page in PAGES)
    for claim in claims.read_claims():
        values = {float(match.replace(",", "")) for match in claim.pattern.findall(text)}
        assert claim.value in values, claim
        assert (ROOT / "perf" / claim.command.split()[0]).is_file(), claim
        assert claim.good in ("less", "more"), claim


def test_programs_print_the_rows():
    """The words of a row stand in its program, or in a part of the package that it runs."""
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "perf").glob("*.py"))
    words = set(re.findall(r"[\w-]+", sources))
    for claim in claims.read_claims():
        unknown = set(re.findall(r"[a-zA-Z][\w-]+", f"{claim.row} {claim.claim}")) - words
        assert not unknown, (claim, unknown)


def test_a_claim_is_read_from_a_table_and_may_be_thirty_percent_worse():
    fast, slow = (
        claims.Claim("x.py", "whole", f"0.50 x `{unit}`", good, "")
        for unit, good in (("wc -w", "less"), ("cat", "more"))
    )
    table = "| the whole | 9 x `wc -w` | |\n| whole scan | 1 s = 0.60 (0.5 to 0.7) x `wc -w` | 1 |"
    assert fast.measured(table) == 0.6 and slow.measured(table) is None
    assert fast.holds(0.64) and not fast.holds(0.66)
    assert slow.holds(0.39) and not slow.holds(0.38)
    here = replace(fast, processor="AMD avx2 !avx512f")
    assert here.is_for("model name : AMD EPYC\nflags : fpu avx2")
    assert not here.is_for("model name : AMD EPYC\nflags : avx2 avx512f")
    assert not here.is_for("model name : Intel(R) Xeon(R)\nflags : fpu avx2")


def test_a_program_that_fails_or_has_no_such_row_is_no_success(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(claims, "FOLDER", tmp_path)
    (tmp_path / "good.py").write_text("print('| row | 1.50 x |')")
    (tmp_path / "bad.py").write_text("print('| row | 1.50 x |'); raise SystemExit(1)")
    rows = [
        claims.Claim(command, row, claim, "less", processor)
        for command, row, claim, processor in (
            ("good.py", "row", "1.20 x", ""),
            ("good.py", "row", "1.00 x", ""),
            ("good.py", "other", "1.20 x", ""),
            ("bad.py", "row", "1.50 x", ""),
            ("good.py LMPLZ", "row", "1.50 x", ""),
            ("bad.py here", "row", "1.50 x", "no-such-processor"),
        )
    ]
    assert [result for _, result in claims.measure(rows, {})] == [
        "1.5",
        "WORSE: 1.5",
        "FAILED: no such row",
        "FAILED: no such row",
        "not measured: LMPLZ is not set",
        "another processor",
    ]
