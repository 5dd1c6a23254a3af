"""Ask several servers the same examples in one random order, and stop when it is certain which one
is better.

After each batch, every pair of systems is compared on all examples so far (``sequential``), each
pair at the level divided by the number of pairs, so any wrong decision has at most the level
(Bonferroni). A system that is worse than another is asked no more. The race ends when one system is
left, when those left are equivalent, when all examples are asked, or with the budget. Answers are
in a journal per run, and everything else is computed from them: an interrupted race resumes and
ends as it would have ended.
"""

import contextlib
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from cgbench.argument_types import as_path
from cgbench.benchmark.score.comparison.requirements import (
    CheckedRequirement,
    check_names,
)
from cgbench.benchmark.score.comparison.sequential import (
    sequential_clusters,
)
from cgbench.benchmark.score.evaluation.hypothesis_checks import MOST_INCOMPLETE
from cgbench.errors import InputError, argument, warn
from cgbench.files import check_output, read_json, write_atomic, write_json
from cgbench.locks import locked
from cgbench.models.server_kinds import kind_of
from cgbench.models.server_options import Price
from cgbench.models.servers.address import parse_server
from cgbench.models.servers.answers import (
    AnswerReading,
    count,
    other_model,
    read_choice,
    warnings_of,
)
from cgbench.models.servers.client import BudgetError, Client
from cgbench.models.servers.conversation import Conversation
from cgbench.models.servers.exchange import Request, read_answer
from cgbench.models.servers.journal import cost_of, journal_path
from cgbench.models.translation_request import TranslateRequest
from cgbench.numbers_as_text import counted
from cgbench.plots import check_picture
from cgbench.studies.race.examples import TOP, RaceExamples
from cgbench.studies.race.forecast import forecast, more_examples
from cgbench.studies.race.request import RaceRequest
from cgbench.studies.race.standings import (
    LOSERS,
    Standing,
    check_requirement,
    draw_trajectory,
)
from cgbench.tables import render
from cgbench.text.inputs import files_of

EXAGGERATED = (
    "report the interval: a race stops when the difference happens to be large, so the difference"
    " so far is too large on average"
)


@dataclass
class AskedRun:
    """One run of a system: its server, the requests and scores (NaN: not asked) of all examples,
    and its answers.
    """

    system: str
    client: Client
    conversation: Conversation
    requests: list[Request]
    scores: np.ndarray
    readings: list[AnswerReading] = field(default_factory=list)


