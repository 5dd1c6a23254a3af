"""CSL: by hand, by finite differences, and on SCAN, whose grammar it finds.

The authors' code (google-research/language, ``compgen/csl``) gives the same on random rules: 40,000
tests of what may derive what, 1,664 derivations and 4,000 sizes and penalties are equal; so are the
39 rules from 700 pairs of SCAN, and the inside scores of 400 pairs. In 546 of 48,000 pairs of
rules, this finds a unifier more than theirs, never one less: a slot that has another number in the
other rule may be repeated.
"""

import json
import math
import random
from itertools import combinations, islice, product

import numpy as np
import pytest
from shared_data import needs, scan_pairs

from cgbench.data_recipes.csl import typed_model
from cgbench.data_recipes.csl.induction import (
    InductionSettings,
    Objective,
    RuleIndex,
    induce,
    propose,
)
from cgbench.data_recipes.csl.parsing import derivable
from cgbench.data_recipes.csl.rules import SLOTS, Rule, Words, may_derive
from cgbench.data_recipes.csl.sampling import Sampler, SamplingSettings, sample_pairs
from cgbench.data_recipes.csl.target_grammar import ROOT, TargetGrammar
from cgbench.data_recipes.csl.typed_model import ModelSettings, TypedModel, train_model
from cgbench.data_recipes.csl.unification import unifiers
from cgbench.data_recipes.scan import commands, rule_splits
from cgbench.errors import InputError

GRAMMAR = (
    "NT_1 and NT_2 ### NT_1 NT_2",
    "NT_1 twice ### NT_1 NT_1",
    "jump ### JUMP",
    "walk ### WALK",
    "look ### LOOK",
)


@pytest.fixture
def words():
    return Words()


def rules_of(words, *lines):
    return [words.read(line) for line in lines]


def shown(words, rules):
    return {words.show(rule) for rule in rules}


def test_rules_are_read_and_shown_with_slots_in_order(words):
    rule = words.read("NT_2 after NT_1 ### NT_1 NT_2")
    assert words.show(rule) == "NT_1 after NT_2 ### NT_2 NT_1" and rule.arity == 2


@pytest.mark.parametrize(
    "line",
    [
        "jump",
        "jump ###",
        "NT_1 ### NT_1",
        "NT_1 a ### b",
        "NT_1 NT_1 ### NT_1",
        "a ### NT_1",
        "### a",
    ],
)
def test_what_is_no_rule_is_refused(words, line):
    with pytest.raises(InputError, match="not a rule of the form"):
        words.read(line)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # c in a slot of b; b in a slot of c.
        ("jump twice ### J J", "NT_1 twice ### NT_1 NT_1", {"jump ### J"}),
        ("jump twice ### J J", "jump ### J", {"NT_1 twice ### NT_1 NT_1"}),
        ("jump right ### R J", "jump ### J", {"NT_1 right ### R NT_1"}),
        ("NT_1 twice right ### R NT_1 NT_1", "NT_1 right ### R NT_1", {"NT_1 twice ### NT_1 NT_1"}),
        ("NT_1 twice right ### R NT_1 NT_1", "NT_1 twice ### NT_1 NT_1", {"NT_1 right ### R NT_1"}),
        # Either argument; slots get other numbers.
        ("a b and c ### A B C", "NT_1 and NT_2 ### NT_1 NT_2", set()),
        ("a and NT_1 ### A NT_1", "NT_1 and NT_2 ### NT_1 NT_2", {"a ### A"}),
        ("NT_1 and a ### NT_1 A", "NT_1 and NT_2 ### NT_1 NT_2", {"a ### A"}),
        ("NT_1 x b NT_2 ### NT_2 NT_1 B", "b NT_1 ### NT_1 B", set()),
        # Not unique in the source, or nothing in common.
        ("jump and jump ### J J", "jump ### J", set()),
        ("walk ### W", "jump ### J", set()),
        # The whole rule and a single slot are none.
        ("jump ### J", "jump ### J", set()),
    ],
)
def test_unifiers_by_hand(words, a, b, expected):
    a, b = rules_of(words, a, b)
    assert shown(words, unifiers(a, b, 2, words_in_targets=False)) == expected


