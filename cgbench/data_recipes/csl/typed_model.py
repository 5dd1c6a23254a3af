"""The probability of a rule in a slot, through latent types (Qiu et al., 2022, section 4).

P(rule | slot) is the sum over types of P(type | slot) · P(rule | type), two softmaxes. A slot is
one of a rule's, or the root, which a derivation starts from. The parameters maximise the likelihood
of the training pairs, summed over all their derivations (inside scores), by Adam.

The gradient of a pair's log-likelihood with respect to log P(rule | slot) is how often the pair's
derivations are expected to put the rule there, which the inside and outside scores give.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cgbench.data_recipes.csl.parsing import Item, parse
from cgbench.data_recipes.csl.rules import Rule
from cgbench.progress import track
from cgbench.request import KW_ONLY, Request, option

BATCH, RATE = 256, 0.01  # pairs per update, and learning rate
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-7  # Adam of Keras
START = 0.05  # standard deviation of the initial scores, as in TensorFlow


class ModelSettings(Request):
    """Settings of :func:`train_model`; the defaults are those of the authors for SCAN."""

    _: KW_ONLY
    types: int = option(
        "--set types",
        default=4,
        help="Number of latent types",
        least=1,
        group="Model",
    )
    updates: int = option(
        "--set updates",
        default=1000,
        help="Number of updates of the model; 0: all rules are equally likely",
        least=0,
        group="Model",
    )
    seed: int = option(
        "--seed",
        default=1,
        help="Random seed",
        least=0,
        group="Model",
    )


@dataclass(frozen=True)
class Node:
    """A node of a pair's derivations; children come first.

    :param ways: for each derivation, (child, row of its rule, row of its slot) of each slot.
    """

    ways: list[list[tuple[int, int, int]]]


class TypedModel:
    """Scores of types in slots [slots, types], and of rules of types [types, rules]."""

    def __init__(self, rules: Sequence[Rule], types: int, seed: int | None = None) -> None:
        """
        :param seed: of the random initial scores; None: all are 0.
        """
        self.rules, self.is_trained = list(rules), seed is not None
        self.row = {rule: row for row, rule in enumerate(self.rules)}
        slots: list[tuple[Rule | None, int]] = [(None, 0)]  # the root
        slots += [(rule, place) for rule in self.rules for place in range(rule.arity)]
        self.slot_row = {slot: row for row, slot in enumerate(slots)}
        shapes = (len(slots), types), (types, len(self.rules))
        random = np.random.Generator(np.random.PCG64(seed or 0))
        scale = 0.0 if seed is None else START
        self.slot_scores, self.rule_scores = (scale * random.standard_normal(s) for s in shapes)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.slot_scores.size + self.rule_scores.size

    def log_probabilities(self, bias: np.ndarray | float = 0.0) -> np.ndarray:
        """log P(rule | slot), [slots, rules].

        :param bias: added to the score of each rule, [rules].
        """
        return np.log(_softmax(self.slot_scores) @ _softmax(self.rule_scores + bias))

    def log_likelihood(self, forest: "Forest", log_p: np.ndarray | None = None) -> float:
        """The log-probability of a pair, summed over its derivations."""
        return forest.inside(self.log_probabilities() if log_p is None else log_p)[-1]

    def gradient(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gradient of a log-likelihood with respect to both scores.

        :param counts: its gradient with respect to log P, [slots, rules].
        """
        p_type, p_rule = _softmax(self.slot_scores), _softmax(self.rule_scores)
        ratio = counts / (p_type @ p_rule)
        # How often each type is expected in a slot, and to give a rule.
        in_slot = p_type * (ratio @ p_rule.T)
        of_rule = p_rule * (p_type.T @ ratio)
        return (
            in_slot - p_type * in_slot.sum(1, keepdims=True),
            of_rule - p_rule * of_rule.sum(1, keepdims=True),
        )

    def forest(self, pair: Rule) -> "Forest | None":
        """All derivations of a pair; None if there is none."""
        items = parse(pair, self.rules)
        return Forest(items, self) if items else None


