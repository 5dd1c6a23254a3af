"""Text that tests write line by line, and files that they damage."""

import csv
import json
import os

from cgbench.text.corpus import index_pair


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_table(path, rows):
    """Rows as JSON lines, CSV or TSV, by the name of the file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".jsonl":
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        else:
            table = csv.writer(
                file, delimiter="," if path.suffix == ".csv" else "\t", lineterminator="\n"
            )
            table.writerows([list(rows[0]), *(list(row.values()) for row in rows)])


def write_pairs(folder, name, pairs):
    """A corpus of two plain files."""
    return index_pair(
        *(write_lines(folder / f"{name}.{side}", [pair[side] for pair in pairs]) for side in (0, 1))
    )


def flip(path, place=None, bit=0):
    """Turn a bit of one byte (default: of the middle one) around, in a new file: no time stamp can
    look the same.
    """
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if place is None else place] ^= 1 << bit
    path.unlink()
    path.write_bytes(data)


def replace_text(path, old, new):
    """Replace the first occurrence of a text in a file, which must be there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def exchange(path, kind):
    """Put a link, device, pipe or folder in the place of a file; returns where that is, to which a
    link leads.
    """
    aside = path.rename(path.parent.parent / f"{path.name}.aside")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(aside if kind == "link" else "/dev/zero")
    return aside