def test_a_target_that_is_one_slot(words):
    a, b = rules_of(words, "the cat ### CAT", "cat ### CAT")
    assert shown(words, unifiers(a, b, 2, False)) == {"the NT_1 ### NT_1"}
    assert not unifiers(a, b, 2, True)


def test_the_number_of_slots_is_limited(words):
    a, b = rules_of(words, "NT_1 and NT_2 or c ### NT_1 NT_2 C", "c ### C")
    assert not unifiers(a, b, 2, False)
    assert shown(words, unifiers(a, b, 3, False)) == {"NT_1 and NT_2 or NT_3 ### NT_1 NT_2 NT_3"}


@pytest.mark.parametrize(
    ("side", "text", "expected"),
    [
        ("foo NT_1 foo NT_2", "foo bar bar foo NT_1", True),  # the authors' examples
        ("foo NT_1 foo NT_2", "foo NT_1 dax NT_2", False),
        ("NT_1 foo", "foo", False),
        ("NT_1 foo", "bar foo dax", True),
        ("a NT_1 NT_2 b", "a c b", False),
        ("a NT_1 NT_2 b", "a c d b", True),
    ],
)
def test_what_may_derive_what(words, side, text, expected):
    assert may_derive(words.encode(side), words.encode(text)) == expected


def test_size_and_penalty_are_those_of_the_paper(words):
    """A rule of two words a side against one slot and one word: 32 - 18 = 14; a source seen in two
    pairs with the target in one of them costs 16.
    """
    settings = InductionSettings(word_size=8, source_weight=4, target_weight=16)
    pairs = rules_of(words, "red cat ### RED CAT", "blue cat ### BLUE DOG")
    objective = Objective(pairs, settings)
    whole, part, cat = rules_of(
        words, "red cat ### RED CAT", "NT_1 cat ### NT_1 CAT", "cat ### CAT"
    )
    assert objective.size_gain(part, [whole]) == 14
    assert objective.penalty(cat) == 16 and objective.penalty(whole) == 0
    assert objective.penalty(words.read("dog ### CAT")) == 0  # no pair has both
    assert objective.gain(cat, [whole]) == 32 - 16 - 16


@pytest.mark.parametrize("seed", range(6))
def test_a_rule_proposes_the_change_that_gains_most(words, seed):
    """Against all changes of a rule. As in the authors' code, one that gains less in size than the
    best so far in all is not tried, although it may remove rules with penalties.
    """
    draw = random.Random(seed)
    lines = {
        f"{' '.join(text)} ### {' '.join(text[::step]).upper()}"
        for text, step in (
            (draw.choices("abc", k=draw.randint(1, 5)), draw.choice((1, 1, -1))) for _ in range(60)
        )
    }
    rules = sorted(rules_of(words, *lines))
    index, settings = (
        RuleIndex(rules),
        InductionSettings(word_size=8, source_weight=4, target_weight=16),
    )
    objective = Objective(rules, settings)

    def changes(rule):
        for other in rules:
            for candidate in unifiers(rule, other, 2, False) if other != rule else ():
                related = [whole for whole in rules if all(map(may_derive, candidate, whole))]
                related.sort(key=lambda whole: (len(whole.source) + len(whole.target), whole))
                removed = {rule} | {
                    whole
                    for whole in related[:10]
                    if unifiers(whole, candidate, 2, False) & set(rules)
                }
                yield -objective.size_gain(candidate, removed), candidate, removed

    changed = 0
    for rule in rules:
        if derivable(rule, rules):
            continue
        change = propose(rule, index, (), objective)
        best = 0.0
        for loss, candidate, removed in sorted(changes(rule), key=lambda tried: tried[:2]):
            if -loss > best:
                best = max(best, objective.gain(candidate, removed))
        assert (change is None) == (best <= 0)
        if change:
            changed += 1
            assert objective.gain(change.add, change.remove) == pytest.approx(best)
    assert changed > 10


