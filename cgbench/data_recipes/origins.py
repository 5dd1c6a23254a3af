"""Known files of public repositories: git blob ids, SHA-256, and whether the maintainers have read them.

``origins.tsv`` has one row per file: repository, commit, path; its git blob id, from the repository; the SHA-256 of its
bytes and the day on which it was computed, both empty for a file never read; and where it was read, if elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from cgbench.data_recipes.recipe import Recipe, Source
from cgbench.data_recipes.sources import RAW, github

TABLE = "origins.tsv"
SHORT = 7  # digits of a commit shown in tables
NAMED = 6  # maximum number of files of a group that are listed
LEARNERS = ("forward.align.o", "goodman", "intersect.align.o", "pmi.align", "simple.align.v3")
"""The aligners of "Lexicon Learning"."""
HEAD = ("set", "files", "from", "checksum", "bytes seen")


class KnownFile(NamedTuple):
    """A row of ``origins.tsv``."""

    repository: str
    commit: str
    path: str
    git_blob: str
    sha256: str
    seen: str
    seen_in: str


@cache
def origins() -> dict[tuple[str, str, str], KnownFile]:
    """The rows of ``origins.tsv`` by repository, commit and path."""
    lines = files("cgbench.data_recipes").joinpath(TABLE).read_text("utf-8").splitlines()
    rows = (KnownFile(*line.split("\t")) for line in lines[1:])
    return {row[:3]: row for row in rows}


def released(repository: str, commit: str, path: str, name: str = "", **fields: Any) -> Source:
    """A file of a GitHub repository as a source; ``name`` is by default the last part of its path.

    :param fields: of :class:`Source`. A member of an archive has no address of its own.
    """
    row = origins()[repository, commit, path]
    place = {} if "archive" in fields else {"url": github(repository, commit, path)}
    known = {"sha256": (row.sha256,) if row.sha256 else (), "git_blob": (row.git_blob,)}
    return Source(
        name or path.rpartition("/")[2], **{**place, **known, "seen": row.seen, "seen_in": row.seen_in, **fields}
    )


def alignments(repository: str, commit: str, folder: str, learners: Iterable[str]) -> Iterator[Source]:
    """Lexicons learned by the aligners of "Lexicon Learning" (Akyürek and Andreas, 2021), as extra files."""
    for name in learners:
        path = f"{folder}/alignments/{name}.json"
        yield released(repository, commit, path, f"align.{name}.json", extra=f"lexicons/{name}.json")


def digest_kinds(source: Source) -> str:
    """The kinds of checksums known for a source."""
    kinds = [kind for kind, known in (("SHA-256", source.sha256), ("git blob", source.git_blob)) if known]
    return ", ".join(kinds) or "none: recorded at first use"


def origin_of(source: Source) -> str:
    """The origin of a source without the file name: a repository at a commit, an archive, or an address."""
    if source.archive:
        return f"`{source.archive}`"
    raw = source.url.removeprefix(RAW)
    if raw == source.url:
        return source.url.rpartition("/")[0] if source.url else source.by_hand
    owner, repository, commit, path = raw.split("/", 3)
    folder, sign, _ = path.rpartition("/")
    return f"{owner}/{repository} @ {commit[:SHORT]}" + (f": `{folder}`" if sign else "")


def source_lines(recipe: Recipe) -> Iterator[tuple[str, str, str, str, str]]:
    """The sources of a recipe as rows with columns :data:`HEAD`, grouped if all but the name is equal."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for source in recipe.sources:
        facts = (origin_of(source), digest_kinds(source), _seen(source))
        groups.setdefault(facts, []).append(f"`{source.name}`")
    for known, names in groups.items():
        shown = ", ".join(names) if len(names) <= NAMED else f"{names[0]} to {names[-1]}: {len(names)} files"
        yield recipe.name, shown, *known


def source_table() -> str:
    """The sources of every recipe as a Markdown table."""
    from cgbench.data_recipes.registry import built_in

    rows = [row for recipe in built_in().values() for row in source_lines(recipe)]
    lines = [" | ".join(row) for row in (HEAD, ("---",) * len(HEAD), *rows)]
    return "".join(f"| {line} |\n" for line in lines)


def _seen(source: Source) -> str:
    where = re.sub(rf"@(\w{{{SHORT}}})\w{{33}}", r" @ \1", f": {source.seen_in}" if source.seen_in else "")
    return f"{source.seen or 'never'}{where}"


if __name__ == "__main__":
    print(source_table(), end="")
