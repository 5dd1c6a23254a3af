"""Tables of the same examples as programs write them: a score is the right one, or the rows are
refused.
"""

import random
import unicodedata

import pytest
from text_files import write_table

from cgbench import InputError, exact_match

NAMES = (
    "id",
    "ID",
    "seg_id",
    "sample_id",
    "docId",
    "segment",
    "line",
    "key",
    "example id",
    "index",
    "n",
)
COUNTERS = ("index", "n")
KINDS = {
    "number": str,
    "one-based": lambda row: str(row + 1),
    "from 5": lambda row: str(row + 5),
    "padded": lambda row: f"{row:04d}",
    "sparse": lambda row: str(row * row + 7),
    "name": lambda row: f"Doc-{row}",
    "words": lambda row: f"doc {row // 7} seg {row % 7}",
    "accents": lambda row: f"café-{row}",
}
NUMBERS = ("number", "one-based", "from 5", "padded")
SPELLINGS = (
    str,
    str.upper,
    str.lower,
    lambda key: f" {key} ",
    lambda key: unicodedata.normalize("NFD", key),
    lambda key: f"00{key}" if key.isdigit() else key,
    lambda key: f"{key}.0" if key.isdigit() else key,
)
ROLES = ("reference", "hypothesis", "label")


def changed(draw, rows, way):
    """The examples of a table's rows after something happened to it."""
    if way == "shuffled":
        draw.shuffle(rows)
    if way in ("lost", "lost and repeated"):
        del rows[draw.randrange(len(rows))]
    if way in ("repeated", "lost and repeated"):
        rows.insert(draw.randrange(len(rows) + 1), draw.choice(rows))
    return [*rows[1:], len(rows)] if way == "another" else rows


def tables_of(draw):
    """The rows of three tables, the examples they are of, and whether they must be joined."""
    n, kind = draw.randrange(8, 40), draw.choice(list(KINDS))
    sources = [f"Sentence {draw.randrange(n * draw.choice((2, 50)))} of it." for _ in range(n + 1)]
    wrong = {row for row in range(n + 1) if draw.random() < 0.5}
    answers = {
        "reference": "answer {}".format,
        "label": lambda row: f"k{row % 2}",
        "hypothesis": lambda row: "wrong" if row in wrong else f"answer {row}",
    }
    has_id = {role: draw.random() < 0.8 for role in ROLES}
    has_source = {role: draw.random() < 0.3 for role in ROLES}
    # What nothing tells cannot be refused: rows of a table without ids are in order.
    comparable = all(has_id.values()) or all(has_source.values())
    numbered = kind in NUMBERS and any(has_id.values()) and not any(has_source.values())
    ways = (
        ["same", "shuffled", "lost", "repeated", "lost and repeated", "another"]
        if comparable
        else ["same"]
    )
    names = NAMES if kind in NUMBERS else NAMES[:-1]
    name, tables, examples, done = draw.choice(names), {}, {}, []
    for role in ROLES:
        if numbered and not comparable:
            ways = ["same", "shuffled"] if has_id[role] else ["same"]
        way, spell = draw.choice(ways), draw.choice(SPELLINGS)
        column = draw.choice(names) if draw.random() < 0.4 else name
        other = all(has_id.values()) and kind not in NUMBERS and draw.random() < 0.1
        examples[role] = changed(draw, list(range(n)), way)
        done += [way, "other" if other else "", column]
        tables[role] = [
            (
                {column: f"{role}-{row * 77 % 101}" if other else spell(KINDS[kind](row))}
                if has_id[role]
                else {}
            )
            | ({"source": sources[row]} if has_source[role] else {})
            | {role: answers[role](row)}
            for row in examples[role]
        ]
    must = (
        all(has_id.values())
        and not set(done) - {"same", "shuffled", "", *NAMES}
        and not set(done) & {*COUNTERS}
    )
    rows = examples["reference"]
    right = {
        label: [row not in wrong for row in rows if answers["label"](row) == label]
        for label in ("k0", "k1")
    }
    return tables, right, must, [kind, *done, has_id, has_source]


def check_cases(seeds, folder):
    """Score each case; returns how many gave a number."""
    scored = 0
    for seed in seeds:
        draw = random.Random(seed)
        tables, right, must, description = tables_of(draw)
        paths = {
            role: folder / f"{seed}{role}{draw.choice(('.tsv', '.csv', '.jsonl'))}"
            for role in ROLES
        }
        for role, path in paths.items():
            write_table(path, tables[role])
        try:
            result = exact_match(
                f"{paths['hypothesis']}:hypothesis",
                f"{paths['reference']}:reference",
                by="column:label",
                table=f"{paths['label']}",
            )
        except InputError as error:
            assert not must, (seed, description, str(error))
            continue
        scored += 1
        outcomes = [outcome for label in right for outcome in right[label]]
        assert result.score == pytest.approx(100 * sum(outcomes) / len(outcomes)), (
            seed,
            description,
        )
        for label, (bin_, figures) in zip(right, result.results[0].bins, strict=True):
            score = next(iter(figures.figures.values())).value
            assert bin_.label == label and score == pytest.approx(
                100 * sum(right[label]) / len(right[label])
            ), seed
    return scored


@pytest.mark.filterwarnings("ignore")
def test_a_score_is_right_or_refused(tmp_path):
    assert check_cases(range(150), tmp_path) > 50


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_five_thousand_scores_are_right_or_refused(tmp_path):
    assert check_cases(range(1000, 6000), tmp_path) > 1500
