"""Requests and programs in the form of SMCalFlow-CS, with the records of its authors' archive."""

import json

NAMES = ("Anna", "Bob", "Carla", "Dan")
DAYS = ("monday", "friday")
WORDS = ("meet", "with", "'", "s", "team", "on", *map(str.lower, NAMES), *DAYS)
TRAIN, VALID, TEST = 24, 8, 10


def request_of(number, is_compositional):
    """A record of the archive."""
    name, day = NAMES[number % 4], DAYS[number % 2]
    person = f'( PersonName " {name} " )'
    people = f"( FindTeamOf :recipient {person} )" if is_compositional else person
    date = f'( NextDOW :dow # ( DayOfWeek " {day.upper()} " ) )'
    constraint = f"( Constraint[Event] :attendees ( With :people {people} ) :start {date} )"
    plan = f"( Yield :event ( Create :constraint {constraint} ) )"
    team = " 's team" if is_compositional else ""
    tags = ["all", *["events_with_orgchart"] * is_compositional]
    return {"utterance": f"meet with {name}{team} on {day}", "plan": plan, "tags": tags}


def alignment_of(record):
    """The authors' record: the attendees come from the third word, and perhaps two more."""
    words = record["plan"].split()
    start = words.index(":start")
    attendees = words.index(":attendees")
    end = 5 if "team" in record["utterance"] else 3
    return {
        "source": record["utterance"],
        "alignments": [{"target_tokens_idx": [attendees, start], "source_tokens_idx": [2, end]}],
    }


def write_requests(folder, shots=(16,)):
    """The files of the archive for these numbers of compositional training pairs."""
    folder.mkdir(parents=True)
    records = {
        "train": [request_of(number, number % 4 == 0) for number in range(TRAIN)],
        "valid": [request_of(number, number % 2 == 0) for number in range(VALID)],
        "test": [request_of(number, number % 2 == 0) for number in range(TEST)],
    }
    records["train.alignment"] = [alignment_of(record) for record in records["train"]]
    for name, rows in records.items():
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        for count in shots:
            (folder / f"num{count}.{name}.jsonl").write_text(text, encoding="utf-8")
