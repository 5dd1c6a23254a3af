"""What people write in a card, and what a release answers for."""

import pytest

from cgbench.benchmark.release.card_notes import (
    PARTS,
    card_digest,
    marked_part,
    read_notes,
    without_notes,
    written_parts,
)
from cgbench.errors import InputError

PARTS_OF_CARD = f"{marked_part('origin')}\n{marked_part('contact')}"
CARD = f"---\nlanguage: de\n{marked_part('metadata')}---\n# Title\n\n{PARTS_OF_CARD}\nend\n"


def test_a_card_without_notes_is_what_a_release_answers_for():
    assert without_notes(CARD) == CARD and written_parts(CARD) == {}


def test_what_stands_between_the_marks_changes_no_digest():
    begin, end = marked_part("origin").split("\n")[:2]
    written = CARD.replace(f"{begin}\n", f"{begin}\n### Origin\n\nFrom *talks*.\n")
    written = written.replace("# end of metadata", "annotations_creators: [found]\n# end of metadata")
    assert card_digest(written.encode()) == card_digest(CARD.encode())
    found = {"origin": "### Origin\n\nFrom *talks*.\n", "metadata": "annotations_creators: [found]\n"}
    assert written_parts(written) == found
    # Written again with what people wrote, it is the same card.
    again = CARD
    for name, text in found.items():
        again = again.replace(marked_part(name), marked_part(name, text))
    assert again == written
    for other in (
        CARD.replace("Title", "Titel"),
        CARD.replace(end, ""),  # a part without an end is none
        CARD.replace("\nend", f"\n{marked_part('origin', 'more')}end"),  # nor may there be further ones
        CARD.replace(begin, begin.replace("writers", "Writers")),
        CARD.replace("# Title", "<!-- yours: origin -->\n# Title"),
    ):
        assert card_digest(other.encode()) != card_digest(CARD.encode())


def test_a_file_of_notes(tmp_path):
    path = tmp_path / "notes.yaml"
    path.write_text("origin: From talks.\nmetadata:\n  source_datasets: [original]\ncitation: |\n  @misc{x}\n")
    notes = read_notes(path)
    assert notes["origin"] == "### Origin of the text\n\nFrom talks.\n"
    assert notes["metadata"] == "source_datasets:\n- original\n"
    assert without_notes(marked_part("citation", notes["citation"])) == marked_part("citation")
    assert set(notes) < set(PARTS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("orign: x", "a card has no part 'orign'; did you mean origin?"),
        ("- x", "write notes for a card as 'origin: text'"),
        ("contact: 7", "contact: a text is needed"),
        ("contact: ' '", "contact: a text is needed"),
        ("metadata: x", "metadata: give names and values"),
        ("metadata: {license: mit}", "metadata: the build writes license itself; leave it out"),
        ("origin: |\n  a\n  <!-- end of origin -->\n  b", "has a line that marks the end of a part"),
    ],
)
def test_notes_that_are_none(tmp_path, text, message):
    path = tmp_path / "notes.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message.replace("?", "\\?")) as caught:
        read_notes(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
