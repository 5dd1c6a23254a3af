"""What a system itself says for a piece: against the definition, and with words whose translation
is known.
"""

import numpy as np
import pytest

from cgbench.models.lexicons.linked_units import linked_words, units_of
from cgbench.studies.parts.own_translations import judge_outputs


def half(units, present):
    """Whether an output contains half of the units, counted once per probe."""
    return bool(units) and 2 * sum(unit in present for unit in units) >= len(units)


@pytest.mark.parametrize("seed", range(12))
def test_against_the_definition(seed):
    random = np.random.default_rng(seed)
    words, said = (
        [f"w{n}" for n in range(9)],
        [
            "na",
            "re",
            "lo",
            "tis",
            "kom",
            "fu",
            "ga",
            "plin",
            "ek",
        ],
    )
    pieces = [["w0"], ["w1", "w2"], ["w3"], ["w8"]]

    def sentences(count):
        numbers = [random.integers(0, 9, random.integers(2, 6)).tolist() for _ in range(count)]
        texts = [" ".join(said[n] for n in line if random.random() < 0.8) for line in numbers]
        return [[words[n] for n in line] for line in numbers], texts

    (probe_sources, probe_outputs), (row_sources, row_outputs) = sentences(14), sentences(6)
    probes = [sorted(random.choice(14, size, replace=False).tolist()) for size in (4, 3, 1, 0)]
    places = [(piece, probe) for piece, own in enumerate(probes) for probe in own]
    rows = [(piece, row) for row in range(6) for piece in range(4)]
    arrays = [tuple(np.array(pairs, np.int64).reshape(-1, 2).T) for pairs in (places, rows)]
    judged = judge_outputs(
        pieces, (probe_sources, row_sources), (probe_outputs, row_outputs), *arrays
    )
    units = [units_of(text) for text in (*probe_outputs, *row_outputs)]
    links = linked_words([*probe_sources, *row_sources], units)

    def linked(piece, probe):
        line, size = probe_sources[probe], len(piece)
        inside = {
            at + k for at in range(len(line)) if line[at : at + size] == piece for k in range(size)
        }
        return {
            unit for unit, link in zip(units[probe], links[probe], strict=True) if link in inside
        }

    def said_in(piece, left_out, output):
        others = [probe for probe in probes[piece] if probe not in left_out]
        return half(
            [unit for probe in others for unit in linked(pieces[piece], probe)], set(units[output])
        )

    assert judged.probes.tolist() == [said_in(piece, {probe}, probe) for piece, probe in places]
    assert judged.rows.tolist() == [said_in(piece, (), 14 + row) for piece, row in rows]
    assert len(judged.folds.passed) == 4
    for fold in range(4):
        for piece, own in enumerate(probes):
            held = {own[fold % len(own)]} if own else set()
            rest = [probe for probe in own if probe not in held]
            assert judged.folds.passed[fold, piece] == sum(
                said_in(piece, {*held, probe}, probe) for probe in rest
            )
            came = [said_in(piece, held, 14 + row) for _, row in rows[piece::4]]
            assert judged.folds.rows[fold, piece::4].tolist() == came


def test_a_word_is_what_the_other_probes_say():
    pairs = [
        ("a big dog", "ein grosser hund"),
        ("the dog", "der hund"),
        ("my dog sleeps", "mein hund schläft"),
    ]
    pairs += [
        ("the cat", "die katze"),
        ("a cat", "eine katze"),
        ("my cat sleeps", "meine katze schläft"),
    ]
    sources, outputs = [source.split() for source, _ in pairs], [target for _, target in pairs]
    rows = [["big", "cat"], ["big", "dog"]]
    arrays = (np.repeat([0, 1], 3), np.arange(6)), (np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    judged = judge_outputs(
        [["dog"], ["cat"]], (sources, rows), (outputs, ["grosse katze", "grosser vogel"]), *arrays
    )
    assert judged.probes.all()
    assert judged.rows.tolist() == [False, False, True, False]
    assert (
        judge_outputs([["dog"]], (sources, rows), ([""] * 6, ["", ""]), *arrays).chance.tolist()
        == [0.0] * 4
    )


def test_a_text_shorter_than_every_unit_is_one():
    assert [units_of(text) for text in ("J", "J a", "")] == [["j"], ["j", "a", "ja"], []]
