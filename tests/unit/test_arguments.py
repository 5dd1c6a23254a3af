"""Public functions refuse an argument of the wrong kind with one line: its name, what was given,
what is allowed.

The fields of requests are walked in test_requests.py.
"""

import inspect
import math
import warnings

import numpy as np
import pytest

import cgbench
from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.benchmark.score.imported.request import ImportRequest
from cgbench.errors import InputError
from cgbench.models.search_settings import SearchSettings
from cgbench.request import check

TRAIN = ["the cat saw a dog", "a dog ran", "the dog ran"] * 3
TEST = ["the cat ran", "a dog saw the cat", "the dog saw a cat", "a cat ran"]
OTHER = ["the cat ran", "a dog ran", "the dog saw", "a cat ran"]
SYSTEMS = {"mine": TEST, "base": OTHER}
NOT_WHOLE = (1.5, True, math.nan, math.inf, "3", [2])
BELOW_1 = (0, -1, -5, *NOT_WHOLE)
BELOW_0 = (-1, *NOT_WHOLE)
NO_NUMBER = (0, -1, 1.5, True, math.nan, math.inf, "x", [2])  # of requests, which read "3" as 3
NO_TRUTH = ("perhaps", 2, 2.5, [True])


def evaluate(**more):
    values = {"metric": "exact", "systems": SYSTEMS, "references": TEST, **more}
    return cgbench.evaluate(ScoreRequest(**values))


def learn(**more):
    return cgbench.KnownNgrams.learn(TRAIN, **more)


def cter(**more):
    return cgbench.cter(TEST, TEST, TEST, lexicon="none.tsv", **more)


@pytest.fixture
def ensemble():
    torch = pytest.importorskip("torch")
    return cgbench.Ensemble((), None, torch.device("cpu"), 10)


@pytest.fixture
def search(ensemble):
    return lambda **more: ensemble.search([], **more)


@pytest.fixture
def score(ensemble):
    return lambda **more: ensemble.score([], [], **more)


def import_scores(**more):
    values = {"systems": {"mine": [0.5, 1.0], "base": [0.1, 0.2]}, **more}
    return cgbench.import_scores(ImportRequest(**values))


CASES = [
    # function, the argument, what goes with it, values that are refused
    (
        evaluate,
        "bins",
        {"by": "length"},
        (0, -1, 1.5, True, math.nan, "x", "0", [math.nan], ["a"], [3, 2]),
    ),
    (evaluate, "groups", {"by": "length"}, ("table7", 6, True)),
    (evaluate, "baseline", {}, ("nobody", 1)),
    *((metric, "lowercase", {}, NO_TRUTH) for metric in (evaluate, "bleu", cter)),
    *((metric, "preset", {}, ("foo", 1)) for metric in (evaluate, "bleu")),
    *((metric, "tokenize", {}, ("13a",)) for metric in (evaluate, "exact_match", cter)),
    ("bleu", "jobs", {}, NO_NUMBER),
    ("bleu", "tokenise", {}, ("13a",)),
    ("chrf", "word_order", {}, (-1, 1.5, True, math.nan, "x")),
    (cter, "group_size", {}, NO_NUMBER),
    (cter, "keep_blanks", {}, NO_TRUTH),
    (import_scores, "scale", {}, (5, "0", (1, 0), (0, "x"), (0, math.nan))),
    (import_scores, "statistic", {}, ("median", 5, "share:x")),
    (import_scores, "preset", {}, ("sacrebleu",)),
    *((learn, name, {}, BELOW_1) for name in ("min_count", "word_min_count", "jobs")),
    *(("search", name, {}, BELOW_1) for name in ("longest", "batch_tokens")),
    *(("score", name, {}, BELOW_1) for name in ("longest", "batch_tokens")),
    (SearchSettings, "beam", {}, BELOW_1),
    (SearchSettings, "max_length_extra", {}, BELOW_0),
    (SearchSettings, "max_length_ratio", {}, (-0.1, math.nan, math.inf, True, "2")),
    (SearchSettings, "length_penalty", {}, (math.nan, math.inf, True, "1")),
    (SearchSettings, "length_offset", {}, (-0.1, math.nan, math.inf, True, "1")),
]


@pytest.mark.parametrize(
    ("function", "name", "more", "values"),
    CASES,
    ids=[f"{getattr(one[0], '__name__', one[0])}-{one[1]}" for one in CASES],
)
def test_an_argument_of_the_wrong_kind(
    request, function, name, more, values, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    if function in ("bleu", "chrf", "exact_match"):
        which = getattr(cgbench, function)
        call = lambda **given: which(TEST, TEST, **given)  # noqa: E731
    else:
        call = request.getfixturevalue(function) if isinstance(function, str) else function
    for value in values:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(InputError) as error:
                call(**more, **{name: value})
        text = str(error.value)
        assert name in text and "\n" not in text, value
        assert not list(tmp_path.glob("out*")) and not list(tmp_path.glob("data")), value


def test_a_metric_that_was_made_before_takes_no_options():
    made = ExactMatch([[line] for line in TEST])
    assert cgbench.evaluate(made, TEST).score == 100
    with pytest.raises(InputError, match="lowercase: the given Metric already has"):
        cgbench.evaluate(made, TEST, lowercase=True)
    for metric in ("blue", 5, None, [], [5]):
        with pytest.raises(InputError, match="metric"):
            cgbench.evaluate(metric, TEST, TEST)


def test_a_device_and_a_lexicon(tmp_path):
    pytest.importorskip("torch")
    for device in ("gpu", "", 1.5):
        with pytest.raises(InputError, match="device="):
            cgbench.Ensemble.open(tmp_path, device=device)
    for value in (math.nan, math.inf, "x", None):
        with pytest.raises(
            InputError, match="entries: the value of each entry must be a finite number"
        ):
            cgbench.Lexicon.of({"dax": {"RED": value}})
    assert len(cgbench.Lexicon.of({"dax": {"RED": 6, "BLUE": 0.5}, "lug": {}})) == 2


def test_what_has_no_request_checks_alike():
    check(int, 1, a=np.int64(3), b=np.uint8(1), c=None)
    check(float, 0, a=np.float32(0.5), b=np.int64(1), c=0)
    check(bool, a=np.bool_(True), b=False)
    for value in (np.bool_(True), 1.5, "3", [2], math.nan):
        with pytest.raises(InputError, match="it must be a whole number, at least 1"):
            check(int, 1, a=value)


def test_folders_are_names():
    for opened in (cgbench.Release.open, cgbench.Lexicon.load, cgbench.KnownNgrams.load):
        for wrong in (object(), None, 5, ""):
            with pytest.raises(InputError, match="it must be the name of a file or folder"):
                opened(wrong)


@pytest.mark.parametrize("name", cgbench.__all__)
def test_no_public_function_ends_in_an_error_of_python(name):
    """Whatever is given for one argument, it is an InputError."""
    function = getattr(cgbench, name)
    if not inspect.isfunction(function):
        return
    fields = inspect.signature(function).parameters
    needed = [one for one in fields.values() if one.default is inspect.Parameter.empty]
    for wrong in (one for one in fields if fields[one].kind.name != "VAR_KEYWORD"):
        given = {one.name: TEST for one in needed if one.kind.name.startswith("POSITIONAL_OR")}
        with warnings.catch_warnings(), pytest.raises(InputError):
            warnings.simplefilter("ignore")
            function(**{**given, wrong: object()})
    if hasattr(function, "__wrapped__"):
        with pytest.raises(InputError):
            function(**{one.name: TEST for one in needed}, no_such_argument=1)
