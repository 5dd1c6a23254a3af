"""SCAN: all official splits, the maximum compound divergence splits of CFQ's authors, and the Devil
paper's splits.

Lake and Baroni, "Generalization without Systematicity", ICML 2018 (supplement: the grammar); Loula,
Baroni and Lake, "Rearranging the Familiar", 2018 (templates and fillers). The rules of the splits
were checked against all released files, row by row.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from cgbench.data_recipes.recipe import Recipe, Source, Sources, Split, Writer
from cgbench.data_recipes.sources import alignments, released
from cgbench.data_recipes.writer import GENERATED, RELEASED, check_same, rows_by_number
from cgbench.errors import InputError
from cgbench.files import parse_json
from cgbench.text.streams import open_bytes, read_lines

ARCHIVE = "SCAN.zip"
MCD_ARCHIVE = "scan-splits.tar.gz"
REPOSITORY, COMMIT = "brendenlake/SCAN", "c4b756cbc010d75c912f16c42c8f15dc6b7e6c8f"
ROWS = 20_910

# Official splits defined by a rule: folder of the released files, training and test rows.
RULED = {
    "length": ("length_split", 16_990, 3_920),
    "addprim_jump": ("add_prim_split", 14_670, 7_706),
    "addprim_turn_left": ("add_prim_split", 21_890, 1_208),
    "template_jump_around_right": ("template_split", 18_528, 1_173),
    "template_right": ("template_split", 15_225, 4_476),
    "template_opposite_right": ("template_split", 15_225, 4_476),
    "template_around_right": ("template_split", 15_225, 4_476),
    "filler_num0": ("filler_split", 15_225, 1_173),
    "filler_num1": ("filler_split", 16_290, 1_173),
    "filler_num2": ("filler_split", 17_391, 1_173),
    "filler_num3": ("filler_split", 18_528, 1_173),
}
# Official splits drawn at random, which only the released files have.
DRAWN: dict[str, tuple[str, int | None, int | None]] = {
    "simple": ("simple_split", 16_728, 4_182),
    **{
        f"simple_p{percent}": ("simple_split/size_variations", None, None)
        for percent in (1, 2, 4, 8, 16, 32, 64)
    },
    **{
        f"addprim_complex_jump_num{count}_rep{repeat}": (
            "add_prim_split/with_additional_examples",
            None,
            None,
        )
        for count in (1, 2, 4, 8, 16, 32)
        for repeat in range(1, 6)
    },
    **{
        f"fewshot_num{2**power}_rep{repeat}": ("few_shot_split", None, None)
        for power in range(11)
        for repeat in range(1, 6)
    },
}
MCD = ("mcd1", "mcd2", "mcd3")
# Number of commands with at most N actions (Csordás et al., "The Devil is in the Detail", 2021);
# the rest is the test set.
SHORT = {
    **{22: 16_990, 24: 17_326, 25: 17_774, 26: 18_286, 27: 18_734, 28: 19_182},
    **{30: 19_758, 32: 20_206, 33: 20_462, 36: 20_526, 40: 20_782},
}
# A copy of SCAN by the authors of "Lexicon Learning", with the output of their aligners for two
# splits.
LEXICONS = ("ekinakyurek/SCAN", "74f053693b9ac5836371e5352dfd8124d79625f4")
LEARNT = ("addprim_jump", "template_around_right")

VERBS = ("walk", "look", "run", "jump")
REPEATS = {"": 1, " twice": 2, " thrice": 3}

LONGEST_TRAINED = 22  # actions, in the split by length
SEED = 1234  # of Csordás et al.
FILLERS = ("look", "walk", "run")  # in the order in which they are added to training

Row = tuple[str, str]  # command, actions


@cache
def commands() -> dict[str, str]:
    """All 20,910 commands with their actions, in the order of the grammar."""
    phrases = {
        f"{phrase}{repeat}": actions * times
        for phrase, actions in _verb_phrases()
        for repeat, times in REPEATS.items()
    }
    meanings = dict(phrases)
    for first, before in phrases.items():
        for second, after in phrases.items():
            meanings[f"{first} and {second}"] = before + after
    for first, after in phrases.items():
        for second, before in phrases.items():
            meanings[f"{first} after {second}"] = before + after
    return {command: " ".join(actions) for command, actions in meanings.items()}


def _verb_phrases() -> Iterator[tuple[str, list[str]]]:
    for verb in (*VERBS, "turn"):
        act = [f"I_{verb.upper()}"] if verb != "turn" else []
        if act:
            yield verb, act
        for direction in ("left", "right"):
            turn = [f"I_TURN_{direction.upper()}"]
            yield f"{verb} {direction}", turn + act
            yield f"{verb} opposite {direction}", turn * 2 + act
            yield f"{verb} around {direction}", (turn + act) * 4


def rule_splits(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row], list[Row]]]:
    """Name, training and test rows of every official split defined by a rule, in the order of
    ``rows``.

    The training rows of ``addprim_*``, of which a tenth are one command, are shuffled with a fixed
    seed.
    """
    train = [row for row in rows if _actions(row) <= LONGEST_TRAINED]
    yield "length", train, _without(rows, train)
    for primitive in ("jump", "turn left"):
        held_out = _rows_with(rows, primitive)
        train = _without(rows, held_out)
        alone = [row for row in held_out if row[0] == primitive]
        test = [row for row in held_out if row[0] != primitive]
        yield (
            f"addprim_{primitive.replace(' ', '_')}",
            shuffled(train + alone * round(len(train) / 9)),
            test,
        )
    for template in ("jump_around_right", "right", "opposite_right", "around_right"):
        form = template.removeprefix("jump_").replace("_", " ")
        yield (
            f"template_{template}",
            *_template(rows, form, VERBS if form == template.replace("_", " ") else ("jump",)),
        )
    _, test = _template(rows, "around right", ("jump",))
    for fillers in range(len(FILLERS) + 1):
        unknown = [
            f"{verb} around right" for verb in (*VERBS, "turn") if verb not in FILLERS[:fillers]
        ]
        yield f"filler_num{fillers}", _without(rows, _rows_with(rows, *unknown)), test


def cutoff_splits(rows: Sequence[Row]) -> Iterator[tuple[int, list[Row], list[Row], list[Row]]]:
    """Cutoff of output length; training, validation (from the same distribution) and test rows.

    The validation rows are those of Csordás et al. if ``rows`` have the order of the released
    ``tasks.txt``.
    """
    import numpy as np

    lengths = [_actions(row) for row in rows]
    for cutoff in SHORT:
        short = [row for row, length in zip(rows, lengths, strict=True) if length <= cutoff]
        test = [row for row, length in zip(rows, lengths, strict=True) if length > cutoff]
        valid_rows = int(
            len(short) * (1 - 0.9)
        )  # as in the paper's code: 0.0999..., so 1,828 of 18,286
        drawn = set(
            np.random.RandomState(SEED).choice(len(short), valid_rows, replace=False).tolist()
        )
        train = [row for index, row in enumerate(short) if index not in drawn]
        yield cutoff, train, [row for index, row in enumerate(short) if index in drawn], test


def shuffled(rows: Sequence[Row]) -> list[Row]:
    """The rows shuffled with a fixed seed, so that any part of a split, such as its end, is like
    the rest.
    """
    import numpy as np

    return [rows[index] for index in np.random.RandomState(SEED).permutation(len(rows)).tolist()]


def _actions(row: Row) -> int:
    return row[1].count(" ") + 1


def _template(rows: Sequence[Row], form: str, verbs: Sequence[str]) -> tuple[list[Row], list[Row]]:
    """Training and test rows for a template with these verbs; commands with "turn" in this form are
    in neither.
    """
    turning = _rows_with(rows, f"turn {form}")
    tested = _rows_with(rows, *(f"{verb} {form}" for verb in verbs))
    return _without(_without(rows, turning), tested), _without(tested, turning)


def _rows_with(rows: Sequence[Row], *phrases: str) -> list[Row]:
    """The rows whose command has one of the phrases (no word of SCAN is a part of another word)."""
    has_phrase = re.compile("|".join(phrases)).search
    return [row for row in rows if has_phrase(row[0])]


def _without(rows: Sequence[Row], excluded: Sequence[Row]) -> list[Row]:
    excluded_rows = set(excluded)
    return [row for row in rows if row not in excluded_rows]


def read_tasks(path: Path) -> list[Row]:
    """The rows of a released file (``IN: <command> OUT: <actions>``), checked against the grammar.

    :raises InputError: a row has another form, or other actions than the grammar.
    """
    known = commands()
    rows = []
    for line_number, line in enumerate(read_lines(path, sentences=False), 1):
        command, sign, actions = line.strip().removeprefix("IN: ").partition(" OUT: ")
        if not sign or not line.startswith("IN: "):
            raise InputError(f"{path}, row {line_number} is not of the form 'IN: ... OUT: ...'")
        if known.get(command) != actions:
            expected = (
                f"the grammar gives {known[command]!r}"
                if command in known
                else "the grammar has no such command"
            )
            raise InputError(f"{path}, row {line_number}: {command!r} is {actions!r}; {expected}")
        rows.append((command, actions))
    return rows


def prepare_scan(sources: Sources, out: Writer) -> None:
    """Write every available split; those defined by the grammar always are."""
    # all commands, in the order of tasks.txt if it is available
    paths = sources.find("tasks.txt")
    rows = read_tasks(paths[0]) if paths else list(commands().items())
    if paths:
        check_same("scan: tasks.txt", rows, list(commands().items()))
    else:
        out.note(
            "tasks.txt is not available: commands are in the order of the grammar, so the"
            " validation rows of length-* differ from the paper's (the test sets are the same)"
        )
    origin = RELEASED if paths else GENERATED
    out.split("all", rows, origin=origin)
    # splits by rule: generated, or as released if the released rows agree
    for name, *subsets in rule_splits(rows if paths else shuffled(rows)):
        for subset, generated in zip(("train", "test"), subsets, strict=True):
            if task_files := sources.find(f"tasks_{subset}_{name}.txt"):
                released_rows = read_tasks(task_files[0])
                check_same(f"scan: {name}/{subset}", released_rows, generated)
                out.split(f"{name}/{subset}", released_rows)
            else:
                out.split(f"{name}/{subset}", generated, origin=GENERATED)
    # random splits, which only the released files have
    for name in DRAWN:
        files = sources.find(f"tasks_train_{name}.txt", f"tasks_test_{name}.txt")
        for subset, path in zip(("train", "test"), files or (), strict=False):
            out.split(f"{name}/{subset}", read_tasks(path))
    # splits of later papers, by length and by compound divergence
    for cutoff, *subsets in cutoff_splits(rows):
        for subset, subset_rows in zip(("train", "valid", "test"), subsets, strict=True):
            out.split(f"length-{cutoff}/{subset}", subset_rows, origin=origin)
    for name in MCD if paths else ():
        if files := sources.find(f"{name}.json"):
            with open_bytes(files[0]) as file:
                split = parse_json(file.read(), files[0])
            for subset, subset_rows in rows_by_number(rows, split, str(files[0])):
                out.split(f"{name}/{subset}", subset_rows)


def _sources() -> Iterator[Source]:
    # GitHub creates archives on request, so only the checksums of members are known
    yield Source(ARCHIVE, f"https://github.com/{REPOSITORY}/archive/{COMMIT}.zip")
    yield _member("tasks.txt")
    for name, (folder, _, _) in {**RULED, **DRAWN}.items():
        for subset in ("train", "test"):
            yield _member(f"{folder}/tasks_{subset}_{name}.txt")
    yield Source(MCD_ARCHIVE, f"https://storage.googleapis.com/cfq_dataset/{MCD_ARCHIVE}")
    yield from (Source(f"{name}.json", archive=MCD_ARCHIVE, member=f"{name}.json") for name in MCD)
    for split in LEARNT:
        path = f"lexicons/{split}/{{}}.json"
        yield from alignments(*LEXICONS, RULED[split][0], path, extra=path)


def _member(path: str) -> Source:
    return released(REPOSITORY, COMMIT, path, archive=ARCHIVE, member=path)


def _splits() -> list[Split]:
    splits = [Split("all", ROWS)]
    for name, (_, train, test) in {**RULED, **DRAWN}.items():
        splits += [Split(f"{name}/train", train), Split(f"{name}/test", test)]
    for cutoff, short in SHORT.items():
        valid = int(short * (1 - 0.9))
        splits += [
            Split(f"length-{cutoff}/train", short - valid),
            Split(f"length-{cutoff}/valid", valid),
            Split(f"length-{cutoff}/test", ROWS - short),
        ]
    for name in MCD:
        splits += [Split(f"{name}/{subset}") for subset in ("train", "valid", "test")]
    return splits


RECIPES = (
    Recipe(
        name="scan",
        summary="navigation commands and their actions",
        licence="BSD",
        citation=(
            "Lake and Baroni, Generalization without Systematicity, ICML 2018; splits: Loula,"
            " Baroni and Lake 2018; mcd: Keysers et al. 2020; length-N: Csordás, Irie and"
            " Schmidhuber 2021"
        ),
        homepage="https://github.com/brendenlake/SCAN",
        sides=("src", "tgt"),
        size="20,910 commands",
        download="18 MB, or none",
        splits=tuple(_splits()),
        sources=tuple(_sources()),
        prepare=prepare_scan,
        revision=3,
        notes=(
            "length-N/valid is drawn from the same distribution as length-N/train",
            (
                "lexicons/*: lexicons learned by the aligners of Akyürek and Andreas (2021) from"
                " addprim_jump and template_around_right, as read by their models"
            ),
        ),
    ),
)
