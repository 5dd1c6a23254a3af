"""Logical forms and commands as graphs: SCAN, COGS and Lispress (SMCalFlow).

A node's label is its name in the form; variables are replaced by what they stand for.
"""

import re
from collections.abc import Callable

from cgbench.benchmark.measure.divergence.graphs import Graph
from cgbench.errors import InputError

_SCAN_PHRASE = re.compile(
    r"(?P<verb>walk|look|run|jump|turn)(?: (?P<way>opposite|around))?(?: (?P<side>left|right))?"
    r"(?: (?P<times>twice|thrice))?"
)
_COGS_NOUN = re.compile(r"(?:\* )?(\S+) \( (x _ \d+) \)")
_COGS_ROLE = re.compile(r"(\S+) \. (\S+(?: \. \S+)*) \( (x _ \d+) , (x _ \d+|[^ ()]+) \)")
_VARIABLE = re.compile(r"x _ \d+")
_LAMBDA = re.compile(r"(?:LAMBDA \w+ \. )+(?P<body>\S.*)")


def scan_graph(line: str) -> Graph:
    """A command of SCAN as the derivation of its grammar (Lake and Baroni 2018, supplement)."""
    graph = Graph()
    joint = next((word for word in ("after", "and") if f" {word} " in line), "")
    phrases = line.split(f" {joint} ", 1) if joint else [line]
    numbers = []
    for phrase in phrases:
        match = _SCAN_PHRASE.fullmatch(phrase)
        if (
            match is None
            or (match["way"] and not match["side"])
            or (match["verb"] == "turn" and not match["side"])
        ):
            raise InputError(f"{phrase[:60]!r} is not a phrase of a SCAN command")
        node = graph.node(match["verb"])
        if match["side"]:
            side = graph.node(match["side"])
            way = graph.node(match["way"] or "direct")
            graph.edge(way, "of", node)
            graph.edge(way, "to", side)
            node = way
        if match["times"]:
            times = graph.node(match["times"])
            graph.edge(times, "of", node)
            node = times
        numbers.append(node)
    if joint:
        root = graph.node(joint)
        graph.edge(root, "first", numbers[0])
        graph.edge(root, "second", numbers[1])
    return graph


def cogs_graph(line: str) -> Graph:
    """A logical form of COGS (Kim and Linzen 2020): predicates, with roles to the nouns, names and
    predicates that their variables stand for.

    LAMBDA terms and single names are one node.
    """
    form = line.strip()
    if len(form.split()) == 1:
        return Graph([form])
    function = _LAMBDA.fullmatch(form)
    if " (" not in form or (form.startswith("LAMBDA ") and function is None):
        raise InputError(f"{form[:60]!r} is not a logical form of COGS")
    if function:  # a single word: its predicate, and its roles as atoms
        terms = [term.split(" ( ")[0].split(" . ") for term in function["body"].split(" AND ")]
        return Graph([terms[0][0]], atoms=[".".join(role) for _, *role in terms if role])
    graph = Graph()
    # The nodes of nouns by variable, and all roles.
    words: dict[str, int] = {}
    roles: list[
        tuple[str, str, str, str]
    ] = []  # variable and word of the predicate, role, argument
    for term in re.split(r" (?:;|AND) ", form):
        if match := _COGS_NOUN.fullmatch(term):
            words.setdefault(match[2], graph.node(match[1]))
        elif match := _COGS_ROLE.fullmatch(term):
            if match[3] not in words:
                # A predicate's own variable: named by its first role, unless a noun comes later.
                words.setdefault(match[3], -1)
            roles.append((match[3], match[1], match[2].replace(" . ", "."), match[4]))
        else:
            raise InputError(f"{term[:60]!r} is not a term of COGS")
    # The nodes of predicates, then the edges.
    for variable, word, _, _ in roles:
        if words[variable] < 0:
            words[variable] = graph.node(word)
    for variable, _, role, argument in roles:
        if _VARIABLE.fullmatch(argument):
            if argument not in words:
                raise InputError(f"the variable {argument} is undefined")
            child = words[argument]
        else:
            child = graph.node(argument)
        graph.edge(words[variable], role, child)
    graph.atoms = [role for _, _, role, _ in roles]
    return graph


def lispress_graph(line: str) -> Graph:
    """An S-expression (Lispress, the plans of SMCalFlow): functions with arguments, by ``:name`` or
    by position.
    """
    tokens = re.findall(r"\"(?:[^\"\\]|\\.)*\"|[()]|[^\s()\"]+", line)
    graph = Graph()
    if not tokens:
        raise InputError("the form is empty")
    # The functions that are open: node, and number of arguments by position.
    functions: list[list[int]] = []
    role, expects_head, done = "", False, False

    def attach(node: int) -> int:
        """Add a node as an argument of the innermost open function."""
        nonlocal role
        if functions:
            functions[-1][1] += not role
            graph.edge(functions[-1][0], role or str(functions[-1][1]), node)
        role = ""
        return node

    for token in tokens:
        if done:
            raise InputError(f"{token[:40]!r} comes after the end of the form")
        if token == "(" and not expects_head:
            expects_head = True
        elif token == "(":  # ((a b) c): the function is itself a form
            functions.append([attach(graph.node("apply")), 0])
        elif token == ")":
            if expects_head:
                functions.append([attach(graph.node("()")), 0])
                expects_head = False
            if not functions:
                raise InputError("a closing bracket has no opening one")
            functions.pop()
            done = not functions
        elif expects_head:
            functions.append([attach(graph.node(token)), 0])
            expects_head = False
        elif token.startswith(":") and len(token) > 1:
            role = token
        else:
            attach(graph.node(token))
            done = not functions
    if functions or expects_head:
        raise InputError("an opening bracket is not closed")
    return graph


FORMS: dict[str, Callable[[str], Graph]] = {
    "scan": scan_graph,
    "cogs": cogs_graph,
    "lispress": lispress_graph,
}
