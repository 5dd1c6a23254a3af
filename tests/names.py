"""Names that say nothing (``found``, ``one``, ``given``) among those that the package binds; ``make
lint`` runs this.

A reader has to read the whole function to learn what such a name holds. ``python tests/names.py
PATH`` lists them.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

WORDS = """
    asked both each found given got held kept left made mine more named number one other others
    ours own part parts place places rest said several share shown size taken theirs told wanted
    what whole
"""
VAGUE = frozenset(WORDS.split())
LIMIT = 1.5  # percent of all bound names


def bound_names(path: Path) -> Iterator[tuple[int, str]]:
    """The variables and parameters of a file, with their lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def main(folder: str = "cgbench", *listed: str) -> int:
    """Print the share of vague names, and list them if a folder was named; 1 if there are too
    many.
    """
    files = sorted(Path(folder).rglob("*.py")) if Path(folder).is_dir() else [Path(folder)]
    names = [(path, line, name) for path in files for line, name in bound_names(path)]
    vague = [(path, line, name) for path, line, name in names if name in VAGUE]
    if len(sys.argv) > 1:
        for path, line, name in vague:
            print(f"{path}:{line}: {name}")
    percent = 100 * len(vague) / max(len(names), 1)
    print(f"{len(vague)} of {len(names)} names say nothing ({percent:.1f}%; at most {LIMIT}%)")
    return int(percent > LIMIT)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
