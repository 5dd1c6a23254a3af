"""SCAN: all official splits, the maximum compound divergence splits of CFQ's authors, and the Devil paper's cutoffs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cgbench.data_recipes.recipe import Recipe, Source, Split
from cgbench.data_recipes.scan_grammar import Row, commands, cutoff_splits, rule_splits, shuffled
from cgbench.data_recipes.sources import Sources
from cgbench.data_recipes.writer import GENERATED, RELEASED, Writer
from cgbench.errors import InputError
from cgbench.text.formats import open_binary, read_lines

ARCHIVE = "SCAN.zip"
MCD_ARCHIVE = "scan-splits.tar.gz"
COMMIT = "c4b756cbc010d75c912f16c42c8f15dc6b7e6c8f"
ROWS = 20_910

# Official splits that a rule defines: folder of the released files, training and test rows.
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
# Official splits that were drawn at random, so that only the released files have them.
DRAWN: dict[str, tuple[str, int | None, int | None]] = {
    "simple": ("simple_split", 16_728, 4_182),
    **{f"simple_p{share}": ("simple_split/size_variations", None, None) for share in (1, 2, 4, 8, 16, 32, 64)},
    **{
        f"addprim_complex_jump_num{number}_rep{repeat}": ("add_prim_split/with_additional_examples", None, None)
        for number in (1, 2, 4, 8, 16, 32)
        for repeat in range(1, 6)
    },
    **{
        f"fewshot_num{2**power}_rep{repeat}": ("few_shot_split", None, None)
        for power in range(11)
        for repeat in range(1, 6)
    },
}
MCD = ("mcd1", "mcd2", "mcd3")
# Commands of at most so many actions; the rest is the test set.
SHORT = {
    **{22: 16_990, 24: 17_326, 25: 17_774, 26: 18_286, 27: 18_734, 28: 19_182},
    **{30: 19_758, 32: 20_206, 33: 20_462, 36: 20_526, 40: 20_782},
}
SHA256 = {
    "tasks.txt": "d824c7d9e9149ba497e25f701981dac79954e04bf670d22e5c209f076ac6c89f",
    "tasks_train_simple.txt": "941bb8a088c5f53ceff12fde902dc008933cf0c4203cc672c47b5f79d73262dd",
    "tasks_test_simple.txt": "1fe1c8f5a19d0dc40e41bab94278f45f66f3dc415a978bd29855a23440610fc6",
    "tasks_train_length.txt": "b034212dc7cf87ce62f3a067dd6ad49c4d5cd18d51d615d13825516bcb1ebbc2",
    "tasks_test_length.txt": "0760752ed34a75116ae11dcc1ee17526b7500060da1366540730fa24894d7db3",
    "tasks_train_addprim_jump.txt": "e3c78485692e028eed4205e1b8b3fd0e785ef2c12d45b5b89204dadf5b239e23",
    "tasks_test_addprim_jump.txt": "8147ae2651422c701162e174d9d66158daa57858a26b30317ac61797118ac7a5",
    "tasks_train_template_around_right.txt": "d5d35d174d557645fc61f289424afa0d95fde21422c59a9819e2d0fcfa9d419f",
    "tasks_test_template_around_right.txt": "fc78a5d1077dc2c206d6c42ed89fb9022867618c3f331179bafd3ec1ca699474",
}


def read_tasks(path: Path) -> list[Row]:
    """The rows of a released file: ``IN: <command> OUT: <actions>``, each checked against the grammar.

    :raises InputError: a row has another form, or other actions than the grammar gives; with the row.
    """
    known = commands()
    rows = []
    for number, line in enumerate(read_lines(path), 1):
        command, sign, actions = line.strip().removeprefix("IN: ").partition(" OUT: ")
        if not sign or not line.startswith("IN: "):
            raise InputError(f"{path}, row {number} is not of the form 'IN: ... OUT: ...'")
        if known.get(command) != actions:
            expected = (
                f"the grammar gives {known[command]!r}" if command in known else "the grammar has no such command"
            )
            raise InputError(f"{path}, row {number}: {command!r} is {actions!r}; {expected}")
        rows.append((command, actions))
    return rows


def check_same(name: str, released: Sequence[Row], generated: Sequence[Row]) -> None:
    """See that a released split is what its rule says, in any order.

    :raises InputError: it is not; with the first row that differs.
    """
    extra = Counter(released) - Counter(generated)
    lacking = Counter(generated) - Counter(released)
    if extra:
        row = next(number for number, row in enumerate(released, 1) if row in extra)
        raise InputError(
            f"scan: {name}, row {row} ({released[row - 1][0]!r}) does not belong there by the split's rule"
        )
    if lacking:
        raise InputError(f"scan: {name} lacks {next(iter(lacking))[0]!r}, which belongs there by the split's rule")


def prepare(sources: Sources, out: Writer) -> None:
    """Write every split that can be had; what the grammar defines always can."""
    found = sources.find("tasks.txt")
    rows = read_tasks(found[0]) if found else list(commands().items())
    if found:
        check_same("tasks.txt", rows, list(commands().items()))
    else:
        out.note(
            "tasks.txt is not at hand: commands are in the order of the grammar, so the validation draws of length-* "
            "are others than the paper's (the test sets are the same)"
        )
    origin = RELEASED if found else GENERATED
    out.split("all", rows, origin=origin)
    for name, *parts in rule_splits(rows if found else shuffled(rows)):
        for part, generated in zip(("train", "test"), parts, strict=True):
            given = sources.find(f"tasks_{part}_{name}.txt")
            if given:
                released = read_tasks(given[0])
                check_same(f"{name}/{part}", released, generated)
                out.split(f"{name}/{part}", released)
            else:
                out.split(f"{name}/{part}", generated, origin=GENERATED)
    for name in DRAWN:
        files = sources.find(f"tasks_train_{name}.txt", f"tasks_test_{name}.txt")
        for part, path in zip(("train", "test"), files or (), strict=False):
            out.split(f"{name}/{part}", read_tasks(path))
    for cutoff, *chosen_rows in cutoff_splits(rows):
        for part, chosen in zip(("train", "valid", "test"), chosen_rows, strict=True):
            out.split(f"length-{cutoff}/{part}", chosen, origin=origin)
    for name in MCD if found else ():
        if files := sources.find(f"{name}.json"):
            _write_mcd(name, files[0], rows, out)


def _write_mcd(name: str, path: Path, rows: Sequence[Row], out: Writer) -> None:
    """A split by maximum compound divergence: row numbers of ``tasks.txt``, from 0."""
    try:
        with open_binary(path) as file:
            numbers = json.load(file)
        for part, key in (("train", "trainIdxs"), ("valid", "devIdxs"), ("test", "testIdxs")):
            if key in numbers:
                out.split(f"{name}/{part}", [rows[number] for number in numbers[key]])
    except (ValueError, TypeError, IndexError) as error:
        raise InputError(f"{path}: not a list of row numbers by split ({error})") from None


def _sources() -> list[Source]:
    sources = [
        Source(ARCHIVE, f"https://github.com/brendenlake/SCAN/archive/{COMMIT}.zip"),
        Source("tasks.txt", sha256=(SHA256["tasks.txt"],), archive=ARCHIVE, member="tasks.txt"),
    ]
    for name, (folder, _, _) in {**RULED, **DRAWN}.items():
        for part in ("train", "test"):
            file = f"tasks_{part}_{name}.txt"
            known = (SHA256[file],) if file in SHA256 else ()
            sources.append(Source(file, sha256=known, archive=ARCHIVE, member=f"{folder}/{file}"))
    sources.append(Source(MCD_ARCHIVE, f"https://storage.googleapis.com/cfq_dataset/{MCD_ARCHIVE}"))
    sources += [Source(f"{name}.json", archive=MCD_ARCHIVE, member=f"{name}.json") for name in MCD]
    return sources


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
        splits += [Split(f"{name}/{part}") for part in ("train", "valid", "test")]
    return splits


RECIPES = (
    Recipe(
        name="scan",
        summary="navigation commands and their actions",
        licence="BSD",
        citation="Lake and Baroni, Generalization without Systematicity, ICML 2018; splits: Loula, Baroni and Lake "
        "2018; mcd: Keysers et al. 2020; length-N: Csordás, Irie and Schmidhuber 2021",
        homepage="https://github.com/brendenlake/SCAN",
        sides=("src", "tgt"),
        size="20,910 commands",
        download="18 MB, or none",
        splits=tuple(_splits()),
        sources=tuple(_sources()),
        prepare=prepare,
        revision=2,
        notes=("length-N/valid is drawn from the same distribution as length-N/train",),
    ),
)
