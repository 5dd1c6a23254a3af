"""COGS' logical forms: the correction of 2022, and the form without variables in which Dangle is trained.

Kim and Linzen, "COGS", EMNLP 2020; Zheng and Lapata, "Disentangled Sequence to Sequence Learning", ACL 2022.
"""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Verbs whose only argument is a theme ("the ball rolled"), and the animate subjects that the first edition, when a
# prepositional phrase followed them, took for agents.
UNACCUSATIVE = _words(
    "roll freeze burn shorten float grow slide break crumple split change snap disintegrate collapse decompose double "
    "improve inflate enlarge redden"
)
ANIMATE = _words(
    "baby bee boy butterfly cat chicken citizen consumer dog duck fish fly giraffe girl guy kitty lion monkey monster "
    "penguin poet researcher sailor teacher tourist zebra"
)
CORRECTED_TYPE = "obj_pp_to_subj_pp"
_LAST_VERB = re.compile(r"(?:AND|;) (\w+) \. (agent|theme) \( (x _ \d+) , (x _ \d+) \)$")
# noun ( x ) | predicate . role ( x , y ) | noun . nmod . role ( x , y ), where y may also be a name
_TERM = re.compile(
    r"(?P<noun>\* \w+|\w+) \( (?P<of>x _ \d+) \)"
    r"|(?P<predicate>\w+) \.(?: \w+ \.)? (?P<role>\w+) \( (?P<variable>x _ \d+) , (?P<argument>x _ \d+|[A-Z][a-z]+) \)"
)


def with_role(form: str, kind: str, role: str) -> str:
    """The logical form as the edition has it that gives ``role`` to such subjects: ``agent`` until 2022, now ``theme``.

    Only some rows of type :data:`CORRECTED_TYPE` differ: an intransitive unaccusative verb with an animate subject.
    """
    last = _LAST_VERB.search(form) if kind == CORRECTED_TYPE else None
    if last is None or last[1] not in UNACCUSATIVE or f"( {last[3]} ," in form[: last.start()]:
        return form
    noun = re.search(rf"(\w+) \( {last[4]} \)", form)
    if noun is None or noun[1] not in ANIMATE:
        return form
    return form[: last.start(2)] + role + form[last.end(2) :]


def without_variables(form: str) -> str:
    """``role ( predicate , argument ) AND ...``: each variable replaced by the word that it stands for.

    Forms of single words (LAMBDA terms, names) stay as they are.
    """
    terms = list(_TERM.finditer(form))
    if "LAMBDA" in form or not terms:
        return form
    words: dict[str, str] = {}
    for term in terms:
        if term["noun"]:
            words[term["of"]] = term["noun"]
        else:
            words.setdefault(term["variable"], term["predicate"])
    return " AND ".join(
        f"{term['role']} ( {words[term['variable']]} , {words.get(term['argument'], term['argument'])} )"
        for term in terms
        if term["role"]
    )