def test_derivations(words):
    rules = rules_of(words, *GRAMMAR)
    for line, expected in (
        ("jump twice and walk ### JUMP JUMP WALK", True),
        ("jump and walk twice ### JUMP WALK JUMP WALK", True),
        ("jump and walk twice ### JUMP WALK WALK", True),
        ("jump and walk twice ### WALK WALK JUMP", False),
        ("NT_1 twice and walk ### NT_1 NT_1 WALK", True),
        ("NT_1 and NT_2 twice ### NT_1 NT_2 NT_2", True),
        ("run ### JUMP", False),
        (GRAMMAR[0], False),  # not from itself
    ):
        assert derivable(words.read(line), rules) == expected, line


def split(name="addprim_jump"):
    for key, train, test in rule_splits(list(commands().items())):
        if key == name:
            return train, test
    raise AssertionError(name)


def encoded(words, pairs):
    return [Rule(words.encode(source), words.encode(target)) for source, target in pairs]


SCAN_RULES = {
    *("NT_1 and NT_2 ### NT_1 NT_2", "NT_1 after NT_2 ### NT_2 NT_1", "jump ### I_JUMP"),
    *(
        "NT_1 twice ### NT_1 NT_1",
        "NT_1 thrice ### NT_1 NT_1 NT_1",
        "NT_1 left ### I_TURN_LEFT NT_1",
    ),
    "NT_1 opposite right ### I_TURN_RIGHT I_TURN_RIGHT NT_1",
}


def test_the_grammar_of_scan_from_its_short_commands(words):
    """The 20 rules derive the commands with jump, of which training has one."""
    train, test = split()
    short = [pair for pair in train if len(pair[0].split()) <= 4]
    rules = induce(encoded(words, short))
    assert len(rules) == 20 and shown(words, rules) >= SCAN_RULES
    assert all(derivable(pair, rules) for pair in encoded(words, test[::40]))


@pytest.mark.slow
@needs("scan/tasks_train_addprim_jump.txt.gz", "scan/tasks_test_addprim_jump.txt.gz")
def test_the_grammar_of_scan_derives_all_of_the_jump_test(words):
    train, test = (scan_pairs(f"tasks_{part}_addprim_jump") for part in ("train", "test"))
    rules = induce(encoded(words, train))
    assert len(rules) == 20
    assert all(derivable(pair, rules) for pair in encoded(words, test))


def test_order_and_repetition_of_pairs_change_nothing(words):
    train = [pair for pair in split()[0] if len(pair[0].split()) <= 3]
    pairs = encoded(words, train)
    assert induce(pairs) == induce(list(reversed(pairs)) + pairs[:50])


def test_seeds_stay_and_a_target_grammar_is_obeyed(words):
    pairs = rules_of(words, "the red cat ### RED CAT", "the blue cat ### BLUE CAT")
    seeds = rules_of(words, "red ### RED", "blue ### BLUE")
    settings = InductionSettings(partition=0)
    rules = induce(pairs, settings, seeds)
    assert shown(words, rules) == {"red ### RED", "blue ### BLUE", "the NT_1 cat ### NT_1 CAT"}
    grammar = TargetGrammar(["NP => RED CAT", "NP => BLUE CAT"], words, "grammar")
    # No slot may be where only words are.
    assert set(induce(pairs, settings, seeds, grammar.can_derive)) == {*seeds, *pairs}


# The model.


def test_with_zero_scores_a_derivation_of_k_rules_has_probability_one_in_l_to_the_k(words):
    rules = rules_of(words, *GRAMMAR)
    model = TypedModel(rules, types=64)
    forest = model.forest(words.read("jump twice and walk ### JUMP JUMP WALK"))
    assert model.log_likelihood(forest) == pytest.approx(-4 * math.log(len(rules)), abs=1e-12)
    # Two derivations.
    pairs = words.read("jump and walk and look ### JUMP WALK LOOK")
    expected = math.log(2) - 5 * math.log(len(rules))
    assert model.log_likelihood(model.forest(pairs)) == pytest.approx(expected, abs=1e-12)
    assert model.forest(words.read("jump ### WALK")) is None


