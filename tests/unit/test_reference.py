"""The reference pages that are made from the code are current."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs/hooks/tables.py"


def _script():
    spec = importlib.util.spec_from_file_location("reference_tables", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", _script().PAGES)
def test_a_page_is_what_the_code_says(name):
    page = (SCRIPT.parents[1] / name).read_text(encoding="utf-8")
    assert _script().written(page) == page, "run: python docs/hooks/tables.py"
    assert "<!-- end -->" in page and _script().written(page.replace("Default", "Value", 1)) == page
