"""A form of output: ``cgbench score bleu --format csv``."""

import csv
import io

from cgbench.benchmark.score.forms.rows import LONG


def as_csv(evaluation, width, reasons):
    """The long table as CSV."""
    text = io.StringIO()
    csv.writer(text).writerows([LONG, *(row.cells() for row in evaluation.rows())])
    return text.getvalue()
