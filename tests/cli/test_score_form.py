"""Hypotheses in another form than their references on the command line: one line with the remedy,
and what it does.
"""

import pytest

LINES = [
    f"{who} saw the {what}, and {other} was not in the house."
    for who in ("Tom", "Ann", "The dog")
    for what in ("cat", "man", "bird", "house")
    for other in ("he", "she", "it")
]


def lower(line):
    return line.lower().replace(",", " ,").replace(".", " .")


@pytest.fixture
def texts(tmp_path):
    for name, lines in (("ref", map(lower, LINES)), ("raw", LINES)):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return tmp_path


def test_one_line_stops_and_its_remedies_work(run, values, texts):
    words = ("score", "exact", "--ref", texts / "ref", "--hyp", f"A={texts / 'raw'}")
    (line,) = run(*words, status=2).stderr.splitlines()
    assert (
        line
        == "error: A: cased, unlike the references, which are in lower case; not tokenised, unlike"
        " the references, which are tokenised (final periods and commas stand apart). Remedy:"
        " --lowercase ignores case; --set normalise=LANG=moses tokenises as Moses does;"
        " --accept-text scores the text as it is"
    )
    assert run(*words, "--accept-text").stderr.startswith(
        "warning: A: cased, unlike the references"
    )
    assert values(*words, "--accept-text") == [0]
    assert values(*words, "--lowercase", "--set", "normalise=en=moses") == [100]


def test_a_pilot_of_power_is_checked_too(run, texts):
    (texts / "b").write_text((texts / "ref").read_text().replace("bird", "dog"))
    words = (
        "power",
        "--ref",
        texts / "ref",
        "--hyp",
        f"A={texts / 'raw'}",
        "--hyp",
        f"B={texts / 'b'}",
    )
    assert "error: A: cased" in run(*words, status=2).stderr
    assert "warning: A: cased" in run(*words, "--accept-text").stderr
