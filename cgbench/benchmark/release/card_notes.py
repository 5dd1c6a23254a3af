"""The parts of a card that people write: between marked lines, kept when a card is written again.

They are not part of the benchmark: ``verify`` checks the card without them.
"""

import hashlib
import html
import re
from collections.abc import Mapping
from pathlib import Path

from cgbench.files import write_atomic

PARTS = {
    "metadata": "YAML for data set hubs, such as annotations_creators or source_datasets",
    "origin": "source of the text, its writers and translators, dates and audience",
    "personal": "personal information in the text, and how sensitive it is",
    "contact": "contact for questions",
    "citation": "how to cite this",
    "validity": "what makes this test set hard, by cgbench validate",
}
"""What a build cannot know."""
_PART = re.compile(
    r"^(?P<begin>(?P<open><!-- |# )yours: (?P<name>[a-z]+)\b[^\n]*\n)(?P<text>.*?)"
    r"(?P<end>^(?P=open)end of (?P=name)(?: -->)?\n)",
    re.DOTALL | re.MULTILINE,
)


def marked_part(name: str, text: str = "") -> str:
    """A part of a card with the marks around it."""
    text = text.strip("\n") + "\n" if text.strip() else ""
    if name == "metadata":  # YAML, with another comment syntax
        return f"# yours: metadata ({PARTS[name]})\n{text}# end of metadata\n"
    return f"<!-- yours: {name} ({PARTS[name]}) -->\n{text}<!-- end of {name} -->\n"


def written_parts(card: str) -> dict[str, str]:
    """What people wrote in a card, by part."""
    return {block["name"]: block["text"] for block in _PART.finditer(card) if block["text"].strip()}


def add_results(path: Path, lines: Mapping[str, str]) -> bool:
    """Write sentences by topic into the part ``validity`` of a card; those of other topics stay.

    :returns: False if the card has no such part or cannot be written.
    """
    try:
        card = path.read_bytes().decode("utf-8")
        old = re.findall(
            r"^- \*\*(.+?)\.\*\* (.*)$", written_parts(card).get("validity", ""), re.MULTILINE
        )
        new_lines = {
            name: html.escape(" ".join(text.split()), quote=False) for name, text in lines.items()
        }
        results = "".join(
            f"- **{name}.** {text}\n" for name, text in sorted({**dict(old), **new_lines}.items())
        )
        section = marked_part("validity", f"### What makes it hard\n\n{results}")
        new = _PART.sub(lambda block: section if block["name"] == "validity" else block[0], card)
        if section not in new:
            return False
        if new != card:
            write_atomic(path, new)
    except OSError:
        return False
    return True


def without_notes(card: str) -> str:
    """A card without what people wrote: the part that its checksum covers."""
    return _PART.sub(lambda block: block["begin"] + block["end"], card)


def card_digest(data: bytes) -> str:
    """The SHA-256 of a card in a manifest: without what people wrote."""
    return hashlib.sha256(without_notes(data.decode("utf-8")).encode("utf-8")).hexdigest()
