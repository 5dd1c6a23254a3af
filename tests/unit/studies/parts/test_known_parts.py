"""Scores by known parts: what comes out, what is refused, and that every output says the same."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from parts_manifest import MANIFEST

from cgbench.benchmark.score.evaluation.evaluate import evaluate
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.cli import main
from cgbench.errors import InputError, InputWarning
from cgbench.report.score_page import score_page
from cgbench.studies.parts.folder import Piece, Place, text_digest, write_parts
from cgbench.studies.parts.gate import gate_of
from cgbench.studies.parts.page_section import section_context
from cgbench.studies.parts.tables import parts_tables

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")

REFERENCES = [
    "the red house stands",
    "a green dog ran",
    "the red dog",
    "no <b> bird",
    "a green house fell",
] * 4
PIECES = ["the red", "house", "a green", "dog", "bird"]
ROWS = [
    [(0, 0, 2), (1, 2, 3)],
    [(2, 0, 2), (3, 2, 3)],
    [(0, 0, 2), (3, 2, 3)],
    [(4, 2, 3)],
    [(2, 0, 2), (1, 2, 3)],
] * 4


def gate(found, system=0):
    """The pieces that the first run of a system knows, and the pairs that are given to it."""
    return gate_of(found.parts.parts, found.parts.outcomes[system][0].probes, found.parts.least)


def figures_of(found, system=0):
    """The residual composition error of a system, and its parts."""
    return {
        name: one.value for name, one in found.parts.residual.results[system].whole.figures.items()
    }


def of_bins(found, system=0):
    """The scores of a system on given pairs, on the rest, and by degree."""
    return {bin.label: part for bin, part in found.parts.scored.results[system].bins}


def folder_of(path: Path, **manifest: str) -> Path:
    """Two probes of each piece but the last, which has none."""
    places = [[Place(*place) for place in row] for row in ROWS]
    probes = [(f"quelle {number}", f"so {PIECES[number // 2]} {number}") for number in range(8)]
    pieces = [
        Piece(text, 9, probes=(2 * number, 2 * number + 1) if number < 4 else ())
        for number, text in enumerate(PIECES)
    ]
    write_parts(path / "parts", pieces, probes, places, {**MANIFEST, **manifest})
    return path / "parts"


def outputs(folder: Path, wrong: dict[int, str]) -> list[str]:
    """The references of the probes, with other outputs for some."""
    lines = (folder / "probes.target").read_text().splitlines()
    return [wrong.get(number, line) for number, line in enumerate(lines)]


def test_words_that_stand_in_a_row_come_out(tmp_path):
    folder = folder_of(tmp_path)
    # "a green" is split in one of its two probes, so that it is not known; "houses" is not "house".
    probes = outputs(folder, {4: "so a very green is 4"})
    hypotheses = [text.replace("house", "houses") for text in REFERENCES]
    found = evaluate("chrf", hypotheses, REFERENCES, parts=folder, probe_systems=probes)
    assert gate(found).known.tolist() == [True, True, False, True, False]
    assert gate(found).given.tolist() == [True, False, True, False, False] * 4
    run = found.parts.outcomes[0][0]
    assert run.rows.tolist() == [piece != 1 for piece in found.parts.parts.rows.piece.tolist()]
    given, rest = of_bins(found)["given"], of_bins(found)["rest"]
    assert given.examples == 8 and rest.examples == 12
    figures = figures_of(found)
    assert figures["given"] == 40.0 and 0 < figures["error"] < 50
    # One score among given pairs, another among the rest: those of BLEU on these rows alone.
    for part, rows in ((given, [0, 2]), (rest, [1, 3, 4])):
        alone = evaluate(
            "chrf", [hypotheses[row] for row in rows] * 4, [REFERENCES[row] for row in rows] * 4
        )
        assert next(iter(part.figures.values())).value == pytest.approx(alone.score)
    assert found.parts.folder.untested == 4
    table = parts_tables(found.parts, 1)[0]
    head, rows = table.head, table.rows
    row = dict(zip(head, rows[0], strict=True))
    for column in ("given %", "error", "predicted", "residual"):
        assert row[column] == f"{figures[column.split()[0]]:.1f}"
    section = section_context(found, 1)
    (shown,) = section["examples"]
    # The circle says what is predicted, the mark what the error is.
    assert f"predicted: {figures['predicted']:.2f}" in section["chart"]
    assert f"error: {figures['error']:.2f}, 95%" in section["chart"]
    assert f"{figures['error']:.1f} ({figures['residual']:+.1f})" in section["chart"]
    # First the wrong pairs that are given, then those with one unknown piece.
    assert [(one["number"], one["given"]) for one in shown["rows"]] == [
        *((row, True) for row in (1, 6, 11, 16)),
        *((row, False) for row in (5, 10, 15, 20)),
    ]
    assert shown["rows"][0]["text"] == [
        ("the red", "known", False),
        ("house", "known", True),
        ("stands", "", False),
    ]
    assert shown["rows"][4]["text"] == [
        ("a green", "unknown", False),
        ("house", "known", True),
        ("fell", "", False),
    ]
    assert shown["rows"][0]["output"] == "the red houses stands"


def test_a_folder_made_for_another_test_set_is_refused(tmp_path):
    escaped = [f"{text.upper()} &amp;apos;" for text in REFERENCES]  # tokenised, in another case
    sources = [f"quelle {row}" for row in range(20)]
    folder = folder_of(
        tmp_path, test={"target": text_digest(escaped), "source": text_digest(sources)}
    )
    given = {"parts": folder, "probe_systems": outputs(folder, {})}
    assert (
        evaluate("chrf", REFERENCES, [text + " '" for text in REFERENCES], **given).parts
        is not None
    )
    turned = [*REFERENCES[1:], REFERENCES[0]]
    for texts in ({"references": turned}, {"references": REFERENCES, "sources": sources[::-1]}):
        with pytest.raises(
            InputError, match="made for another test set: its (source|target) has other words"
        ):
            evaluate("chrf", REFERENCES, accept_text=True, **texts, **given)


def test_case_is_ignored_where_the_metric_ignores_it(tmp_path):
    folder = folder_of(tmp_path)
    upper = [text.upper() for text in outputs(folder, {})]
    options = {"parts": folder, "probe_systems": upper, "accept_text": True}
    found = evaluate("chrf", REFERENCES, REFERENCES, lowercase=True, **options)
    assert gate(found).known.tolist() == [True] * 4 + [False]
    assert not gate(evaluate("chrf", REFERENCES, REFERENCES, **options)).known.any()


def test_whole_sentences_are_exact(tmp_path):
    folder = folder_of(tmp_path, match="exact", side="source")
    probes = outputs(folder, {4: "so a very green is 4"})
    hypotheses = [*REFERENCES[:-1], "a green house"]
    found = evaluate("exact", hypotheses, REFERENCES, parts=folder, probe_systems=probes)
    assert gate(found).known.tolist() == [True, True, False, True, False]
    assert found.parts.outcomes[0][0].rows.tolist() == [
        row != 19 for row in found.parts.parts.rows.sentence.tolist()
    ]
    score, rows = (
        of_bins(found)["given"].figures["exact"],
        [row for row in range(20) if row % 5 in (0, 2)],
    )
    assert score.value == 100
    # The interval is that of so few rows alone.
    few = ([texts[row] for row in rows] for texts in (hypotheses, REFERENCES))
    alone = evaluate("exact", *few, confidence=True)
    assert score.ci_low == alone.results[0].whole.figures["exact"].ci_low < 80
    # Row 19 has a known piece and one that only the other of its two probes shows: given where that
    # one is held back.
    assert figures_of(found)["error"] == pytest.approx(100 * 0.5 / (8 + 4 * 0.5 + 4 * 0.5))
    with pytest.raises(InputError, match="right or wrong as a whole"):
        evaluate("chrf", hypotheses, REFERENCES, parts=folder, probe_systems=probes)


def test_bins_are_of_the_degree_of_the_pieces_side(tmp_path):
    folder = folder_of(tmp_path, match="exact", side="source")
    found = evaluate(
        "exact",
        REFERENCES,
        REFERENCES,
        parts=folder,
        probe_systems=outputs(folder, {}),
    )
    _, _, low, high = (bin for bin, _ in found.parts.scored.results[0].bins)
    assert low.label.startswith("given, degree") and low.high == pytest.approx(
        2 / 3
    )  # not of the words of references
    assert [part.examples for part in of_bins(found).values()] == [16, 4, 0, 16]
    assert low.rows.tolist() == [row for row in range(20) if row % 5 == 3] and len(high.rows) == 16


def of_parts(folder, texts, *probes):
    """BLEU of a system whose texts are right, with a list of its translations of the probes for
    each run.
    """
    given = {"parts": folder / "parts", "probe_systems": {"a": list(probes)}}
    return evaluate("chrf", {"a": [texts] * len(probes)}, texts, **given)


def test_why_there_is_no_residual(tmp_path):
    places = [[Place(0, 0, 2)]] * 20
    write_parts(
        tmp_path / "parts", [Piece("the red", 9, probes=(0,))], [("q", "the red")], places, MANIFEST
    )
    for probe, said in (("the red", "a: too few known pieces"), ("a red", "a: no pair is given")):
        with pytest.warns(InputWarning, match=said):
            found = of_parts(tmp_path, ["the red"] * 20, [probe])
        empty = of_bins(found)["rest" if probe == "the red" else "given"]  # no pairs have no score
        assert empty.examples == 0 and [one.value for one in empty.figures.values()] == [None]


def test_pairs_that_are_longer_than_all_probes_are_not_given(tmp_path):
    texts = ["the red", "the red one", "the red one here", "the red", "red"] * 8
    places = [[Place(0, 0, 2)]] * 40
    probes = [("q", "the red"), ("r", "the red too")]
    write_parts(
        tmp_path / "parts",
        [Piece("the red", 9, probes=(0, 1))],
        probes,
        places,
        MANIFEST,
        trained=1,
    )
    with pytest.warns(InputWarning) as warned:
        found = of_parts(tmp_path, texts, ["the red", "the red too"])
    assert gate(found).given.tolist() == [True, True, False, True, False] * 8
    said = [str(one.message) for one in warned]
    assert (
        "24 of 40 test pairs are as long as probes (2 to 3 words); the other 16 count as not given"
        in said
    )
    assert any(
        line.startswith("1 of 2 probes are in the training text: memorisation alone")
        for line in said
    )


def test_the_control_set_is_compared_by_the_same_probes(tmp_path):
    """A system that remembers its probes and errs alike on every new sentence has a residual, but
    none beyond it.
    """
    pieces = [f"a{number} b{number}" for number in range(40)]
    probes = [
        (f"q{number} {n}", f"{piece} c") for number, piece in enumerate(pieces) for n in range(3)
    ]
    listed = [
        Piece(piece, 9, probes=tuple(range(3 * n, 3 * n + 3))) for n, piece in enumerate(pieces)
    ]
    rows = [[Place(number % 40, 0, 2)] for number in range(400)]
    write_parts(tmp_path / "parts", listed, probes, rows, MANIFEST, control=rows[:200], trained=120)
    texts = [f"{pieces[number % 40]} d" for number in range(400)]

    def of_system(size, wrong):
        return ["x" if number % 10 < wrong else text for number, text in enumerate(texts[:size])]

    systems = {"a": of_system(400, 1), "b": of_system(400, 3)}
    control = {
        "control_systems": dict.fromkeys("ab", of_system(200, 1)),
        "control_references": texts[:200],
    }
    remembered = {name: [text for _, text in probes] for name in "ab"}
    parts = {"parts": tmp_path / "parts", "probe_systems": remembered}
    found = evaluate("chrf", systems, texts, paired=True, control=control, **parts)
    for result, residual, beyond in zip(found.parts.beyond.results, (10, 30), (0, 20), strict=True):
        figures = result.whole.figures
        assert figures["control_residual"].value == pytest.approx(10, abs=0.1)
        score = figures["beyond_control"]
        assert score.value == pytest.approx(beyond, abs=0.1)
        assert score.ci_low < beyond < score.ci_high and score.ci_low > beyond - 15
        assert figures_of(found, int(residual == 30))["residual"] == pytest.approx(
            residual, abs=0.1
        )
    (table,) = (
        one
        for one in parts_tables(found.parts, 1)
        if hasattr(one, "head") and one.head[0] == "beyond the control set"
    )
    assert [line[:2] + line[3:4] for line in table.rows] == [
        ["a", "10.0", "0.0"],
        ["b", "10.0", "20.0"],
    ]


def test_no_given_pair_is_explained_by_the_share_of_known_pieces(tmp_path):
    places = [[Place(0, 0, 1), Place(1, 1, 2)]] * 10 + [[Place(1, 0, 1)]] * 10
    pieces = [Piece("the", 9, probes=(0,)), Piece("red", 9, probes=(1,))]
    write_parts(tmp_path / "parts", pieces, [("q", "the"), ("r", "red")], places, MANIFEST)
    with pytest.warns(
        InputWarning, match=r"it knows 50% of the pieces, and a test pair has 1\.5 on average"
    ):
        of_parts(tmp_path, ["the red"] * 20, ["the", "green"])


def test_pairs_given_to_one_of_three_runs_count(tmp_path):
    """Their mean over the runs is a third, which is not shown as 0 beside a score."""
    places = [[Place(0, 0, 2)]] + [[Place(1, 0, 2)]] * 19
    pieces = [Piece("the red", 9, probes=(0, 1)), Piece("no bird", 9, probes=(2,))]
    write_parts(
        tmp_path / "parts",
        pieces,
        [("q", "the red"), ("r", "the red"), ("s", "no bird")],
        places,
        MANIFEST,
    )
    right, wrong = ["the red", "the red", "a bird"], ["a", "a", "a bird"]
    with pytest.warns(InputWarning, match="a: too few known pieces"):  # and not "no pair is given"
        found = of_parts(tmp_path, ["the red"] * 20, right, wrong, wrong)
    assert of_bins(found)["given"].examples == 1


def test_a_piece_that_only_the_gate_without_a_probe_knows(tmp_path):
    """One of two probes is right: unknown by both; where the wrong one is held back, known."""
    places = [[Place(0, 0, 2)]] * 20
    probes = [("q", "the red"), ("r", "the red")]
    write_parts(tmp_path / "parts", [Piece("the red", 9, probes=(0, 1))], probes, places, MANIFEST)
    with pytest.warns(InputWarning, match="a: only 0 given pairs, fewer than 20"):
        found = of_parts(tmp_path, ["the red"] * 20, ["the red", "a red"])
    assert figures_of(found)["given"] == 0 and figures_of(found)["error"] == 0
    assert figures_of(found)["predicted"] > 50


def test_compounds_are_judged_as_cter_does(tmp_path):
    (tmp_path / "lexicon").write_text("dog\t狗\nthe\t/\nsmall\t小\n")
    (tmp_path / "atoms").write_text("N\tdog\tdog\nDET\tthe\tthe\nADJ\tsmall\tsmall\n")
    sources = [f"he saw the small dog {number}" for number in range(10)]
    places = [[Place(0, -1, -1)]] * 10
    probes = [(f"the dog ran {'away ' * 2 * n}{n}", "") for n in range(3)]
    write_parts(
        tmp_path / "parts",
        [Piece("the dog", 3, probes=(0, 1, 2))],
        probes,
        places,
        MANIFEST | {"match": "compound", "side": "source", "pieces": "compounds"},
    )
    given = {
        "sources": sources,
        "compounds": ["the small dog"] * 10,
        "lexicon": tmp_path / "lexicon",
        "atoms": str(tmp_path / "atoms"),
    }
    hypotheses = ["小狗"] * 5 + ["狗"] + ["小狗"] * 4
    found = evaluate(
        "cter",
        hypotheses,
        parts=tmp_path / "parts",
        probe_systems=["狗"] * 3,
        **given,
    )
    assert figures_of(found)["given"] == 100
    assert figures_of(found)["error"] == pytest.approx(10.0)
    parts = of_bins(found)
    assert parts["given"].figures["instance"].value == pytest.approx(10.0)
    assert parts["given"].figures["aggregate"].value == pytest.approx(50.0)
    assert parts["rest"].figures["instance"].value is None
    parts = {"parts": tmp_path / "parts", "probe_systems": ["狗", "狗", "猫"]}
    found = evaluate("cter", hypotheses, **parts, **given)
    assert figures_of(found)["given"] == 0
    assert of_bins(found)["rest"].figures["aggregate"].value == pytest.approx(50.0)
    with pytest.raises(InputError, match="its probes are compounds, so exact cannot judge them"):
        evaluate(
            "exact",
            hypotheses,
            hypotheses,
            parts=tmp_path / "parts",
            probe_systems=["狗"] * 3,
        )
    folder = folder_of(tmp_path)
    with pytest.raises(InputError, match="its probes are no compounds, so CTER cannot judge them"):
        evaluate(
            "cter",
            ["狗"] * 20,
            parts=folder,
            probe_systems=["狗"] * 8,
            **given | {"sources": ["a dog"] * 20, "compounds": ["dog"] * 20},
        )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"parts": None}, "probe_systems needs parts"),
        ({"probe_systems": None}, "give probe_systems"),
        ({"probe_systems": ["a"]}, "probes: hypotheses has 1 lines"),
        ({"probe_systems": {"other": ["a"] * 8}}, "name the systems in both"),
        (
            {"probe_systems": [["a b"] * 8, ["a b"] * 8], "accept_text": True},
            "give the same seeds in the same order",
        ),
        (
            {"references": REFERENCES[1:], "systems": REFERENCES[1:]},
            "made for a test set of 20 rows",
        ),
        ({"known": 0}, "known=0"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, changes, said):
    folder = folder_of(tmp_path)
    given = {"metric": "chrf", "systems": REFERENCES, "references": REFERENCES, "parts": folder}
    given |= {"probe_systems": outputs(folder, {}), **changes}
    with pytest.raises(InputError, match=said):
        evaluate(
            ScoreRequest(**{name: value for name, value in given.items() if value is not None})
        )


def test_every_output_says_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = folder_of(tmp_path)
    Path("ref").write_text("\n".join(REFERENCES) + "\n")
    for name, change in (("a", "house"), ("b", "dog")):
        for seed in (1, 2):
            texts = [text.replace("bird", "<i>") for text in REFERENCES]
            lines = [
                text.replace(change, "thing") if row % (2 + seed) else text
                for row, text in enumerate(texts)
            ]
            Path(f"{name}{seed}").write_text("\n".join(lines) + "\n")
            Path(f"{name}{seed}.probes").write_text("\n".join(outputs(folder, {7: "x y"})) + "\n")
    args = [
        "score",
        "chrf",
        "--ref",
        "ref",
        "--hyp",
        "a=a1,a2",
        "--hyp",
        "b=b1,b2",
        "--paired",
        "--parts",
        "parts",
        "--probe-hyp",
        "a=a1.probes,a2.probes",
        "--probe-hyp",
        "b=b1.probes,b2.probes",
    ]
    runner = CliRunner()
    text = runner.invoke(main, [*args, "--output", "page.html"])
    assert text.exit_code == 0, text.output
    assert "4 of 20 test pairs with a piece without a probe" in text.output
    found = json.loads(runner.invoke(main, [*args, "--format", "json"]).stdout)
    residual = found[1]["parts"]["figures"]["residual"]
    assert found[1]["parts"]["value"] == residual["value"] and found[1]["parts"]["n"] == 20
    assert residual["value"] == pytest.approx(sum(residual["values"]) / 2)
    assert residual["difference"] == pytest.approx(residual["value"] - found[0]["parts"]["value"])
    assert (
        f"{residual['value']:.1f}" in text.output and f"{residual['ci_low']:+.1f} to" in text.output
    )
    assert set(found[0]["parts"]["figures"]) == {"given", "error", "predicted", "residual"}
    assert [one["label"] for one in found[0]["parts"]["bins"]][:2] == ["given", "rest"]
    table = runner.invoke(main, [*args, "--format", "tsv"]).stdout.splitlines()
    head = table[0].split("\t")
    rows = [dict(zip(head, line.split("\t"), strict=True)) for line in table[1:]]
    (of,) = (row for row in rows if row["figure"] == "residual" and row["system"] == "b")
    assert float(of["value"]) == pytest.approx(residual["value"]) and of["metric"] == "composition"
    assert {row["bin"] for row in rows if row["by"] == "parts"} >= {"given", "rest"}
    assert len({tuple(row.values()) for row in rows}) == len(rows)
    page = Path("page.html").read_text()
    assert '<h2 id="parts">Known parts</h2>' in page and f"{residual['value']:.1f}" in page
    assert '<span class="piece known">the red</span>' in page
    assert '<span class="piece known"><del>house</del></span>' in page
    assert (
        "no &lt;b&gt; " in page
        and "<b>" not in page
        and "no &lt;b&gt; &lt;i&gt;" in page
        and "<i>" not in page
    )


def test_pages_of_whole_sentences_and_of_one_system(tmp_path):
    folder = folder_of(tmp_path, match="exact", side="source")
    wrong = ["x", *REFERENCES[1:]]
    found = evaluate("exact", wrong, REFERENCES, parts=folder, probe_systems=outputs(folder, {}))
    page = score_page(found)
    assert 'value="1"' in page and "(given)" in page  # without the sources, its pieces alone
    assert found.to_pandas().query("by == 'parts'").shape[0] >= 2


def test_the_page_of_many_systems_folds_all_tables_but_the_first(tmp_path):
    folder = folder_of(tmp_path)
    systems = {f"system {number}": [*REFERENCES[:-1], "house"] for number in range(9)}
    probes = {name: outputs(folder, {}) for name in systems}
    page = score_page(evaluate("exact", systems, REFERENCES, parts=folder, probe_systems=probes))
    assert "<details>\n<summary>Further tables and wrong pairs</summary>" in page
    assert "(-0.0)" not in page
