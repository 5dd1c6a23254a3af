"""Functions of ``import cgbench`` that do what a command does: the same figures; a wrong value is
one line.
"""

import json

import pytest
from small_ensemble import SOURCE, TARGET, learn_subwords, write_member

import cgbench
from cgbench.errors import InputWarning

LINES = ["what can we do about this ?"] * 3 + ["but we can do it ."] * 3
TEXT = ["but what can we do about this ?", "we do it ."]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calls")
    for name, lines in (("train.en", LINES), ("text.en", TEXT), ("s.de", SOURCE), ("s.en", TARGET)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return folder


def test_degree(files, run):
    printed = run(
        "degree", "--train", files / "train.en", "--cover", "--format", "json", files / "text.en"
    ).stdout
    expected = [json.loads(line) for line in printed.splitlines()]
    assert (
        cgbench.degree(TEXT, LINES)
        == cgbench.degree(files / "text.en", str(files / "train.en"))
        == expected
    )
    lowered = cgbench.degree(["BUT we"], [line.upper() for line in LINES], lowercase=True)
    assert lowered[0]["pieces"] == 1


def test_split_and_export(files, tmp_path, run):
    pairs = [f"{word} {other}" for word in "abcdef" for other in "uvwxyz"]
    for side in ("aa", "bb"):
        (tmp_path / f"c.{side}").write_text("".join(f"{pair}\n" for pair in pairs))
    corpus = (tmp_path / "c.aa", tmp_path / "c.bb")
    made = cgbench.split(corpus, tmp_path / "ours", method="random", seed=3)
    run(
        "split",
        "--corpus",
        *corpus,
        "--out",
        tmp_path / "theirs",
        "--method",
        "random",
        "--seed",
        "3",
    )
    assert made.release.signature == cgbench.Release.open(tmp_path / "theirs").signature
    with pytest.warns(InputWarning, match="no licence"):
        names = cgbench.export(tmp_path / "ours", "mt-metrics-eval", tmp_path / "out")
    assert "sources/aa-bb.txt" in names


def test_power_is_that_of_the_command(run):
    found = cgbench.power(variance=2500, examples=[1000], differences=[5.0])
    words = (
        "power",
        "--variance",
        "2500",
        "--examples",
        "1000",
        "--difference",
        "5",
        "--format",
        "json",
    )
    printed = json.loads(run(*words).stdout)
    assert [one.examples for one in found.needs] == [one["examples"] for one in printed["needs"]]
    assert [list(one) for one in found.smallest] == [
        list(one.values()) for one in printed["smallest"]
    ]
    pilot = cgbench.evaluate("exact", {"a": ["x", "y"] * 20, "b": ["x"] * 40}, ["x", "y"] * 20)
    assert cgbench.power(pilot, differences=[10]).metric == "exact"


def test_train_translate_uncertainty(files, tmp_path, run):
    pytest.importorskip("torch")
    settings = {"training.max_updates": 2, "text.merges": 5}
    summary = cgbench.train(
        (files / "s.de", files / "s.en"),
        tmp_path / "m",
        model="tiny",
        settings=settings,
        device="cpu",
    )
    assert summary["finished"] and summary["updates"] == 2
    subwords = learn_subwords(tmp_path / "text")
    for number in range(2):
        write_member(tmp_path / f"member-{number}", subwords, number)
    members = [str(tmp_path / f"member-{number}") for number in range(2)]
    ours = cgbench.translate(SOURCE, members, beam=2, device="cpu")
    words = ("translate", "--model", *members, "--beam", "2", "--device", "cpu")
    assert run(*words, files / "s.de").stdout.splitlines() == ours
    rows = cgbench.uncertainty(SOURCE, members, beam=2, device="cpu")
    # The folder of an ensemble is its members.
    assert cgbench.uncertainty(SOURCE, tmp_path, beam=2, device="cpu") == rows
    said = [word for member in members for word in ("--member", member)]
    run(
        "uncertainty",
        files / "s.de",
        *said,
        "--beam",
        "2",
        "--device",
        "cpu",
        "--output",
        tmp_path / "u.jsonl",
    )
    assert rows == [json.loads(line) for line in (tmp_path / "u.jsonl").read_text().splitlines()]
    with pytest.raises(cgbench.InputError, match="truncate with truncate"):
        cgbench.translate(["der " * 400], members, device="cpu")


def test_a_plot_on_axes_that_are_there():
    figures = pytest.importorskip("matplotlib.figure")
    found = cgbench.exact_match(
        ["a b", "a"] * 5, ["a b", "b"] * 5, by="length", breakdown={"bins": [2]}
    )
    ax = figures.Figure().subplots()
    assert found.plot(ax=ax) is ax.figure
    assert len(found.plot().axes) == 1
    assert len(ax.get_legend_handles_labels()[0]) == 1 and ax.get_ylabel() == "exact (%)"
    whole = cgbench.exact_match(
        {"one": ["a b"] * 3, "two": ["a"] * 3}, ["a b"] * 3
    ).plot()  # all examples
    assert (
        whole._repr_png_().startswith(b"\x89PNG")
        and len(whole.axes[0].get_legend_handles_labels()[0]) == 2
    )
    assert [text.get_text() for text in whole.axes[0].get_yticklabels()] == ["one", "two"]
    assert [text.get_text() for text in whole.axes[0].texts] == ["100.0", "0.0"]
    # Intervals are drawn though only scores were asked for: 2 of 4 right.
    low, high = cgbench.exact_match(["a", "b"] * 2, ["a"] * 4).plot().axes[0].lines[0].get_xdata()
    assert 0 < low < 50 < high < 100
    for arguments in ({"path": "x.svg", "ax": ax}, {"ax": 3}):
        with pytest.raises(cgbench.InputError, match="ax"):
            found.plot(**arguments)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: cgbench.degree(TEXT), "give train, or known_from instead"),
        (lambda: cgbench.degree(TEXT, LINES, min_count=0), "min_count=0"),
        (lambda: cgbench.degree(TEXT, ["one two"]), "no word in it occurs 3 times"),
        (lambda: cgbench.split([["a"], ["b", "c"]], "out"), "1 source sentences for 2 target"),
        (lambda: cgbench.split("c.tsv", "out", methd="random"), "methd"),
        (lambda: cgbench.export("nowhere", "lm-eval", "out"), "nowhere"),
        (lambda: cgbench.power(), "give the scores of a pilot of two systems, or variance"),
        (lambda: cgbench.power(variance=1, examples=[1.5]), "examples=[1.5]"),
        (lambda: cgbench.train(("a", "b"), "out"), "name a preset with model"),
        (lambda: cgbench.translate(TEXT, "nowhere", device="tpu"), "device='tpu'"),
        (lambda: cgbench.uncertainty(TEXT, []), "members"),
    ],
)
def test_wrong_values_are_one_line(call, said):
    with pytest.raises(cgbench.InputError) as error:
        call()
    assert said in str(error.value) and "\n" not in str(error.value)
