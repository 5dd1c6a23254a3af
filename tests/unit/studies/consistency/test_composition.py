"""The residual composition error without references: a system that composes, one that does not, and
what is refused.
"""

import numpy as np
import parts_manifest
import pytest

from cgbench import evaluate
from cgbench.errors import InputError
from cgbench.studies.consistency.linked_translations import consistency
from cgbench.studies.consistency.request import ConsistencyRequest
from cgbench.studies.parts.by_outputs import judge_run, source_parts
from cgbench.studies.parts.folder import Piece, Place, write_parts
from cgbench.studies.parts.residual import Outcomes, Residual

MANIFEST = parts_manifest.MANIFEST | {"side": "source", "match": "outputs", "k": 5}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """40 pieces in five probes and 120 rows, a system that composes, and one that loses half of the
    pieces of rows.
    """
    random = np.random.default_rng(3)
    said = ["".join(random.choice(list("abdefgiklmnoprstuz"), 6)) for _ in range(40)]

    def texts(contents, lost=0.0):
        heard = [
            [piece if random.random() >= lost else random.integers(40) for piece in row]
            for row in contents
        ]
        return [" ".join(said[piece] for piece in row) for row in heard]

    probes = [[piece, *random.integers(0, 40, 2)] for piece in range(40) for _ in range(5)]
    rows = [random.choice(40, 3, replace=False).tolist() for _ in range(120)]
    sources = [" ".join(f"p{piece}" for piece in row) for row in rows]
    out = tmp_path_factory.mktemp("own") / "parts"
    pieces = [Piece(f"p{piece}", 9, tuple(range(5 * piece, 5 * piece + 5))) for piece in range(40)]
    places = [[Place(piece, at, at + 1) for at, piece in enumerate(row)] for row in rows]
    of_probes = [" ".join(f"p{piece}" for piece in row) for row in probes]
    folder = write_parts(
        out, pieces, list(zip(of_probes, texts(probes), strict=True)), places, MANIFEST
    )
    outputs = {
        "composes": (texts(rows), texts(probes, 0.02)),
        "breaks": (texts(rows, 0.5), texts(probes, 0.02)),
    }
    return folder, sources, outputs


def both(outputs):
    return {
        "systems": {name: rows for name, (rows, _) in outputs.items()},
        "probe_systems": {name: probes for name, (_, probes) in outputs.items()},
    }


def test_what_breaks_has_a_residual_and_what_composes_has_none(parts):
    folder, sources, outputs = parts
    with pytest.warns(
        match="pieces come out of outputs for other test pairs in [0-9]+% / [0-9]+% of cases"
    ):
        residuals = consistency(ConsistencyRequest(folder.folder, **both(outputs))).results
    composes, breaks = (result.whole.figures["residual"] for result in residuals)
    assert composes.ci_low < 0 < composes.ci_high and abs(composes.value) < 3
    assert breaks.ci_low > 25 and breaks.value < 50
    # With references the same, beside the scores; and the share that comes out by chance is told.
    given = {"parts": folder.folder, "probe_systems": both(outputs)["probe_systems"]}
    with pytest.warns(
        match="pieces come out of outputs for other test pairs in [0-9]+% / [0-9]+% of cases"
    ):
        scores = evaluate(
            "chrf", both(outputs)["systems"], outputs["composes"][0], sources=sources, **given
        )
    assert [result.whole.figures["residual"] for result in scores.parts.residual.results] == [
        composes,
        breaks,
    ]
    # The references translate every piece alike, so all rows but those of lengths without probes
    # are determined.
    bins = {bin_.label: part.examples for bin_, part in scores.parts.scored.results[0].bins}
    assert bins["determined"] + bins["not determined"] == 120 and bins["determined"] > 100


def test_errors_are_corrected_for_what_comes_out_by_chance(parts):
    folder, _, outputs = parts
    of_rows = source_parts(folder, folder.rows)
    run = judge_run(folder, folder.rows, of_rows, outputs["breaks"][::-1])
    residual, chance = Residual(of_rows, 4), np.full(len(run.rows), 0.5)
    plain = Outcomes(run.probes, run.rows)
    errors = [
        residual.value(residual.statistics(it))[2]
        for it in (plain, Outcomes(*[run.probes, run.rows], None, chance))
    ]
    assert errors[1] == pytest.approx(2 * errors[0]) and errors[0] > 10
    hidden = residual.statistics(Outcomes(run.probes, run.rows, None, chance + 0.46))
    assert np.isnan(residual.value(hidden)[0])


