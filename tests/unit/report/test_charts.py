"""Charts: well-formed, with every value at its place, and with names of others escaped."""

import itertools
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from cgbench.plots import Chart, Series, short_names
from cgbench.report import charts

NAN = float("nan")


def parsed(chart):
    return ElementTree.fromstring(str(charts.draw(chart) if isinstance(chart, Chart) else chart))


def of_class(chart, name):
    return [element for element in chart.iter() if name in (element.get("class") or "").split()]


def points(element):
    return [tuple(map(float, pair.split(","))) for pair in element.get("points").split()]


def test_a_scale_and_its_ticks():
    scale = charts.Scale(0.0, 10.0, 100.0, 400.0)
    assert scale(0) == 100 and scale(5) == 250
    assert scale.ticks() == [0, 2, 4, 6, 8, 10]
    assert charts.Scale(0.21, 0.39, 0, 220).ticks() == pytest.approx([0.25, 0.3, 0.35])
    assert charts.Scale(3.0, 3.0, 0, 220).ticks() == [3.0]
    assert len(charts.Scale(0.0, 1e30, 0, 220).ticks()) == 6  # of a perplexity


def test_ticks_have_room_for_their_texts():
    for width in (60, 120, 300):
        places = [charts.Scale(-20, 0, 0, width)(tick) for tick in (-20, -10, 0)]
        assert places == [0, width / 2, width]
        ticks = list(map(charts.Scale(-20, 0, 0, width), charts.Scale(-20, 0, 0, width).ticks()))
        assert all(
            after - before >= charts.ROOM_OF_TICK for before, after in itertools.pairwise(ticks)
        )


def test_a_logarithmic_scale():
    scale = charts.LogScale(1.0, 10_000.0, 0.0, 400.0)
    assert scale(100) == pytest.approx(200) and scale.ticks() == [1, 10, 100, 1000, 10_000]
    assert charts.LogScale(2.0, 30.0, 0.0, 300.0).ticks() == [2, 5, 10, 20]
    values = [10.0 ** (step / 25) for step in range(100)]
    drawn = parsed(charts.histograms([Series("one", values)], "perplexity", "t", is_log=True))
    assert [text.text for text in of_class(drawn, "tick")] == ["1", "10", "100", "1,000"]
    assert max(heights(drawn)) <= 1.6 * sorted(heights(drawn))[20]  # evenly spread


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (0.25, "0.25"), (-0.0, "0"), (1234.0, "1,234"), (1e-5, "1e-05"), (3e7, "3e+07")],
)
def test_numbers(value, text):
    assert charts.tick_text(value) == text


def test_a_histogram_has_the_counts():
    chart = parsed(charts.histograms([Series("<b>&", [0.0, 0.0, 1.0])], "x", "title", bins=2))
    # two values in the first bin; one in the second, half as high
    first, second = heights(chart)
    assert first == pytest.approx(2 * second, abs=0.1)
    assert of_class(chart, "area")[0][0].text == "<b>&: 3 pairs, median 0"


def test_outliers_do_not_squeeze_a_histogram():
    """Values from 50 to 500 and one at 20,000: the axis ends before 501, and the last bin has the
    outlier.
    """
    values = [50.0 * 10 ** (step / 99) for step in range(100)]
    chart = parsed(charts.histograms([Series("one", [*values, 20_000.0])], "x", "t"))
    assert "x (last bin: " in " ".join(text.text for text in chart.iter("text"))
    assert of_class(chart, "tick")[-1].text in ("400", "500")
    (label,) = [text.text for text in chart.iter("text") if "last bin" in text.text]
    assert label == "x (last bin: 480 and more)"
    chart = parsed(charts.histograms([Series("one", values)], "x", "t"))
    assert not any("last bin" in text.text for text in chart.iter("text"))


def heights(chart):
    """The heights of the bins of a histogram with one series, from the path of its outline."""
    (outline,) = of_class(chart, "area")
    corners = points(outline)
    assert corners[0][1] == corners[-1][1]
    return [corners[0][1] - y for _, y in corners[1:-1:2]]


@pytest.mark.parametrize(("most", "bins"), [(40, 40), (41, 40), (79, 40), (12, 40), (30, 7)])
def test_a_histogram_of_whole_numbers_has_no_gaps(most, bins):
    """Each of 1 to ``most`` once: bins are equally high; only the last may hold fewer."""
    drawn = heights(
        parsed(
            charts.histograms(
                [Series("one", [float(n) for n in range(1, most + 1)])], "x", "t", bins
            )
        )
    )
    assert len(drawn) <= bins and len(set(drawn[:-1])) == 1 and 0 < drawn[-1] <= drawn[0]


