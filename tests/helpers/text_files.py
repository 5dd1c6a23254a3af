"""Text that tests write line by line, and files that they damage."""

from cgbench.text.corpus import index_pair


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_pairs(folder, name, pairs):
    """A corpus of two plain files."""
    return index_pair(*(write_lines(folder / f"{name}.{side}", [pair[side] for pair in pairs]) for side in (0, 1)))


def flip(path, place=None, bit=0):
    """Turn a bit of one byte (default: of the middle one) around, in a new file: no time stamp can look the same."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if place is None else place] ^= 1 << bit
    path.unlink()
    path.write_bytes(data)