class Forest:
    """The derivations of a pair, as nodes with the root last."""

    def __init__(self, items: Sequence[Item], model: TypedModel) -> None:
        self._model, self.nodes = model, list[Node]()
        numbers: dict[int, int] = {}
        root = [(self._add(item, numbers), self._row(item), 0) for item in items]
        self.nodes.append(Node([[child] for child in root]))

    def inside(self, log_p: np.ndarray) -> list[float]:
        """The log-probability of what each node derives, given its rule."""
        scores: list[float] = []
        for node in self.nodes:
            ways = [
                sum(float(log_p[slot, rule]) + scores[child] for child, rule, slot in way)
                for way in node.ways
            ]
            scores.append(float(np.logaddexp.reduce(ways)) if len(ways) > 1 else float(ways[0]))
        return scores

    def expected(self, log_p: np.ndarray) -> Iterator[tuple[int, int, float]]:
        """(slot, rule, expected number of uses) in the derivations of the pair."""
        inside = self.inside(log_p)
        weights = [0.0] * len(self.nodes)
        weights[-1] = 1.0
        for number in range(len(self.nodes) - 1, -1, -1):
            for way in self.nodes[number].ways:
                score = sum(float(log_p[slot, rule]) + inside[child] for child, rule, slot in way)
                weight = weights[number] * float(np.exp(score - inside[number]))
                for child, rule, slot in way:
                    weights[child] += weight
                    yield slot, rule, weight

    def _row(self, item: Item) -> int:
        assert item.rule is not None
        return self._model.row[item.rule]

    def _add(self, item: Item, numbers: dict[int, int]) -> int:
        """Add an item after its parts; its number."""
        if id(item) not in numbers:
            ways = [
                [
                    (self._add(part, numbers), self._row(part), self._slot(item, place))
                    for place, part in enumerate(way)
                ]
                for way in item.ways
            ]
            numbers[id(item)] = len(self.nodes)
            self.nodes.append(Node(ways))
        return numbers[id(item)]

    def _slot(self, item: Item, place: int) -> int:
        return self._model.slot_row[item.rule, place]


def train_model(
    rules: Sequence[Rule], pairs: Sequence[Rule], settings: ModelSettings
) -> tuple[TypedModel, int, float]:
    """Train a model; return it with the number of pairs that the rules derive, and their mean
    log-likelihood.

    Without updates, all rules are equally likely.
    """
    model = TypedModel(rules, settings.types, settings.seed if settings.updates else None)
    forests = [
        forest
        for pair in track(list(pairs), len(pairs), "derivations", "pair")
        if (forest := model.forest(pair)) is not None
    ]
    random = np.random.Generator(np.random.PCG64([settings.seed, 1]))
    parameters = [model.slot_scores, model.rule_scores]
    means, squares = ([np.zeros_like(scores) for scores in parameters] for _ in range(2))
    updates = settings.updates if forests else 0
    for update in track(range(1, updates + 1), updates, "model", "update"):
        batch = random.integers(len(forests), size=BATCH).tolist()
        log_p = model.log_probabilities()
        counts = np.zeros_like(log_p)
        for row in batch:
            for slot, rule, weight in forests[row].expected(log_p):
                counts[slot, rule] += weight / len(batch)
        for scores, gradient, mean, square in zip(
            parameters, model.gradient(counts), means, squares, strict=True
        ):
            mean += (1 - BETA1) * (gradient - mean)
            square += (1 - BETA2) * (gradient**2 - square)
            step = mean / (1 - BETA1**update)
            scores += RATE * step / (np.sqrt(square / (1 - BETA2**update)) + EPSILON)
    log_p = model.log_probabilities()
    likelihoods = [model.log_likelihood(forest, log_p) for forest in forests]
    mean_likelihood = float(np.mean(likelihoods)) if likelihoods else float("-inf")
    return model, len(forests), mean_likelihood


def _softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(1, keepdims=True))
    probabilities: np.ndarray = exponentials / exponentials.sum(1, keepdims=True)
    return probabilities
