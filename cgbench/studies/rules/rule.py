"""The types of rules, and how an output is checked against one.

Text is compared in Unicode's form NFC, with single blanks (a tab, a no-break space or several
blanks are one). Blanks between two characters of a script that has none (Chinese, Japanese, Thai,
Lao, Khmer, Burmese) do not count, so tokenised output is found as well; whole words of these
scripts are those of jieba, MeCab or PyThaiNLP.

Patterns are read in the same form: NFC, and any blank is a blank. One that asks for what no output
can have (a tab, two blanks, a blank between Chinese characters) is refused. They run in the regex
package, which stops them after :data:`SECONDS`.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Annotated, Any, TypeAlias

import msgspec
import regex

from cgbench.errors import InputError
from cgbench.text.languages import UNSPACED, characters_of
from cgbench.text.tokenizers import tokenizer

SECONDS = 1.0
"""Time limit of one pattern on one output."""
MOST_WEIGHT = 1e6
_BLANK = regex.compile(r"[^\S ]")
_IMPOSSIBLE = (
    (r"(?<!\\)(?:\\\\)*\\(?:[tnrfv]|x0[9a-d]|xa0|u00a0|u3000|u20[0-2][0-9a-f])", "blanks alone"),
    (r"(?<![\\\[])  (?![?*{])", "single blanks"),
    (r"[UNSPACED] [UNSPACED]", "no blanks between characters of this script"),
)
"""What a pattern cannot ask for, and how outputs are instead."""
SEGMENTERS = {"kana": "ja", "han": "jieba", "thai": "spacy:th"}
"""Tokenisers by script; a text with kana is Japanese."""
Text: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, pattern=r"\S")]
Texts: TypeAlias = Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
Span: TypeAlias = tuple[int, int]


class Rule(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="type",
    tag=str.lower,
):
    """A rule of an example: its name in tables, its weight in the share of rules, and whether it
    must not hold.
    """

    name: str = ""
    weight: Annotated[float, msgspec.Meta(gt=0, le=MOST_WEIGHT)] = 1.0
    negated: bool = msgspec.field(name="not", default=False)

    @property
    def type(self) -> str:
        """The type in the file."""
        return type(self).__name__.lower()

    @property
    def label(self) -> str:
        """The name, or what the rule asks for."""
        fields = (*getattr(self, "any", ()), getattr(self, "pattern", ""))
        return self.name or " ".join(
            filter(None, (("not " * self.negated) + self.type, " | ".join(filter(None, fields))))
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """Texts that an output should contain, as far as the rule names some."""
        return () if self.negated else getattr(self, "any", ())

    def passes(self, output: str) -> bool:
        """Whether an output passes; an empty one passes no rule.

        :raises InputError: a pattern takes too long, or a segmenter is not installed.
        """
        return bool(output.strip()) and self.holds(output) is not self.negated

    def holds(self, output: str) -> bool:
        """Whether the output has what the rule describes."""
        return bool(self.spans(output))

    def spans(self, output: str) -> list[Span]:
        """The places in :func:`prepared` output that the rule is about."""
        return []


class _Words(Rule, frozen=True, kw_only=True):
    case: bool = True
    whole_words: bool = False

    def find(self, texts: Texts, output: str) -> list[Span]:
        """The places of any of the texts in prepared output, which may overlap."""
        output = prepared(output)
        if not self.whole_words or not regex.search(f"[{_unspaced()}]", "".join(texts)):
            literals = _literals(texts, self.case, self.whole_words)
            return [match.span() for match in literals.finditer(output, overlapped=True)]
        # Text by text: one that is no word must not hide a longer one at the same place.
        literals_of_texts = [_literals((text,), self.case, True) for text in texts]
        spans = [
            match.span()
            for literals in literals_of_texts
            for match in literals.finditer(output, overlapped=True)
        ]
        begins, ends = _words(output)
        return sorted(span for span in spans if span[0] in begins and span[1] in ends)


class Contains(_Words, frozen=True, kw_only=True):
    """The output contains one of the texts."""

    any: Texts

    def spans(self, output: str) -> list[Span]:
        """Where the texts are."""
        return self.find(self.any, output)


class Excludes(Contains, frozen=True, kw_only=True):
    """The output contains none of the texts."""

    @property
    def texts(self) -> tuple[str, ...]:
        """None: an output should not contain them."""
        return self.any if self.negated else ()

    def holds(self, output: str) -> bool:
        """Whether it contains none."""
        return not self.spans(output)


class Equals(Rule, frozen=True, kw_only=True):
    """The output is one of the texts, whatever its blanks."""

    any: Texts
    case: bool = True

    def holds(self, output: str) -> bool:
        """Whether it is one of them."""
        return _literals(self.any, self.case, False).fullmatch(prepared(output)) is not None


class Order(_Words, frozen=True, kw_only=True):
    """A text of ``first`` begins before one of ``then``; holds if either is absent, or one of
    ``unless`` is there.
    """

    first: Texts
    then: Texts
    unless: tuple[Text, ...] = ()

    def holds(self, output: str) -> bool:
        """Whether one of ``first`` comes first."""
        first, then = self.find(self.first, output), self.find(self.then, output)
        if not first or not then or (self.unless and self.find(self.unless, output)):
            return True
        return first[0][0] < max(begin for begin, _ in then)

    def spans(self, output: str) -> list[Span]:
        """Where the texts are."""
        return sorted([*self.find(self.first, output), *self.find(self.then, output)])


class Regex(Rule, frozen=True, kw_only=True):
    """The pattern occurs in the output."""

    pattern: Text
    case: bool = True

    def __post_init__(self) -> None:
        compile_pattern(self.pattern, self.case)

    def spans(self, output: str) -> list[Span]:
        """Where it occurs."""
        try:
            matches = compile_pattern(self.pattern, self.case).finditer(
                prepared(output), timeout=SECONDS
            )
            return [match.span() for match in matches]
        except TimeoutError:
            raise InputError(
                f"the pattern {self.pattern!r} takes longer than {SECONDS:g} s on {output[:60]!r};"
                " simplify it"
            ) from None


class Length(Rule, frozen=True, kw_only=True):
    """The number of words of the output is within limits; each character of a script without blanks
    is one.
    """

    least: Annotated[int, msgspec.Meta(ge=0)] = 0
    most: Annotated[int, msgspec.Meta(ge=0)] | None = None

    def __post_init__(self) -> None:
        if (self.most is None and not self.least) or (
            self.most is not None and self.most < self.least
        ):
            raise ValueError("give least, most, or both in order")

    def holds(self, output: str) -> bool:
        """Whether its number of words is within the limits."""
        count = len(regex.findall(rf"[{_unspaced()}]|[^\s{_unspaced()}]+", prepared(output)))
        return self.least <= count and (self.most is None or count <= self.most)


class Verdict(Rule, frozen=True, kw_only=True):
    """A judge decides; its verdicts are in a table."""

    name: Text

    def holds(self, output: str) -> bool:
        """Never called: verdicts come from a table."""
        raise TypeError(f"the verdict on {self.name!r} comes from a judge")


AnyRule: TypeAlias = Contains | Excludes | Equals | Order | Regex | Length | Verdict
TYPES = tuple(kind.__name__.lower() for kind in AnyRule.__args__)


@cache
def _unspaced() -> str:
    """The characters of scripts without blanks, for a class of a pattern."""
    return "".join(map(characters_of, UNSPACED))


@lru_cache(maxsize=1 << 14)
def prepared(text: str) -> str:
    """A text as rules compare it: NFC, single blanks, none between characters of a script without
    blanks.
    """
    text = " ".join(unicodedata.normalize("NFC", text).split())
    return regex.sub(rf"(?<=[{_unspaced()}]) (?=[{_unspaced()}])", "", text)


@lru_cache(maxsize=1 << 14)
def compile_pattern(pattern: str, case: bool) -> Any:
    """A regular expression.

    :raises ValueError: it is invalid.
    """
    pattern = _BLANK.sub(" ", unicodedata.normalize("NFC", pattern))
    for impossible, reason in _IMPOSSIBLE:
        if regex.search(impossible.replace("UNSPACED", _unspaced()), pattern):
            raise ValueError(f"{pattern!r} matches no output, which has {reason}")
    try:
        return regex.compile(
            pattern, 0 if case else regex.IGNORECASE | regex.FULLCASE, cache_pattern=False
        )
    except (regex.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{pattern!r} is not a valid pattern ({error})") from None


@lru_cache(maxsize=1 << 14)
def _literals(texts: Sequence[str], case: bool, whole_words: bool) -> Any:
    """The pattern of any of the texts; whole words begin and end where no letter or digit follows
    one.
    """
    patterns = []
    for text in map(prepared, texts):
        letter = rf"[^\W{_unspaced()}]"
        begin = f"(?<!{letter})" if whole_words and regex.match(letter, text[0]) else ""
        end = f"(?!{letter})" if whole_words and regex.match(letter, text[-1]) else ""
        patterns.append(f"{begin}{regex.escape(text)}{end}")
    return compile_pattern("|".join(patterns), case)


@lru_cache(maxsize=1 << 14)
def _words(output: str) -> tuple[frozenset[int], frozenset[int]]:
    """Where the words of a text in a script without blanks begin and end, by the segmenter of its
    language.

    :raises InputError: no segmenter is known, or it is not installed.
    """
    scripts = [script for script in UNSPACED if regex.search(f"[{characters_of(script)}]", output)]
    name = next((SEGMENTERS[script] for script in SEGMENTERS if script in scripts), None)
    if name is None:
        raise InputError(
            f"whole_words: no segmenter for {', '.join(scripts)}; leave whole_words out"
        )
    begins, ends, position = set[int](), set[int](), 0
    for word in tokenizer(name)(output).split():
        position = max(output.find(word, position), position)
        begins.add(position)
        position += len(word)
        ends.add(position)
    return frozenset(begins), frozenset(ends)


def convert_rules(values: Any) -> list[Rule]:
    """Rules from JSON values.

    :raises msgspec.ValidationError: a type is unknown, or a field is missing, unknown or invalid.
    """
    return msgspec.convert(values, list[AnyRule])


def passed(rules: Iterable[Rule], output: str) -> str:
    """A mark per rule: 1 passed, 0 not, ``?`` for a verdict that a judge must give."""
    return "".join(
        "?" if isinstance(rule, Verdict) else str(int(rule.passes(output))) for rule in rules
    )
