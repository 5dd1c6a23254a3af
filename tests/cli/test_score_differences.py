"""``--differences`` in text and on the page, also of scores from elsewhere."""

import pytest


@pytest.fixture
def texts(tmp_path):
    lines = [f"the {'red' if row % 2 else 'old'} dog saw number {row % 5}" for row in range(40)]
    for name, said in (
        ("ref", lines),
        ("a", lines),
        ("b", [line.replace("red", "read") for line in lines]),
    ):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in said))
    (tmp_path / "train").write_text("the dog saw number red\n")
    for name in ("a", "b"):
        right = (tmp_path / name).read_text().splitlines()
        (tmp_path / f"{name}.score").write_text(
            "".join(f"{int(one == line)}\n" for one, line in zip(right, lines, strict=True))
        )
    return tmp_path


def test_text_and_page(texts, run):
    words = [
        "score",
        "exact",
        "--ref",
        texts / "ref",
        "--hyp",
        texts / "a",
        "--hyp",
        texts / "b",
        "--differences",
    ]
    words += ["--train", texts / "train", "--output", texts / "page.html"]
    text = run(*words).stdout
    assert "n-grams differ in these outputs (false discovery rate 0.05)" in text
    assert "F1 of words, by count in training" in text
    # A block for each of the examples that differ most, not a row of two long texts.
    _, _, blocks = text.partition("largest differences: b and a\n\n")
    first, *_ = blocks.split("\n\n")
    assert first.splitlines() == [
        "row 2: b 0.0, a 100.0",
        "  b  the read dog saw number 1",
        "  a  the red dog saw number 1",
    ]
    page = (texts / "page.html").read_text()
    assert "Where systems differ" in page
    assert "F1 of words in percent, by training count" in page


def test_scores_from_elsewhere_have_n_grams_where_the_texts_are_given(texts, run):
    words = [
        "score",
        "import",
        "--scores",
        f"a={texts / 'a.score'}",
        "--scores",
        f"b={texts / 'b.score'}",
    ]
    words += ["--ref", texts / "ref", "--differences"]
    assert "n-grams differ" not in run(*words).stdout
    assert (
        "n-grams differ"
        in run(*words, "--hyp", f"a={texts / 'a'}", "--hyp", f"b={texts / 'b'}").stdout
    )


def test_one_system(texts, run):
    words = ["score", "exact", "--ref", texts / "ref", "--hyp", texts / "a", "--differences"]
    assert "--differences compares systems; give a second --hyp" in run(*words, status=2).stderr