def test_the_number_of_parameters(words):
    """64 types for each slot and each rule: 4,736,000 for 42,000 slots and 32,000 rules."""
    model = TypedModel(rules_of(words, *GRAMMAR), types=64)
    slots, rules = 1 + 2 + 1, 5
    assert model.size == 64 * (slots + rules)
    assert 64 * (42_000 + 32_000) == 4_736_000


def test_gradients_are_those_of_finite_differences(words):
    rules = rules_of(words, *GRAMMAR)
    model = TypedModel(rules, types=3, seed=1)
    model.slot_scores *= 20
    model.rule_scores *= 20
    forest = model.forest(words.read("jump and walk and look twice ### JUMP WALK LOOK LOOK"))
    counts = np.zeros((len(model.slot_scores), len(rules)))
    for slot, rule, weight in forest.expected(model.log_probabilities()):
        counts[slot, rule] += weight
    assert counts[0].sum() == pytest.approx(1) and counts.sum() == pytest.approx(6)
    for scores, gradient in zip(
        (model.slot_scores, model.rule_scores), model.gradient(counts), strict=True
    ):
        for place in np.ndindex(scores.shape):
            values = []
            for step in (1e-5, -2e-5):
                scores[place] += step
                values.append(model.log_likelihood(forest))
            scores[place] += 1e-5
            assert gradient[place] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-7)


def test_the_model_learns_what_stands_where(words, monkeypatch):
    """After twice never twice: training has none, so the model makes it unlikely."""
    rules = rules_of(words, *GRAMMAR)
    pairs = rules_of(
        words,
        "jump twice and walk ### JUMP JUMP WALK",
        "walk and jump twice ### WALK JUMP JUMP",
        "walk twice and jump ### WALK WALK JUMP",
    )
    monkeypatch.setattr(typed_model, "BATCH", 8)  # quicker
    settings = ModelSettings(types=4, updates=150)
    flat, derived, before = train_model(rules, pairs, ModelSettings(updates=0))
    model, _, after = train_model(rules, pairs, settings)
    assert derived == 3 and before == pytest.approx(flat.log_likelihood(flat.forest(pairs[0])))
    assert after > before + 2
    log_p = model.log_probabilities()
    twice = model.slot_row[rules[1], 0]
    assert math.exp(log_p[twice, 1]) < 0.1 < 1 / len(rules)
    assert np.exp(log_p).sum(1) == pytest.approx(np.ones(len(log_p)))
    again, *_ = train_model(rules, pairs, settings)
    assert np.array_equal(again.log_probabilities(), log_p)


# Sampling.


def sampler_of(words, lines, typed=(), seed=1, **settings):
    chosen = SamplingSettings(**settings)
    rules = rules_of(words, *lines)
    return Sampler(TypedModel(rules, 1), chosen, seed, typed), rules, chosen


def test_samples_are_derivations(words):
    sampler, rules, settings = sampler_of(words, GRAMMAR, samples=300, deepest=3)
    pairs = sample_pairs(sampler, [], settings)
    assert len(pairs) == len(set(pairs)) == 300
    assert all(derivable(pair, rules) for pair in pairs)
    assert min(len(pair.source) for pair in pairs) >= 2  # at least one rule with a slot


def test_training_pairs_are_not_new_and_a_small_grammar_ends(words):
    lines = ("NT_1 twice ### NT_1 NT_1", "jump ### JUMP", "walk ### WALK")
    sampler, _, settings = sampler_of(words, lines, samples=50, deepest=1)
    known = words.read("jump twice ### JUMP JUMP")
    assert shown(words, sample_pairs(sampler, [known], settings)) == {"walk twice ### WALK WALK"}
    sampler, _, settings = sampler_of(words, lines, samples=50, deepest=1, repeats=True)
    assert len(sample_pairs(sampler, [known], settings)) == 50


