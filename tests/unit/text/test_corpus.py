import json

import numpy as np
import pytest

from cgbench.engines import Local
from cgbench.errors import InputError
from cgbench.steps import Workspace, hash_file
from cgbench.text import corpus
from cgbench.text.corpus import index_pair, index_text, plan_text
from cgbench.text.formats import CorpusSpec
from cgbench.text.normalisation import Normalisation


@pytest.mark.parametrize(
    "text", [b"", b"a", b"a\n", b"a\n\nb", b"\n\n", b"x" * 50 + b"\n" + b"y" * 9]
)
@pytest.mark.parametrize("chunk", [1, 3, 7, 1 << 20])
def test_index_counts_lines_and_finds_them(tmp_path, monkeypatch, text, chunk):
    monkeypatch.setattr(corpus, "CHUNK", chunk)
    path = tmp_path / "x"
    path.write_bytes(text)
    indexed = index_text(path)
    expected = text.split(b"\n")[:-1] if text.endswith(b"\n") or not text else text.split(b"\n")
    assert indexed.lines == len(expected)
    assert indexed.sha256 == hash_file(path) and indexed.bytes == len(text)
    starts = np.cumsum([0] + [len(line) + 1 for line in expected])
    for line, offset in indexed.milestones:
        assert offset == starts[line]


def test_sides_of_unequal_length_are_refused_with_both_counts(tmp_path):
    (tmp_path / "a").write_text("1\n2\n3\n")
    (tmp_path / "b").write_text("1\n2\n")
    with pytest.raises(InputError, match=r"a has 3 lines and .*b has 2"):
        index_pair(tmp_path / "a", tmp_path / "b")
    (tmp_path / "c").write_text("")
    with pytest.raises(InputError, match="empty"):
        index_pair(tmp_path / "c", tmp_path / "c")


def test_plain_text_is_used_where_it_is(tmp_path):
    (tmp_path / "a.de").write_text("Ein Haus\n")
    (tmp_path / "a.en").write_text("A house\n")
    spec = CorpusSpec((tmp_path / "a.de", tmp_path / "a.en"))
    workspace = Workspace(tmp_path / "work")
    assert (
        plan_text("train", spec, Normalisation()).realise(workspace).source.path
        == tmp_path / "a.de"
    )
    assert not (tmp_path / "work").exists()


def test_normalised_text_is_a_step_and_jobs_change_no_byte(tmp_path):
    rows = [
        {"de": f"Das ist\nHaus {n}, nicht wahr?", "en": f"That's house {n}."} for n in range(5_000)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec = CorpusSpec((tmp_path / "a.jsonl",), ("de", "en"))
    normalisation = Normalisation("moses", True, ("de", "en"))
    results = []
    for jobs in (1, 2):
        plan = plan_text("train", spec, normalisation)
        text = plan.realise(Workspace(tmp_path / f"work{jobs}"), Local(jobs))
        results.append((text.source.sha256, text.target.sha256, plan.identity))
    assert results[0] == results[1]
    assert text.source.path.read_text().split("\n")[1] == "das ist haus 1 , nicht wahr ?"
    assert text.target.path.read_text().split("\n")[0] == "that &apos;s house 0 ."


def test_moses_escapes_are_not_escaped_twice(tmp_path):
    (tmp_path / "a.tsv").write_text("it &apos;s &quot; so &quot;\t&amp;\n")
    plan = plan_text(
        "x", CorpusSpec((tmp_path / "a.tsv",)), Normalisation("moses", False, ("en", "en"))
    )
    text = plan.realise(Workspace(tmp_path / "work"))
    assert text.source.path.read_text().split()[-1] == "&quot;"
    assert (
        "&amp;" in text.target.path.read_text() and "&amp;amp;" not in text.target.path.read_text()
    )


def test_identity_follows_the_bytes_and_the_normalisation(tmp_path):
    (tmp_path / "a.tsv").write_text("a\tb\n")
    spec = CorpusSpec((tmp_path / "a.tsv",))
    first = plan_text("x", spec, Normalisation()).identity
    assert plan_text("x", spec, Normalisation(lowercase=True)).identity != first
    (tmp_path / "a.tsv").write_text("a\tc\n")
    assert plan_text("x", spec, Normalisation()).identity != first
