"""Train HPD's two networks and answer questions with them.

Settings are those of the authors' scripts in poset_decoding: sketch_prediction/train.sh and
main.py, traversal_path_prediction/MatchZoo-py/train_esim.py. Their learning rate of 2e-4 is never
used, since their optimiser gets torch's default. Ours: words are the classifier's tokens; the last
epoch of the parser is kept (theirs: the best on validation data by all sets of next words).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from cgbench.models.checkpoints import read_tensors, write_tensors
from cgbench.models.hpd.path_classifier import VALID, PathClassifier
from cgbench.models.hpd.phrase_table import PhraseTable, fill, predicate_key
from cgbench.models.hpd.queries import (
    CLAUSES,
    ENTITY,
    clauses_of,
    conditions_of,
    expanded,
    masked,
    paths_of,
    query_of,
    sketch_of,
    with_subject_entities,
    without_subject_entities,
)
from cgbench.models.hpd.settings import HPDSettings
from cgbench.models.hpd.sketch_parser import SketchParser
from cgbench.models.special_ids import EOS, PAD
from cgbench.progress import bar

UNREPAIRED, REJECTED, GOLD = "", "repaired with rejected paths", "repaired with gold labels"
REPAIRS = (UNREPAIRED, REJECTED, GOLD)
ORACLE = "oracle classifier"  # what the sketch and the phrase table allow
SPECIALS = 4
UNKNOWN = 3


@dataclass(frozen=True)
class Example:
    """A filled path of a question.

    :param question: with coordinated entities merged; ``merged``: those that others stand for.
    :param valid: whether all of its clauses are in the query.
    """

    question: str
    path: str
    merged: Mapping[str, Sequence[str]]
    valid: bool


class Words:
    """Numbers of words, in the order of their first occurrence in training."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.names = list(dict.fromkeys(word for text in texts for word in text.split()))
        self.ids = {word: SPECIALS + number for number, word in enumerate(self.names)}

    def __len__(self) -> int:
        return SPECIALS + len(self.names)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without an end."""
        return [self.ids.get(word, UNKNOWN) for word in text.split()]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        return " ".join(
            self.names[number - SPECIALS] if number >= SPECIALS else "<unk>" for number in ids
        )


def padded(rows: Sequence[Sequence[int]], device: str) -> Tensor:
    """A table of ids, [rows, longest]."""
    table = torch.full((len(rows), max(map(len, rows))), PAD)
    for index, row in enumerate(rows):
        table[index, : len(row)] = torch.tensor(row)
    return table.to(device)


class HPD:
    """The trained method: a phrase table, a sketch parser and a path classifier."""

    def __init__(
        self,
        questions: Sequence[str],
        queries: Sequence[str],
        settings: HPDSettings,
        table: PhraseTable | None = None,
        device: str = "cpu",
    ) -> None:
        self.settings, self.device = settings, device
        self.questions = questions
        self.clauses = [without_subject_entities(clauses_of(query)) for query in queries]
        self.sketches = [sketch_of(clauses_of(query)) for query in queries]
        self.table = table or PhraseTable.learn(questions, queries)
        self.words = Words(questions)
        self.sketch_words = Words(CLAUSES.join(sketch) for sketch in self.sketches)
        clauses = (CLAUSES.join(clauses) for clauses in self.clauses)
        self.path_words = Words([*questions, *clauses])
        self.parser: SketchParser
        self.classifier: PathClassifier

    def train(self, seed: int, folder: Path) -> None:
        """Train both networks, or read those that an earlier call has finished in ``folder``."""
        settings = self.settings
        torch.manual_seed(seed)
        self.parser = SketchParser(
            len(self.words), len(self.sketch_words), settings.width, settings.embedding
        ).to(self.device)
        self._trained(self.parser, folder / "sketch_parser.safetensors", self._train_parser, seed)
        torch.manual_seed(seed)
        self.classifier = PathClassifier(
            len(self.path_words), settings.classifier_width, settings.embedding
        ).to(self.device)
        self._trained(
            self.classifier, folder / "path_classifier.safetensors", self._train_classifier, seed
        )

    def _trained(
        self, network: nn.Module, path: Path, train: Callable[[random.Random], None], seed: int
    ) -> None:
        if path.is_file():
            network.load_state_dict(read_tensors(path)[0])
        else:
            train(random.Random(seed))
            path.parent.mkdir(parents=True, exist_ok=True)
            write_tensors(path, network.state_dict())
        network.eval()

    def _train_parser(self, order: random.Random) -> None:
        settings = self.settings
        sources = [[*self.words.encode(question), EOS] for question in self.questions]
        sketches = [
            [self.sketch_words.encode(path) for path in paths_of(sketch)]
            for sketch in self.sketches
        ]
        usable = [row for row, paths in enumerate(sketches) if paths]
        optimizer = torch.optim.Adam(self.parser.parameters(), settings.learning_rate)
        self.parser.train()
        for batch in self._batches(
            usable, settings.parser_batch, settings.parser_epochs, order, "sketch parser"
        ):
            source = padded([sources[row] for row in batch], self.device)
            loss = self.parser.loss(source, [sketches[row] for row in batch])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.parser.parameters(), settings.clip_norm)
            optimizer.step()

    def _train_classifier(self, order: random.Random) -> None:
        settings = self.settings
        examples: list[Example] = []
        for question, sketch, clauses in zip(
            self.questions, self.sketches, self.clauses, strict=True
        ):
            proposed = self.examples(question, sketch, clauses)
            positive = [example for example in proposed if example.valid]
            negative = [example for example in proposed if not example.valid]
            count = min(len(positive), len(negative))
            examples += positive + order.sample(negative, count)
        optimizer = torch.optim.Adam(self.classifier.parameters(), settings.learning_rate)
        self.classifier.train()
        for batch in self._batches(
            range(len(examples)),
            settings.classifier_batch,
            settings.classifier_epochs,
            order,
            "path classifier",
        ):
            chosen = [examples[row] for row in batch]
            classes = [VALID if example.valid else 1 - VALID for example in chosen]
            target = torch.tensor(classes, device=self.device)
            loss = nn.functional.cross_entropy(self._logits(chosen), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def _batches(
        self, rows: Sequence[int], size: int, epochs: int, order: random.Random, title: str
    ) -> Iterator[list[int]]:
        """Every row once per epoch, in random order, up to the limit of updates."""
        total = epochs * -(-len(rows) // size)
        total = min(total, self.settings.updates or total)
        made = 0
        with bar(total, f"train {title}", "update") as progress:
            for _ in range(epochs):
                shuffled = list(rows)
                order.shuffle(shuffled)
                for first in range(0, len(shuffled), size):
                    if made == total:
                        return
                    yield shuffled[first : first + size]
                    made += 1
                    progress.update(1)

    def _logits(self, examples: Sequence[Example]) -> Tensor:
        questions = [self.path_words.encode(example.question) for example in examples]
        paths = [self.path_words.encode(example.path) for example in examples]
        logits: Tensor = self.classifier(padded(questions, self.device), padded(paths, self.device))
        return logits

    def examples(
        self, question: str, sketch: Sequence[str], clauses: Sequence[str] = ()
    ) -> list[Example]:
        """The filled paths of a sketch, and whether they are in the query.

        :param clauses: of the query, without entities as subjects.
        """
        candidates = self.table.candidates(question, sketch, self.settings.split)
        shorter, merged = masked(question)
        others = {entity for entities in merged.values() for entity in entities}
        gold = set(clauses)
        return [
            Example(shorter, path, merged, gold.issuperset(path.split(CLAUSES)))
            for path in fill(paths_of(sketch), candidates)
            if others.isdisjoint(ENTITY.findall(path))
        ]

    @torch.no_grad()
    def sketches_of(self, questions: Sequence[str]) -> list[list[str]]:
        """The predicted sketch of each question, a sorted set of abstract clauses."""
        sketches = []
        size = self.settings.parser_batch
        for first in range(0, len(questions), size):
            rows = [[*self.words.encode(text), EOS] for text in questions[first : first + size]]
            for paths in self.parser.decode(padded(rows, self.device)):
                clauses = {
                    clause
                    for path in paths
                    for clause in self.sketch_words.decode(path).split(CLAUSES)
                    if is_abstract(clause)
                }
                sketches.append(sorted(clauses))
        return sketches

    @torch.no_grad()
    def probabilities(self, examples: Sequence[Example]) -> list[float]:
        """The probability that each path is valid."""
        values: list[float] = []
        size = 4 * self.settings.classifier_batch
        for first in range(0, len(examples), size):
            logits = self._logits(examples[first : first + size])
            values += torch.softmax(logits, 1)[:, VALID].tolist()
        return values

    def answers(self, questions: Sequence[str], queries: Sequence[str]) -> dict[str, list[str]]:
        """Return the answers without repair, with repair of either kind, and of an oracle that
        knows which filled paths are right.

        :param queries: the right ones, which only :data:`GOLD` and :data:`ORACLE` read.
        """
        answers: dict[str, list[str]] = {kind: [] for kind in (*REPAIRS, ORACLE)}
        sketches = self.sketches_of(questions)
        for question, query, sketch in zip(questions, queries, sketches, strict=True):
            clauses = without_subject_entities(clauses_of(query))
            examples = self.examples(question, sketch, clauses)
            probabilities = self.probabilities(examples)
            for kind in answers:
                if kind == ORACLE:
                    chosen = [example for example in examples if example.valid]
                else:
                    chosen = self.accepted(examples, probabilities, kind)
                found = [clause for example in chosen for clause in _clauses(example)]
                answers[kind].append(query_of(question, with_subject_entities(found)))
        return answers

    def accepted(
        self, examples: Sequence[Example], probabilities: Sequence[float], repair: str
    ) -> list[Example]:
        """The accepted paths of a question, after repair.

        For every word of the question whose clauses are in no accepted path, a repair adds the
        likeliest rejected path of one clause that the word may stand for. The authors' evaluation
        does so, but only with paths that the right query contains (:data:`GOLD`).
        """
        chosen = [
            example
            for example, probability in zip(examples, probabilities, strict=True)
            if probability > 0.5
        ]
        if repair == UNREPAIRED or not examples:
            return chosen
        rejected = sorted(
            (
                (probability, example)
                for example, probability in zip(examples, probabilities, strict=True)
                if probability <= 0.5 and CLAUSES not in example.path
                if example.valid or repair != GOLD
            ),
            key=lambda item: (-item[0], item[1].path),
        )
        words = {
            word: self.table.predicates(word)
            for word in dict.fromkeys(examples[0].question.split())
        }
        covered = covered_words(words, chosen)
        for word, keys in words.items():
            fitting = [item for item in rejected if predicate_key(item[1].path) in keys]
            if word not in covered and fitting:
                rejected.remove(fitting[0])
                chosen.append(fitting[0][1])
        return chosen


def covered_words(words: Mapping[str, Sequence[str]], chosen: Sequence[Example]) -> set[str]:
    """The words that accepted paths account for, as the authors count them: of each path, the last
    clause accounts for the first word that may stand for it, or for all if an executive did it.

    :param words: the predicates that each word may stand for.
    """
    covered: set[str] = set()
    for example in chosen:
        key = predicate_key(example.path.split(CLAUSES)[-1])
        standing = [word for word, keys in words.items() if key in keys]
        covered.update(standing if "executive" in key else standing[:1])
    return covered


def _clauses(example: Example) -> list[str]:
    return expanded(example.path, example.merged)


def is_abstract(clause: str) -> bool:
    """Whether a predicted clause has the form of a sketch's: ``?x0 P M``."""
    words = clause.split()
    return (
        len(words) == 3
        and words[0].startswith("?x")
        and words[1] in ("P", "a", "V")
        and (words[2] in ("M", "S") or words[2].startswith("?x"))
    )


def share_right(questions: Sequence[str], answers: Sequence[str], queries: Sequence[str]) -> float:
    """The percentage of different questions whose sets of clauses and filters are right, as in the
    authors' evaluation: their order and the words before the braces do not count.
    """
    right: dict[str, bool] = {}
    for question, answer, query in zip(questions, answers, queries, strict=True):
        right[question] = set(conditions_of(answer)) == set(conditions_of(query))
    return 100 * sum(right.values()) / max(len(right), 1)
