"""Programs of SMCalFlow for CSL. On 2,649 pairs of SMCalFlow-CS, prepared pairs, 1,627 literal
rules and 1,954 rules of the grammar equal those of the authors' scripts (2026-11-29); here, small
pairs in their form.
"""

import json

from shared_data import SHARED, needs

from cgbench.data_recipes.csl import programs
from cgbench.data_recipes.csl.parsing import derivable, parse
from cgbench.data_recipes.csl.rules import Words
from cgbench.data_recipes.csl.target_grammar import TargetGrammar

EVENT = "( Yield :output ( CreateCommitEventWrapper :event ( {} ) ) )"
NAMED = '( Yield :output ( FindManager :recipient ( Execute :name # ( PersonName " Jo-Ann " ) ) ) )'


def test_requests_are_spaced_and_those_without_names_or_years_left_out():
    assert programs.spaced("Who's my boss at 10:30?") == "Who ' s my boss at 10 : 30 ?"
    year = EVENT.format(":year # ( Number 2019.0 )")
    pairs = [("Is jo-ann's boss here?", NAMED), ("Is her boss here?", NAMED)]
    pairs += [("on May 4, 2019", year), ("on May 4", year)]
    assert programs.prepared_pairs(pairs) == [
        ("Is jo - ann ' s boss here ?", NAMED),
        ("on May 4 , 2019", year),
    ]


def test_literals_of_both_sides_are_seeds():
    program = EVENT.format(
        ":day # ( Number 4 ) :hour # ( Number 10.0 ) :date ( Tomorrow ) :time ( Noon ) :month # ("
        ' Month " MAY " )'
    )
    rules = programs.seed_rules([("tomorrow at 10 on 4 may", program), ("jo - ann", NAMED)])
    assert rules[:-5] == [
        "10 ### Number 10.0",
        "4 ### Number 4",
        'Jo - Ann ### PersonName " Jo-Ann "',
        'MAY ### Month " MAY "',
        "Tomorrow ### Tomorrow",
    ]
    assert len(set(rules)) == 10


def test_the_grammar_of_programs_replaces_the_parts_after_known_words():
    lines = programs.grammar_lines([NAMED])
    assert lines == [
        "##ROOT => ( Yield :output ( ##OUTPUT ) )",
        '##NAME# => PersonName " Jo-Ann "',
        "##OUTPUT => FindManager :recipient ( ##RECIPIENT )",
        "##RECIPIENT => Execute :name # ( ##NAME# )",
    ]
    # What a part may be can depend on the part that it is in.
    subject = EVENT.format(':subject ( # ( String " x " ) )'), ':start ( # ( String " x " ) )'
    assert "##SUBJECT => # ( ##STRING )" in programs.grammar_lines(subject[:1])
    assert '##DATETIME => # ( String " x " )' in programs.grammar_lines(subject[1:])
    words = Words()
    grammar = TargetGrammar(lines, words, "lines")
    assert grammar.can_derive(words.encode(NAMED))
    assert grammar.can_derive(words.encode("Execute :name # ( NT_1 )"))
    assert not grammar.can_derive(words.encode("FindManager :name # ( NT_1 )"))


def test_rules_of_one_slot_wrap_once_or_twice():
    words = Words()
    rules = [words.read(line) for line in ("NT_1 ### A ( NT_1 )", "x ### B", "NT_1 y ### C NT_1")]
    depths = ["x ### B", "x ### A ( B )", "x ### A ( A ( B ) )", "x ### A ( A ( A ( B ) ) )"]
    goals = [words.read(line) for line in depths]
    assert [bool(parse(goal, rules)) for goal in goals] == [True, True, False, False]
    assert [derivable(goal, rules) for goal in goals] == [False, True, True, False]
    assert parse(words.read("x y ### A ( C A ( B ) )"), rules)


REAL = "smcalflow-cs/num128.valid.jsonl"


@needs(REAL)
def test_real_programs_are_derived_by_their_grammar():
    with (SHARED / REAL).open(encoding="utf-8") as file:
        pairs = [(row["utterance"], row["plan"]) for row in map(json.loads, file)]
    pairs = programs.prepared_pairs(pairs)
    assert len(pairs) == 1323 and len(programs.seed_rules(pairs)) == 948 + 5
    words = Words()
    lines = programs.grammar_lines(program for _, program in pairs)
    assert len(lines) == 1207
    grammar = TargetGrammar(lines, words, "programs")
    assert all(grammar.can_derive(words.encode(program)) for _, program in pairs[::60])
