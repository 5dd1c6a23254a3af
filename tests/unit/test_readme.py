"""What README counts is what there is."""

import re
from pathlib import Path

from cgbench.benchmark.metrics.published import all_published
from cgbench.models.config.presets import list_presets
from cgbench.reproduction.tables import all_tables

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_counts():
    def said(words):
        (number,) = re.findall(rf"(\d+) {words}", README)
        return int(number)

    tables = all_tables().values()
    assert said("presets with the settings") == len(list_presets())
    assert said("published figures") == len(all_published())
    assert said("of the five papers' tables") == sum(table.runs for table in tables)
