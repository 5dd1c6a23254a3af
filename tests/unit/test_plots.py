"""Pictures: the same bytes, the numbers in them, and what cannot be drawn."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cgbench.benchmark.build.stats.stats import stats
from cgbench.errors import InputError
from cgbench.plots import (
    COLOURS,
    Chart,
    Series,
    check_picture,
    draw_charts,
    inches,
    save_figure,
    with_systems,
)
from cgbench.report.page import asset

NAN = float("nan")
POINTS = [
    Series("$ours", [1, NAN, 3], [0, NAN, 2], [2, NAN, NAN]),
    Series("theirs", [2, 2, 2], [2, 2, 2], [2, 2, 2]),
]


def test_one_palette():
    light = re.search(r":root \{(.*?)\}", str(asset("report.css")), re.DOTALL)[1]
    assert tuple(re.findall(r"--c\d: (#\w+)", light)) == COLOURS


# Machado, Oliveira and Fernandes (2009), severity 1: linear RGB as people with this colour vision
# see it.
SEEN = {
    "all": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = [
    [0.4124564, 0.3575761, 0.1804375],
    [0.2126729, 0.7151522, 0.0721750],
    [0.0193339, 0.1191920, 0.9503041],
]


@pytest.mark.parametrize("vision", SEEN)
def test_colours_can_be_told_apart(vision):
    """At least 15 apart in CIELAB, where 2 is just visible; the palette before had two that were 3
    apart.
    """
    rgb = np.array([[int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)] for colour in COLOURS])
    linear = (
        np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        @ np.array(SEEN[vision]).T
    )
    xyz = linear.clip(0, 1) @ np.array(TO_XYZ).T / [0.95047, 1, 1.08883]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116).T
    lab = np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], 1)
    distances = np.linalg.norm(lab[:, None] - lab[None], axis=2)
    assert distances[np.triu_indices(len(lab), 1)].min() >= 15


@pytest.fixture
def figures():
    pytest.importorskip("matplotlib")
    across = Chart(["x", "y", "價錢"], POINTS, "title", "value", "label", note="what bars mean")
    rows = Chart(
        [""], [Series("$a$", [1.0]), Series("z", [3.0])], "title", "value", "label", rows=True
    )
    return lambda: {"across": draw_charts([across, across]), "rows": draw_charts([rows])}


def test_the_same_figure_is_the_same_bytes_and_text_stays_text(figures, tmp_path):
    for name, figure in figures().items():
        save_figure(figure, tmp_path / f"{name}.svg")
    for name, figure in figures().items():
        save_figure(figure, again := tmp_path / f"{name}-again.svg")
        assert (tmp_path / f"{name}.svg").read_bytes() == again.read_bytes()
    texts = {name: (tmp_path / f"{name}.svg").read_text() for name in figures()}
    # The name of each line, the value at each dot.
    words = {"across": ("$ours", "theirs", "價錢", "what bars mean"), "rows": ("$a$", "1.0", "3.0")}
    for name, text in texts.items():
        assert all(f">{word}<" in text for word in (*words[name], "title", "value", "label"))
        assert "<dc:date>" not in text and "serif" in text


def test_a_figure_is_as_wide_as_asked_and_names_are_apart(tmp_path):
    pytest.importorskip("matplotlib")
    same = [Series(f"system {number}", [0.0, 50.0]) for number in range(5)] + [
        Series("top", [0.0, 100.0])
    ]
    figure = draw_charts([Chart(["x", "y"], same)], inches("84mm", "--plot-width"))
    save_figure(figure, tmp_path / "x.svg")
    assert re.search(r'width="([\d.]+)pt"', (tmp_path / "x.svg").read_text())[1].startswith(
        "238.11"
    )
    names = [text for text in figure.axes[0].texts if text.get_text().startswith("system")]
    boxes = sorted((text.get_window_extent() for text in names), key=lambda box: box.y0)
    assert len(boxes) == 5 and all(
        lower.y1 <= upper.y0 + 1 for lower, upper in itertools.pairwise(boxes)
    )
    assert max(box.x1 for box in boxes) <= figure.bbox.x1


@pytest.mark.parametrize("text", ["3", "3 in", "wide", "0.5in", "30in", "1.2.3in", "nanin", "-4cm"])
def test_widths_that_are_none(text):
    with pytest.raises(InputError, match="give a width from 1in to 20in"):
        inches(text, f"--plot-width {text}")


def test_widths():
    assert [inches(text, "") for text in ("3.3in", "25.4mm", "2.54cm")] == [3.3, 1.0, 1.0]


@pytest.mark.parametrize(
    ("form", "begin"), [("png", b"\x89PNG"), pytest.param("pdf", b"%PDF", marks=pytest.mark.slow)]
)
def test_other_forms(figures, tmp_path, form, begin):
    for _ in range(2):
        save_figure(figures()["rows"], path := tmp_path / f"x.{form}")
    data = path.read_bytes()
    save_figure(figures()["rows"], path)
    assert data == path.read_bytes() and data.startswith(begin) and b"CreationDate" not in data
    with pytest.raises(InputError, match="lacks some characters of the words; draw to a .svg file"):
        save_figure(figures()["across"], path)
    assert data == path.read_bytes()


def test_what_draws_itself():
    pytest.importorskip("matplotlib")
    figure = stats(["a b c"], {"one": ["a b c"], "other": ["a c c b"]}).plot()
    assert figure._repr_png_().startswith(b"\x89PNG") and figure._repr_png_() == figure._repr_png_()
    (ax,) = figure.axes
    assert [list(line.get_ydata()) for line in ax.lines if len(line.get_xdata()) > 1] == [
        [0.0, 0.0],
        [100.0, 100.0],
    ]


def test_names_of_files():
    with pytest.raises(InputError, match=r"--out x.gif: the name must end in .svg, .png or .pdf"):
        check_picture(Path("x.gif"), "--out x.gif")


@pytest.mark.parametrize("inches_wide", [3.3, 6.5, 12])
@pytest.mark.parametrize("bins", [3, 6, 9])
def test_labels_of_bins_never_stand_on_one_another(bins, inches_wide):
    """Labels of degrees, with four digits: slanted, on one line with their counts."""
    pytest.importorskip("matplotlib")
    labels = ["< 0.5714", *(f"0.5{n}14 to < 0.5{n}33" for n in range(bins - 2)), ">= 0.6154"]
    series = [Series(name, [1.0] * bins) for name in ("Transformer-base", "LSTM")]
    for names in (labels, [f"{n}-{n + 9}" for n in range(10, 10 + bins)]):
        figure = draw_charts([Chart(names, series, counts=[27] * bins)], inches_wide)
        figure.draw_without_rendering()  # with its layout
        # Nothing is cut at the edges, and the names of the lines are apart.
        at_lines = [text.get_window_extent() for text in figure.axes[0].texts]
        edge = figure.bbox.x1 + 1
        assert all(box.x1 <= edge and box.x0 >= -1 for box in at_lines)
        assert at_lines[0].y0 >= at_lines[1].y1 or at_lines[1].y0 >= at_lines[0].y1
        ticks = figure.axes[0].get_xticklabels()
        if ticks[0].get_rotation():
            # Slanted lines are as far apart as the font is high.
            places = [tick.get_window_extent().x1 for tick in ticks]
            step = min(b - a for a, b in itertools.pairwise(places)) * np.sin(np.radians(40))
            assert step >= 0.9 * ticks[0].get_fontsize() * figure.dpi / 72
            assert not any("\n" in tick.get_text() for tick in ticks)
        else:
            boxes = [tick.get_window_extent() for tick in ticks]
            assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_the_look_of_a_figure(tmp_path):
    pytest.importorskip("matplotlib")
    series = [Series("a", [-2.0], [-3.0], [-1.0], note="*"), Series("b", [1.5], [-0.5], [3.5])]
    chart = Chart([""], series, value_name="BLEU: difference from c", rows=True, signed=True)
    chosen = with_systems(chart, ["b=Ours", "a", "c"])
    assert [one.name for one in chosen.series] == ["Ours", "a"] and with_systems(chart, []) is chart
    with pytest.raises(InputError, match="no such system; they are a, b"):
        with_systems(replace(chart, signed=False), ["x"])
    figure = draw_charts([chosen], font="monospace", size=11)
    sizes = {text.get_fontsize() for text in figure.axes[0].get_yticklabels()}
    assert sizes == {11}
    save_figure(figure, tmp_path / "x.svg")
    text = (tmp_path / "x.svg").read_text("utf-8")
    assert '<svg role="img" ' in text and "<title>BLEU: difference from c</title>" in text
    assert "<desc>Ours: +1.50" in text and "monospace" in text
    save_figure(figure, tmp_path / "x.pdf")
    assert b"difference from c" in (tmp_path / "x.pdf").read_bytes()
