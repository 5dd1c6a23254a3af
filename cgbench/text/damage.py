"""Recognise hypotheses that would match their references if a program had not changed their form.

Each form has a repair. It is the cause if the repaired hypotheses have clearly more in common with
the references, which do not have that form themselves: hypotheses are never judged alone, and a
single line is enough.
"""

import html
import json
import re
import unicodedata
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cgbench.patterns import pattern
from cgbench.text.plain_text import words_of

Pair = tuple[str, str]
"""A hypothesis and its reference."""
LEAST_GAIN = 0.01  # of the units of all references
RUN = 16  # consecutive lines
LEAST_LINES = 0.1  # of the hypotheses
FORM_LINES = 512  # at most about twice as many are compared
LONGEST = 2_000  # characters of a line
_UNSPACED = (
    "\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
_SPLIT = r"!\"#$%&()*+,./:;<=>?@\[\\\]^_`{|}~"  # as 13a does, which leaves other marks at words
_MARKS = f"[{_UNSPACED}]|[^\\s{_UNSPACED}{_SPLIT}]+|[{_SPLIT}]"  # slow to compile


def has_unspaced(text: str) -> bool:
    """Whether a text has characters of a script whose words are not (always) separated."""
    return not text.isascii() and re.search(f"[{_UNSPACED}]", text) is not None


class Damage(NamedTuple):
    """A form that programs give a text: what to look for, how to undo it, and how to say so."""

    name: str
    sign: re.Pattern[str]
    repair: Callable[[str], str]
    remedy: str
    of_all: bool = False  # all lines have it
    adds: bool = False  # it adds words and changes none
    typographic: bool = False  # people also write it: references may have it in some lines


def repair_mojibake(line: str) -> str:
    """UTF-8 that was decoded by a Western encoding, as UTF-8; other lines as they are."""
    for code in ("cp1252", "latin-1"):
        try:
            return line.encode(code).decode("utf-8")
        except UnicodeError:
            continue
    return line


def _quoted(line: str) -> str:
    try:
        value = json.loads(line)
    except ValueError:
        return line
    return value if isinstance(value, str) else line


def _unescaped(match: re.Match[str]) -> str:
    code = match[0][1:]
    if code[0] in "ux" and len(code) > 1:
        return chr(int(code[1:], 16))
    return {"n": " ", "t": " ", "r": " "}.get(code, code)


_ESCAPED = pattern(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[ntr\"'])")
_ESCAPE = pattern("&(?:[a-zA-Z]{2,6}|#[0-9]{1,5}|#x[0-9a-fA-F]{1,4});")
_END = pattern(r"<(?:/?s|pad|eos|bos|\|endoftext\||\|im_end\|)>")
_ZERO_WIDTH = pattern("[\u200b-\u200f\u2060\ufeff]")
_BLANK = pattern("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_NUMBER = pattern(r"\"?\d+\"?[,;:.)] ?(?=\S)")
FORMS = (
    Damage(
        "lines of fairseq's log (H-0, a score, the text)",
        pattern(r"^[HDT]-\d+\t", re.M),
        lambda line: line.rpartition("\t")[2],
        "take the text of the H- lines by their numbers",
        of_all=True,
        adds=True,
    ),
    Damage(
        "an ID and a tab before the text",
        pattern(r"^[^\t\n]{1,60}\t", re.M),
        lambda line: line.rpartition("\t")[2],
        "name the file .tsv and the column (FILE.tsv:2)",
        of_all=True,
        adds=True,
    ),
    Damage(
        "a number before the text",
        pattern(f"^{_NUMBER.pattern}", re.M),
        lambda line: _NUMBER.sub("", line, count=1),
        "remove it, or name the file .csv and the column",
        of_all=True,
        adds=True,
    ),
    Damage(
        "text in quotes of JSON",
        pattern('^".*"$', re.M),
        _quoted,
        "decode each line (json.loads in Python)",
        of_all=True,
        adds=True,
    ),
    Damage(
        "decomposed letters (NFD)",
        pattern("[\u0300-\u036f\u3099\u309a]"),
        lambda line: unicodedata.normalize("NFC", line),
        "compose them (unicodedata.normalize in Python)",
    ),
    Damage(
        "UTF-8 that was read as another encoding (\u00c3\u00bc for \u00fc)",
        pattern("[\u00c2-\u00f4][\x80-\u00bf\u0152-\u0192\u02c6\u02dc\u2013-\u2122]"),
        repair_mojibake,
        "write the text again in UTF-8, or repair it (iconv -f UTF-8 -t CP1252)",
    ),
    Damage(
        "marks of SentencePiece (\u2581)",
        pattern("\u2581"),
        lambda line: line.replace(" ", "").replace("\u2581", " ").strip(),
        "decode the pieces",
    ),
    Damage(
        "hyphens split off as Moses does (@-@)",
        pattern(r"@[^\w\s]@"),
        lambda line: re.sub(" ?@([^\\w\\s])@ ?", r"\1", line),
        "join them (sed 's/ @-@ /-/g')",
        adds=True,
    ),
    Damage(
        "pieces of subword-nmt (@@)",
        pattern("@@( |$)", re.M),
        lambda line: re.sub("@@( |$)", "", line),
        "join the pieces (sed -r 's/(@@ )|(@@ ?$)//g')",
    ),
    Damage(
        "marks such as </s>",
        _END,
        lambda line: " ".join(_END.sub(" ", line).split()),
        "remove them",
        adds=True,
    ),
    Damage(
        "soft hyphens",
        pattern("\xad"),
        lambda line: line.replace("\xad", ""),
        "remove them (U+00AD)",
    ),
    Damage(
        "characters of no width",
        _ZERO_WIDTH,
        lambda line: _ZERO_WIDTH.sub("", line),
        "remove them (such as U+200B)",
    ),
    Damage(
        "other blanks (such as U+00A0)",
        _BLANK,
        lambda line: _BLANK.sub(" ", line),
        "replace them by ordinary blanks",
        typographic=True,
    ),
    Damage(
        "escapes of a programming language (such as \\u00fc)",
        pattern(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[ntr\"'])"),
        lambda line: _ESCAPED.sub(_unescaped, line),
        "decode them (json.loads in Python)",
    ),
    Damage(
        "escapes of addresses (such as %20)",
        pattern("%[0-9A-Fa-f]{2}"),
        urllib.parse.unquote,
        "decode them (urllib.parse.unquote in Python)",
    ),
    Damage(
        "cells in quotes, as Excel and pandas write them",
        pattern('^"(?:[^"\n]|"")*""(?:[^"\n]|"")*"$', re.M),
        lambda line: line[1:-1].replace('""', '"'),
        "write the text without quotes, or name the file .csv and the column",
    ),
    Damage(
        "reasoning before the text",
        pattern("</(?:think|thinking|reasoning|thought)>"),
        lambda line: re.sub("^.*</(?:think|thinking|reasoning|thought)>\\s*", "", line),
        "cut the reasoning (sed 's/.*<.think>//')",
        adds=True,
    ),
    Damage(
        "HTML entities (such as &quot;)",
        _ESCAPE,
        html.unescape,
        "undo them (html.unescape in Python)",
    ),
)
"""In this order: a repair that comes first leaves nothing for those after it."""


def _is_alone(form: Damage, changed: Sequence[Pair], side: int, length: int) -> bool:
    """Whether enough hypotheses have a form that is not text, whatever they should say."""
    if side or form.typographic or form.of_all:
        return False
    return sum(form.repair(text) != text for text, _ in changed) >= max(1, LEAST_LINES * length)


def sampled(length: int, most: int) -> list[int]:
    """Evenly spread rows of a text, in runs of :data:`RUN`."""
    step = max(1, length // most)
    return [row for row in range(length) if row // RUN % step == 0]


def units_of(text: str, words: str) -> Counter[str]:
    """What a metric compares, by how it finds words
    (:class:`~cgbench.text.hypothesis_form.Reading`).
    """
    if words == "blanks":
        return Counter(words_of(text))
    if words == "marks":
        return Counter(re.findall(_MARKS, text))
    letters = "".join(text.split())
    return Counter(letters[start : start + 3] for start in range(max(1, len(letters) - 2)))


def forms_of(
    hypotheses: Sequence[str],
    references: Sequence[str],
    words: str,
    *,
    case: bool = True,
    cut: str | None = None,
    are_references: bool = True,
) -> Iterator[tuple[Damage, str]]:
    """The forms that keep hypotheses from matching, and those that only the references have.

    :param words: how the metric finds words; ``case``: it distinguishes upper and lower case;
        ``cut``: it ignores what follows this.
    :param are_references: else the other texts are sources or fragments, and a form that
        :data:`LEAST_LINES` of the hypotheses and hardly any of these have is an error.
    :returns: of each, ``hypotheses`` or ``references``
    """
    pairs = [
        (
            hypotheses[row][:LONGEST].partition(cut)[0] if cut else hypotheses[row][:LONGEST],
            references[row][:LONGEST],
        )
        for row in sampled(len(hypotheses), FORM_LINES)
    ]

    def counts(text: str) -> Counter[str]:
        return units_of(text if case else text.lower(), words)

    total, joined = None, ["\n".join(column) for column in zip(*pairs, strict=True)] or ["", ""]
    for form in FORMS:
        present = [
            form.sign.search(text) is not None for text in joined
        ]  # fast: most texts have none
        if not any(present):
            continue
        signs = [
            [has and form.sign.search(pair[side]) is not None for pair in pairs]
            for side, has in enumerate(present)
        ]
        for side, holder in enumerate(("hypotheses", "references")):
            changed = [pair for pair, has_sign in zip(pairs, signs[side], strict=True) if has_sign]
            if 4 * sum(signs[1 - side]) >= max(1, len(changed)) or (side and form.sign is _ESCAPE):
                continue  # both have it, or Moses wrote the references
            if form.typographic and side and 2 * len(changed) < len(pairs):
                continue
            if not are_references and _is_alone(form, changed, side, len(pairs)):
                yield form, holder
                break
            if form.of_all and len(changed) < 0.9 * sum(bool(pair[side]) for pair in pairs):
                continue
            gain = 0
            for pair in changed:
                before, after, other = map(
                    counts, (pair[side], form.repair(pair[side]), pair[1 - side])
                )
                gain += (after & other).total() - (before & other).total()
                gain += before.total() - after.total() if form.adds else 0
            total = total or sum(counts(pair[1]).total() for pair in pairs)
            if gain >= max(1, LEAST_GAIN * total):
                yield form, holder
                break
