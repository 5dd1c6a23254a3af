"""A reader of scores: ``cgbench score import --scores mine=mine.percent``."""

from cgbench.benchmark.score.outputs.score_files import ScoreColumn
from cgbench.text.streams import read_lines


def percent_lines(path, field, options):
    """Lines such as `12.5 %`."""
    values = [line.removesuffix("%").strip() for line in read_lines(path)]
    return {"": [ScoreColumn(str(path), values)]}
