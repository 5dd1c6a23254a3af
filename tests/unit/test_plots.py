"""Pictures: the same bytes, the numbers in them, and what cannot be drawn."""

import re
from pathlib import Path

import numpy as np
import pytest

from cgbench.benchmark.stats.stats import stats
from cgbench.errors import InputError
from cgbench.plots import COLOURS, Chart, Heatmap, Series, draw_charts, draw_heatmaps, is_picture, save_figure
from cgbench.report.page import asset

PANEL = Heatmap("keys", ("$a$", "two"), ("a", "價錢"), np.array([[1.0, 0.5], [np.nan, 0.5]]))
NAN = float("nan")
POINTS = [Series("$ours", [1, NAN, 3], [0, NAN, 2], [2, NAN, NAN]), Series("theirs", [2, 2, 2], [2, 2, 2], [2, 2, 2])]


def test_one_palette():
    light = re.search(r":root \{(.*?)\}", str(asset("report.css")), re.DOTALL)[1]
    assert tuple(re.findall(r"--c\d: (#\w+)", light)) == COLOURS


# Machado, Oliveira and Fernandes (2009), severity 1: linear RGB as people with this colour vision see it.
SEEN = {
    "all": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]


@pytest.mark.parametrize("vision", SEEN)
def test_colours_can_be_told_apart(vision):
    """At least 15 apart in CIELAB, where 2 is just visible; the palette before had two that were 3 apart."""
    rgb = np.array([[int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)] for colour in COLOURS])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ np.array(SEEN[vision]).T
    xyz = linear.clip(0, 1) @ np.array(TO_XYZ).T / [0.95047, 1, 1.08883]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116).T
    lab = np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], 1)
    distances = np.linalg.norm(lab[:, None] - lab[None], axis=2)
    assert distances[np.triu_indices(len(lab), 1)].min() >= 15


@pytest.fixture
def figures():
    pytest.importorskip("matplotlib")
    across, down = (Chart(["x", "y", "z"], POINTS, "title", "value", "label", down=down) for down in (False, True))
    return lambda: {"map": draw_heatmaps([PANEL], "rows", "columns"), "across": draw_charts([across, across]),
                    "down": draw_charts([down])}  # fmt: skip


def test_the_same_figure_is_the_same_bytes_and_text_stays_text(figures, tmp_path):
    for name, figure in figures().items():
        save_figure(figure, tmp_path / f"{name}.svg")
    for name, figure in figures().items():
        save_figure(figure, again := tmp_path / f"{name}-again.svg")
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
        save_figure(figures()["down"], path := tmp_path / f"x.{form}")
    data = path.read_bytes()
    save_figure(figures()["down"], path)
    assert data == path.read_bytes() and data.startswith(begin) and b"CreationDate" not in data
    with pytest.raises(InputError, match="lacks some characters of the words; draw to a .svg file"):
        save_figure(figures()["map"], path)
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
