"""HPD: sketches and paths by hand and by the authors' rules, the phrase table, the networks, the
repair of the authors' evaluation, and the whole method on a small grammar.
"""

import signal
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from toy_cfq import pairs

from cgbench.errors import InputError
from cgbench.models.checkpoints import STATE
from cgbench.models.hpd import queries, training
from cgbench.models.hpd.path_classifier import PathClassifier
from cgbench.models.hpd.phrase_table import PhraseTable, fill, predicate_key
from cgbench.models.hpd.settings import HPDSettings
from cgbench.models.hpd.sketch_parser import SketchParser, training_table
from cgbench.models.hpd.training import (
    GOLD,
    HPD,
    ORACLE,
    REJECTED,
    UNREPAIRED,
    Example,
    covered_words,
    share_right,
)
from cgbench.models.special_ids import BOS, EOS, PAD


class TestQueries:
    def test_clauses_are_sorted_by_the_keys_of_the_authors(self):
        keys = {"?x0 P M": 7.5, "?x1 a M": 6, "?x0 P ?x1": 12.5, "?x1 V S": 7}
        assert {clause: queries.key_of(clause) for clause in keys} == keys

    def test_a_sketch_has_placeholders_and_no_subject_entities(self):
        clauses = [
            "?x0 a film.actor",
            "?x0 film.director.film ?x1",
            "?x1 people.person.gender m_02zsn",
            "?x1 film.film.edited_by M1",
        ]
        assert queries.sketch_of(clauses) == ["?x0 P ?x1", "?x0 a M", "?x1 P M", "?x1 V S"]
        assert queries.sketch_of(["M0 film.director.film M1"]) == ["?x0 P M"]
        assert queries.sketch_of(["M0 film.director.film ?x0", "?x0 a film.film"]) == [
            "?x0 P ?x1",
            "?x0 P M",
            "?x1 a M",
        ]

    def test_paths_lead_from_the_first_variable_to_every_leaf(self):
        sketch = ["?x0 P ?x1", "?x0 P M", "?x1 P ?x2", "?x1 a M", "?x2 P M"]
        assert queries.paths_of(sketch) == [
            "?x0 P M",
            "?x0 P ?x1 . ?x1 a M",
            "?x0 P ?x1 . ?x1 P ?x2 . ?x2 P M",
        ]
        assert queries.paths_of(["?x1 a M"]) == []  # leads to no answer

    def test_queries_of_the_grammar_survive_the_replacement_of_subjects(self):
        for _, query in pairs(200):
            clauses = queries.clauses_of(query)
            replaced = queries.without_subject_entities(clauses)
            assert not any(clause.startswith("M") for clause in replaced)
            assert sorted(queries.with_subject_entities(replaced)) == sorted(clauses)

    def test_a_sketch_is_the_union_of_its_paths(self):
        for _, query in pairs(200):
            sketch = queries.sketch_of(queries.clauses_of(query))
            paths = queries.paths_of(sketch)
            assert sorted({clause for path in paths for clause in path.split(" . ")}) == sketch

    def test_coordinated_entities_are_merged_and_expanded(self):
        shorter, merged = queries.masked("Did M0 direct M1 , M2 and M3 and edit M4")
        assert shorter == "Did M0 direct M1 and edit M4"
        assert merged == {"M1": ["M2", "M3"]}
        assert queries.expanded("?x0 film.director.film M1", merged) == [
            f"?x0 film.director.film {entity}" for entity in ("M1", "M2", "M3")
        ]
        assert queries.masked("Was M0 ' s actor M1") == ("Was M0 ' s actor M1", {})

    def test_filters_come_back_with_their_predicates(self):
        spouse = queries.SYMMETRIC[0]
        assert queries.with_filters([f"?x0 {spouse} M0", "?x0 a film.actor"]) == [
            "?x0 a film.actor",
            f"?x0 {spouse} M0",
            "FILTER ( ?x0 != M0 )",
        ]


class TestPhraseTable:
    TABLE = PhraseTable({"directed": ["?x film.film.directed_by M", "?x film.film.directed_by ?x"]})

    def test_candidates_fill_the_paths_of_a_sketch(self):
        sketch = ["?x0 P M"]
        candidates = self.TABLE.candidates("What was directed by M0", sketch, "mcd1")
        assert fill(queries.paths_of(sketch), candidates) == ["?x0 film.film.directed_by M0"]

    @pytest.mark.parametrize(("split", "values"), [("mcd1", ["M0", "M1"]), ("mcd2", ["M0"])])
    def test_what_a_question_is_about_depends_on_the_split(self, split, values):
        candidates = self.TABLE.candidates("Was M0 directed by M1", ["?x0 P M"], split)
        assert candidates["?x0 P M"] == [f"?x0 is {value}" for value in values]

    def test_the_authors_form_is_read_without_running_it(self, tmp_path):
        path = tmp_path / "phrase_table"
        path.write_text(
            "(('male', '?x#ns:people.person.gender#ns:m.05zppz'), 31206)\n", encoding="utf-8"
        )
        assert PhraseTable.read(path).entries == {"male": ["?x people.person.gender m_05zppz"]}
        path.write_text("__import__('os').getcwd()\n", encoding="utf-8")
        with pytest.raises(InputError, match=r"phrase_table:1: not a line of a phrase table"):
            PhraseTable.read(path)

    def test_a_learned_table_proposes_nearly_every_clause_of_new_questions(self):
        train, test = pairs(400), pairs(100, seed=1)
        table = PhraseTable.learn(*zip(*train, strict=True))
        proposed = total = 0
        for question, query in test:
            clauses = queries.without_subject_entities(queries.clauses_of(query))
            sketch = queries.sketch_of(queries.clauses_of(query))
            paths = fill(queries.paths_of(sketch), table.candidates(question, sketch, "mcd1"))
            known = {clause for path in paths for clause in path.split(" . ")}
            proposed += len(known.intersection(clauses))
            total += len(clauses)
        assert proposed > 0.98 * total

    def test_keys_of_predicates(self):
        assert predicate_key("?x0 film.film.directed_by M0") == "film.film.directed_by"
        assert predicate_key("?x0 a film.film") == "a film.film"
        assert predicate_key("?x0 is M0") == "is M0"


