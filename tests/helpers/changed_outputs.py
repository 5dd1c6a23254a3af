"""What programs and people do to right outputs: wrappers, pieces of words, markup and orders.

Each kind is a function; the tests of the form of hypotheses draw from them. A kind was put into one
of two halves by a hash of its name: the checks were written with the first half and run once on the
second.
"""

import hashlib
import json
import random
import urllib.parse
from collections.abc import Callable, Sequence

Lines = list[str]

BEFORE = (
    "PRED {i}: ", "{i}\t", "[{i}] ", "({i}) ", "#{i} ", "Translation: ", "English: ", "en: ",
    "[en] ", "<2en> ", "__en__ ", "__en__", "en_XX ", "eng_Latn ", ">>de<< ", "<s> ", "<pad> ",
    "- ", "* ", "> ", "Assistant: ", "Here is the translation: ", "Sure! ", "src={i} ",
    "{i}/500 ", "=> ", ">>> ", "-0.4{i} ", "-0.4{i}\t", "0.9{i} ||| ", "en ", "English ",
    "S-{i}\t", "D-{i}\t-0.3{i}\t", "{i}. ", "{i} ", " | ", "[ ", "[CLS] ", "{i};", "id{i}:",
    "doc{i}_seg{i}: ", "2024-01-01 12:00:{i} ", "• ", "→ ",
)  # fmt: skip
AFTER = (
    " </s>", " <eos>", "[EOS]", "<|im_end|>", " ||| -1.2{i}", "\t-0.3{i}", " (en)", " [0.9{i}]",
    " # {i}", "\\n", ";", ",", " EOS", "</seg>", " -1.2{i}", " ###", " end", "<br>", " |",
    " PAD PAD", "!!!", " (translated by a model)", "\tOK", " [SEP]",
)  # fmt: skip
AROUND = (
    ("['", "']"), ('"', '"'), ("**", "**"), ("`", "`"), ("<b>", "</b>"),
    ('<seg id="{i}">', "</seg>"), ('{"text": "', '"}'), ("{", "}"), ("[", "]"),
    ("<target>", "</target>"), ('msgstr "', '"'), ("b'", "'"), ("('", "',)"), ("$", "$"),
    ("{i} ||| ", " ||| F= -1 LM= -2{i} ||| -0.{i}"), ("<s> ", " </s>"),
    ("<think>hm {i}</think> ", ""), ("Translation: \"", '"'),
)  # fmt: skip


def _around(before: str, after: str) -> Callable[[Lines], Lines]:
    return lambda lines: [
        before.replace("{i}", str(row)) + line + after.replace("{i}", str(row))
        for row, line in enumerate(lines)
    ]


def _each(change: Callable[[str], str]) -> Callable[[Lines], Lines]:
    return lambda lines: list(map(change, lines))


WRAPPERS: dict[str, Callable[[Lines], Lines]] = {
    **{f"before {text!r}": _around(text, "") for text in BEFORE},
    **{f"after {text!r}": _around("", text) for text in AFTER},
    **{f"around {pair!r}": _around(*pair) for pair in AROUND},
    "field source, tab": _each(lambda line: f"Quelle {line[::-1][:30]}\t{line}"),
    "field |||, source": _each(lambda line: f"{line} ||| Quelle {line[::-1][:30]}"),
    "field source, ==>": _each(lambda line: f"Quelle {line[::-1][:30]} ==> {line}"),
    "JSON object": _each(lambda line: json.dumps({"hyp": line})),
    "JSON list": _each(lambda line: json.dumps([line])),
    "JSON string": _each(json.dumps),
    "repr": _each(repr),
    "address": _each(urllib.parse.quote),
    "mojibake": _each(lambda line: line.encode().decode("latin-1")),
    "escapes": _each(lambda line: line.encode("unicode_escape").decode()),
}


