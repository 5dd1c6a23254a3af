"""Train HPD's two networks and answer questions with them.

Settings are those of the authors' scripts in poset_decoding: sketch_prediction/train.sh and
main.py, traversal_path_prediction/MatchZoo-py/train_esim.py. Their learning rate of 2e-4 is never
used, since their optimiser gets torch's default. Ours: words are the classifier's tokens; the last
epoch of the parser is kept (theirs: the best on validation data by all sets of next words).
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
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
from cgbench.models.training.distributed import Processes
from cgbench.models.training.interruption import held_signals
from cgbench.models.training.state import Progress, read_state, restore_tensors, write_state
from cgbench.progress import bar

UNREPAIRED, REJECTED, GOLD = "", "repaired with rejected paths", "repaired with gold labels"
REPAIRS = (UNREPAIRED, REJECTED, GOLD)
ORACLE = "oracle classifier"  # what the sketch and the phrase table allow
SPECIALS = 4
UNKNOWN = 3
SAVE_EVERY = 500  # updates between two states of a training


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


@dataclass(frozen=True)
class Task:
    """What a network is trained on.

    :param rows: numbers of examples; ``size``: of a batch; ``loss``: of the examples of a batch.
    :param clip_norm: largest norm of the gradient; 0: no limit.
    """

    rows: Sequence[int]
    size: int
    epochs: int
    loss: Callable[[Sequence[int]], Tensor]
    clip_norm: float = 0.0

    def batches(self, order: random.Random) -> Iterator[list[int]]:
        """Every row once per epoch, in random order."""
        for _ in range(self.epochs):
            shuffled = list(self.rows)
            order.shuffle(shuffled)
            for first in range(0, len(shuffled), self.size):
                yield shuffled[first : first + self.size]


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
    tensors = list(map(torch.tensor, rows))
    return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=PAD).to(device)


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
        """Train both networks.

        A network that an earlier call finished in ``folder`` is read; one that it was training
        continues from its last state, and ends with the same bytes.
        """
        settings = self.settings
        torch.manual_seed(seed)
        self.parser = SketchParser(
            len(self.words), len(self.sketch_words), settings.width, settings.embedding
        ).to(self.device)
        self._trained(self.parser, "sketch parser", folder, self._parser_task, seed)
        torch.manual_seed(seed)
        self.classifier = PathClassifier(
            len(self.path_words), settings.classifier_width, settings.embedding
        ).to(self.device)
        self._trained(self.classifier, "path classifier", folder, self._classifier_task, seed)

    def _trained(
        self,
        network: nn.Module,
        title: str,
        folder: Path,
        task: Callable[[random.Random], Task],
        seed: int,
    ) -> None:
        path = folder / f"{title.replace(' ', '_')}.safetensors"
        states = path.with_suffix(".training")
        if path.is_file():
            network.load_state_dict(read_tensors(path)[0])
        else:
            states.mkdir(parents=True, exist_ok=True)
            order = random.Random(seed)
            self._fit(network, title, task(order), order, states, seed)
            write_tensors(path, network.state_dict())
        shutil.rmtree(states, ignore_errors=True)
        network.eval()

    def _fit(
        self,
        network: nn.Module,
        title: str,
        task: Task,
        order: random.Random,
        states: Path,
        seed: int,
    ) -> None:
        """Make all updates of a network, from the state in ``states`` if there is one.

        A state is written every ``SAVE_EVERY`` updates, and when a signal asks to stop.
        """
        optimizer = torch.optim.Adam(network.parameters(), self.settings.learning_rate)
        network.train()
        # Where did an earlier call stop?
        processes = Processes(0, 1, self.device)
        made_of = [asdict(self.settings), title, seed]
        progress, tensors = read_state(states, made_of, processes)
        if tensors:
            restore_tensors(tensors, network, optimizer, processes)
        # The batches before it are drawn again and skipped.
        total = task.epochs * -(-len(task.rows) // task.size)
        total = min(total, self.settings.updates or total)
        finished = progress.update
        with held_signals() as signals, bar(total, f"train {title}", "update") as shown:
            shown.update(finished)
            for batch in islice(task.batches(order), finished, total):
                optimizer.zero_grad()
                task.loss(batch).backward()
                if task.clip_norm:
                    nn.utils.clip_grad_norm_(network.parameters(), task.clip_norm)
                optimizer.step()
                finished += 1
                shown.update(1)
                if signals or finished % SAVE_EVERY == 0:
                    progress = Progress(update=finished)
                    write_state(states, made_of, progress, network, optimizer, processes)
                if signals:
                    break  # it takes effect on leaving held_signals

    def _parser_task(self, order: random.Random) -> Task:
        settings = self.settings
        sources = [[*self.words.encode(question), EOS] for question in self.questions]
        sketches = [
            [self.sketch_words.encode(path) for path in paths_of(sketch)]
            for sketch in self.sketches
        ]
        usable = [row for row, paths in enumerate(sketches) if paths]

        def loss(batch: Sequence[int]) -> Tensor:
            source = padded([sources[row] for row in batch], self.device)
            return self.parser.loss(source, [sketches[row] for row in batch])

        return Task(usable, settings.parser_batch, settings.parser_epochs, loss, settings.clip_norm)

    def _classifier_task(self, order: random.Random) -> Task:
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

        def loss(batch: Sequence[int]) -> Tensor:
            chosen = [examples[row] for row in batch]
            classes = [VALID if example.valid else 1 - VALID for example in chosen]
            target = torch.tensor(classes, device=self.device)
            return nn.functional.cross_entropy(self._logits(chosen), target)

        rows = range(len(examples))
        return Task(rows, settings.classifier_batch, settings.classifier_epochs, loss)

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
