"""Every form of output shows the same numbers and the same marks: evaluations are generated, their
outputs are read back, and each number is compared with the result.
"""

import math
import re
from dataclasses import dataclass

import pytest
from evaluations import Generated
from printed_forms import Page, latex_tables, markdown_tables, text_tables

from cgbench.report.page import NONE
from cgbench.report.score_page import score_page

EVALUATIONS = 300
IN_SHORT = 24
COLUMNS = {  # of printed tables: the columns of the long table that they show
    "stdev": ("stdev",),
    "95% interval": ("ci_low", "ci_high"),
    "Δ": ("difference",),
    "95% of Δ": ("difference_low", "difference_high"),
    "p": ("p_value",),
    "p (Holm)": ("p_holm",),
    "p (calibrated)": ("p_calibrated_holm",),
}


def mark_of(row):
    """The stars of a row, from its p-values."""
    p = row.p_holm if row.p_calibrated is None else row.p_calibrated_holm
    return "" if p is None or p >= 0.05 else "*" if p >= 0.01 else "**"


def check_number(text, value, signed=False):
    """A printed number is the value, rounded, with the value's sign."""
    if value is None:
        assert text in ("", "-", NONE), text
        return
    match = re.fullmatch(r"([+-]?)(\d+)(?:\.(\d+))?", text)
    assert match, (text, value)
    half = 0.5 * 10.0 ** -len(match[3] or "")
    assert abs(float(text) - value) <= half * (1 + 1e-9) + 1e-12 * abs(value), (text, value)
    if signed:
        assert match[1] == ("" if value == 0 else "+" if value > 0 else "-"), (text, value)
    else:
        assert match[1] == ("-" if float(text) < 0 else ""), (text, value)


def check_interval(text, low, high, signed=False):
    if low is None or high is None:
        assert text == "", text
        return
    ends = text.split(" to ")
    check_number(ends[0], low, signed)
    check_number(ends[1], high, signed)


def check_p(text, value):
    if value is None:
        assert text == "", text
    elif text.startswith("< "):
        assert value < float(text[2:])
    else:
        assert abs(float(text) - value) <= 0.5 * 10.0 ** -len(text.partition(".")[2]) * (1 + 1e-9)
        assert all((value < level) == (float(text) < level) for level in (0.05, 0.01)), text


def check_cell(head, text, row):
    """A cell of a printed table, in the column with this head."""
    values = [getattr(row, name) for name in COLUMNS[head]]
    if head == "Δ":
        if row.system == row.baseline:
            assert text == "baseline"
            return
        number, stars = re.fullmatch(r"([^*]*)(\**)", text).groups()
        check_number(number, row.difference, signed=True)
        assert stars == mark_of(row), (text, row)
    elif head.startswith("p"):
        check_p(text, *values)
    elif head == "stdev":
        check_number(text, *values) if values[0] is not None else check_number(text, None)
    else:
        check_interval(text, *values, signed=head == "95% of Δ")


@dataclass
class Expected:
    """The rows of an evaluation, by what they are of."""

    rows: list
    metric: object

    def find(self, analysis, **values):
        (row,) = [
            row
            for row in self.rows
            if row.analysis == analysis
            and all(getattr(row, name) == value for name, value in values.items())
        ]
        return row

    def columns(self, heads):
        """The score of each column, and whether it is the column of the score itself."""
        labels = {self.metric.label(figure): figure for figure in self.metric.figures}
        figure = None
        for head in heads:
            figure = labels.get(head, figure)
            yield head, figure, head in labels


def check_scores(expected, heads, cells, row_of, *, best_is_shown):
    """The cells of a line with a score and its columns."""
    shown = set()
    for (head, figure, is_score), text in zip(expected.columns(heads), cells, strict=True):
        row = row_of(figure)
        if is_score:
            if best_is_shown:
                assert text.endswith(" ★") == bool(row.is_best), (text, row)
            check_number(text.removesuffix(" ★"), row.value)
        else:
            check_cell(head, text, row)
        shown.add((figure, head))
    # Nothing is left out that is known, but for p-values that Holm's method does not change.
    for figure in {figure for figure, _ in shown}:
        row = row_of(figure)
        for head, names in COLUMNS.items():
            if (figure, head) in shown:
                continue
            values = [getattr(row, name) for name in names]
            if head == "p (Holm)":
                looks_equal = values == [None] or f"{values[0]:.4f}" == f"{row.p_value:.4f}"
                assert looks_equal, row  # the column is left out
            elif head != "Δ" or row.system != row.baseline:
                assert None in values, (head, row)


