"""Atoms and compounds of graphs: labels of nodes, edges between them, and nodes with all their
children.

Dependencies and logical forms are such graphs. An atom is a label (or a role, if the caller lists
roles as atoms). A compound is an edge (parent, role, child), or a node with two or more children,
of which its edges are parts. Shaw et al. 2021 (TMCD) use the edges; the weights of Keysers et al.
2020 concern the larger compounds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from cgbench.benchmark.measure.divergence.occurrences import (
    Occurrences,
    from_entries,
    numbering,
    occurrence_weights,
)


@dataclass
class Graph:
    """``labels`` of nodes; ``edges`` as (parent, role, child) with numbers of nodes; more ``atoms``
    (roles), and more compounds (``extra``).

    ``rules``: whether nodes with all their children are also compounds.
    """

    labels: list[str] = field(default_factory=list)
    edges: list[tuple[int, str, int]] = field(default_factory=list)
    atoms: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    rules: bool = True

    def node(self, label: str) -> int:
        """Add a node; returns its number."""
        self.labels.append(label)
        return len(self.labels) - 1

    def edge(self, parent: int, role: str, child: int) -> None:
        """Add an edge."""
        self.edges.append((parent, role, child))

    def compounds(self) -> tuple[list[str], list[tuple[int, int]]]:
        """The compounds, edges first; and pairs (part, whole) of their positions in that list."""
        names = [
            f"{self.labels[parent]} {role} {self.labels[child]}"
            for parent, role, child in self.edges
        ]
        within = []
        children: dict[int, list[int]] = {}
        for edge, (parent, _, _) in enumerate(self.edges):
            children.setdefault(parent, []).append(edge)
        for parent, numbers in children.items() if self.rules else ():
            if len(numbers) > 1:
                edges = [self.edges[edge] for edge in numbers]
                arguments = sorted(f"{role} {self.labels[child]}" for _, role, child in edges)
                within += [(edge, len(names)) for edge in numbers]
                names.append(f"{self.labels[parent]} ( {' , '.join(arguments)} )")
        return names + self.extra, within


def atoms_and_compounds(
    graphs: Iterable[Graph], *, specific: bool
) -> tuple[Occurrences, Occurrences]:
    """Atoms and compounds of graphs, one row per graph.

    :param specific: weight the compounds (:func:`occurrence_weights`), the greatest weight in a
        graph; otherwise each occurrence counts 1.
    """
    atom_numbers, compound_numbers = numbering(), numbering()
    atoms: list[list[int]] = []
    compounds: list[list[int]] = []
    contained, wholes, seen = [], [], 0
    for graph in graphs:
        atoms.append([atom_numbers[name] for name in (*graph.labels, *graph.atoms)])
        names, within = graph.compounds()
        numbers = [compound_numbers[name] for name in names]
        compounds.append(numbers)
        contained += [seen + position for position, _ in within]
        wholes += [numbers[compound] for _, compound in within]
        seen += len(numbers)
    examples = len(atoms)
    first = from_entries(*_flat(atoms), examples, list(atom_numbers))
    rows, ids = _flat(compounds)
    containment = np.array(contained, np.int64), np.array(wholes, np.int64)
    weights = occurrence_weights(ids, *containment) if specific else None
    return first, from_entries(rows, ids, examples, list(compound_numbers), weights)


def _flat(lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    rows = np.repeat(np.arange(len(lists)), [len(row) for row in lists])
    return rows, np.array([value for row in lists for value in row], np.int64)
