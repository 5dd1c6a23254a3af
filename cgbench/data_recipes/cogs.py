"""COGS: English sentences and their logical forms.

It has the correction of 2022, and also the form without variables on which Dangle is trained. Kim
and Linzen, "COGS", EMNLP 2020; Zheng and Lapata, "Disentangled Sequence to Sequence Learning", ACL
2022.
"""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from cgbench.data_recipes.recipe import Recipe, Source, Sources, Split, Writer
from cgbench.data_recipes.sources import alignments, released
from cgbench.data_recipes.writer import tab_rows

REPOSITORY, COMMIT = "najoungkim/COGS", "165a7b669eade971fa47bf568a2e51925360fed8"
SIDES = ("src", "tgt", "type")
FILES = ("train", "train_100", "dev", "test", "gen")
# A copy of COGS by the authors of "Lexicon Learning", with the first edition of gen and the output
# of their aligners.
LEXICONS = ("ekinakyurek/COGS", "553e0a45ed14f53fb1263c4794d36822a8bade32")

# Verbs whose only argument is a theme ("the ball rolled"), and the animate subjects that the first
# edition treated as agents if a prepositional phrase followed them.
UNACCUSATIVE = (
    "roll freeze burn shorten float grow slide break crumple split change snap disintegrate"
    " collapse decompose double improve inflate enlarge redden"
)
ANIMATE = (
    "baby bee boy butterfly cat chicken citizen consumer dog duck fish fly giraffe girl guy kitty"
    " lion monkey monster penguin poet researcher sailor teacher tourist zebra"
)
CORRECTED_TYPE = "obj_pp_to_subj_pp"
_LAST_VERB = re.compile(r"(?:AND|;) (\w+) \. (agent|theme) \( (x _ \d+) , (x _ \d+) \)$")
# noun ( x ) | predicate . role ( x , y ) | noun . nmod . role ( x , y ), where y may also be a name
_TERM = re.compile(
    r"(?P<noun>\* \w+|\w+) \( (?P<of>x _ \d+) \)"
    r"|(?P<predicate>\w+) \.(?: \w+ \.)? (?P<role>\w+) \( (?P<variable>x _ \d+) , (?P<argument>x _"
    r" \d+|[A-Z][a-z]+) \)"
)


def with_role(form: str, kind: str, role: str) -> str:
    """The logical form in the edition with ``role`` for such subjects: ``agent`` until 2022, now
    ``theme``.

    Only some rows of type :data:`CORRECTED_TYPE` differ: an intransitive unaccusative verb with an
    animate subject.
    """
    last = _LAST_VERB.search(form) if kind == CORRECTED_TYPE else None
    if (
        last is None
        or last[1] not in UNACCUSATIVE.split()
        or f"( {last[3]} ," in form[: last.start()]
    ):
        return form
    noun = re.search(rf"(\w+) \( {last[4]} \)", form)
    if noun is None or noun[1] not in ANIMATE.split():
        return form
    return form[: last.start(2)] + role + form[last.end(2) :]