def check_tables(tables, expected, by, *, best_is_shown):
    """The printed tables of an evaluation; returns which of them there were."""
    kinds = set()
    for table in tables:
        head = table.head
        if head[0] == "system" and "n" in head:
            kinds.add("systems")
            at = next(place for place, _, is_score in numbered(expected.columns(head)) if is_score)
            for line in table.rows:
                values = dict(zip(head[:at], line[:at], strict=True))
                check_scores(
                    expected,
                    head[at:],
                    line[at:],
                    lambda figure, system=values["system"]: expected.find(
                        "scores", figure=figure, system=system
                    ),
                    best_is_shown=best_is_shown,
                )
        elif head[0] == by and "system" in head:
            kinds.add("bins")
            bin_ = ""
            for line in table.rows:
                bin_ = line[0] or bin_
                check_scores(
                    expected,
                    head[3:],
                    line[3:],
                    lambda figure, bin_=bin_, system=line[2]: expected.find(
                        "bins", figure=figure, system=system, bin=bin_
                    ),
                    best_is_shown=False,
                )
        elif head[0].endswith(": all pairs"):
            kinds.add("pairs")
            label = head[0].removesuffix(": all pairs")
            figure = next(
                name for name in expected.metric.figures if expected.metric.label(name) == label
            )
            bins = by in head
            for line in table.rows:
                row = expected.find(
                    "pairs",
                    figure=figure,
                    system=line[0],
                    baseline=line[1],
                    bin=(line[2] or None) if bins else None,
                )
                for name, text in zip(head[2 + bins :], line[2 + bins :], strict=True):
                    check_cell(name, text, row)
        elif head[0] == "control to test":
            kinds.add("drop")
            for line in table.rows:
                values = dict(zip(head, line, strict=True))
                row = expected.find("drop", system=values["system"], bin="drop")
                control = expected.find("drop", system=values["system"], bin="control")
                check_number(values.pop("control"), control.value)
                check_number(values.pop("drop"), row.value)
                for name in ("95% interval", "Δ", "95% of Δ", "p", "p (Holm)"):
                    if name in values:
                        check_cell(name, values[name], row)
        elif head[:2] == [by, "all"]:
            kinds.add("bins")
            for line in table.rows[1:]:
                for label, text in zip(head[1:], line[1:], strict=True):
                    analysis = "scores" if label == "all" else "bins"
                    found = {"bin": label} if analysis == "bins" else {}
                    row = expected.find(analysis, system=line[0], **found)
                    check_latex_score(text, row)
    return kinds


def check_latex_score(text, row):
    """``39.9 ± 0.5** ★``: a score in a column per bin."""
    match = re.fullmatch(r"(-|-?[\d.]+)( ★)?(?: ± ([\d.]+))?(\**)( ★)?", text)
    assert match, text
    check_number(match[1], row.value)
    assert bool(match[2] or match[5]) == bool(row.is_best), (text, row)
    if row.stdev is not None:
        check_number(match[3], row.stdev)
    assert match[4] == mark_of(row)


def numbered(columns):
    return [(place, head, is_score) for place, (head, _, is_score) in enumerate(columns)]


def check_json(values, expected, by):
    """The values of JSON are those of the rows, to twelve digits, with their marks."""
    for value in values:
        system = value["system"]
        parts = [({}, value), *(({"bin": of["label"]}, of) for of in value["bins"])]
        for where, part in parts:
            figures = part.get("figures", {expected.metric.figures[0]: part})
            for figure, score in figures.items():
                row = expected.find(
                    "bins" if where else "scores", figure=figure, system=system, **where
                )
                check_values(score, row)
                for pair in score.get("pairs", ()):
                    other = expected.find(
                        "pairs",
                        figure=figure,
                        system=system,
                        baseline=pair["against"],
                        bin=where.get("bin"),
                    )
                    check_values(pair, other)


def check_values(score, row):
    assert score["mark"] == mark_of(row)
    for name in (
        "value",
        "stdev",
        "is_best",
        *(name for names in COLUMNS.values() for name in names),
    ):
        if name in score and not (name == "value" and row.analysis == "pairs"):
            truth = getattr(row, name)
            if isinstance(truth, float):
                assert math.isclose(score[name], truth, rel_tol=1e-11)
            else:
                assert score[name] == truth


