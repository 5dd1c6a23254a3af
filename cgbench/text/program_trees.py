"""Programs as trees: the subtrees of Lispress that Yin et al. (2021) align with the utterance.

A program is a list of words; a node is a bracket with everything in it, or one word. A node is
addressed by its range of words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cgbench.text.logical_forms import COPIED
from cgbench.text.plain_text import words_of

# Of SMCalFlow-CS: children of these are logically complete (the authors' matchable parents) ...
PARENTS = frozenset(
    {
        "Constraint[Event]",
        "EventDuringRange",
        "EventOnDateWithTimeRange",
        "EventOnDateTime",
        "EventOnDateAfterTime",
        "EventOnDate",
    }
)
# ... and, in programs without any, these nodes themselves.
NODES = frozenset({"FindManager", "FindTeamOf", "FindReports"})
QUOTE = '"'
SLOT = "__SLOT__"  # in a sketch, instead of a subtree
NOT_CONTENT = frozenset({"(", ")", "#", '"'})
PLACEHOLDER = "[0]"  # of a variable: a subtree with one is not complete


@dataclass(frozen=True)
class Node:
    """A node, words ``start`` to ``end`` (exclusive), and its arguments.

    :param name: the first word of its bracket, or the word itself; empty for a bracket in a
        bracket.
    :param argument: position of the name of the argument that it is the value of; None if it has
        none.
    """

    start: int
    end: int
    name: str
    argument: int | None = None
    children: tuple[Node, ...] = ()

    @property
    def first(self) -> int:
        """Its first word, with the name of its argument."""
        return self.start if self.argument is None else self.argument


def program_tokens(line: str) -> list[tuple[str, bool]]:
    """The words of a program, and whether each is a word of a literal in :data:`COPIED`."""
    tokens, before, inside = [], "", False
    for word in words_of(line):
        if word == QUOTE:
            inside = not inside and before in COPIED
            tokens.append((word, False))
        else:
            tokens.append((word, inside))
        before = word
    return tokens


def program_symbols(line: str) -> list[str]:
    """The words of a program that are in no copied literal."""
    return [token for token, is_copied in program_tokens(line) if not is_copied]


def comparable_program(line: str) -> str:
    """A program whose copied literals have no case, accents and blanks, as BERT's pieces ignore
    them.
    """
    words, literal = [], ""
    for token, is_copied in program_tokens(line):
        if is_copied:
            literal += token
            continue
        if literal:
            decomposed = unicodedata.normalize("NFD", literal.lower())
            words.append("".join(c for c in decomposed if not unicodedata.combining(c)))
            literal = ""
        words.append(token)
    return " ".join(words)


def parse_program(words: Sequence[str]) -> Node:
    """The tree of a program; a bracket without an end ends with the program."""
    node, _ = _node(words, 0, None)
    return node


def content_words(words: Sequence[str]) -> list[int]:
    """Positions of the words that are aligned: all but brackets, marks and type variables."""
    return [
        position
        for position, word in enumerate(words)
        if word not in NOT_CONTENT and not word.startswith("'?")
    ]


def matched_nodes(words: Sequence[str], match: Callable[[Node, bool], bool]) -> list[Node]:
    """The highest nodes that ``match``, in order: of the children of :data:`PARENTS`, or, if none
    of these does, of :data:`NODES`.

    As in the authors' code, the value of ``:event`` does not count as a child, and a node with a
    variable is left out.

    :param match: called in order, from above, with each node that may be matched, and whether the
        name of its argument belongs to it (for children of :data:`PARENTS`).
    """
    root = parse_program(words)
    nodes = _walk(root, words, False, None, match) or _walk(root, words, False, NODES, match)
    return [node for node in nodes if PLACEHOLDER not in words[node.start : node.end]]


def subtrees_of(words: Sequence[str]) -> list[Node]:
    """The subtrees that become slots of a sketch: all nodes that may be matched."""
    return matched_nodes(words, lambda node, with_argument: True)


def _walk(
    node: Node,
    words: Sequence[str],
    is_candidate: bool,
    names: frozenset[str] | None,
    match: Callable[[Node, bool], bool],
) -> list[Node]:
    if is_candidate and (names is None or node.name in names) and match(node, names is None):
        return [node]
    below = names is not None or node.name in PARENTS
    matched: list[Node] = []
    for child in node.children:
        is_event = child.argument is not None and words[child.argument] == ":event"
        matched += _walk(child, words, below and not is_event, names, match)
    return matched


def _node(words: Sequence[str], start: int, argument: int | None) -> tuple[Node, int]:
    """The node that begins at a word, and the position after it."""
    if words[start] != "(":
        return Node(start, start + 1, words[start], argument), start + 1
    children: list[Node] = []
    name, position = "", start + 1
    while position < len(words) and words[position] != ")":
        word = words[position]
        is_argument = word == "#" or word.startswith(":")
        if word == "(":
            child, position = _node(words, position, None)
            children.append(child)
        elif is_argument and position + 1 < len(words) and words[position + 1] != ")":
            child, position = _node(words, position + 1, position)
            children.append(child)
        else:
            if position == start + 1:
                name = word
            position += 1
    end = min(position + 1, len(words))
    return Node(start, end, name, argument, tuple(children)), end
