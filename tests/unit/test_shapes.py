import pytest

from cgbench.errors import InputError
from cgbench.files import check_shape, file_name

SHAPE = {"a": int, "b?": [str], "c": {file_name: (float, None)}}
RIGHT = {"a": 1, "b": ["x"], "c": {"sub/x": 0.5, "y": None}, "more": object()}


def test_what_fits_passes():
    check_shape(RIGHT, SHAPE, "f", "")
    check_shape({key: RIGHT[key] for key in ("a", "c")}, SHAPE, "f", "")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"a": True}, "a is True"),
        ({"a": 1 << 64}, "a is 18446744073709551616"),
        ({"b": "x"}, "b is 'x'"),
        ({"b": ["x", 1]}, r"b\[1\] is 1"),
        ({"c": {"x": float("nan")}}, "c.x is nan"),
        ({"c": {"../x": 1}}, "c is '../x'"),
        ({"c": []}, r"c is \[\]"),
    ],
)
def test_the_first_field_that_does_not_fit_is_named(changes, said):
    with pytest.raises(InputError, match=rf"^f: {said}, which is not valid; mend it$"):
        check_shape(RIGHT | changes, SHAPE, "f", "mend it")


def test_a_field_that_is_missing_is_named():
    with pytest.raises(InputError, match="f: there is no c; mend it"):
        check_shape({"a": 1}, SHAPE, "f", "mend it")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/../b", "/a", "a\\b", "a\0", "a//b", "./a", 1, None]
)
def test_what_is_no_name_of_a_file_inside(name):
    assert not file_name(name)


def test_names_of_files_inside():
    assert file_name("a") and file_name("a/b.c") and file_name("..a")
