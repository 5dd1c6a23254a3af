"""The form of hypotheses is compared once per call for several metrics, and not again in the next
call."""

import random

import pytest

import cgbench
from cgbench import InputError
from cgbench.benchmark.score.evaluation import hypothesis_checks

WORDS = [
    "the",
    "small",
    "dog",
    "saw",
    "a",
    "big",
    "cat",
    "near",
    "our",
    "house",
    "and",
    "ran",
    "to",
]
RANDOM = random.Random(1)
REFERENCES = [" ".join(RANDOM.choices(WORDS, k=RANDOM.randrange(5, 12))) for _ in range(600)]
HYPOTHESES = [text.replace("small dog", "dog small") for text in REFERENCES]


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """The names of the checks that ran, with a cache of its own."""
    monkeypatch.setenv("CGBENCH_CACHE", str(tmp_path))
    names = []
    for name in ("order_problems", "damages"):
        check = getattr(hypothesis_checks, name)

        def counting(*texts, check=check, name=name, **options):
            names.append(name)
            return check(*texts, **options)

        monkeypatch.setattr(hypothesis_checks, name, counting)
    return names


def test_a_second_call_compares_no_forms(calls):
    for _ in range(2):
        cgbench.evaluate(["bleu", "chrf"], HYPOTHESES, REFERENCES)
        assert calls == ["damages", "order_problems", "damages"]
    changed = [*HYPOTHESES[:-1], HYPOTHESES[-1] + "s"]
    cgbench.evaluate("bleu", changed, REFERENCES)
    assert calls[3:] == ["damages", "order_problems"]


def test_a_problem_that_is_kept_stops_again(calls):
    messages = []
    for _ in range(2):
        with pytest.raises(InputError) as error:
            cgbench.evaluate("bleu", HYPOTHESES[1:] + HYPOTHESES[:1], REFERENCES)
        messages.append(str(error.value))
    assert messages[0] == messages[1] and "order" in messages[0]
    assert calls == ["damages", "order_problems"]
