"""The first lines of a card: how many pairs, how hard, how noisy, and what next."""

import re

import pytest

from cgbench.benchmark.release.at_a_glance import answers, how_hard, how_noisy, next_steps


def test_how_hard_names_every_set_that_was_scored():
    quality = {"held_out": {"chrf": 61.04}, "test": {"chrf": 35.0}, "control": {"chrf": 50.26}}
    assert how_hard(quality) == (
        "chrF of the ensemble: 35.0 on the test set, 50.3 on the control set, 61.0 on held-out"
        " training pairs"
    )
    assert how_hard({"held_out": None, "test": {"chrf": 35.0}}).endswith(": 35.0 on the test set")
    without_sacrebleu = {"test": {"chrf": None}}
    assert how_hard(without_sacrebleu) == how_hard(None) == "not measured"


@pytest.mark.parametrize(
    ("share", "interval"),
    [
        (0.10, "7.6% to 13.1%"),  # 50 of 1,000 are counted: Wilson's 3.81 to 6.53, doubled
        (0.0, "0.0% to 0.8%"),
    ],
)
def test_how_noisy_has_the_interval_of_what_is_counted(share, interval):
    manifest = {"noise": {"share": share}, "counts": {"candidates": 1000}}
    text = how_noisy(manifest)
    assert f"about {share:.1%} of the candidates by an estimate ({interval})" in text
    manifest["counts"]["dropped_reference"] = 50
    assert "; the least likely references (5.0%) were dropped. Small errors" in how_noisy(manifest)
    assert "not estimated" in how_noisy({**manifest, "noise": None})


def test_card_page_and_console_begin_with_the_answers(small_release):
    from cgbench.commands.build_report import report
    from cgbench.report.release_page import release_page

    card = (small_release.folder / "README.md").read_text(encoding="utf-8")
    page, console = release_page(small_release), report(small_release)
    for question, answer in answers(small_release):
        assert f"| {question} | {answer} |" in card
        assert f"<dt>{question}</dt><dd>{answer}</dd>" in page
        assert f"{question}: {answer}" in console
    assert card.index("At a glance") < card.index("The first 10 pairs") < card.index("## Abstract")
    assert page.index("The first 10 pairs") < page.index("From pool to test set")
    for (_, command), (_, of_card) in zip(
        next_steps(small_release, small_release.folder.name),
        next_steps(small_release, "FOLDER"),
        strict=True,
    ):
        assert command in page and f"`{of_card}`" in card
    examples = re.search(r"The first 10 pairs:\n\n(.*?)\n\n", card, re.DOTALL)
    assert examples is not None and len(examples[1].splitlines()) == 12