def check_long(table, expected):
    """The rows of TSV or pandas."""
    for cells, row in zip(table, expected.rows, strict=True):
        assert cells["mark"] == mark_of(row)
        assert cells["system"] == row.system
        for name in ("value", "stdev", *(name for names in COLUMNS.values() for name in names)):
            truth = getattr(row, name)
            if truth is None:
                assert cells[name] == "" or cells[name] != cells[name]
            else:
                assert math.isclose(float(cells[name]), float(truth), rel_tol=1e-11)


def check_page(page, evaluation, with_intervals, all_pairs, by):
    """The tables and charts of the page; intervals and pairs are there unasked."""
    metric, kinds = evaluation.metric, set()
    for table in page.tables:
        label = next(
            (name for name in metric.figures if table.caption.startswith(metric.axis(name))), None
        )
        labels = {metric.label(figure): figure for figure in metric.figures}
        if not label and table.head[0] == "system" and {*labels} < {*table.head}:
            kinds.add("joint")
            for line in table.rows:
                figure = None
                for head, text in zip(table.head, line, strict=True):
                    figure = labels.get(head, figure)
                    if figure is None:
                        continue  # the system, the seeds
                    row = evaluation.find("scores", figure=figure, system=line[0])
                    wide = with_intervals.find("scores", figure=figure, system=line[0])
                    if head in labels:
                        check_number(text.removesuffix(" ★"), row.value)
                    elif head == "95% interval":
                        check_interval(text.removesuffix(NONE), wide.ci_low, wide.ci_high)
                    else:
                        check_cell(head, text.removesuffix(NONE), row)
        elif label and table.head[0] == "system" and metric.label(label) in table.head:
            kinds.add("systems")
            assert len(table.rows) == len(
                {row.system for row in evaluation.rows if row.analysis == "scores"}
            )
            for line in table.rows:
                cells = dict(zip(table.head, line, strict=True))
                row = evaluation.find("scores", figure=label, system=cells.pop("system"))
                wide = with_intervals.find("scores", figure=label, system=row.system)
                best = row.is_best
                if best is None and all_pairs:
                    best = all_pairs.find("scores", figure=label, system=row.system).is_best
                text = cells.pop(metric.label(label))
                assert text.endswith(" ★") == bool(best), (text, row)
                check_number(text.removesuffix(" ★"), row.value)
                interval = cells.pop("95% interval", "").removesuffix(NONE)
                check_interval(interval, wide.ci_low, wide.ci_high)
                cells.pop("seeds", None)
                for head, cell in cells.items():
                    check_cell(head, cell.removesuffix(NONE), row)
        elif table.caption.startswith("Row minus column"):
            kinds.add("matrix")
            systems = [line[0].partition(". ")[2] for line in table.rows]
            for rank, line in enumerate(table.rows):
                for against, text in zip(table.head[1:], line[1:], strict=True):
                    if against == "tier":
                        continue
                    # Each pair stands once, the better system in the row.
                    assert bool(text) == (int(against) > rank + 1)
                    if not text:
                        continue
                    pair, sign = pair_of(
                        all_pairs, metric.figures[0], systems[rank], systems[int(against) - 1]
                    )
                    number, stars = re.fullmatch(r"([^*]*)(\**)", text).groups()
                    check_number(
                        number, 0.0 if pair.difference == 0 else sign * pair.difference, True
                    )
                    assert stars == mark_of(pair), (text, pair)
    for chart in page.charts:
        figure = next(
            (name for name in metric.figures if chart.label.startswith(metric.axis(name))), None
        )
        if figure is None:
            continue
        if chart.label.endswith(" of each system"):
            kinds.add("chart of systems")
            rows = [
                row
                for row in with_intervals.rows
                if row.analysis == "scores" and row.figure == figure
            ]
            check_chart(
                chart, {row.system: (row.value, row.ci_low, row.ci_high, "") for row in rows}
            )
        elif ": difference from " in chart.label:
            kinds.add("forest")
            rows = [
                row for row in evaluation.rows if row.analysis == "scores" and row.figure == figure
            ]
            check_chart(
                chart,
                {
                    row.system: (
                        row.difference,
                        row.difference_low,
                        row.difference_high,
                        mark_of(row),
                    )
                    for row in rows
                    if row.difference is not None
                },
                signed=True,
            )
        elif f" by {by}" in chart.label:
            kinds.add("breakdown")
            bins = len({row.bin for row in evaluation.rows if row.analysis == "bins"})
            rows = [
                row for row in evaluation.rows if row.analysis == "bins" and row.figure == figure
            ]
            check_chart(
                chart,
                {
                    f"{row.system}, {row.bin}" if bins > 1 else row.system: (
                        row.value,
                        row.ci_low,
                        row.ci_high,
                        "",
                    )
                    for row in rows
                },
            )
    return kinds


