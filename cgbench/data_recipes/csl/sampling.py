"""Sample new pairs from a grammar (Qiu et al., 2022, section 5).

A derivation starts at the root and fills each slot with a rule, drawn in proportion to the model's
probability. Down to a minimum depth, only rules with slots are drawn; from a maximum depth on, only
rules without.
"""

import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from cgbench.data_recipes.csl.rules import Rule, fill
from cgbench.data_recipes.csl.target_grammar import ROOT, TypedRule
from cgbench.data_recipes.csl.typed_model import TypedModel
from cgbench.errors import InputError
from cgbench.request import KW_ONLY, Request, option

SHALLOWEST = 1  # minimum depth of a derivation, in all of the authors' configurations
DEEPER = 5  # levels beyond the maximum depth at which a derivation is given up


class SamplingSettings(Request):
    """Settings of a :class:`Sampler`; the defaults are those of the authors for SCAN."""

    _: KW_ONLY
    deepest: int = option(
        "--set deepest",
        default=5,
        help="Maximum depth of a derivation",
        least=1,
        group="Sampling",
    )
    slot_bias: float = option(
        "--set slot_bias",
        default=0.0,
        help="Added to the weight 1 of rules with at least `bias_arity` slots, or with a model to"
        " their scores",
        least=0,
        group="Sampling",
    )
    bias_arity: int = option(
        "--set bias_arity",
        default=1,
        help="Slots of the rules that the bias favours",
        least=1,
        group="Sampling",
    )
    samples: int = option(
        "--samples",
        default=1000,
        help="Number of new pairs",
        least=1,
        group="Sampling",
    )
    repeats: bool = option(
        "--set repeats",
        default=False,
        help="Keep pairs that are drawn again or that training contains",
        group="Sampling",
    )


class Sampler:
    """Draws pairs from a grammar.

    :param typed: types of the rules by the grammar of the targets, if there is one.
    """

    def __init__(
        self,
        model: TypedModel,
        settings: SamplingSettings,
        seed: int,
        typed: Sequence[TypedRule] = (),
    ) -> None:
        self.settings, self.model = settings, model
        self._random = random.Random(seed)
        self._arity = np.array([rule.arity for rule in model.rules])
        bias = settings.slot_bias * (self._arity >= settings.bias_arity)
        # As the authors' code: a bias of weights, or of the scores of a model.
        self._weights = (
            np.exp(model.log_probabilities(bias))
            if model.is_trained
            else np.exp(model.log_probabilities()) * (1 + bias)
        )
        self._wraps = np.array([rule.wraps for rule in model.rules])
        self._typed = list(typed) or [TypedRule.untyped(rule) for rule in model.rules]

    def pairs(self) -> Iterator[Rule]:
        """Draw pairs for ever.

        :raises InputError: no derivation ends within the depth.
        """
        failed = 0
        while True:
            pair = self._derive(None, 0, frozenset((ROOT,)), 0)
            if pair is not None:
                failed = 0
                yield pair
                continue
            failed += 1
            if failed > 10_000:
                raise InputError(
                    "no derivation of the grammar ends within the maximum depth; raise it, or give"
                    " rules without slots as seeds"
                )

    def _derive(
        self, parent: Rule | None, place: int, types: frozenset[str], depth: int
    ) -> Rule | None:
        """Fill a slot; None if the derivation is too deep."""
        number = self._draw(parent, place, types, depth)
        if number is None:
            return None
        rule, typed = self.model.rules[number], self._typed[number]
        parts = []
        for slot in range(rule.arity):
            part = self._derive(rule, slot, typed.slot_types(types, slot), depth + 1)
            if part is None:
                return None
            parts.append(part)
        sides: tuple[Callable[[Rule], str], ...] = (lambda r: r.source, lambda r: r.target)
        source, target = (fill(side(rule), [side(part) for part in parts]) for side in sides)
        return Rule(source, target)

    def _draw(
        self, parent: Rule | None, place: int, types: frozenset[str], depth: int
    ) -> int | None:
        settings = self.settings
        if depth > settings.deepest + DEEPER:
            return None
        fits = np.array([typed.has_type(types) for typed in self._typed])
        if parent is not None and parent.wraps:  # once, as parsing does
            fits &= ~self._wraps
        with_slots, without = fits & (self._arity > 0), fits & (self._arity == 0)
        if depth >= settings.deepest and with_slots.any():
            fits = without
        if depth < SHALLOWEST and with_slots.any():
            fits = with_slots
        weights = self._weights[self.model.slot_row[parent, place]] * fits
        if not weights.any():
            return None
        (number,) = self._random.choices(range(len(weights)), weights.tolist())
        return number


def sample_pairs(
    sampler: Sampler, training: Sequence[Rule], settings: SamplingSettings
) -> list[Rule]:
    """Draw ``samples`` pairs; fewer if the grammar seems to have no more distinct ones."""
    seen = set[Rule]() if settings.repeats else set(training)
    new: list[Rule] = []
    repeated = 0
    for pair in sampler.pairs():
        if pair in seen:
            repeated += 1
            if repeated > 100 * settings.samples:
                break
            continue
        if not settings.repeats:
            seen.add(pair)
        new.append(pair)
        if len(new) == settings.samples:
            break
    return new
