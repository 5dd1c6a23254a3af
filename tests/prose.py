"""Find habits that make prose hard to read: in documents, help texts, messages, docstrings and
comments.

``python tests/prose.py`` prints ``file:line: "words": what to write instead`` and exits with status
1 if it finds any; ``--count`` prints the number per folder. Code in documents, docstrings and
comments is skipped.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEFAULT = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "cgbench")
# A word that can be the noun of "a sentence a line".
_NOUN = (
    r"(?!(?:after|and|as|at|be|before|behind|but|by|fits|for|from|has|have|if|in|into|is|it|like"
    r"|needs|not|of|on|or|over|per|so|than|that|times|to|under|was|when|where|which|with|within"
    r"|without)\b)[\w-]+"
)
_THING = r"(?:file|folder|line|list|name|part|record|row|table|word)"
_NUM = r"(?:\d+(?:[.,]\d+)*|one|two|three|four|several|as many)"
_NO_TIME = r"(?!second|minute|hour|day|week|year|time)"
# A pattern, and what to write instead. A space is any white space; case is ignored.
WORDS = {
    rf"\b(?:an? {_NOUN}|{_NUM}(?: {_NOUN})?) (?-i:an?) {_NO_TIME}\w\w+": "one X per Y",
    r"\bso (?:many|often|much)\b(?! that)": "N, the count, at most N",
    r"\b(?:goes|go|went|going) on\b": "resumes, continues",
    r"\blook(?:s|ed|ing) at\b": "checks, examines, compares",
    r"\b(?:take|takes|taken|took) for\b": "treat as, read as",
    r"\b(?:stands?|stood|standing) beside\b": "is next to",
    r"\bof others\b": "third-party, other people's",
    r"\b(?:is|are|be|was|were|not|all) in order\b(?! (?:to|of|that))": "valid, intact",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"(?<!\bis)(?<!\bare),? too(?=[.;:)]|\Z)|, too,": "nothing, or: also",
    r"\blikewise\b": "also, the same way",
    r"\b(?:is|are|was|were|be|been) (?:said|told)\b|\b(?:one|a) line says\b|\bsays so\b": (
        "prints, reports, warns"
    ),
    r"\b(?:is|are|was|were) none of\b": "is not one of, is not a",
    rf"(?:\b(?:is|are|was|were)|:|¤) no {_THING} of\b": "is not",
    r"\bmade to measure\b": "configurable",
    r"\b(?:its|their|the) seed alone\b": "only in the seed",
    r"\bholds? (?:its|the) level\b": "is calibrated",
    r"\bkilled at any moment\b": "an interrupted ... resumes",
    r"\bas near (?:as|it|to)\b": "closest to, target",
    r"\b(?:is|are) not believed\b": "is checked, is limited",
    r"\bthe input's\b": "caused by the input",
    r"\bwhat (?:is|was) (?:missing|wrong with)\b": "missing X, errors in X",
    r"\bwhat (?:systems?|models?) (?:said|says?)\b": "outputs",
    r"\bwhat (?:is|was|are) (?:asked|given|looked|made|told)\b": (
        "requests, inputs, checks, results"
    ),
    r"\bthink(?:s|ing)? aloud\b": "reasoning",
    r"\b(?:leaves?|left) the house\b|\bfront door\b|\bhearsay\b|\bstrangers?\b": (
        "the technical word: untrusted, API"
    ),
    r"\boddit(?:y|ies)\b|\bsweep(?:s|ing)?\b|\bswept\b|\b(?-i:findings)\b": (
        "warnings, delete, results"
    ),
    r"\bof its own accord\b": "automatically",
    r"[\d¤] %(?= |[-,.;:)/]|\Z)": "a percent sign without a space: 95%",
}
HELP = {
    r"\A(?:Of|As|In|Known|By|From|With|At|So|Not|Another)\b|\.\Z": (
        "a verb or a noun first; no full stop"
    )
}
_IZE = (
    "categor|character|emphas|factor|general|initial|lemmat|local|maxim|memor|minim|normal|optim|organ|parallel|penal"
    "|quant|random|recogn|regular|serial|special|standard|summar|symbol|synchron|token|util|vector|visual"
)
AMERICAN = {
    rf"(?:un|de|re|pre)?(?:{_IZE})iz(?:e[ds]?|ing|ations?|ers?)": "-ise, -isation",
    r"(?:behavior|color|favor|flavor|honor|neighbor)(?:s|ed|ing|hood)?": "-our",
    r"(?:cancel|label|model|signal)(?:ed|ing)": "-lled, -lling",
    r"analyz(?:e[ds]?|ing)|catalogs?|centers?|centered|fulfill|gray|licenses?": (
        "-yse, -ogue, -tre, grey, licence"
    ),
}
# What a path begins with, words of the hit, and why they may stay.
ALLOWED = [
    ("cgbench/benchmark/measure/overlap/automaton.py", "recognizing", "the title of a paper"),
    ("docs/how-to/external-models.md", "generalization", "the title of a paper"),
    ("docs/reference/data.md", "colors", "a data set"),
    ("cgbench/benchmark/measure/metrics/bleu_chrf_ter.py", "tokenize", "an option of sacrebleu"),
    ("cgbench/benchmark/score/comparison/comparison.py", "randomization", "a value of --test"),
    ("cgbench/benchmark/score/evaluation/request.py", "detokenize", "a value of --normalise"),
    ("cgbench/benchmark/release/card.py", "generalization", "the title of a paper"),
    ("cgbench/benchmark/release/croissant.py", "tokenize", "an option"),
    ("cgbench/plots.py", "center", "a position in matplotlib"),
    ("cgbench/reproduction/report.py", "generalization", "the title of a paper"),
]

RULES = [
    (re.compile(pattern.replace(" ", r"\s+"), re.I), instead) for pattern, instead in WORDS.items()
]
# A quote, a dash, a dot or an equals sign at the word: a name in code, or of a file.
_PROSE = r"(?<![-\w.'\"/={{])(?:{})\b(?![-_=(/.'\"][\w'\"]|['\"])"
RULES += [(re.compile(_PROSE.format(pattern)), instead) for pattern, instead in AMERICAN.items()]
HELP_RULES = [(re.compile(pattern), instead) for pattern, instead in HELP.items()]
_CODE = re.compile(
    r"^ *(```+|~~~+).*?^ *\1"
    r" *$|<!--.*?-->|(`+)[^`].*?\2|\]\([^)\s]*\)|https?://\S+|<[a-z/][^>\n]*>",
    re.M | re.S,
)


def hits(text: str, is_help: bool = False) -> Iterator[tuple[int, str, str]]:
    """Offset, words and what to write instead, of a text with or without code."""
    text = _CODE.sub(lambda found: re.sub(r"[^\n]", "¤", found[0]), text)
    for pattern, instead in [*RULES, *(HELP_RULES if is_help else [])]:
        for found in pattern.finditer(text):
            yield found.start(), " ".join(found[0].split()), instead


def texts(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Texts of a file, each with its line and whether it is a help text; in a changelog, the newest
    section.
    """
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _of_module(content)
    elif path.name == "CHANGELOG.md":
        yield 1, "## ".join(content.split("\n## ")[:2]), False
    else:
        # what docs/hooks/tables.py writes is checked in the package
        yield (
            1,
            re.sub(r"(?s)-->\n.*?<!-- end -->", lambda made: "\n" * made[0].count("\n"), content),
            False,
        )