class Race:
    """The systems, the test set in its random order, and what is known so far."""

    def __init__(self, request: RaceRequest) -> None:
        """Read the test set and the journals.

        :raises InputError: texts, prompts or prices do not fit together, or there are fewer than
            two systems.
        """
        self.request = request
        if request.plot is not None:
            check_picture(as_path(request.plot), str(argument("plot", request.plot)))
            check_output(
                as_path(request.plot),
                files_of(request.sources, request.references, request.cluster),
            )
        if request.output is None:
            raise InputError(f"{argument('output')} is missing; give a folder for the answers")
        if len(request.prompting.prompt) > 1:
            raise InputError(
                f"{argument('prompt')}: a race has one prompt; run another race for the other"
            )
        self.folder = as_path(request.output)
        self.examples = RaceExamples(request)
        self.n, self.order = self.examples.n, self.examples.order
        self.runs = list(self._open_runs())
        self.systems = list(dict.fromkeys(run.system for run in self.runs))
        if len(self.systems) < 2:
            raise InputError(
                f"{argument('systems')}: a race needs at least two systems; give"
                f" {argument('systems')} twice"
            )
        check_names(request.require, self.systems, None)
        self.active = list(self.systems)
        self.level = request.level / math.comb(len(self.systems), 2)
        self.trajectory: list[Standing] = []
        self.answered, self.end = 0, ""
        self.advice: dict[frozenset[str], tuple[int | None, str]] = {}

    def _open_runs(self) -> Iterator[AskedRun]:
        addresses = (
            [self.request.systems]
            if isinstance(self.request.systems, str)
            else list(self.request.systems)
        )
        prices: Sequence[Price | None] = self.request.price or (None,)
        if len(prices) not in (1, len(addresses)):
            raise InputError(
                f"{argument('price')}: {len(prices)} prices for {counted(len(addresses), 'system')}"
            )
        for run_number, (text, price) in enumerate(
            zip(map(str, addresses), itertools.cycle(prices)), 1
        ):
            name, _, address = text.partition("=")
            is_named = kind_of(address) is not None
            server = parse_server(address if is_named else text)
            system = name if is_named else server.model
            output = self.folder / f"{run_number}-{re.sub(r'[^A-Za-z0-9.-]+', '_', system)}"
            translation = TranslateRequest(
                [], system=server.text, output=output, prompting=self.request.prompting
            )
            conversation = Conversation(translation, server)
            client = Client(server, journal_path(output), price=price, budget=self.request.budget)
            requests = conversation.requests(self.examples.lines, self.examples.sources)
            yield AskedRun(system, client, conversation, requests, np.full(self.n, np.nan))

    def run(self) -> Iterator[str]:
        """Ask batch after batch; one line per batch, and the end.

        :raises InputError: a server fails or changes; what was answered is kept.
        """
        self._check_folder()
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / "race.lock", wait=False), contextlib.ExitStack() as journals:
            for run in self.runs:
                journals.enter_context(run.client)
            answered, end = 0, ""
            while not end:
                stop = self.examples.whole_clusters(min(answered + self.request.batch, self.n), 1)
                complete = self._ask(answered, stop)
                if not answered:
                    self._check_first_batch(self.order[:complete])
                standings = self._compare(complete) if complete > answered else []
                if standings:
                    yield f"{complete:,} of {self.n:,}: " + "; ".join(map(str, standings))
                last = (
                    "the budget is spent"
                    if complete < stop
                    else "all are asked"
                    if complete == self.n
                    else ""
                )
                answered, end = complete, self._end(standings, last)
            self.answered, self.end = answered, end
            self.advice = self._advice()
            yield from self._finish()

    def _check_folder(self) -> None:
        """Keep the result of another race.

        :raises InputError: the folder has the result of other systems or another metric.
        """
        path = self.folder / "race.json"
        if not path.exists():
            return
        earlier = read_json(path)
        for name, value in (("systems", self.systems), ("metric", self.request.metric)):
            if earlier.get(name) != value:
                listed = value if isinstance(value, str) else ", ".join(value)
                before = earlier.get(name)
                before = ", ".join(before) if isinstance(before, list) else before
                raise InputError(
                    f"{path}: a race with the {name} {before}, not {listed}; give another"
                    f" {argument('output')}"
                )

    def _ask(self, start: int, stop: int) -> int:
        """Ask all active systems a batch, and score it; where it ends for all of them within the
        budget.
        """
        active = [run for run in self.runs if run.system in self.active]
        for run in active:
            if (budget := self.request.budget) is not None:
                clients = [each.client for each in self.runs if each is not run]
                spent = sum(
                    budget.amount - client.journal.spending.left(budget, client.price)
                    for client in clients
                )
                run.client.budget = replace(budget, amount=max(0.0, budget.amount - spent))
            requests = [run.requests[row] for row in self.order[start:stop]]
            try:
                run.client.answers(requests)
            except BudgetError:
                waiting = {request.key for request in run.client.waiting(requests)}
                keys = [request.key in waiting for request in requests]
                stop = self.examples.whole_clusters(start + keys.index(True), -1)
        for run in active:
            self._score(run, self.order[start:stop])
        return stop

    def _score(self, run: AskedRun, rows: np.ndarray) -> None:
        """Read and score the answers of some examples."""
        if not len(rows):
            return
        requests = [run.requests[row] for row in rows]
        answers = [
            read_answer(run.client.journal.replies[request.key]["reply"], request)
            for request in requests
        ]
        readings = [
            read_choice(choices[0], run.conversation.rule, self.examples.lines[row])
            for row, choices in zip(rows, answers, strict=True)
        ]
        run.readings += readings
        texts = [reading.text for reading in readings]
        run.scores[rows] = self.examples.scores(rows, texts)

    def mean_scores(self, system: str) -> np.ndarray:
        """The score of each example, the mean over the runs of a system; NaN where it was not
        asked.
        """
        return np.mean([run.scores for run in self.runs if run.system == system], axis=0)

    def _check_first_batch(self, rows: np.ndarray) -> None:
        """Check the answers of the first batch as ``score`` does, before the second is paid.

        :raises InputError: many are empty or cut, another model has answered, or their form or
            their order would decide the race.
        """
        for run in self.runs:
            requests = [run.requests[row] for row in rows]
            model = run.client.record(requests)["model"]
            problem = (
                _incomplete(count(run.readings))
                or other_model(model, run.client.server.model)
                or self.examples.problem_of_texts(rows, [reading.text for reading in run.readings])
            )
            if problem and self.request.accept_text:
                warn(f"{run.system}: {problem}")
            elif problem:
                raise InputError(
                    f"{run.system}: {problem}; {argument('accept_text')} continues with these"
                    " answers (which are kept)"
                )

    def _compare(self, answered: int) -> list[Standing]:
        """All pairs of active systems; a system that is worse than another is no longer active."""
        rows, standings = self.order[:answered], []
        sizes = np.bincount(self.examples.clusters).tolist()
        options: dict[str, Any] = {
            "sizes": sizes,
            "level": self.level,
            "margin": self.request.margin,
            "about": self.request.about,
        }
        for first, second in itertools.combinations(self.active, 2):
            values = self.mean_scores(first)[rows] - self.mean_scores(second)[rows]
            result = sequential_clusters(values, self.examples.clusters[rows], -TOP, TOP, **options)
            mean, low, high, p = map(
                float, (values.mean(), result.low[-1], result.high[-1], result.p[-1])
            )
            standings.append(Standing(first, second, answered, mean, low, high, p, result.decision))
        worse = {
            getattr(pair, LOSERS[pair.decision]) for pair in standings if pair.decision in LOSERS
        }
        self.active = [name for name in self.active if name not in worse]
        self.trajectory += standings
        return standings

    def _end(self, standings: Sequence[Standing], last: str) -> str:
        """How the race ended, as a sentence; empty if it continues.

        ``last``: why no further example is asked.
        """
        names = " and ".join(self.active)
        if len(self.active) == 1:
            return f"{names} is better"
        pairs = [
            pair for pair in standings if pair.first in self.active and pair.second in self.active
        ]
        if pairs and all(pair.decision == "equivalent" for pair in pairs):
            return f"{names} are equivalent within {self.request.margin:g} points"
        return f"undecided between {names}: {last}" if last else ""

    def _advice(self) -> dict[frozenset[str], tuple[int | None, str]]:
        """How many more examples would decide between the systems of each undecided pair, and this
        in words.
        """
        rows = self.order[: self.answered]
        advice: dict[frozenset[str], tuple[int | None, str]] = {}
        for pair in self.trajectory:
            names = {pair.first, pair.second}
            if pair.examples != self.answered or pair.decision != "undecided":
                continue
            if not names <= {*self.active}:
                continue
            if self.request.about == "test-set":
                left = self.n - self.answered
                text = f"the other {counted(left, 'example')} would decide for certain"
                advice[frozenset(names)] = left, text
                continue
            values = self.mean_scores(pair.first)[rows] - self.mean_scores(pair.second)[rows]
            clusters = self.examples.clusters[rows]
            margin = self.request.margin
            advice[frozenset(names)] = more_examples(values, clusters, self.level, margin)
        return advice

    def result(self) -> dict[str, Any]:
        """The result as values of JSON."""
        names = ("metric", "level", "margin", "about", "seed")
        return {
            "systems": self.systems,
            **{name: getattr(self.request, name) for name in names},
            "examples": self.n,
            "answered": self.answered,
            "end": self.end,
            "best": self.active,
            "requirements": [checked.to_json() for checked in self.requirements()],
            "trajectory": list(map(asdict, self.trajectory)),
        }

    def requirements(self) -> list[CheckedRequirement]:
        """Whether the race shows what is required of a system, against every other system."""
        return [
            check_requirement(
                requirement,
                other,
                self.request.metric,
                self.trajectory,
                self.active,
                self.advice.get(frozenset({requirement.system, other}), (None, "")),
            )
            for requirement in self.request.require
            for other in self.systems
            if other != requirement.system
        ]

    def _finish(self) -> Iterator[str]:
        """Write the result, and say what was saved."""
        request, answered, end = self.request, self.answered, self.end
        rows = self.order[:answered]
        write_json(self.folder / "race.json", self.result())
        scores = np.stack(
            [rows + 1, *(self.mean_scores(name)[rows] for name in self.systems)], axis=1
        ).tolist()
        cells = [[f"{score:.10g}" if score == score else "" for score in line] for line in scores]
        write_atomic(self.folder / "scores.tsv", render(["id", *self.systems], cells, "tsv") + "\n")
        about = " on this test set" if request.about == "test-set" else ""
        yield f"{end}{about} (after {answered:,} of {self.n:,} examples, level {request.level:g})"
        for names, (_, text) in self.advice.items():
            pair = f"{' and '.join(sorted(names))}: " if len(self.advice) > 1 else ""
            yield pair + text
        if answered < self.n and any(pair.decision in LOSERS for pair in self.trajectory):
            yield EXAGGERATED
        # Answers and money that a whole run would have taken, from the mean of each run so far.
        counts = [len(run.readings) for run in self.runs]
        costs = [
            cost_of(run.client.journal.spending.most, run.client.price)
            for run in self.runs
            if run.client.price
        ]
        line = f"{sum(counts):,} of {self.n * len(self.runs):,} answers"
        if len(costs) == len(self.runs) and all(counts):
            saved = sum(
                cost * (self.n / answers - 1) for cost, answers in zip(costs, counts, strict=True)
            )
            line += f"; {sum(costs):.4f} USD spent, about {saved:.4f} USD saved"
        yield line
        for run in self.runs:
            for text in warnings_of(count(run.readings), run.conversation.rule):
                warn(f"{run.system}: {text}")
        if request.plot is not None:
            pairs = list(itertools.combinations(self.systems, 2))
            draw_trajectory(as_path(request.plot), pairs, self.trajectory, request.level)

    def dry_run(self) -> list[str]:
        """The expected number of examples for some true differences, from the answers so far or
        from a guess.
        """
        for run in self.runs:
            answered = [
                row for row in range(self.n) if run.requests[row].key in run.client.journal.replies
            ]
            self._score(run, np.array(answered, np.intp))
        first, second = map(self.mean_scores, self.systems[:2])
        differences = (first - second)[np.isfinite(first - second)]
        return forecast(self.request, self.n, self.level, differences)


def _incomplete(counts: Mapping[str, Any]) -> str:
    """That too many answers are empty or cut short; empty if not."""
    if counts["incomplete"] <= MOST_INCOMPLETE * counts["asked"]:
        return ""
    causes = ", ".join(f"{cause} {number}" for cause, number in counts["causes"].items())
    return (
        f"{counts['incomplete']:,} of the first {counts['asked']:,} answers are empty or cut short"
        f" ({causes}); change the prompt, {argument('answer')} or ?max_tokens=N"
    )
