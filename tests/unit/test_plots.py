"""Pictures: the same bytes, the numbers in them, and what cannot be drawn."""

import re
from pathlib import Path

import numpy as np
import pytest

from cgbench.benchmark.stats.stats import stats
from cgbench.errors import InputError
from cgbench.plots import COLOURS, Chart, Heatmap, Series, draw_charts, draw_heatmaps, is_picture, save
from cgbench.report.page import asset

PANEL = Heatmap("keys", ("$a$", "two"), ("a", "價錢"), np.array([[1.0, 0.5], [np.nan, 0.5]]))
NAN = float("nan")
POINTS = [Series("$ours", [1, NAN, 3], [0, NAN, 2], [2, NAN, NAN]), Series("theirs", [2, 2, 2], [2, 2, 2], [2, 2, 2])]


def test_one_palette():
    light = re.search(r":root \{(.*?)\}", str(asset("report.css")), re.DOTALL)[1]
    assert tuple(re.findall(r"--c\d: (#\w+)", light)) == COLOURS


@pytest.fixture
def figures():
    pytest.importorskip("matplotlib")
    across, down = (Chart(["x", "y", "z"], POINTS, "title", "value", "label", down=down) for down in (False, True))
    return lambda: {"map": draw_heatmaps([PANEL], "rows", "columns"), "across": draw_charts([across, across]),
                    "down": draw_charts([down])}  # fmt: skip


def test_the_same_figure_is_the_same_bytes_and_text_stays_text(figures, tmp_path):
    for name, figure in figures().items():
        save(figure, tmp_path / f"{name}.svg")
    for name, figure in figures().items():
        save(figure, again := tmp_path / f"{name}-again.svg")
        assert (tmp_path / f"{name}.svg").read_bytes() == again.read_bytes()
    texts = {name: (tmp_path / f"{name}.svg").read_text() for name in figures()}
    assert all(f">{word}<" in texts["map"] for word in ("keys", "$a$", "價錢", "rows", "columns"))
    for text in (texts["across"], texts["down"]):
        assert (
            all(f">{word}<" in text for word in ("$ours", "theirs", "title", "value", "label")) and COLOURS[1] in text
        )
        assert "<dc:date>" not in text


@pytest.mark.parametrize(("form", "begin"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_other_forms(figures, tmp_path, form, begin):
    for _ in range(2):
        save(figures()["down"], path := tmp_path / f"x.{form}")
    data = path.read_bytes()
    save(figures()["down"], path)
    assert data == path.read_bytes() and data.startswith(begin) and b"CreationDate" not in data
    with pytest.raises(InputError, match="lacks some characters of the words; draw to a .svg file"):
        save(figures()["map"], path)
    assert data == path.read_bytes()


def test_what_draws_itself(small_release):
    pytest.importorskip("matplotlib")
    figure = small_release.plot()
    candidates, chosen = (len(line.get_xdata()) for line in figure.axes[0].lines)
    counts = small_release.manifest["counts"]
    assert (candidates, chosen) == (counts["candidates"] - counts["selected"], counts["selected"])
    assert figure._repr_png_().startswith(b"\x89PNG") and figure._repr_png_() == figure._repr_png_()
    (ax,) = stats(["a b c"], {"one": ["a b c"], "other": ["a c c b"]}).plot().axes
    assert [list(one.lines[0].get_ydata()) for one in ax.containers] == [[0.0, 0.0], [100.0, 100.0]]


def test_names_of_files():
    assert not is_picture(Path("x.tsv"), "--out x.tsv", (".tsv",))
    with pytest.raises(InputError, match=r"--out x.gif: the name must end in .tsv, .svg, .png or .pdf"):
        is_picture(Path("x.gif"), "--out x.gif", (".tsv",))