def _of_module(source: str) -> Iterator[tuple[int, str, bool]]:
    """Comments, docstrings, help texts and other strings of three words; ¤ for values in them."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and "noqa" not in token.string:
            yield token.start[0], token.string, False
    nodes = list(ast.walk(ast.parse(source)))
    helps = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.keyword) and node.arg in ("help", "short_help")
    }
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "¤" for part in node.values
            )
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts
        ):
            text = node.value
        else:
            continue
        if text.count(" ") > 1 or id(node) in helps:
            yield node.lineno, text, id(node) in helps


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "paths", nargs="*", type=Path, help="files or folders (default: documents and package)"
    )
    parser.add_argument("--count", action="store_true", help="print the number of hits per folder")
    arguments = parser.parse_args()
    paths = arguments.paths or [ROOT / name for name in DEFAULT if (ROOT / name).exists()]
    files = [
        file for path in paths for file in (sorted(path.rglob("*.*")) if path.is_dir() else [path])
    ]
    files = [file.resolve() for file in files if file.suffix in (".md", ".py")]
    count: Counter[str] = Counter()
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        for line, text, is_help in texts(path):
            for start, words, instead in hits(text, is_help):
                if any(
                    name.startswith(where) and allowed in words for where, allowed, _ in ALLOWED
                ):
                    continue
                count[name.rpartition("/")[0] or name] += 1
                if not arguments.count:
                    print(f'{name}:{line + text.count(chr(10), 0, start)}: "{words}": {instead}')
    if arguments.count:
        print("\n".join(f"{number:6} {folder}" for folder, number in count.items()))
    print(f"{count.total()} hits in {len(files)} files", file=sys.stderr)
    return int(bool(count))


if __name__ == "__main__":
    sys.exit(main())
