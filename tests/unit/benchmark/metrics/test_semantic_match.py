"""Semantic exact match, against ReCOGS' rules tried out in full: every renaming of every variable."""

import itertools
import random
import re

import pytest

from cgbench import evaluate
from cgbench.benchmark.metrics import semantic_match
from cgbench.benchmark.metrics.semantic_match import Form, means_the_same
from cgbench.errors import InputError, InputWarning


def twin(text, gold):
    """The same by brute force: all assignments of variables to variables with the same predicates."""
    text, gold = (one.replace(" ", "").replace("AND", " AND ") for one in (text, gold))

    def conjuncts(form):
        return set(re.split(r"\s*(?:AND|;)\s*", form))

    def kinds(form):
        predicates = {}
        for name, variable in re.findall(r"(\w+)\((\d+)\)", form):
            predicates.setdefault(variable, []).append(name)
        for name, *variables in re.findall(r"(\w+)\((\d+),(\d+)\)", form):
            for variable in variables:
                predicates.setdefault(variable, []).append(name)
        return {variable: sorted(names) for variable, names in predicates.items()}

    ours, theirs = kinds(text), kinds(gold)
    options = [[one for one in theirs if theirs[one] == names] for names in ours.values()]
    for chosen in itertools.product(*options):
        names = dict(zip(ours, chosen, strict=True))
        if set(names) != set(re.findall(r"\d+", text)) or set(chosen) != set(re.findall(r"\d+", gold)):
            continue
        renamed = re.sub(r"\b\d+\b", lambda found, names=names: names.get(found[0], found[0]), text)
        if conjuncts(renamed) == conjuncts(gold):
            return True
    return False


def same(text, gold):
    return means_the_same(Form(text), Form(gold))


GOLD = "* dog ( 4 ) ; cat ( 7 ) ; see ( 2 ) AND agent ( 2 , 4 ) AND theme ( 2 , 7 )"


@pytest.mark.parametrize(
    ("text", "gold", "right"),
    [
        (GOLD, GOLD, True),
        ("cat ( 1 ) ; * dog ( 2 ) ; theme ( 3 , 1 ) AND agent ( 3 , 2 ) AND see ( 3 )", GOLD, True),
        ("*dog(4);cat(7);see(2)ANDagent(2,4)ANDtheme(2,7)", GOLD, True),
        ("*dog(4);cat(7);see(2)ANDagent(2,4)ANDtheme(2,7)ANDsee(2)", GOLD, False),  # once too often
        ("* dog ( 4 ) ; cat ( 7 ) ; see ( 2 ) AND agent ( 2 , 7 ) AND theme ( 2 , 4 )", GOLD, False),
        ("dog ( 4 ) ; cat ( 7 ) ; see ( 2 ) AND agent ( 2 , 4 ) AND theme ( 2 , 7 )", GOLD, False),
        ("* dog ( 4 ) ; cat ( 7 ) ; see ( 2 ) AND agent ( 2 , 4 )", GOLD, False),
        ("* dog ( 4 ) ; cat ( 4 ) ; see ( 2 ) AND agent ( 2 , 4 ) AND theme ( 2 , 4 )", GOLD, False),
        ("", GOLD, False),
        ("dog", GOLD, False),
        ("dog ( 1 ) ; dog ( 2 )", "dog ( 3 )", True),  # two variables become one
        ("dog ( 3 )", "dog ( 1 ) ; dog ( 2 )", False),
        ("dog2 ( 1 )", "dog2 ( 1 )", False),  # a number that is no variable
        ("run", "run", True),
        ("LAND ( 1 )", "LAND ( 1 )", False),  # AND within a name
        ("give ( 1 , 2 , 3 )", "give ( 1 , 2 , 3 )", False),
    ],
)
def test_forms(text, gold, right):
    assert same(text, gold) == right == twin(text, gold)


def test_random_forms_are_judged_as_by_trying_everything():
    rng = random.Random(1)

    def form():
        parts = [f"{rng.choice('ab')} ( {rng.randrange(3)} )" for _ in range(rng.randrange(1, 4))]
        parts += [f"r ( {rng.randrange(3)} , {rng.randrange(3)} )" for _ in range(rng.randrange(3))]
        return parts

    judged = []
    for _ in range(1500):
        gold = form()
        text = rng.sample(gold, len(gold)) if rng.random() < 0.6 else form()
        names = rng.sample("345678", 3)
        text = [re.sub(r"\d", lambda found, names=names: names[int(found[0])], part) for part in text]
        if rng.random() < 0.2:
            text[0] = text[0].replace(rng.choice("345678"), "9")
        ours, theirs = " AND ".join(text), " ; ".join(gold)
        judged.append(same(ours, theirs))
        assert judged[-1] == twin(ours, theirs), (ours, theirs)
    assert 300 < sum(judged) < 1200


def test_many_variables_alike_are_no_matter(monkeypatch):
    variables = range(1, 31)
    gold = " ; ".join(f"dog ( {one} )" for one in variables)
    assert same(" ; ".join(f"dog ( {one + 50} )" for one in variables), gold)  # 30 to the 30th ways to try
    monkeypatch.setattr(semantic_match, "MOST_STEPS", 20)
    with pytest.raises(InputError, match="more than 20 possible renamings"):
        same(" ; ".join(f"dog ( {one + 50} )" for one in variables), gold)


def test_a_form_with_too_many_ways_counts_as_wrong_and_is_named(monkeypatch):
    monkeypatch.setattr(semantic_match, "MOST_STEPS", 3)
    with pytest.warns(InputWarning, match=r"row 1 and similar rows count as wrong: .* more than 3 possible renamings"):
        assert evaluate("semantic", ["a ( 1 ) ; a ( 2 ) ; a ( 3 ) ; a ( 4 )"], ["a ( 5 ) ; a ( 6 )"]).score == 0.0


COGS = "* dog ( x _ 1 ) ; see . agent ( x _ 2 , x _ 1 )"


def test_references_that_can_never_be_right():
    with pytest.raises(InputError, match=r"1 of 1 examples have no reference .*use the forms of ReCOGS"):
        evaluate("semantic", [COGS], [COGS])
    with pytest.warns(InputWarning, match=r"1 of 2 examples .*first: row 2"):
        assert evaluate("semantic", [GOLD, COGS], [GOLD, COGS]).score == 50.0


@pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
def test_as_a_metric():
    references = [GOLD, "run ( 1 )"]
    found = evaluate("semantic", ["cat(1);*dog(2);theme(3,1)ANDagent(3,2)ANDsee(3)", ""], references)
    assert found.score == 50.0
    assert found.signature.startswith("semantic|nrefs:1|case:mixed|rules:recogs")
    assert evaluate("exact", ["cat(1)", ""], references).score == 0.0
