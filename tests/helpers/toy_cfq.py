"""Questions and queries in the form of CFQ from a small grammar, tokenised as the recipe does."""

import io
import json
import random
import tarfile

from cgbench.data_recipes import cfq

VERBS = {
    "direct": ("directed", "film.director.film", "film.film.directed_by"),
    "edit": ("edited", "film.editor.film", "film.film.edited_by"),
    "write": ("written", "film.writer.film", "film.film.written_by"),
}
ROLES = {
    "director": "film.director.film",
    "editor": "film.editor.film",
    "writer": "film.writer.film",
}
CLASSES = {"film": "film.film", "actor": "film.actor"}
GENDERS = {"male": "m_05zppz", "female": "m_02zsn"}


def entities(draw, first, most=2):
    """A coordination of up to ``most`` entities, and their names."""
    names = [f"M{first + number}" for number in range(draw.randint(1, most))]
    return " and ".join(names), names


def pair(draw):
    """A question and its query."""
    kind = draw.randrange(4)
    verb = draw.choice(list(VERBS))
    past, active, passive = VERBS[verb]
    if kind == 0:  # Did M0 direct M1 and M2
        words, objects = entities(draw, 1)
        clauses = [f"M0 {active} {name}" for name in objects]
        return f"Did M0 {verb} {words}", query("count ( * )", clauses)
    if kind == 1:  # Was a film directed by M0 written by M1
        other = draw.choice([name for name in VERBS if name != verb])
        clauses = [
            "?x0 a film.film",
            f"?x0 {passive} M0",
            f"?x0 {VERBS[other][2]} M1",
        ]
        return f"Was a film {past} by M0 {VERBS[other][0]} by M1", query("count ( * )", clauses)
    if kind == 2:  # Which female actor directed M0
        gender, class_ = draw.choice(list(GENDERS)), draw.choice(list(CLASSES))
        words, objects = entities(draw, 0)
        clauses = [
            f"?x0 a {CLASSES[class_]}",
            f"?x0 people.person.gender {GENDERS[gender]}",
            *(f"?x0 {active} {name}" for name in objects),
        ]
        return f"Which {gender} {class_} {verb}s {words}", query("DISTINCT ?x0", clauses)
    # What was directed by a writer of M0
    role = draw.choice(list(ROLES))
    clauses = [f"?x0 {passive} ?x1", f"?x1 {ROLES[role]} M0"]
    return f"What was {past} by a {role} of M0", query("DISTINCT ?x0", clauses)


def query(head, clauses):
    """A query with sorted clauses, as CFQ's."""
    return f"SELECT {head} WHERE {{ {' . '.join(sorted(clauses))} }}"


def pairs(count, seed=0):
    """Random pairs."""
    draw = random.Random(seed)
    return [pair(draw) for _ in range(count)]


def write_archive(folder, rows):
    """CFQ's archive with these questions and queries; two thirds are for training in every split,
    and a sixth each for validation and tests.
    """
    count = len(rows)
    train, test = count * 2 // 3, count - count // 6
    records = [
        {
            "questionPatternModEntities": question,
            "sparqlPatternModEntities": text.replace("count ( * )", "count(*)"),
        }
        for question, text in rows
    ]
    split = {
        "trainIdxs": [*range(train)],
        "devIdxs": [*range(train, test)],
        "testIdxs": [*range(test, count)],
    }
    files = {"dataset.json": json.dumps(records, indent=1)}
    files |= {f"splits/{file}.json": json.dumps(split) for file, *_ in cfq.SPLITS.values()}
    folder.mkdir(parents=True)
    with tarfile.open(folder / cfq.ARCHIVE, "w:gz") as archive:
        for name, text in files.items():
            data = text.encode()
            item = tarfile.TarInfo(f"cfq/{name}")
            item.size = len(data)
            archive.addfile(item, io.BytesIO(data))