class TestNetworks:
    @pytest.mark.parametrize("words", [50, 70])
    def test_parameters_are_those_of_the_authors_shapes(self, words):
        parser = SketchParser(100, words)
        count = sum(parameter.numel() for parameter in parser.parameters())
        assert count == 3_025_408 + 300 * 100 + 3_610_624 + 2_137 * words
        classifier = PathClassifier(words)
        count = sum(parameter.numel() for parameter in classifier.parameters())
        assert count == 884_002 + 300 * words

    def test_every_prefix_is_taught_all_words_that_follow_it(self):
        rows, reads, labels = training_table([[[4, 5], [4, 6, 7]], [[5]]], 8)
        assert rows.tolist() == [0, 0, 1]
        assert reads.tolist() == [[BOS, 4, 5, PAD], [BOS, 4, 6, 7], [BOS, 5, PAD, PAD]]
        sets = [[set(step.nonzero().ravel().tolist()) for step in path] for path in labels]
        assert sets == [
            [{4}, {5, 6}, {EOS}, set()],
            [{4}, {5, 6}, {7}, {EOS}],
            [{5}, {EOS}, set(), set()],
        ]

    def test_a_parser_learns_the_paths_and_decodes_them_all(self):
        torch.manual_seed(0)
        parser = SketchParser(9, 9, width=24, embedding=12, dropout=0.0)
        source = torch.tensor([[4, 5, EOS], [6, EOS, PAD]])
        sketches = [[[4, 5], [4, 6, 7]], [[5]]]
        optimizer = torch.optim.Adam(parser.parameters(), 0.02)
        for _ in range(150):
            optimizer.zero_grad()
            parser.loss(source, sketches).backward()
            optimizer.step()
        decoded = parser.eval().decode(source)
        assert [sorted(paths) for paths in decoded] == sketches

    def test_an_untrained_parser_ends(self):
        torch.manual_seed(0)
        parser = SketchParser(9, 30, width=8, embedding=4).eval()
        with torch.no_grad():
            parser.output.bias.fill_(1.0)
        decoded = parser.decode(torch.tensor([[4, 5, EOS]]))
        assert 0 < len(decoded[0]) <= 64 * 21

    def test_company_changes_no_probability(self):
        torch.manual_seed(0)
        classifier = PathClassifier(12, width=8, embedding=6).eval()
        questions = torch.tensor([[4, 5, 6, 7], [8, 9, PAD, PAD]])
        paths = torch.tensor([[5, 4, PAD], [7, 7, 9]])
        together = classifier(questions, paths)
        assert torch.allclose(together[:1], classifier(questions[:1], paths[:1, :2]), atol=1e-6)
        assert torch.allclose(together[1:], classifier(questions[1:, :2], paths[1:]), atol=1e-6)


class TestRepair:
    QUESTION = "Did M0 direct and edit M1"
    DIRECT, EDIT, WRONG = (f"?x0 film.{role}.film M1" for role in ("director", "editor", "writer"))
    TABLE = PhraseTable(
        {
            "direct": ["?x film.director.film M", "?x film.writer.film M"],
            "edit": ["?x film.editor.film M"],
        }
    )

    def method(self):
        method = HPD([self.QUESTION], ["SELECT x WHERE { }"], HPDSettings(), self.TABLE)
        examples = [
            Example(self.QUESTION, path, {}, path != self.WRONG)
            for path in (self.DIRECT, self.EDIT, self.WRONG)
        ]
        return method, examples

    def paths(self, probabilities, repair):
        method, examples = self.method()
        return [example.path for example in method.accepted(examples, probabilities, repair)]

    def test_nothing_is_repaired_by_default(self):
        assert self.paths([0.9, 0.1, 0.2], UNREPAIRED) == [self.DIRECT]

    def test_a_word_without_an_accepted_path_gets_the_best_rejected_one(self):
        assert self.paths([0.9, 0.1, 0.2], REJECTED) == [self.DIRECT, self.EDIT]
        assert self.paths([0.3, 0.1, 0.4], REJECTED) == [self.WRONG, self.EDIT]

    def test_gold_labels_forbid_wrong_repairs(self):
        assert self.paths([0.3, 0.1, 0.4], GOLD) == [self.DIRECT, self.EDIT]

    def test_only_the_first_word_of_a_predicate_is_covered(self):
        words = {"wrote": ["film.writer.film"], "screenwriter": ["film.writer.film"]}
        example = Example("", self.WRONG, {}, True)
        assert covered_words(words, [example]) == {"wrote"}