def test_favoured_rules_are_drawn_more_often(words):
    counts = []
    for bias in (0.0, 20.0):
        sampler, _, _ = sampler_of(words, GRAMMAR, slot_bias=bias, bias_arity=2, deepest=6)
        drawn = list(islice(sampler.pairs(), 300))
        counts.append(sum(words.encode("and") in pair.source for pair in drawn))
    assert counts[1] > counts[0] + 50


def test_a_bias_is_added_to_weights_or_to_the_scores_of_a_model(words):
    rules = rules_of(words, *GRAMMAR)
    bias = np.array([1.5 * (rule.arity >= 1) for rule in rules])
    settings = SamplingSettings(slot_bias=1.5)
    without, trained = TypedModel(rules, 2), TypedModel(rules, 2, 1)
    assert np.allclose(Sampler(without, settings, 1)._weights, (1 + bias) / len(rules))
    types, of_type = np.exp(trained.slot_scores), np.exp(trained.rule_scores + bias)
    types /= types.sum(1, keepdims=True)
    of_type /= of_type.sum(1, keepdims=True)
    assert np.allclose(Sampler(trained, settings, 1)._weights, types @ of_type)


def test_a_grammar_that_never_ends_is_an_error(words):
    sampler, *_ = sampler_of(words, ("NT_1 twice ### NT_1 NT_1",))
    with pytest.raises(InputError, match="no derivation of the grammar ends"):
        next(sampler.pairs())


TARGETS = (
    "EVENT => Create ( NAME )",
    "EVENT => Both ( EVENT EVENT )",
    "NAME => Ann",
    "NAME => Bob",
)


def test_types_by_the_grammar_of_the_targets(words):
    grammar = TargetGrammar(TARGETS, words, "grammar")
    lines = (
        "NT_1 and NT_2 ### Both ( NT_1 NT_2 )",
        "meet NT_1 ### Create ( NT_1 )",
        "ann ### Ann",
        "again NT_1 ### Both ( NT_1 NT_1 )",
        "odd ### Create Ann",
    )
    uses = {
        words.show(typed.rule): set(typed.uses)
        for typed in grammar.type_rules(rules_of(words, *lines))
    }
    assert uses[lines[0]] == {(ROOT, ROOT, ROOT)} and uses[lines[1]] == {(ROOT, "NAME")}
    assert uses[lines[2]] == {("NAME",)} and uses[lines[3]] == {(ROOT, ROOT)}
    assert uses[lines[4]] == set()
    # A repeated slot has one nonterminal.
    pairs = TargetGrammar([*TARGETS, "EVENT => Pair ( NAME EVENT )"], words, "grammar")
    assert pairs.uses(words.read("x NT_1 NT_2 ### Pair ( NT_1 NT_2 )")) == {(ROOT, "NAME", ROOT)}
    assert not pairs.uses(words.read("x NT_1 ### Pair ( NT_1 NT_1 )"))
    # Every sample is a target of the grammar, although "ann and ann" is a derivation.
    typed = grammar.type_rules(rules_of(words, *lines))
    sampler, rules, _ = sampler_of(words, lines, typed, deepest=4)
    for pair in islice(sampler.pairs(), 200):
        assert derivable(pair, rules)
        assert "EVENT" in grammar.nonterminals(pair.target)


