"""The text of a table of a release, a side at a time."""

import pyarrow
import pytest

from cgbench.benchmark.release.data_tables import TRANSLATION, sides_of
from cgbench.errors import InputError

ROWS = [{"de": "ein Hund", "en": "a dog"}, {"de": "", "en": "b"}]


def test_sides_of_a_table():
    table = pyarrow.concat_tables([pyarrow.table({TRANSLATION: ROWS})] * 2)  # in two chunks
    assert sides_of(table, ("de", "en")) == (["ein Hund", ""] * 2, ["a dog", "b"] * 2)
    assert sides_of(table, ("en", "de"))[0] == ["a dog", "b"] * 2
    assert sides_of(pyarrow.table({"degree": [1.0]}), ("de", "en")) == ()


@pytest.mark.parametrize("rows", [["text"], [*ROWS, None], [{"de": "a", "fr": "b"}], [1]])
def test_other_text_is_refused(rows):
    with pytest.raises(InputError, match="does not hold de and en"):
        sides_of(pyarrow.table({TRANSLATION: rows}), ("de", "en"))