def test_why_a_system_has_no_residual_is_said(parts):
    folder, _, outputs = parts
    _, probes = outputs["composes"]
    everything = " ".join(dict.fromkeys(" ".join(probes).split()))
    for texts, said in (
        (
            ([everything] * 120, probes),
            "everything: nearly every piece comes out of outputs for other test pairs",
        ),
        ((["?"] * 120, ["?"] * 200), "everything: no pair is given, .*: it knows 0% of the pieces"),
    ):
        with pytest.warns(match=said):
            consistency(ConsistencyRequest(folder.folder, **both({"everything": texts})))


def test_a_piece_with_two_translations_is_not_determined(parts, tmp_path):
    folder, sources, outputs = parts
    (texts, _), words = (
        outputs["composes"],
        [row for row in folder.rows if any(place.piece == 0 for place in row)],
    )
    probes = [
        (source, f"{at}{at}q{at}" if at < 5 else target)
        for at, (source, target) in enumerate(folder.probes)
    ]
    write_parts(tmp_path / "parts", folder.pieces, probes, folder.rows, MANIFEST)
    of_probes = {
        "parts": tmp_path / "parts",
        "probe_systems": outputs["composes"][1],
    }
    counts = []
    for path in (folder.folder, tmp_path / "parts"):
        of_probes["parts"] = path
        scores = evaluate("chrf", texts, texts, sources=sources, **of_probes)
        counts.append(
            {bin_.label: part.examples for bin_, part in scores.parts.scored.results[0].bins}[
                "determined"
            ]
        )
    assert counts[0] - counts[1] == len(words) > 0
    scores.write_per_example(tmp_path / "rows.tsv")
    head, *rows = (line.split("\t") for line in (tmp_path / "rows.tsv").read_text().splitlines())
    determined = [row[head.index("determined")] for row in rows]
    assert determined.count("1") == counts[1] and determined.count("0") == 120 - counts[1] > 0
    with_piece = [any(place.piece == 0 for place in row) for row in folder.rows]
    assert {mark for mark, inside in zip(determined, with_piece, strict=True) if inside} == {"0"}


def test_folds_that_say_the_same_change_nothing(parts):
    folder, _, outputs = parts
    of_rows = source_parts(folder, folder.rows)
    run = judge_run(folder, folder.rows, of_rows, outputs["breaks"][::-1])
    plain = Residual(of_rows, 4).statistics(Outcomes(run.probes, run.rows))
    right = run.probes.reshape(40, 5).sum(axis=1)
    passed = np.stack([right - run.probes.reshape(40, 5)[:, fold] for fold in range(5)])
    folds = run.folds._replace(passed=passed, rows=np.stack([run.rows] * 5))
    assert Residual(of_rows, 4).statistics(Outcomes(run.probes, run.rows, folds)) == pytest.approx(
        plain
    )


def test_the_command(parts, run, tmp_path):
    folder, _, outputs = parts
    for name, texts in zip(("hyp", "probes"), outputs["breaks"], strict=True):
        (tmp_path / name).write_text("\n".join(texts) + "\n")
    command = ["consistency", "score", folder.folder, "--hyp", f"a={tmp_path / 'hyp'}"]
    probes = ["--probe-hyp", f"a={tmp_path / 'probes'}"]
    printed = run(*command, *probes).output
    assert "residual" in printed and "predicted" in printed
    for extra, said in (
        ([], "needs the translations of its probes; give --probe-hyp"),
        (["--probe-hyp", f"b={tmp_path / 'probes'}"], "b is not one of the systems"),
        (["--probe-hyp", f"a={tmp_path / 'hyp'}"], "has 120 lines and"),
        ([*probes, "--per-example", str(tmp_path / "rows.tsv")], "no score of single"),
        ([*probes, "--cluster", "piece"], "--cluster has no effect on a folder"),
    ):
        assert said in run(*command, *extra, status=2).stderr


def test_a_table_of_items_has_no_probes(tmp_path):
    (tmp_path / "items.tsv").write_text("source\tpiece\nthe dog\tdog\na dog\tdog\n")
    with pytest.raises(InputError, match="probe_systems has no effect on a table of items"):
        consistency(
            ConsistencyRequest(
                tmp_path / "items.tsv", ["hund", "hund"], probe_systems=["hund", "hund"]
            )
        )


def test_pieces_of_references_are_refused(parts, tmp_path):
    folder, _, outputs = parts
    write_parts(
        tmp_path / "words",
        folder.pieces,
        folder.probes,
        folder.rows,
        {**MANIFEST, "match": "words"},
    )
    with pytest.raises(InputError, match="run cgbench parts with side='source'"):
        consistency(ConsistencyRequest(tmp_path / "words", **both(outputs)))
