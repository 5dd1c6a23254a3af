"""Metrics of users: a class or an object, options with the types of their defaults, and arrays of
the wrong shape.
"""

import numpy as np
import pandas as pd
import pytest

import cgbench

TEXTS = [f"a b {number}" for number in range(8)]


class Share(cgbench.Metric):
    """Share of the hypotheses that equal their reference."""

    name = "share"

    def __init__(self, references, *, fold=True, power=1, word="x"):
        super().__init__(references)
        assert isinstance(fold, bool) and isinstance(power, int) and isinstance(word, str)

    def statistics(self, hypotheses):
        pairs = zip(hypotheses, self.references, strict=True)
        return np.array([[float(text in references), 1.0] for text, references in pairs])


class OneColumn(Share):
    def statistics(self, hypotheses):
        return np.ones(len(hypotheses))


class Ragged(Share):
    def statistics(self, hypotheses):
        return [[1.0], [1.0, 2.0]]


class OneRowLess(Share):
    def statistics(self, hypotheses):
        return np.ones((len(hypotheses) - 1, 2))


class NotFinite(Share):
    """Its third example has statistics that are no numbers."""

    def __init__(self, references, *, value=np.nan, counts=True):
        super().__init__(references)
        self.value, self.counts = value, counts

    def statistics(self, hypotheses):
        rows = super().statistics(hypotheses)
        rows[2, 0] = self.value
        return rows

    def counted(self, rows):
        return rows if self.counts else rows[rows != 2]


def test_a_class_and_its_object_score_the_same():
    outputs = {"right": TEXTS, "wrong": TEXTS[::-1]}
    by_class = cgbench.evaluate(Share, outputs, TEXTS, paired=True)
    by_object = cgbench.evaluate(Share([[text] for text in TEXTS]), outputs, paired=True)
    assert str(by_class) == str(by_object)
    assert by_class.to_pandas()["value"].tolist() == [100.0, 0.0]


def test_an_option_has_the_type_of_its_default():
    result = cgbench.evaluate(Share, TEXTS, TEXTS, fold="False", power="3", word="4")
    assert "fold:no|power:3|word:4" in str(result)
    with pytest.raises(cgbench.InputError, match=r"fold='maybe': it must be true or false"):
        cgbench.evaluate(Share, TEXTS, TEXTS, fold="maybe")


@pytest.mark.parametrize("metric", [OneColumn, Ragged, OneRowLess])
def test_statistics_of_another_shape(metric):
    with pytest.raises(cgbench.InputError, match="a row of numbers for each of the 8 examples"):
        cgbench.evaluate(metric, TEXTS, TEXTS)


@pytest.mark.parametrize(("value", "shown"), [(np.nan, "nan"), (-np.inf, "-inf")])
def test_statistics_that_are_not_finite(value, shown):
    metric = NotFinite([[text] for text in TEXTS], value=value)
    message = (
        rf"^share: statistics\(\) returned \[{shown}, 1.0\] for example 3; it must return finite"
    )
    with pytest.raises(cgbench.InputError, match=message):
        cgbench.evaluate(metric, TEXTS)
    metric = NotFinite([[text] for text in TEXTS], value=value, counts=False)
    assert cgbench.evaluate(metric, TEXTS).score == 100  # an example that does not count


def test_a_class_that_cannot_score():
    with pytest.raises(cgbench.InputError, match="it must be the name of a metric"):
        cgbench.evaluate(cgbench.Metric, TEXTS, TEXTS)


def test_the_columns_of_a_data_frame_are_systems():
    frame = pd.DataFrame({"one": TEXTS, "two": ["c"] * 8})
    table = cgbench.evaluate("exact", frame, TEXTS).to_pandas()
    assert table[["system", "value"]].values.tolist() == [["one", 100.0], ["two", 0.0]]
    assert str(cgbench.chrf(frame, TEXTS)) == str(cgbench.chrf(frame.to_dict("list"), TEXTS))
