"""A translation memory as a system, ``memory:CORPUS``: the target of the nearest training source.

It cannot compose, so it is a control for measures of composition.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cgbench.argument_types import as_path
from cgbench.errors import InputError, argument
from cgbench.files import check_output
from cgbench.models.translation_request import TranslateRequest
from cgbench.steps import hash_value
from cgbench.text.formats import read_pairs
from cgbench.text.inputs import as_corpus, files_of, lines_of
from cgbench.text.inspection import check_pairs
from cgbench.text.nearest import NearestSources, Neighbour
from cgbench.text.sidecar import check_earlier, sidecar_path, write_output

PREFIX = "memory:"


class TranslationMemory:
    """The pairs of a corpus, as given to :func:`~cgbench.text.inputs.as_corpus`, by the similarity
    of their sources.

    :param accept: read pairs that appear to be no pairs, with a warning.
    :raises InputError: the corpus cannot be read, or is empty, or its pairs are no pairs.
    """

    def __init__(self, corpus: Any, role: str = "memory", *, accept: bool = False) -> None:
        spec = as_corpus(corpus, role=role)
        check_pairs([spec], accept=accept)
        pairs = list(read_pairs(spec))
        if not pairs:
            raise InputError(f"{spec}: the corpus is empty")
        self.digest = hash_value(pairs)
        self.targets = [target for _, target in pairs]
        self.index = NearestSources(source for source, _ in pairs)

    def neighbours(self, lines: Sequence[str]) -> list[tuple[str, Neighbour]]:
        """The target of the nearest source of each line, and the neighbour; an empty target if
        there is none.
        """
        return [
            (self.targets[neighbour.row] if neighbour.row >= 0 else "", neighbour)
            for neighbour in self.index.nearest(lines)
        ]

    def translate(self, lines: Sequence[str]) -> list[str]:
        """The target of the nearest source of each line."""
        return [target for target, _ in self.neighbours(lines)]


def translate_by_memory(request: TranslateRequest) -> list[str]:
    """Translate with ``memory:TABLE`` or ``memory:SOURCE,TARGET``, and write the output with its
    sidecar.

    :returns: the lines of the output; with ``format="json"``, objects with the ``similarity`` and
        the ``row`` (from 1) of the nearest source.
    :raises InputError: the corpus cannot be read, or the output contains translations by another
        system or of another text.
    """
    output, address = as_path(request.output or ""), str(request.system)
    name = address.removeprefix(PREFIX)
    if not name:
        raise InputError(f"{address}: names no corpus; write memory:TABLE or memory:SOURCE,TARGET")
    check_output(sidecar_path(output), files_of(request.sources))
    memory = TranslationMemory(
        name.split(",") if "," in name and not Path(name).exists() else name,
        argument("system"),
        accept=request.acceptance.accept_text,
    )
    lines, _ = lines_of(request.sources, "sources")
    identity, source = {"kind": "memory", "corpus": memory.digest}, hash_value(lines)
    check_earlier(output, {**identity, "source": source})
    rows = [
        {
            "nbest": [
                {
                    "hypothesis": target,
                    "similarity": neighbour.similarity,
                    "row": neighbour.row + 1 or None,
                    "cut": False,
                }
            ]
        }
        for target, neighbour in memory.neighbours(lines)
    ]
    return write_output(
        output, rows, None, request.format, {"system": identity, "source": source}, ("scipy",)
    )
