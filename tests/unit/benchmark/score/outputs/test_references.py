"""References that are absent or turned, and arguments that are no texts."""

import pytest

from cgbench.benchmark.score.evaluation.evaluate import evaluate
from cgbench.benchmark.score.imported.import_scores import import_scores
from cgbench.errors import InputError

FIRST = ["the cat sat on the mat .", "a dog ran in the park today ."]
SECOND = ["the cat was on a mat .", ""]


def test_a_blank_line_of_a_second_reference_is_absent(tmp_path):
    (tmp_path / "a").write_text("\n".join(FIRST) + "\n")
    (tmp_path / "b").write_text("\n".join(SECOND) + "\n")
    outputs = [FIRST[0], ""]  # an empty translation equals a blank reference
    options = {"accept_text": True}
    with pytest.warns(UserWarning, match="1 blank line of .* count as absent references"):
        both = evaluate("ter", outputs, [tmp_path / "a", tmp_path / "b"], **options)
    alone = evaluate("ter", outputs, [[FIRST[0], SECOND[0]], [FIRST[1]]], **options)
    with_none = evaluate("ter", outputs, [[FIRST[0], SECOND[0]], [FIRST[1], None]], **options)
    assert both.score == alone.score == with_none.score > 20


@pytest.mark.parametrize("n", [2, 3])
def test_the_orientation_of_sacrebleu_is_told(n):
    lines = [*FIRST, "one more line of text"][:n]
    streams = [lines, [line.replace("the", "one") for line in lines], lines][:2]
    outputs = [line.replace("park", "wood") for line in lines]
    right = evaluate("bleu", outputs, list(zip(*streams, strict=True)))
    assert right.score > 50
    with pytest.raises(InputError, match=r"as in sacrebleu; give one list per example: list\(zip"):
        evaluate("bleu", outputs, streams)
    with pytest.raises(InputError, match="give one list per example .not one per text"):
        evaluate("bleu", outputs, [["a"]] * (n + 2))


@pytest.mark.parametrize("value", [5, {"a": 1}, [None, "x"], [1, 2], 2j, [["x"], None]])
def test_what_is_no_text_is_an_input_error(value):
    with pytest.raises(InputError):
        evaluate("exact", value, FIRST)
    with pytest.raises(InputError):
        evaluate("exact", FIRST, value)


@pytest.mark.parametrize("value", [5, {"x": 1}, [None, 1.0], [1j, 2j], 2j, [[1.0], None]])
def test_what_is_no_score_is_an_input_error(value):
    with pytest.raises(InputError):
        import_scores({"a": value})
