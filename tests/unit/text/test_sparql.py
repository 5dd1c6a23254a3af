"""The forms of CFQ's queries: by hand, and back."""

import random

import pytest

from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.errors import InputError
from cgbench.text.sparql import FORMS, HEADS, Query, read_query, rewrite_query, write_query

COUNT, DISTINCT = HEADS["COUNT"], HEADS["DISTINCT"]
TEXT = f"{COUNT} a r x . a r y . b q x }}"


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("f1", "COUNT a { r x . r y } b { q x }"),
        ("f2", "COUNT a { r { x y } } b { q { x } }"),
        ("t5", "SELECT count ( * ) WHERE lb a r x . a r y . b q x rb"),
        ("f3-t5", "COUNT a lb r lb x y rb rb b lb q lb x rb rb"),
    ],
)
def test_forms_by_hand(form, expected):
    assert rewrite_query(TEXT, form) == expected


def test_only_f3_sorts():
    text = f"{DISTINCT} b q x . a s y . a r x }}"
    assert rewrite_query(text, "f2") == "DISTINCT b { q { x } } a { s { y } r { x } }"
    assert rewrite_query(text, "f3") == "DISTINCT a { r { x } s { y } } b { q { x } }"


def test_filters_are_clauses_and_paths_are_words():
    text = (
        f"{DISTINCT} ?x0 film.film/ns:film.b.c ?x1 . ?x0 a people.person ."
        " FILTER ( ?x0 != m_0abc ) . M1 p ?x1 }"
    )
    assert rewrite_query(text, "f1") == (
        "DISTINCT ?x0 { film.film/ns:film.b.c ?x1 . a people.person . not m_0abc } M1 { p ?x1 }"
    )
    assert write_query(read_query(text)) == text


def queries(count, seed=1):
    draw = random.Random(seed)
    words = ["?x0", "?x1", "M0", "M1", "m_0abc"]
    relations = ["a", "film.film.directed_by", "p.q/ns:r.s", "not"]
    for _ in range(count):
        clauses = [
            (draw.choice(words), draw.choice(relations), draw.choice(words))
            for _ in range(draw.randint(1, 8))
        ]
        yield Query(draw.choice(list(HEADS)), tuple(dict.fromkeys(clauses)))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_keeps_all_but_the_order(form):
    changed = 0
    for query in queries(500):
        again = read_query(write_query(query, form))
        assert again.in_order == query.in_order
        assert again == query or form not in ("t5",)
        changed += again != query
    assert (changed == 0) == (form == "t5")


@pytest.mark.parametrize(
    "text",
    [
        *("", "COUNT", "a b c", f"{COUNT} a r }}", f"{COUNT} }}", "COUNT a r x", "COUNT a { r x"),
        *(
            "COUNT a { r x } }",
            "COUNT a { r { x }",
            "COUNT a { r }",
            "COUNT { r x }",
            "COUNT a { { x } }",
        ),
        *("COUNT a b { r x }", "COUNT a { r { x { y } } }"),
    ],
)
def test_what_is_no_query_is_none(text):
    assert read_query(text) is None
    with pytest.raises(InputError, match="not a query of CFQ"):
        rewrite_query(text, "f1")


def test_exact_match_with_and_without_the_order():
    references = [[TEXT]] * 4
    hypotheses = [
        TEXT,
        f"{COUNT} b q x . a r x . a r y }}",
        rewrite_query(TEXT, "f3-t5"),
        f"{COUNT} b q x . a r x }}",
    ]
    strict, free = ExactMatch(references), ExactMatch(references, preset="cfq")
    assert strict.statistics(hypotheses)[:, 0].tolist() == [1, 0, 0, 0]
    assert free.statistics(hypotheses)[:, 0].tolist() == [1, 1, 1, 0]
    assert "clauses:set" in str(free.signature()) and "clauses" not in str(strict.signature())