def pair_of(all_pairs, figure, system, against):
    for first, second, sign in ((system, against, 1), (against, system, -1)):
        rows = [
            row
            for row in all_pairs.rows
            if (row.analysis, row.figure, row.system, row.baseline, row.bin)
            == ("pairs", figure, first, second, None)
        ]
        if rows:
            return rows[0], sign
    raise AssertionError((system, against))


def check_chart(chart, values, signed=False):
    """What a chart's marks say, and the values beside its rows, with their stars."""
    beside = [text for text in chart.values if text != NONE]
    says = dict(map(split_mark, filter(is_of_value, chart.marks)))
    assert says and (not beside or len(beside) == len(says))
    for place, (name, said) in enumerate(says.items()):
        value, low, high, mark = values[name]
        match = re.fullmatch(r"([-+\d.]+)(\**)(?:, 95%: (.*?))?(?:; runs: .*)?", said)
        assert match, said
        check_number(match[1], value, signed)
        check_interval(match[3] or "", low, high, signed)
        assert match[2] == mark
        if beside:
            number, stars = re.fullmatch(r"([^*]*)(\**)", beside[place]).groups()
            check_number(number, value, signed)
            assert stars == mark, (beside[place], mark)


def is_of_value(text):
    """Whether a title is of a value, and not a name that was cut."""
    return re.search(r": [-+\d.]+\**(, 95%: .*|; runs: .*)?$", text) is not None


def split_mark(text):
    return re.match(r"(.*?): ([-+\d.]+\**(?:, 95%: .*|; runs: .*)?)$", text).groups()


@pytest.mark.parametrize(
    "seed",
    [
        *range(IN_SHORT),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(IN_SHORT, EVALUATIONS)),
    ],
)
def test_all_forms_agree(seed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100000")
    generated = Generated(seed)
    evaluation = generated.made()
    expected = Expected(evaluation.rows(), evaluation.scored.metric)
    by = evaluation.scored.by_title or None
    # Forms with rounded numbers: each table that there is one of has been compared.
    kinds = set()
    if not evaluation.report().startswith(f"{expected.metric.name}|"):
        kinds.add("systems")
    kinds |= {"bins"} if by else set()
    kinds |= {"pairs"} if any(row.analysis == "pairs" for row in expected.rows) else set()
    kinds |= {"drop"} if any(row.analysis == "drop" for row in expected.rows) else set()
    for width in (None, 3):
        text = evaluation.report("text", width)
        assert check_tables(text_tables(text), expected, by, best_is_shown=False) == kinds
        markdown = evaluation.report("markdown", width)
        assert check_tables(
            markdown_tables(markdown), expected, by, best_is_shown=False
        ) == kinds | {"systems"}
        latex = evaluation.report("latex", width)
        assert check_tables(latex_tables(latex), expected, by, best_is_shown=True) == kinds | {
            "systems"
        }
    # Forms with all digits.
    check_json(evaluation.to_json(), expected, by)
    head, *lines = (line.split("\t") for line in evaluation.report("tsv").splitlines())
    check_long([dict(zip(head, line, strict=True)) for line in lines], expected)
    pandas = pytest.importorskip("pandas")
    table = evaluation.to_pandas()
    assert pandas.api.types.is_float_dtype(table["value"])
    check_long(table.to_dict("records"), expected)
    # The page.
    several = len(generated.systems) > 1
    wide = generated.made(confidence=True)
    pairs = generated.made(all_pairs=True) if several else None
    found = check_page(
        Page(score_page(evaluation)),
        expected,
        Expected(wide.rows(), expected.metric),
        Expected(pairs.rows(), expected.metric) if several else None,
        by,
    )
    assert {"systems", "chart of systems"} <= found
    assert ("joint" in found) == (len(expected.metric.figures) > 1)
    assert ("forest" in found) == (evaluation.scored.baseline is not None)
    # The pair of two systems is in the table of systems if one is the baseline.
    is_compared = len(generated.systems) == 2 and evaluation.scored.baseline is not None
    assert ("matrix" in found) == (several and not is_compared)
