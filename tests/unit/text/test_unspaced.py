import pytest

from cgbench.text.profile import is_unspaced, profile


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["他的女儿昨天没有来上学。", "我们明天去北京看朋友。"], True),
        (["彼女は昨日学校に来ませんでした。"], True),
        (["เขาไม่ได้มาโรงเรียนเมื่อวานนี้"], True),
        (["他 的 女儿 昨天 没有 来 上学 。"], False),  # words
        (["เขา ไม่ ได้ มา โรงเรียน เมื่อวาน นี้"], False),
        ([" ".join("他的女儿昨天没有来上学。")], False),  # characters
        (["jump", "walk_twice_and_look_opposite_right"], False),  # one long word a line, but of letters
        (["he said 他的女儿昨天没有来上学 , which is long for a quotation in English"], False),
        ([], False),
        (["", " "], False),
    ],
)
def test_is_unspaced(lines, expected):
    assert is_unspaced(lines) is expected
    many = profile(lines * 20)  # what is looked at before a build asks the same
    assert (many.unspaced is not None) is expected
    assert profile(lines).unspaced is None