def nonterminals_by_hand(rules, target):
    """The same without an order or an index: every cut of every span, until nothing is new."""
    spans = list(combinations(range(len(target) + 1), 2))
    names = {name for name, _ in rules}
    known = {
        (name, start, end, frozenset(((target[start], name),)))
        for start, end in spans
        for name in names
        if target[start] in SLOTS and end == start + 1
    }
    while True:
        found = set()
        for (name, symbols), (start, end) in product(rules, spans):
            for cuts in combinations(range(start + 1, end), len(symbols) - 1):
                borders = (start, *cuts, end)
                ways = [
                    [part[3] for part in known if part[:3] == (symbol, first, last)]
                    if symbol in names
                    else [frozenset()] * (target[first:last] == symbol)
                    for symbol, first, last in zip(symbols, borders, borders[1:], strict=False)
                ]
                for assignments in product(*ways):
                    joined = frozenset().union(*assignments)
                    if len(dict(joined)) == len(joined):
                        found.add((name, start, end, joined))
        if found <= known:
            break
        known |= found
    whole = [part for part in known if part[1:3] == (0, len(target))]
    return {part[0]: {other[3] for other in whole if other[0] == part[0]} for part in whole}


def test_nonterminals_are_those_of_every_cut_of_a_target(words):
    """Random grammars, with rules that begin with their own name, and targets with slots."""
    draw = random.Random(0)
    for _ in range(60):
        rows = [
            (name, draw.choices("ABxyz", weights=(2, 2, 1, 1, 1), k=draw.choice((1, 1, 2, 3))))
            for name in "AB"
            for _ in range(3)
        ]
        lines = [f"{name} => {' '.join(symbols)}" for name, symbols in rows]
        grammar = TargetGrammar([*lines, "A => x", "B => y"], words, "grammar")
        rules = [
            (name, [symbol if symbol in "AB" else words.encode(symbol) for symbol in symbols])
            for name, symbols in (*rows, ("A", ["x"]), ("B", ["y"]))
        ]
        for _ in range(5):
            symbols = draw.choices(("x", "y", "z", "NT_1", "NT_2"), k=draw.randint(1, 5))
            target = words.encode(" ".join(symbols))
            assert grammar.nonterminals(target) == nonterminals_by_hand(rules, target)


@pytest.mark.parametrize("lines", [["EVENT Create"], ["EVENT =>"], []])
def test_what_is_no_target_grammar_is_refused(words, lines):
    with pytest.raises(InputError, match="grammar"):
        TargetGrammar(lines, words, "grammar")


# The command.


def test_augment_csl(run, tmp_path):
    train, test = split()
    short = [pair for pair in train if len(pair[0].split()) <= 4]
    (tmp_path / "train.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in short))
    (tmp_path / "test.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in test))
    words = ("augment", "csl", tmp_path / "train.tsv", "--set", "updates=20", "--samples", "400")
    out, rules = tmp_path / "new.tsv", tmp_path / "rules.txt"
    files = ("--out", out, "--rules-out", rules, "--test", tmp_path / "test.tsv")
    figures = json.loads(run(*words, *files, "--format", "json").stdout)
    assert (
        figures["pairs"] == figures["written"] == 400 and figures["derived"] == figures["distinct"]
    )
    assert rules.read_text().splitlines() == figures["rules"] and len(figures["rules"]) == 20
    new = [tuple(line.split("\t")) for line in out.read_text().splitlines()]
    known = Words()
    induced = [known.read(line) for line in figures["rules"]]
    assert all(derivable(pair, induced) for pair in encoded(known, new))
    assert figures["tests"][0]["pairs"] == len(set(new) & set(test)) > 0
    said = run(*words, *files, "--mix", "0.5").stdout
    assert "20 rules, which derive" in said and "in a training corpus of" in said


def test_bad_input_of_augment_csl_has_one_line(run, tmp_path):
    train = tmp_path / "train.tsv"
    train.write_text("a b\tA B\nNT_1 c\tC\n")
    words = ("augment", "csl", train, "--out", tmp_path / "new.tsv")
    assert "none of them NT_1" in run(*words, status=2).stderr
    train.write_text("a b\tA B\n")
    assert "no pair that training does not contain" in run(*words, status=2).stderr
    (tmp_path / "seeds").write_text("a ### A\nb\n")
    error = run(*words, "--seed-rules", tmp_path / "seeds", status=2).stderr
    assert "seeds, line 2: not a rule of the form" in error
