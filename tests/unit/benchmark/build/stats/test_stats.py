"""``stats()``: texts in files and in memory, and what it gives."""

import pytest
from option_names import shown_by

from cgbench.benchmark.build.stats.request import StatsRequest
from cgbench.benchmark.build.stats.stats import stats
from cgbench.errors import InputError

TRAIN = ["a b c", "a b d", "a b c d"]
TEST = ["a b d c", "c a"]


@pytest.fixture
def files(tmp_path):
    for name, lines in (("train.x", TRAIN), ("test.x", TEST), ("train.y", TEST + TEST[:1])):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path


def test_files_and_lists_are_the_same(files):
    from_lists = stats(TRAIN, {"test": TEST}, min_count=2).to_json()[0]
    for train in (files / "train.x", str(files / "train.x"), iter(TRAIN)):
        found = stats(train, {"test": files / "test.x"}, min_count=2).to_json()[0]
        assert {**found, "train": ""} == {**from_lists, "train": ""}
    assert from_lists["novel_words"] == {"2": 2, "3": 1}  # d c, c a; b d c


def test_a_corpus_is_a_tuple_of_two(files):
    found = stats(
        (files / "train.x", files / "train.y"), (files / "train.x", files / "train.y"), side="both"
    )
    assert [row.name for row in found.rows] == ["train.x source", "train.x target"]


def test_several_tests_as_a_frame(files):
    pytest.importorskip("pandas")
    table = stats(TRAIN, {"one": TEST, "two": TRAIN}, min_count=2).to_pandas()
    assert list(table["name"]) == ["one", "two"]
    assert list(table["word 2"]) == [2, 0]
    assert list(table["word 2 share"]) == [0.5, 0]
    assert list(table["examples"]) == [2, 3]


def test_html_is_escaped():
    found = stats(TRAIN, {"<b>": TEST})
    assert "<b>" not in found._repr_html_()
    assert "&lt;b&gt;" in found._repr_html_()
    assert repr(found).startswith("test  examples")
    assert r"\begin{tabular}" in found.to_latex()


@pytest.mark.parametrize(
    ("given", "message", "shown"),
    [
        ({"tests": None}, "train and tests", "--train and --test (or --release)"),
        (
            {"tags": "upos"},
            "tags='upos' needs pos='conllu:FILES'",
            "--set tags=upos needs --pos conllu:FILES",
        ),
        (
            {"side": "target"},
            "test: is a single text; leave side='target' out",
            "leave --side target out",
        ),
        ({"tests": [3]}, "test, row 1: 3 is not a string", "is not a string"),
        ({"tests": ["a", " "]}, "test, row 2: an empty sentence", "row 2"),
        (
            {"release": "x"},
            "tests: the release sets this itself",
            "--test: the release sets this itself",
        ),
    ],
)
def test_bad_input(given, message, shown):
    with pytest.raises(InputError) as caught:
        stats(**{"train": TRAIN, "tests": TEST, **given})
    assert message in str(caught.value)
    assert shown in shown_by(StatsRequest, caught.value.message)


def test_divergence_with_the_other_statistics(tmp_path):
    found = stats(["a b", "b a"], {"one": ["a b"], "two": ["a d"]}, divergence="words")
    text = repr(found)
    assert "compound" in text and "div:words:2+specific" in text
    for number, content in enumerate(
        ("x\tred\ty\tred y\n" * 2, "x\tred\ty\tred y\n", "x\tblue\ty\tblue y\n")
    ):
        (tmp_path / f"{number}.tsv").write_text(content)
    files = ",".join(str(tmp_path / f"{number}.tsv") for number in range(3))
    rows = stats(["a b", "b a"], {"one": ["a b"], "two": ["a d"]}, divergence=f"table:{files}").rows
    assert [row.divergence.compound for row in rows] == [0.0, 1.0]
    assert rows[1].divergence.lone_atoms == ("blue",)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"divergence": "wrods"}, "did you mean words"),
        ({"divergence": "table:one"}, "needs a file for the training text and one per test text"),
        ({"weights": "count"}, "needs --divergence"),
        ({"divergence": "table:one,two", "side": "both"}, "its files belong to one side"),
    ],
)
def test_divergences_that_cannot_be(given, message):
    with pytest.raises(InputError) as error:
        stats(["a b"], {"one": ["a b"]}, **given)
    assert message in shown_by(StatsRequest, error.value.message)