def _split(mark: Callable[[str, str], str], rate: float) -> Callable[[Lines], Lines]:
    def change(lines: Lines) -> Lines:
        rng = random.Random(rate)
        return [
            " ".join(
                mark(word[: len(word) // 2], word[len(word) // 2 :])
                if len(word) > 4 and word.isalpha() and rng.random() < rate
                else word
                for word in line.split()
            )
            for line in lines
        ]

    return change


def _marked(before: str, after: str, rate: float) -> Callable[[Lines], Lines]:
    """Pieces that are all marked: those that begin a word, or those that end one."""
    split = _split(lambda first, second: f"{first}\0{second}", rate)
    return lambda lines: [
        " ".join(before + word.replace("\0", " ") + after for word in line.split(" "))
        for line in split(lines)
    ]


PIECES: dict[str, Callable[[Lines], Lines]] = {
    **{f"@@ {rate}": _split("{}@@ {}".format, rate) for rate in (0.1, 0.3, 1)},
    **{f"## {rate}": _split("{} ##{}".format, rate) for rate in (0.1, 0.3, 1)},
    **{f"joiner {rate}": _split("{}\uffed {}".format, rate) for rate in (0.3, 1)},
    **{f"plus {rate}": _split("{} +{}".format, rate) for rate in (0.3, 1)},
    **{f"sentencepiece {rate}": _marked("\u2581", "", rate) for rate in (0.02, 0.3, 1)},
    **{f"underscore {rate}": _marked("_", "", rate) for rate in (0.02, 1)},
    **{f"end of word {rate}": _marked("", "</w>", rate) for rate in (0.02, 1)},
    **{f"middle dot {rate}": _split("{}·{}".format, rate) for rate in (0.5, 1)},
    "characters": _each(lambda line: " ".join(line.replace(" ", "_"))),
    "joined by _": _each(lambda line: line.replace(" ", "_")),
    "joined by +": _each(lambda line: line.replace(" ", "+")),
    "joined by ▁": _each(lambda line: "▁" + line.replace(" ", "▁")),
}


def _sgml(lines: Lines) -> Lines:
    segments = [f'<seg id="{row}"> {line} </seg>' for row, line in enumerate(lines, 1)]
    return ['<refset trglang="en">', '<doc docid="d">', *segments, "</doc>", "</refset>"]


def _tmx(lines: Lines) -> Lines:
    units = (["<tu>", f"<tuv><seg>{line}</seg></tuv>", "</tu>"] for line in lines)
    return ["<tmx>", "<body>", *(line for unit in units for line in unit), "</body>", "</tmx>"]


def _po(lines: Lines) -> Lines:
    entries = (
        [f"#: a.c:{row}", f'msgid "m{row}"', f'msgstr "{line}"', ""]
        for row, line in enumerate(lines)
    )
    return [line for entry in entries for line in entry]


MARKUP: dict[str, Callable[[Lines], Lines]] = {
    "SGML": _sgml,
    "segments": _around('<seg id="{i}">', "</seg>"),
    "indented segments": _around('      <seg id="{i}">', "</seg>"),
    "TMX": _tmx,
    "PO": _po,
    "paragraphs": _around("<p>", "</p>"),
    "attributes": _around('<hyp system="x" id="{i}">', "</hyp>"),
}


def _order(rows: Callable[[int], Sequence[int]]) -> Callable[[Lines], Lines]:
    return lambda lines: [lines[min(max(row, 0), len(lines) - 1)] for row in rows(len(lines))]


ORDERS: dict[str, Callable[[Lines], Lines]] = {
    **{f"shifted by {by}": _order(lambda n, by=by: range(by, n + by)) for by in (1, -1, 2, -3, 7)},
    "shifted from the middle on": _order(lambda n: [*range(n // 2), *range(n // 2 + 1, n + 1)]),
    "backwards": _order(lambda n: range(n)[::-1]),
    "numbers as text, from 0": _order(lambda n: sorted(range(n), key=str)),
    "numbers as text, from 1": _order(lambda n: sorted(range(n), key=lambda row: str(row + 1))),
    "shuffled": _order(lambda n: random.Random(1).sample(range(n), n)),
    "halves": _order(lambda n: [*range(n // 2, n), *range(n // 2)]),
    "every other": _order(lambda n: [*range(0, n, 2), *range(1, n, 2)]),
}


def second_half(name: str) -> bool:
    """Whether a kind was kept for the end."""
    return hashlib.sha256(f"door{name}".encode()).digest()[0] % 2 == 1
