"""Logical forms and commands as graphs: SCAN, COGS and Lispress (SMCalFlow).

A node's label is its name in the form; variables are replaced by what they stand for.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from cgbench.benchmark.divergence.graphs import Graph

Problem = Callable[[str], Exception]
"""Makes the error for an invalid line."""

_SCAN_PHRASE = re.compile(
    r"(?P<verb>walk|look|run|jump|turn)(?: (?P<way>opposite|around))?(?: (?P<side>left|right))?"
    r"(?: (?P<times>twice|thrice))?"
)
_COGS_NOUN = re.compile(r"(?:\* )?(\S+) \( (x _ \d+) \)")
_COGS_ROLE = re.compile(r"(\S+) \. (\S+(?: \. \S+)*) \( (x _ \d+) , (x _ \d+|[^ ()]+) \)")
_VARIABLE = re.compile(r"x _ \d+")
_CONSTANT = re.compile(r"\"[^\"]*\"|(?<![\w.])-?\d+(?:\.\d+)?[Ll]?(?![\w.])|(?<!\w)[Mm]\d+(?!\w)")


def anonymous(line: str) -> str:
    """The template of a line: quoted text, numbers and placeholders of entities (``M0``) are replaced, as in the query
    split of Finegan-Dollak et al. 2018."""
    return _CONSTANT.sub("_", line)


def scan_graph(line: str, problem: Problem) -> Graph:
    """A command of SCAN as the derivation of its grammar (Lake and Baroni 2018, supplement).

    The template leaves out verbs and directions.
    """
    graph = Graph()
    first, joint, second = line, "", ""
    for word in ("and", "after"):
        if f" {word} " in line:
            first, joint, second = line.partition(f" {word} ")[0], word, line.partition(f" {word} ")[2]
    phrases = [first, second] if joint else [first]
    numbers, shapes = [], []
    for phrase in phrases:
        found = _SCAN_PHRASE.fullmatch(phrase)
        if found is None or (found["way"] and not found["side"]) or (found["verb"] == "turn" and not found["side"]):
            raise problem(f"{phrase[:60]!r} is not a phrase of a SCAN command")
        number = graph.node(found["verb"])
        if found["side"]:
            side = graph.node(found["side"])
            way = graph.node(found["way"] or "direct")
            graph.edge(way, "of", number)
            graph.edge(way, "to", side)
            number = way
        if found["times"]:
            times = graph.node(found["times"])
            graph.edge(times, "of", number)
            number = times
        numbers.append(number)
        shapes.append(" ".join(filter(None, ("V", found["way"], found["side"] and "D", found["times"]))))
    if joint:
        whole = graph.node(joint)
        graph.edge(whole, "first", numbers[0])
        graph.edge(whole, "second", numbers[1])
    graph.template = f" {joint} ".join(shapes)
    return graph


def cogs_graph(line: str, problem: Problem) -> Graph:
    """A logical form of COGS (Kim and Linzen 2020): predicates, with roles to the nouns, names and predicates that
    their variables stand for.

    The template leaves out nouns, names and predicates. LAMBDA terms and single names are one node.
    """
    graph = Graph()
    form = line.strip()
    if " (" not in form:
        if len(form.split()) != 1:
            raise problem(f"{form[:60]!r} is not a logical form of COGS")
        graph.node(form)
        graph.template = "name"
        return graph
    if form.startswith("LAMBDA "):
        return _lambda_graph(form, problem)
    words: dict[str, int] = {}
    roles: list[tuple[str, str, str]] = []
    for term in re.split(r" (?:;|AND) ", form):
        if found := _COGS_NOUN.fullmatch(term):
            words.setdefault(found[2], graph.node(found[1]))
        elif found := _COGS_ROLE.fullmatch(term):
            if found[3] not in words:
                # A predicate's own variable: named by its first role, unless a noun comes later.
                words.setdefault(found[3], -1)
            roles.append((found[3] + "\0" + found[1], found[2].replace(" . ", "."), found[4]))
        else:
            raise problem(f"{term[:60]!r} is not a term of COGS")
    for key, _, _ in roles:
        variable, _, word = key.partition("\0")
        if words[variable] < 0:
            words[variable] = graph.node(word)
    for key, role, argument in roles:
        if _VARIABLE.fullmatch(argument):
            if argument not in words:
                raise problem(f"the variable {argument} is undefined")
            child = words[argument]
        else:
            child = graph.node(argument)
        graph.edge(words[key.partition("\0")[0]], role, child)
    graph.atoms = [role for _, role, _ in roles]
    graph.template = _cogs_template(form)
    return graph


_LAMBDA = re.compile(r"(?:LAMBDA \w+ \. )+(?P<body>\S.*)")


def _lambda_graph(form: str, problem: Problem) -> Graph:
    """A single word, a function in COGS: its predicate, and its roles as atoms."""
    found = _LAMBDA.fullmatch(form)
    if found is None:
        raise problem(f"{form[:60]!r} is not a logical form of COGS")
    terms = [term.split(" ( ")[0].split(" . ") for term in found["body"].split(" AND ")]
    return Graph([terms[0][0]], atoms=[".".join(rest) for _, *rest in terms if rest], template="LAMBDA")


def _cogs_template(form: str) -> str:
    def blank(found: re.Match[str]) -> str:
        return f"_ . {found[2]} ( {found[3]} , {found[4] if _VARIABLE.fullmatch(found[4]) else '_'} )"

    return _COGS_ROLE.sub(blank, _COGS_NOUN.sub(lambda found: f"_ ( {found[2]} )", form))


def lispress_graph(line: str, problem: Problem) -> Graph:
    """An S-expression (Lispress, the plans of SMCalFlow): functions with arguments, by ``:name`` or by position.

    The template leaves out quoted text and numbers.
    """
    tokens = re.findall(r"\"(?:[^\"\\]|\\.)*\"|[()]|[^\s()\"]+", line)
    graph = Graph(template=anonymous(" ".join(tokens)))
    if not tokens:
        raise problem("the form is empty")
    open_nodes: list[int] = []
    places: list[int] = []
    role = ""
    expects_head = False
    done = False
    for token in tokens:
        if done:
            raise problem(f"{token[:40]!r} comes after the end of the form")
        if token == "(":
            if expects_head:  # ((a b) c): the function is itself a form
                _below(graph, open_nodes, places, graph.node("apply"), role)
                role = ""
            expects_head = True
        elif token == ")":
            if expects_head:
                _below(graph, open_nodes, places, graph.node("()"), role)
                expects_head = False
                role = ""
            if not open_nodes:
                raise problem("a closing bracket has no opening one")
            open_nodes.pop()
            places.pop()
            done = not open_nodes
        elif expects_head:
            _below(graph, open_nodes, places, graph.node(token), role)
            expects_head, role = False, ""
        elif token.startswith(":") and len(token) > 1:
            role = token
        else:
            number = graph.node(token)
            if open_nodes:
                _attach(graph, open_nodes[-1], places, number, role)
                role = ""
            else:
                done = True
    if open_nodes or expects_head:
        raise problem("an opening bracket is not closed")
    return graph


def _below(graph: Graph, open_nodes: list[int], places: list[int], number: int, role: str) -> None:
    """Attach a function to the open one, and open it."""
    if open_nodes:
        _attach(graph, open_nodes[-1], places, number, role)
    open_nodes.append(number)
    places.append(0)


def _attach(graph: Graph, parent: int, places: list[int], child: int, role: str) -> None:
    if not role:
        places[-1] += 1
        role = str(places[-1])
    graph.edge(parent, role, child)


FORMS: dict[str, Callable[[str, Problem], Graph]] = {"scan": scan_graph, "cogs": cogs_graph, "lispress": lispress_graph}
