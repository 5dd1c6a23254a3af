"""Names in logical forms replaced: real forms of COGS, SMCalFlow-CS and CFQ."""

import pytest

from cgbench.errors import InputError
from cgbench.text.logical_forms import Names, names_of
from cgbench.text.normalisation import Normalisation

SENTENCE = "Liam hoped that a box was burned by a girl ."
FORM = (
    "hope . agent ( x _ 1 , Liam ) AND hope . ccomp ( x _ 1 , x _ 6 ) AND box ( x _ 4 ) AND "
    "burn . theme ( x _ 6 , x _ 4 ) AND burn . agent ( x _ 6 , x _ 9 ) AND girl ( x _ 9 )"
)
UTTERANCE = "schedule a brainstorming session with Dan Schoffel 's team ."
PLAN = (
    "( Yield :output ( CreateCommitEventWrapper :event ( CreatePreflightEventWrapper :constraint ("
    " Constraint[Event] :attendees ( AttendeeListHasPeople :people ( FindTeamOf :recipient ("
    " Execute :intension ( refer ( extensionConstraint ( RecipientWithNameLike :constraint ("
    ' Constraint[Recipient] ) :name # ( PersonName " Dan Schoffel " ) ) ) ) ) ) ) :subject ( ?= # ('
    ' String " brainstorming session " ) ) ) ) ) )'
)


def hidden(kind, source, target):
    """The pair with its names replaced, after it was seen that they come back."""
    names = names_of(kind, source, target)
    found = names.hide(source, target)
    turned = Names(
        *({new: old for old, new in side.items()} for side in (names.source, names.target))
    )
    assert turned.hide(*found) == (source, target)
    return found


def test_variables_of_cogs_by_first_mention():
    source, form = hidden("cogs", SENTENCE, FORM)
    assert source == SENTENCE
    assert (
        form
        == "hope . agent ( x _ 0 , Liam ) AND hope . ccomp ( x _ 0 , x _ 1 ) AND box ( x _ 2 ) AND "
        "burn . theme ( x _ 1 , x _ 2 ) AND burn . agent ( x _ 1 , x _ 3 ) AND girl ( x _ 3 )"
    )
    assert hidden("cogs", SENTENCE, form)[1] == form


def test_forms_of_cogs_that_differ_in_variables_alone_become_equal():
    longer = FORM.replace("x _ 9", "x _ 12").replace("x _ 6", "x _ 9")
    assert hidden("cogs", "", longer) == hidden("cogs", "", FORM)


def test_many_variables_of_cogs_need_no_new_word():
    form = " AND ".join(f"dog ( x _ {40 + number} )" for number in range(12))
    found = hidden("cogs", "", form)[1]
    assert "( x _ 3 ) AND dog ( x _ 1 0 ) AND dog ( x _ 1 1 )" in found
    assert found.endswith("dog ( x _ 2 3 )")
    assert {word for word in found.split() if word.isdigit()} == set("0123")


def test_copied_text_of_smcalflow_on_both_sides():
    source, plan = hidden("smcalflow", UTTERANCE, PLAN)
    assert source == "schedule a string0 with person0 's team ."
    assert plan == PLAN.replace("Dan Schoffel", "person0").replace(
        "brainstorming session", "string0"
    )


def test_text_of_smcalflow_that_is_not_copied_stays():
    plan = (
        '( :name # ( PersonName " Elli " ) :subject ( ?= # ( String " lunch " ) ) :dow # ('
        ' DayOfWeek " FRIDAY " ) )'
    )
    source, found = hidden("smcalflow", "Meet elli for lunch on FRIDAY", plan)
    assert source == "Meet elli for string0 on FRIDAY"
    assert found == plan.replace("lunch", "string0")


def test_the_longest_name_of_smcalflow_is_taken():
    plan = '( a # ( PersonName " David " ) ) ( b # ( PersonName " David Lax " ) )'
    assert hidden("smcalflow", "invite David Lax and David", plan) == (
        "invite person1 and person0",
        '( a # ( PersonName " person0 " ) ) ( b # ( PersonName " person1 " ) )',
    )


def test_an_unknown_kind():
    with pytest.raises(InputError, match="'cog'; did you mean cogs"):
        Normalisation(anonymise="cog")
