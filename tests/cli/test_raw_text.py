"""A release has the lines of its pool byte for byte, and beside them the normalised form that
selected them.
"""

import json
import re

import pytest
from fake_openai import Fake, serving
from small_build import release_bytes
from small_release import build_release

from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.restore import restore
from cgbench.benchmark.score.evaluation.evaluate import evaluate
from cgbench.studies.parts.folder import PartsFolder
from cgbench.studies.parts.parts import parts
from cgbench.studies.validity.validate import validate
from cgbench.text.normalisation import normaliser

SIZES = (
    "candidates=100",
    "window=60",
    "select=40",
    "training.max_updates=4",
    "design=stratified",
    "sample=20",
)
SETTINGS = (
    "--tokenize",
    "13a",
    "--lowercase",
    "--control",
    *(word for size in SIZES for word in ("--set", size)),
)
SETS = ("test", "control", "sample")


def as_people_write(line):
    """A line of the demo as ordinary text: a capital, punctuation on the last word, and blanks that
    nobody counted.
    """
    blanks = "  " if len(line) % 3 == 0 else " "
    words = re.sub(r" ([,.!?])", r"\1", line).rstrip(".!?")
    return words[:1].upper() + words[1:].replace(" ", blanks, 1) + ("!" if len(line) % 2 else ".")


@pytest.fixture(scope="module")
def raw_corpora(demo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    for name in ("train", "pool"):
        for language in ("de", "en"):
            lines = (demo / f"{name}.{language}").read_text(encoding="utf-8").split("\n")[:-1]
            data = "".join(as_people_write(line) + "\n" for line in lines)
            (folder / f"{name}.{language}").write_text(data, encoding="utf-8")
    return folder


def options(folder):
    names = [
        folder / f"{name}.{language}" for name in ("train", "pool") for language in ("de", "en")
    ]
    return ("--train", *names[:2], "--pool", *names[2:])


@pytest.fixture(scope="module")
def raw_release(raw_corpora, tmp_path_factory):
    return Release.open(
        build_release(options(raw_corpora), tmp_path_factory.mktemp("built") / "r", *SETTINGS)[0]
    )


def texts_of(release, name, side, **form):
    return release.lines(side, **form) if name == "test" else release.set_lines(name, side, **form)


def test_every_set_has_the_bytes_of_the_pool(raw_release, raw_corpora):
    for side, language in (("source", "de"), ("target", "en")):
        pool = (raw_corpora / f"pool.{language}").read_bytes().split(b"\n")
        for name in SETS:
            rows = raw_release.split() if name == "test" else raw_release.set_rows(name)
            expected = [pool[row["pool_line"] - 1] for row in rows]
            assert (raw_release.folder / f"{name}.{language}").read_bytes().split(b"\n")[
                :-1
            ] == expected
            normalised = (
                (raw_release.folder / f"{name}.norm.{language}")
                .read_text(encoding="utf-8")
                .split("\n")[:-1]
            )
            assert texts_of(raw_release, name, side, normalised=True) == normalised
            assert all(
                line == line.lower() and line[-2] == " " and "  " not in line for line in normalised
            )
            table = raw_release.table(name, text=True)
            assert [
                pair[language].encode() for pair in table["translation"].to_pylist()
            ] == expected
            assert [pair[language] for pair in table["normalised"].to_pylist()] == normalised
            assert len(normalised[0].split()) == rows[0][f"{side}_length"]
        candidates = raw_release.candidates
        assert [line.encode() for line in candidates[side]] == [
            pool[row - 1] for row in candidates["pool_line"]
        ]


def test_datasets_and_the_frame_have_the_original(raw_release, raw_corpora, tmp_path):
    pool = (raw_corpora / "pool.en").read_text(encoding="utf-8").split("\n")
    expected = [pool[row["pool_line"] - 1] for row in raw_release.split()]
    assert raw_release.test["target"].tolist() == expected
    datasets = pytest.importorskip("datasets")
    table = datasets.load_dataset(str(raw_release.folder), split="test", cache_dir=str(tmp_path))
    assert [pair["en"] for pair in table["translation"]] == expected


def test_the_release_is_verified_and_measured_in_its_normalised_form(raw_release, run, tmp_path):
    checks = json.loads(run("verify", raw_release.folder, "--format", "json").stdout)["checks"]
    states = {check["check"]: check["ok"] for check in checks}
    assert states["original text"] is True
    assert all(state is not False for state in states.values())
    run("stats", "--release", raw_release.folder)  # compares the degrees with those of split.jsonl
    run("report", raw_release.folder, "--out", tmp_path / "page.html")
    assert "The text is in the normalised form" in (tmp_path / "page.html").read_text(
        encoding="utf-8"
    )
    run("parts", raw_release.folder, "--out", tmp_path / "parts")
    card = (raw_release.folder / "README.md").read_text(encoding="utf-8")
    assert "that of the pool, byte for byte" in card and "tokenised (13a), in lower case" in card


def test_another_text_beside_the_form_that_selected_it_is_found(raw_release, failed, tmp_path):
    import shutil

    import pyarrow
    from small_build import rehash

    from cgbench.benchmark.release.data_tables import write_table

    folder = tmp_path / "changed"
    shutil.copytree(raw_release.folder, folder)
    first = (folder / "test.en").read_text(encoding="utf-8").split("\n")[0]
    table = raw_release.table("test", text=True)
    rows = table["translation"].to_pylist()
    rows[0]["en"] = f"Not {first}"
    changed = table.set_column(0, "translation", pyarrow.array(rows))
    write_table(changed, folder / "data" / "test-00000-of-00001.parquet")
    text = (folder / "test.en").read_text(encoding="utf-8")
    (folder / "test.en").write_text(text.replace(first, f"Not {first}", 1), encoding="utf-8")
    rehash(folder)
    ((check, detail),) = failed(folder).items()
    assert check == "original text" and "not that of the text" in detail


class Translator(Fake):
    """Answers with the reference of a sentence, without its last word in every third answer."""

    def __init__(self, release):
        super().__init__()
        pairs = release.pairs()
        self.answers = {
            source: target.rsplit(" ", 1)[0] if row % 3 == 0 else target
            for row, (source, target) in enumerate(pairs)
        }

    def reply(self, body, wrong):
        text = self.answers[body["messages"][-1]["content"].removeprefix("Translate: ")]
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        return {
            "model": body["model"],
            "choices": [choice],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1},
        }


