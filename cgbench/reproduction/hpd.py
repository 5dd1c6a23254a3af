"""The runs of HPD, which trains two networks instead of a model."""

from collections.abc import Mapping
from pathlib import Path

from cgbench.files import write_atomic
from cgbench.reproduction import texts
from cgbench.reproduction.plan import Run, hpd_settings
from cgbench.steps import hash_file
from cgbench.text.streams import read_lines

PHRASE_TABLE = "phrase_table"  # in the folder of the prepared set, if the user places one there


def hpd_inputs(run: Run, data: Path) -> Mapping[str, str]:
    """The hashes of the additional files that a run reads, by name."""
    path = data / PHRASE_TABLE
    return {PHRASE_TABLE: hash_file(path)} if run.system.pipeline and path.is_file() else {}


def hpd_figures(
    run: Run, data: Path, sides: tuple[str, str], folder: Path, work: Path, device: str
) -> dict[str, float]:
    """Train, answer the tests, and return the scores without repair and with either kind.

    :param folder: for the outputs, without repair; ``work``: for texts and networks.
    """
    from cgbench.models.hpd.phrase_table import PhraseTable
    from cgbench.models.hpd.training import HPD, UNREPAIRED, share_right

    # Train on the whole text, or on the part that the scale leaves.
    train, _ = texts.training_texts(run, data, sides, work)
    questions, queries = (list(read_lines(path)) for path in train)
    path = data / PHRASE_TABLE
    table = PhraseTable.read(path) if path.is_file() else None
    method = HPD(questions, queries, hpd_settings(run), table, device)
    method.train(run.seed, work)
    # Answer and score each test.
    scores = {}
    for split in run.benchmark.tests:
        source, target = (texts.read_side(run.benchmark, data, split, side) for side in sides)
        rows = texts.chosen_rows(run, len(source)).tolist()
        sources, references = ([side[row] for row in rows] for side in (source, target))
        answers = method.answers(sources, references)
        for kind, lines in answers.items():
            name = f"exact match ({kind})" if kind else "exact match"
            scores[name] = share_right(sources, lines, references)
        output = folder / f"{split.replace('/', '.')}.hypotheses"
        write_atomic(output, "".join(f"{answer}\n" for answer in answers[UNREPAIRED]))
    return scores
