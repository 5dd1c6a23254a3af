"""Logical forms as graphs, and what is none."""

import pytest

from cgbench.benchmark.measure.divergence.form_graphs import FORMS
from cgbench.errors import InputError


def graph(form, line):
    return FORMS[form](line)


def test_scan():
    found = graph("scan", "jump around left twice and turn right")
    assert sorted(found.labels) == [
        "and",
        "around",
        "direct",
        "jump",
        "left",
        "right",
        "turn",
        "twice",
    ]
    edges, within = found.compounds()
    assert edges[:7] == [
        "around of jump",
        "around to left",
        "twice of around",
        "direct of turn",
        "direct to right",
        "and first twice",
        "and second direct",
    ]
    assert edges[7:9] == ["around ( of jump , to left )", "direct ( of turn , to right )"]
    assert edges[9:] == ["and ( first twice , second direct )"]
    assert within[:2] == [(0, 7), (1, 7)]


def test_cogs():
    line = (
        "* cake ( x _ 6 ) ; give . agent ( x _ 1 , Emma ) AND give . recipient ( x _ 1 , x _ 3 )"
        " AND dog ( x _ 3 ) AND dog . nmod . beside ( x _ 3 , x _ 6 )"
    )
    found = graph("cogs", line)
    edges, _ = found.compounds()
    assert edges[:3] == ["give agent Emma", "give recipient dog", "dog nmod.beside cake"]
    assert found.atoms == ["agent", "recipient", "nmod.beside"]
    assert sorted(found.labels) == ["Emma", "cake", "dog", "give"]


def test_cogs_words_alone():
    found = graph(
        "cogs",
        "LAMBDA a . LAMBDA b . LAMBDA e . touch . agent ( e , b ) AND touch . theme ( e , a )",
    )
    assert (found.labels, found.atoms, found.edges) == (["touch"], ["agent", "theme"], [])
    assert graph("cogs", "Emma").labels == ["Emma"]


def test_lispress():
    found = graph("lispress", '( Yield :output ( Find ( toName " Amy " ) 3 ) )')
    assert sorted(found.compounds()[0][:4]) == [
        "Find 1 toName",
        "Find 2 3",
        "Yield :output Find",
        'toName 1 " Amy "',
    ]


@pytest.mark.parametrize(
    ("form", "line", "said"),
    [
        ("scan", "jump twice left", "not a phrase"),
        ("scan", "jump around", "not a phrase"),
        ("cogs", "love . agent x", "not a logical form|not a term"),
        ("cogs", "love . agent ( x _ 1 , x _ 2 )", "x _ 2 is undefined"),
        ("lispress", "( a ( b )", "not closed"),
        ("lispress", "( a ) )", "after the end"),
        ("lispress", ") a", "has no opening"),
        ("lispress", "", "form is empty"),
    ],
)
def test_what_is_no_form(form, line, said):
    with pytest.raises(InputError, match=said):
        graph(form, line)