def test_a_server_an_export_and_lines_give_one_score(raw_release, run, tmp_path):
    import pyarrow.parquet
    import sacrebleu

    server, output = Translator(raw_release), tmp_path / "llm.en"
    with serving(server) as url:
        words = (
            "--system",
            f"{url}?model=m",
            "--prompt",
            "Translate: {source}",
            "--output",
            output,
        )
        run("translate", raw_release.folder / "test.de", *words)
    assert {line.removeprefix("Translate: ") for line in server.asked} == set(
        raw_release.lines("source")
    )
    # The task of lm-evaluation-harness, and its log of the same answers.
    run("export", raw_release.folder, "--to", "lm-eval", "--out", tmp_path / "task")
    test, shots = (
        pyarrow.parquet.read_table(tmp_path / "task" / f"{name}.parquet")
        for name in ("test", "fewshot")
    )
    assert (
        list(zip(test["source"].to_pylist(), test["target"].to_pylist(), strict=True))
        == raw_release.pairs()
    )
    assert set(shots["source"].to_pylist()) <= set(raw_release.candidates["source"])
    answers = [server.answers[source] for source in test["source"].to_pylist()]
    log = tmp_path / "samples_task.jsonl"
    rows = [
        {
            "doc_id": row,
            "doc_hash": "h",
            "filter": "first-line",
            "resps": [[text]],
            "filtered_resps": [text],
        }
        for row, text in enumerate(answers)
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    expected = sacrebleu.corpus_bleu(
        answers, [test["target"].to_pylist()]
    ).score  # as the harness computes it
    for hypotheses in (output, log):
        words = (
            "score",
            "bleu",
            "--release",
            raw_release.folder,
            "--hyp",
            f"a={hypotheses}",
            "--format",
            "json",
        )
        said = json.loads(run(*words).stdout)
        assert said["value"] == pytest.approx(expected, abs=1e-4) and 50 < expected < 100
        assert "norm:" not in said["signature"] and "tok:13a" in said["signature"]


def test_hypotheses_are_scored_in_the_form_that_they_have(raw_release):
    original, normalised = (raw_release.lines("target", normalised=form) for form in (False, True))
    halves = [[*lines[1:2], *lines[1:]] for lines in (original, normalised)]  # a wrong first line
    score = {
        form: evaluate("bleu", {"A": lines}, release=raw_release.folder)
        for form, lines in enumerate(halves)
    }
    assert "norm:" not in score[0].signature and "tok:13a" in score[0].signature
    assert "|norm:13a+lc|" in score[1].signature
    both = evaluate("exact", {"A": original, "B": normalised}, release=raw_release.folder)
    assert [system["exact"] for system in both.figures.values()] == [
        100,
        100,
    ] and "norm:13a+lc" in both.signature
    assert evaluate("exact", {"A": original}, release=raw_release.folder).score == 100
    # `validate` compares them with the same references.
    easy = texts_of(raw_release, "control", "target", normalised=True)
    systems, control = (dict.fromkeys("abc", lines) for lines in (halves[1], easy))
    scored = json.loads(
        validate(raw_release, systems, control_systems=control, metric="bleu").report("json")
    )["scored"]
    assert scored["systems"]["a"]["scores"]["test"] == pytest.approx(score[1].score, abs=1e-6)
    assert scored["signature"].endswith("|norm:13a+lc")


def test_a_release_without_text_is_restored_to_the_same_bytes(
    raw_release, raw_corpora, run, tmp_path
):
    folder, _ = build_release(options(raw_corpora), tmp_path / "r", *SETTINGS, "--text", "none")
    names = {path.name for path in folder.iterdir()}
    assert not [name for name in names if name.startswith(SETS) and name.endswith((".de", ".en"))]
    pool = [raw_corpora / f"pool.{language}" for language in ("de", "en")]
    copy = [tmp_path / f"copy.{language}" for language in ("de", "en")]
    for path, other in zip(pool, copy, strict=True):  # the same words, other blanks
        other.write_text(path.read_text(encoding="utf-8").replace("  ", " "), encoding="utf-8")
    said = run("restore", folder, "--pool", *copy, status=2).stderr
    assert "these texts do not reproduce test.de: their words agree, but blanks" in said
    restore(folder, [tuple(map(str, pool))])
    for name in (
        f"{stem}{form}.{language}"
        for stem in SETS
        for form in ("", ".norm")
        for language in ("de", "en")
    ):
        assert release_bytes(folder)[name] == release_bytes(raw_release.folder)[name], name
    assert run("verify", folder).exit_code == 0


def test_a_tokenised_pool_is_published_detokenised_if_asked_and_the_card_says_so(run, tmp_path):
    pytest.importorskip("sacremoses")
    texts = {
        "train.de": (
            ["Ich sehe den Hund nicht , sagt er heute .", "Wir sehen eine Katze , sagt sie jetzt ."]
            * 3
        ),
        "train.en": (
            ["I don &apos;t see the dog , he says today .", "We see a cat , she says now ."] * 3
        ),
        "pool.de": [
            "Wir sehen den Hund nicht , sagt sie jetzt .",
            "Ich sehe eine Katze , sagt er heute .",
        ],
        "pool.en": ["We don &apos;t see the dog , she says now .", "I see a cat , he says today ."],
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    build = ("build-react", *options(tmp_path), "--until", "candidates")
    run(*build, "--detokenize", "--out", tmp_path / "undone")
    release = Release.open(tmp_path / "undone")
    assert set(release.lines("target")) == {
        "We don't see the dog, she says now.",
        "I see a cat, he says today.",
    }
    assert "Wir sehen den Hund nicht, sagt sie jetzt." in release.lines("source")
    card = (tmp_path / "undone" / "README.md").read_text(encoding="utf-8")
    assert (
        "that of the pool, without its Moses tokenisation, which the builder had undone"
        " (`detokenize`" in card
    )
    run("verify", tmp_path / "undone")
    run(*build, "--accept-text", "--out", tmp_path / "kept")
    assert set(Release.open(tmp_path / "kept").lines("target")) == set(texts["pool.en"])
    assert "that of the pool, byte for byte" in (tmp_path / "kept" / "README.md").read_text(
        encoding="utf-8"
    )


def test_probes_have_the_bytes_of_the_pool_and_are_scored_in_either_form(
    raw_release, raw_corpora, tmp_path
):
    folder = parts(raw_release, out=tmp_path / "parts")
    lines = [
        (raw_corpora / f"pool.{language}").read_text().splitlines() for language in ("de", "en")
    ]
    assert folder.probes and set(folder.probes) <= set(zip(*lines, strict=True))
    assert PartsFolder.open(tmp_path / "parts").normalised == folder.normalised
    change = [normaliser(raw_release.normalisation, language) for language in raw_release.languages]
    for original, normalised in zip(folder.probes, folder.normalised, strict=True):
        assert (
            tuple(" ".join(side(line).split()) for side, line in zip(change, original, strict=True))
            == normalised
        )
    for form in (False, True):
        # A system without an answer to every third test pair and every fifth probe.
        test = [
            "zzz" if row % 3 == 0 else target
            for row, (_, target) in enumerate(raw_release.pairs(normalised=form))
        ]
        texts = folder.normalised if form else folder.probes
        probes = ["zzz" if row % 5 == 0 else target for row, (_, target) in enumerate(texts)]
        options = {"parts": tmp_path / "parts", "probe_systems": probes}
        found = evaluate("bleu", test, release=raw_release, **options).parts
        (run,) = found.outcomes[0]
        assert 0 < run.rows.sum() < len(run.rows) and 0 < run.probes.sum() < len(run.probes)
        assert run.rows.tolist() == (found.parts.rows.sentence % 3 > 0).tolist()
        assert run.probes.tolist() == (found.parts.probes.sentence % 5 > 0).tolist()