def test_dots_at_one_position_are_one_dot_of_their_number():
    points = np.array([0.0, 0.0, 0.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.0, 1.0, 2.0])
    drawn = parsed(charts.scatter((np.zeros(0),) * 2, points, ("a", "b"), "t"))
    four, single = drawn.iter("circle")
    assert (
        float(four.get("r")) == 2 * float(single.get("r"))
        and four[0].text == "4 points"
        and not len(single)
    )


def test_systems_of_one_colour_have_other_shapes():
    rows = parsed(Chart([""], [Series(str(n), [float(n)]) for n in range(20)], rows=True))
    dots = of_class(rows, "dot")
    shapes = {(dot.tag.split("}")[-1], len((dot.get("points") or "").split())) for dot in dots}
    assert len(dots) == 20 and shapes == {("circle", 0), ("polyline", 5)}
    squares, diamonds = ({dot.get("class") for dot in dots[a:b]} for a, b in ((7, 14), (14, 20)))
    assert squares >= diamonds
    widths = [max(x for x, _ in points(dot)) - min(x for x, _ in points(dot)) for dot in dots[7:]]
    assert len(set(map(round, widths))) == 2


def test_twenty_systems_differ_in_colour_or_dashes():
    drawn = parsed(Chart(["1", "2"], [Series(str(n), [0.1, 0.2]) for n in range(20)]))
    assert (
        len({(line.get("class"), line.get("stroke-dasharray")) for line in of_class(drawn, "line")})
        == 20
    )


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0], [float("nan"), 1.0]])
def test_few_values_are_drawn(values):
    assert parsed(charts.histograms([Series("one", values)], "x", "t")) is not None


def test_curves_keep_their_names_apart():
    for last in (0.0, 0.5, 1.0):  # wherever they end, within the chart
        chart = parsed(Chart(["1", "2"], [Series(str(number), [0.2, last]) for number in range(5)]))
        ends = [float(text.get("y")) for text in of_class(chart, "name")]
        assert all(after - before >= 13 for before, after in itertools.pairwise(ends))
        assert ends[0] >= 20 and ends[-1] <= 215


def test_a_scatter_says_what_its_edges_are():
    behind = np.array([0.0, 1.0]), np.array([10.0, 30.0])
    chart = parsed(
        charts.scatter(behind, (np.array([0.5]), np.array([20.0])), ("degree", "rmi"), "t")
    )
    (plot,) = of_class(chart, "plot")
    assert plot.get("data-x") == "0.0 1.0" and plot.get("data-y") == "10.0 30.0"
    (dot,) = list(chart.iter("circle"))
    x, width = float(plot.get("x")), float(plot.get("width"))
    assert float(dot.get("cx")) == pytest.approx(x + width / 2)
    assert len(of_class(chart, "cell")) == 2


def test_intervals():
    series = [
        Series("one", [10.0], [8.0], [12.0], [(9.0, 11.0)]),
        Series("a name that is much too long for it", [NAN]),
    ]
    chart = parsed(Chart([""], series, "t", "BLEU", rows=True))
    titles = [title.text for title in chart.iter("title")]
    assert titles == [
        "one: 10.00, 95%: 8.00 to 12.00; runs: 9.00, 11.00",
        "a name that is much too long for it",
    ]
    texts = [text.text for text in chart.iter("text")]
    assert "10.0" in texts and "a name t…ng for it" in texts
    (low, high), runs = (
        points(of_class(chart, "interval")[0]),
        [float(run.get("cx")) for run in of_class(chart, "run")],
    )
    assert chart.get("viewBox") == "0 0 340 86"
    assert len(of_class(chart, "end")) == 2
    assert low[0] < runs[0] < float(of_class(chart, "dot")[0].get("cx")) < runs[1] < high[0]


def test_differences_have_zero_signs_and_stars():
    series = [Series("a", [-2.0], [-3.0], [-1.0], note="*"), Series("b", [1.5], [-0.5], [3.5])]
    chart = parsed(Chart([""], series, "t", "BLEU", rows=True, signed=True))
    assert [text.text for text in of_class(chart, "value")] == ["\N{MINUS SIGN}2.0*", "+1.5"]
    ((zero, _), _), (_, (high, _)), ((low, _), _) = map(
        points, of_class(chart, "median") + of_class(chart, "interval")
    )
    assert high < zero and low < zero < points(of_class(chart, "interval")[1])[1][0]