def without_variables(form: str) -> str:
    """``role ( predicate , argument ) AND ...``: variables replaced by their words.

    Forms of single words (LAMBDA terms, names) are not changed.
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
        f"{term['role']} ( {words[term['variable']]} ,"
        f" {words.get(term['argument'], term['argument'])} )"
        for term in terms
        if term["role"]
    )


def nested(form: str) -> str:
    """``predicate ( role = argument , ... )``: the form as a tree, as in CSL (Qiu et al., 2022).

    A variable that several roles share is written for each. Forms of single words (LAMBDA terms,
    names) are not changed.
    """
    terms = list(_TERM.finditer(form))
    if "LAMBDA" in form or not terms:
        return form
    # A node per variable: its word, and its roles in the order of the form.
    words: dict[str, str] = {}
    roles: dict[str, list[tuple[str, str]]] = {}
    for term in terms:
        if term["noun"]:
            words[term["of"]] = term["noun"]
            continue
        words.setdefault(term["variable"], term["predicate"])
        modifies = ". nmod ." in term[0]
        role = f"nmod . {term['role']}" if modifies else term["role"]
        roles.setdefault(term["variable"], []).append((role, term["argument"]))

    def written(node: str) -> str:
        arguments = [f"{role} = {written(argument)}" for role, argument in roles.get(node, ())]
        word = words.get(node, node)
        return f"{word} ( {' , '.join(arguments)} )" if arguments else word

    # The root is an argument of nothing.
    arguments = {argument for pairs in roles.values() for _, argument in pairs}
    (root,) = [node for node in words if node not in arguments]
    return written(root)


def prepare_cogs(sources: Sources, out: Writer) -> None:
    """Write the official splits, the first edition of ``gen``, and Dangle's form of both, which has
    no other form.
    """
    rewrite = nested if out.form == "nested" else str
    for name in FILES:
        if not (paths := sources.find(f"{name}.tsv")):
            continue
        rows = tab_rows(paths[0], "sentence", "logical form", "type")
        if name != "gen":
            in_form = ((source, rewrite(form), kind) for source, form, kind in rows)
            out.split(name.replace("_", "-"), in_form, sides=SIDES)
        else:
            out.split(
                "gen",
                (
                    (source, rewrite(with_role(form, kind, "theme")), kind)
                    for source, form, kind in rows
                ),
                sides=SIDES,
            )
            rows = [(source, with_role(form, kind, "agent"), kind) for source, form, kind in rows]
            in_form = ((source, rewrite(form), kind) for source, form, kind in rows)
            out.split("gen-2020", in_form, sides=SIDES)
        if name in ("train", "gen"):
            out.split(f"dangle/{name}", _dangle(rows), sides=SIDES)
        if name == "gen":
            random.Random(0).shuffle(rows)
            out.split("dangle/gen-dev", _dangle(rows[: len(rows) // 10]), sides=SIDES)


def _dangle(rows: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    for source, form, kind in rows:
        yield f"bos {source}", f"bos {without_variables(form)}", kind


def _sources() -> Iterator[Source]:
    yield from (released(REPOSITORY, COMMIT, f"data/{name}.tsv") for name in FILES[:-1])
    now = released(REPOSITORY, COMMIT, "data/gen.tsv")
    first = released(*LEXICONS, "cogs/gen.tsv")
    yield replace(now, hashes=now.hashes + first.hashes)
    yield from alignments(*LEXICONS, "cogs", "lexicons/{}.json")


RECIPES = (
    Recipe(
        name="cogs",
        summary="English sentences and logical forms",
        licence="MIT",
        citation=(
            "Kim and Linzen, COGS: A Compositional Generalization Challenge Based on Semantic"
            " Interpretation, EMNLP 2020"
        ),
        homepage="https://github.com/najoungkim/COGS",
        sides=("src", "tgt"),
        size="51,155 sentences",
        download="11 MB without train_100",
        splits=(
            Split("train", 24_155),
            Split("train-100"),
            Split("dev", 3_000),
            Split("test", 3_000),
            Split("gen", 21_000),
            Split("gen-2020", 21_000),
            Split("dangle/train", 24_155),
            Split("dangle/gen", 21_000),
            Split("dangle/gen-dev", 2_100),
        ),
        sources=tuple(_sources()),
        prepare=prepare_cogs,
        revision=2,
        forms={"nested": "forms as trees, predicate ( role = argument , ... ), as in CSL"},
        notes=(
            (
                "gen has the roles corrected on 2022-09-13, gen-2020 those used by earlier papers;"
                " either edition of gen.tsv gives both"
            ),
            (
                "dangle/*: 'bos' before both sides, logical forms without variables, from gen-2020;"
                " gen-dev is a tenth of gen, on which Dangle was validated: it is test data"
            ),
            (
                "lexicons/*: lexicons learned by the aligners of Akyürek and Andreas (2021), as"
                " read by their models"
            ),
        ),
    ),
)