def test_scores_ignore_the_order_of_clauses_and_count_a_question_once():
    query, other = "SELECT x WHERE { a b c . d e f }", "SELECT x WHERE { d e f . a b c }"
    wrong = "SELECT x WHERE { a b c }"
    questions = ["one", "one", "two", "three"]
    answers = [wrong, other, wrong, other]
    assert share_right(questions, answers, [query] * 4) == pytest.approx(200 / 3)
    filtered = "SELECT x WHERE { a b c . d e f . FILTER ( a != c ) }"
    assert share_right(["one", "two"], [query, filtered], [filtered] * 2) == 50


@pytest.mark.slow
def test_learns_a_small_grammar_and_gold_labels_only_help():
    train, test = pairs(400), pairs(60, seed=1)
    settings = HPDSettings(
        width=64,
        classifier_width=32,
        embedding=32,
        parser_epochs=20,
        parser_batch=16,
        classifier_epochs=25,
        classifier_batch=32,
        learning_rate=3e-3,
    )
    scores = trained(train, test, settings)
    assert scores[ORACLE] >= scores[UNREPAIRED] > 90
    assert scores[GOLD] >= scores[UNREPAIRED]


def trained(train, test, settings, folder=None):
    """The scores with each repair."""
    method = HPD(*zip(*train, strict=True), settings)
    with tempfile.TemporaryDirectory() as temporary:
        method.train(0, Path(folder or temporary))
    questions, gold = zip(*test, strict=True)
    answers = method.answers(questions, gold)
    return {kind: share_right(questions, lines, gold) for kind, lines in answers.items()}


def test_a_finished_training_is_read_and_answers_alike(tmp_path):
    train, test = pairs(40), pairs(10, seed=1)
    settings = HPDSettings(width=8, classifier_width=8, embedding=8, updates=3)
    first = trained(train, test, settings, tmp_path)
    times = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert sorted(times) == ["path_classifier.safetensors", "sketch_parser.safetensors"]
    assert trained(train, test, settings, tmp_path) == first
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times


@pytest.mark.parametrize("network", ["sketch_parser", "path_classifier"])
def test_an_interrupted_training_continues_to_the_same_bytes(tmp_path, monkeypatch, network):
    """Killed after update 5, when the state of update 4 is on the disk."""
    train = pairs(40)
    settings = HPDSettings(
        width=8, classifier_width=8, embedding=8, parser_batch=8, classifier_batch=16, updates=9
    )
    monkeypatch.setattr(training, "SAVE_EVERY", 4)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    HPD(*zip(*train, strict=True), settings).train(0, whole)

    calls = []
    task_name = f"_{network.split('_')[1]}_task"
    build_task = getattr(HPD, task_name)

    def dying_task(self, order):
        task = build_task(self, order)

        def loss(batch):
            calls.append(batch)
            if len(calls) == 6:
                raise KeyboardInterrupt
            return task.loss(batch)

        return replace(task, loss=loss)

    with monkeypatch.context() as patch:
        patch.setattr(HPD, task_name, dying_task)
        with pytest.raises(KeyboardInterrupt):
            HPD(*zip(*train, strict=True), settings).train(0, cut)
    assert not (cut / f"{network}.safetensors").exists()
    monkeypatch.setattr(HPD, task_name, lambda self, order: counted(build_task(self, order)))

    def counted(task):
        return replace(task, loss=lambda batch: (calls.append(batch), task.loss(batch))[1])

    calls.clear()
    HPD(*zip(*train, strict=True), settings).train(0, cut)
    assert len(calls) == 5  # updates 5 to 9
    for path in whole.iterdir():
        assert (cut / path.name).read_bytes() == path.read_bytes()
    assert sorted(path.name for path in cut.iterdir()) == [
        "path_classifier.safetensors",
        "sketch_parser.safetensors",
    ]


def test_a_stopped_training_saves_its_state_at_once(tmp_path, monkeypatch):
    train = pairs(40)
    settings = HPDSettings(width=8, classifier_width=8, embedding=8, parser_batch=8, updates=6)
    build_task = HPD._parser_task

    def stopping_task(self, order):
        task = build_task(self, order)

        def loss(batch):
            signal.raise_signal(signal.SIGINT)
            return task.loss(batch)

        return replace(task, loss=loss)

    monkeypatch.setattr(HPD, "_parser_task", stopping_task)
    with pytest.raises(KeyboardInterrupt):
        HPD(*zip(*train, strict=True), settings).train(0, tmp_path)
    assert (tmp_path / "sketch_parser.training" / STATE).is_file()
