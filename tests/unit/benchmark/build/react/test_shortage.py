"""The true cause of a build with nothing left."""

import re
import warnings

import pytest
from option_names import shown_by
from small_build import settings_of

from cgbench.benchmark.build.react import corpus_size
from cgbench.benchmark.build.react.build_inputs import read_inputs
from cgbench.benchmark.build.react.checks import (
    check_enough,
    check_known_words,
    check_shares,
    size_warnings,
)
from cgbench.benchmark.build.react.request import BuildRequest
from cgbench.errors import InputError
from cgbench.models.config.presets import load_preset
from cgbench.text.corpus import index_pair
from cgbench.text.normalisation import SIDES

COUNTS = {
    "pool": 100,
    "empty": 0,
    "rare_word": 0,
    "known_words": 100,
    "too_short": 0,
    "too_long": 0,
    "within_length": 100,
    "seen": 0,
    "duplicates": 0,
    "candidates": 100,
}


@pytest.fixture
def train(tmp_path):
    def write(source="a b c\n", target="x y z\n"):
        (tmp_path / "t.zh").write_text(source)
        (tmp_path / "t.en").write_text(target)
        return index_pair(tmp_path / "t.zh", tmp_path / "t.en")

    return write


def why(train, config=None, **counts):
    with pytest.raises(InputError) as error:
        check_enough(config or settings_of(), {**COUNTS, "candidates": 0, **counts}, train)
    return shown_by(BuildRequest, error.value.message)


def test_all_pairs_were_seen(train):
    said = why(train(), seen=90, duplicates=10)
    assert "excluded one): 90, repeats: 10; " in said and "give a pool of other text" in said
    assert "too few words" not in said


def test_rare_words(train):
    said = why(train(), rare_word=97, empty=3, known_words=0, within_length=0)
    assert "fewer than 3 times in the training corpus: 97, empty on one side: 3;" in said
    assert "lower word_min_count" in said
    assert "every pair of the pool is empty" in why(
        train(), empty=100, known_words=0, within_length=0
    )


def test_length_bounds(train):
    said = why(
        train(), too_short=60, too_long=40, within_length=0, config=settings_of(max_length=9)
    )
    assert "shorter than min_length=6: 60, longer than max_length=9: 40" in said
    assert "--set min_length=N" in said
    said = why(train(), too_long=100, within_length=0, config=settings_of(max_length=9))
    assert "--set max_length=N" in said and "min_length" not in said.partition("bounds:")[2]
    with pytest.raises(InputError, match=r"raise it with max_length='N'$"):
        check_enough(
            settings_of(), {**COUNTS, "too_long": 100, "within_length": 0, "candidates": 0}, train()
        )


@pytest.mark.parametrize("counts", [{"too_short": 100}, {"rare_word": 100, "known_words": 0}])
def test_text_without_blanks_is_said_before_lengths_and_rare_words(train, counts):
    said = why(train("他的女儿昨天没有来上学。\n"), within_length=0, **counts)
    assert (
        "t.zh has no blanks between its words" in said
        and "min_length" not in said.partition(";")[2]
    )


