"""What people write in a card, and what a release answers for."""

from cgbench.benchmark.release.card_notes import (
    card_digest,
    marked_part,
    without_notes,
    written_parts,
)

PARTS_OF_CARD = f"{marked_part('origin')}\n{marked_part('contact')}"
CARD = f"---\nlanguage: de\n{marked_part('metadata')}---\n# Title\n\n{PARTS_OF_CARD}\nend\n"


def test_a_card_without_notes_is_what_a_release_answers_for():
    assert without_notes(CARD) == CARD and written_parts(CARD) == {}


def test_what_stands_between_the_marks_changes_no_digest():
    begin, end = marked_part("origin").split("\n")[:2]
    written = CARD.replace(f"{begin}\n", f"{begin}\n### Origin\n\nFrom *talks*.\n")
    written = written.replace(
        "# end of metadata", "annotations_creators: [found]\n# end of metadata"
    )
    assert card_digest(written.encode()) == card_digest(CARD.encode())
    found = {
        "origin": "### Origin\n\nFrom *talks*.\n",
        "metadata": "annotations_creators: [found]\n",
    }
    assert written_parts(written) == found
    # Written again with what people wrote, it is the same card.
    again = CARD
    for name, text in found.items():
        again = again.replace(marked_part(name), marked_part(name, text))
    assert again == written
    for other in (
        CARD.replace("Title", "Titel"),
        CARD.replace(end, ""),  # a part without an end is none
        CARD.replace(
            "\nend", f"\n{marked_part('origin', 'more')}end"
        ),  # nor may there be further ones
        CARD.replace(begin, begin.replace("writers", "Writers")),
        CARD.replace("# Title", "<!-- yours: origin -->\n# Title"),
    ):
        assert card_digest(other.encode()) != card_digest(CARD.encode())