def test_a_dumbbell_goes_from_the_first_value_to_the_last():
    series = [
        Series("a", [20.0, 35.0], [NAN, 28.0], [NAN, 42.0], note=" (+15.0*)"),
        Series("b", [30.0, NAN]),
    ]
    chart = parsed(Chart(["predicted", "error"], series, rows=True))
    (joined,), (bar,) = of_class(chart, "line"), of_class(chart, "interval")
    start, lone = of_class(chart, "start")
    (begin, y), (end, _) = points(joined)
    assert (start.get("cx"), start.get("cy")) == (f"{begin:g}", f"{y:g}") and start[
        0
    ].text == "a, predicted: 20.00"
    (low, _), (high, _) = points(bar)
    assert begin < low < end < high and float(lone.get("cx")) > begin
    assert [text.text for text in of_class(chart, "value")] == ["35.0 (+15.0*)", "\N{EN DASH}"]


def test_names_that_are_cut_stay_different():
    names = [
        "transformer-base-seed-1",
        "transformer-base-seed-2",
        "short",
        *["x" * 20 + "middle" + "y" * 20] * 2,
    ]
    short = short_names(names)
    assert len(set(short)) == len(names) and short[2] == "short" and short[0].endswith("e-seed-1")


def test_points_of_few_examples_are_hollow_in_their_colour_and_not_joined():
    series = Series("one", [30.0, 20.0, 10.0], [29.0, 19.0, 9.0], [31.0, 21.0, 11.0])
    drawn = parsed(Chart(["a", "b", "c"], [series], counts=(9, 4, 5)))
    assert [dot.get("class") for dot in drawn.iter("circle")] == [
        "dot c0",
        "dot c0 few",
        "dot c0",
    ]
    (line,) = of_class(drawn, "line")
    assert len(points(line)) == 2


def test_bins_are_next_to_each_other():
    one = Series("one", [30.0, 20.0], [29.0, 19.0], [31.0, 21.0])
    other = Series("other", [25.0, NAN])
    drawn = parsed(Chart(["< 5", ">= 5"], [one, other], "t", "BLEU", "length, words", (1200, 7)))
    texts = [text.text for text in drawn.iter("text")]
    assert {"< 5", "(1,200)", ">= 5", "(7)", "length, words", "BLEU", "one", "other"} <= set(texts)
    (line,) = of_class(drawn, "line")
    (x1, y1), (x2, y2) = points(line)
    assert x1 < x2 and y1 < y2
    dots = [float(dot.get("cx")) for dot in of_class(drawn, "dot")]
    assert drawn.get("viewBox") == "0 0 340 263"
    assert dots[:2] == [x1, x2] and x1 < dots[2] < x2 and len(of_class(drawn, "interval")) == 2
    six = Series("one", [30.0, 20.0, 10.0, 1.0, 2.0, 3.0])
    long = charts.draw(Chart(["a very long name of a bin"] * 6, [six], joined=False))
    assert (
        "rotate" in str(long)
        and 'class="line' not in str(long)
        and "a very l… of a bin" in str(long)
    )
    counted = charts.draw(Chart(["a very long name of a bin"] * 6, [six], counts=[7] * 6))
    assert str(counted).count("a very l… of a bin (7)") == 6


def test_two_systems_have_one_scale():
    chart = parsed(
        charts.scatter(
            (np.zeros(0),) * 2,
            (np.array([0.0, 4.0]), np.array([1.0, 9.0])),
            ("a", "b"),
            "t",
            pair="1 0",
        )
    )
    (plot,) = of_class(chart, "plot")
    assert plot.get("data-x") == plot.get("data-y") == "0.0 9.0" and plot.get("data-pair") == "1 0"
    assert len(list(chart.iter("circle"))) == 2
    texts = [(text.get("text-anchor"), text.text) for text in of_class(chart, "tick")]
    across, up = ([text for anchor, text in texts if anchor == end] for end in ("middle", "end"))
    assert across == up == ["0", "2", "4", "6", "8"]


def test_shades():
    found = [charts.shade(value) for value in (-1, -0.05, 0, 0.3, 1, None)]
    assert found == ["n5", "z", "z", "p2", "p5", ""]