def test_a_training_text_of_rare_words_is_not_empty(tmp_path):
    path = tmp_path / "text"
    for text, expected in (
        ("a b\n", "no word in it occurs 3 times"),
        ("\n \n", "it has no words"),
        ("他的女儿昨天没有来上学。\n", "no blanks between its words"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=expected):
            check_known_words(path, 0, 3)
    check_known_words(path, 1, 3)


@pytest.mark.parametrize(
    ("changes", "pool", "expected"),
    [
        (
            {"drop": "0.1", "drop_reference": "0.4", "window": "0.6", "select": 1},
            None,
            (
                "drop=0.1, drop_reference=0.4, window=0.6: together more than all candidates; lower"
                " one of them"
            ),
        ),
        (
            {"candidates": 50, "drop": 0, "drop_reference": 20, "window": 40, "select": 10},
            None,
            (
                "too few to drop 20 and draw 10 of the next 40; give a larger pool, or lower drop,"
                " drop_reference, window"
            ),
        ),
        ({"drop": 0, "window": "0.1", "select": "0.2"}, None, "select=0.2: more than window=0.1"),
        (
            {"candidates": 50, "drop": 20, "window": 20, "select": 30},
            None,
            "draw 30 of the next 20",
        ),
        (
            {"drop": 20, "window": 40, "select": 10},
            50,
            "the 50 pairs of the pool are too few to drop 20",
        ),
        (
            {"candidates": "1/2", "drop": 20, "window": 40, "select": 10},
            100,
            "50 candidates are too few",
        ),
        ({"drop": 20, "window": 40, "select": 10}, 60, None),
        (
            {"candidates": "1/2", "drop": 20, "window": 40, "select": 10},
            None,
            None,
        ),  # who knows how large the pool is
        (
            {"candidates": 100, "drop": 0, "window": 40, "select": "0.5"},
            None,
            None,
        ),  # with 80 left it fits
    ],
)
def test_shares_that_cannot_fit(changes, pool, expected):
    if expected is None:
        check_shares(settings_of(**changes), pool)
        return
    with pytest.raises(InputError, match=expected):
        check_shares(settings_of(**changes), pool)


def test_too_few_candidates_for_the_window_name_the_filters_to_loosen(train):
    config = settings_of(candidates=90, drop=0, window=60, select=10, min_length=4)
    with pytest.raises(InputError) as error:
        check_enough(config, {**COUNTS, "candidates": 50}, train())
    assert "draw 10 of the next 60 (left: pool 100, " in error.value.message
    assert error.value.message.endswith(
        "for more candidates, lower word_min_count=3 or min_length=4"
    )


@pytest.mark.parametrize(
    ("config", "counts", "said"),
    [
        (
            {"select": "1/20"},
            {},
            (
                "the test set has only 50 pairs, .* raise select=1/20 and window=3/10, .*lower"
                " word_min_count=3 or min"
            ),
        ),
        (
            {"window": 900, "drop": 200},
            {},
            "1,000 candidates are too few to drop 200 and draw .* of the next 900: ",
        ),
        (
            {"select": 100},
            {"within_length": 1_100},
            "1,000 of the 1,100 pairs .* so the degree hardly",
        ),
        (
            {"select": 100, "window": 900, "drop": 50},
            {},
            "the window takes 900 of the 950 candidates .* lower window",
        ),
        ({"select": 100}, {}, None),
    ],
)
def test_a_selection_that_says_little_is_named_with_its_numbers(config, counts, said):
    request = settings_of(**{"candidates": 1_000, "drop": 0, "window": "3/10", **config})
    lines = size_warnings(
        request, {**COUNTS, "within_length": 5_000, "candidates": 1_000, **counts}
    )
    assert len(lines) == (said is not None) and (said is None or re.match(said, lines[0]))


@pytest.mark.parametrize(
    ("pairs", "settings", "expected"),
    [
        (9, {"preset": "small"}, (1, 4)),
        (10, {"preset": "small"}, (3, 6)),  # not a small corpus
        (9, {"preset": "small", "word_min_count": 3}, (3, 4)),  # explicit settings stay
        (9, {"preset": "small", "filters": {"word_min_count": 2, "min_length": 2}}, (2, 2)),
        (9, {"preset": "react"}, (3, 6)),
    ],
)
def test_a_small_training_corpus_loosens_the_preset_small(
    tmp_path, monkeypatch, pairs, settings, expected
):
    monkeypatch.setattr(corpus_size, "SMALL", 10)
    for side in SIDES:
        (tmp_path / f"train.{side}").write_text("a b\n" * pairs)
    corpus = [str(tmp_path / f"train.{side}") for side in SIDES]
    request = BuildRequest(train=corpus, pools=[corpus], out=tmp_path / "out", **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loosened = corpus_size.loosen(request, read_inputs(request, tmp_path))
    assert (loosened.filters.word_min_count, loosened.filters.min_length) == expected
    lines = [str(warning.message) for warning in caught]
    assert len(lines) == (4 in expected) and all(
        "9 training pairs are fewer than 10" in line for line in lines
    )
    assert (
        loosened.filters.candidates == request.filters.candidates
        and loosened.model == request.model
    )


@pytest.mark.parametrize(
    ("settings", "updates", "warm_up"),
    [
        # 200 pairs of 4 words are 200 * (1.25 * 4 + 1) = 1,200 tokens: 1.2 batches of 1,000.
        ({"epochs": 100}, 120, 15),
        ({"epochs": 1000}, 700, 80),  # at most the model's own
        ({"epochs": 0.5}, 8, 1),
        ({}, None, None),
        ({"epochs": 100, "training.max_updates": 33}, 33, None),  # an explicit setting stays
        ({"epochs": 100, "training.warmup_updates": 3}, 120, 3),
    ],
)
def test_epochs_become_updates(tmp_path, settings, updates, warm_up):
    for side, line in zip(SIDES, ("a b", "a b c d"), strict=True):
        (tmp_path / f"train.{side}").write_text(f"{line}\n" * 200)
    corpus = [str(tmp_path / f"train.{side}") for side in SIDES]
    model = {
        "training.max_tokens": 1000,
        "training.max_updates": 700,
        "training.warmup_updates": 80,
    }
    preset = load_preset("small").replace(model)
    request = BuildRequest(train=corpus, pools=[corpus], out=tmp_path / "out", **settings)
    fitted = corpus_size.train_by_epochs(request, read_inputs(request, tmp_path), preset)
    training = fitted.settings or {}
    assert training.get("training.max_updates") == updates
    assert training.get("training.warmup_updates") == warm_up
