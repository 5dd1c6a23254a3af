"""``cgbench tagger train`` on a treebank that a person can read."""

import json

import pytest

pytest.importorskip("spacy")

# a word that ends in -s is a verb after a noun, and a plural noun after "two"
SENTENCES = [
    f"{subject} {verb} {number} {objects} ."
    for subject, tag in (("Anna", "NNP"), ("Peter", "NNP"))
    for verb in ("sees", "finds", "likes")
    for number in ("two", "ten")
    for objects in ("cats", "dogs", "trees")
]
TAGS = ["NNP", "VBZ", "CD", "NNS", "."]


def treebank(path, sentences):
    lines = []
    for sentence in sentences:
        lines.append(f"# text = {sentence}")
        lines += [
            f"{number}\t{word}\t_\tX\t{tag}" + "\t_" * 5
            for number, (word, tag) in enumerate(zip(sentence.split(), TAGS, strict=True), 1)
        ]
        lines.append("")
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def banks(tmp_path):
    return treebank(tmp_path / "train.conllu", SENTENCES[::2]), treebank(tmp_path / "dev.conllu", SENTENCES[1::2])


def train(run, banks, out, *words, **options):
    return run("tagger", "train", banks[0], "--dev", banks[1], "--out", out, *words, **options)


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_learns_and_tags_for_stats(run, banks, tmp_path):
    out = tmp_path / "tagger"
    result = train(run, banks, out, "--steps", "40", "--every", "15")
    assert "100.00 % of 90 words of dev.conllu right" in result.stdout
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == ["step 15", "step 30", "step 40"]
    record = json.loads((out / "cgbench.json").read_text())
    assert record["accuracy"] == 100.0
    assert record["treebank"]["sentences"] == 18
    assert [report["step"] for report in record["reports"]] == [15, 30, 40]
    assert record["step"] == max(record["reports"], key=lambda report: (report["accuracy"], -report["step"]))["step"]

    (tmp_path / "train.en").write_text("\n".join(SENTENCES))
    (tmp_path / "test.en").write_text("two cats .\nAnna sees two dogs .\n")
    words = ["stats", "--train", tmp_path / "train.en", "--test", tmp_path / "test.en", "--pos", out, "--trust"]
    found = json.loads(run(*words, "--orders", "1,2", "--format", "json").stdout)
    assert found["novel_pos"] == {"1": 0, "2": 0}
    assert f"pos:tagger@{found['signature'].partition('pos:tagger@')[2][:8]}|train:" in found["signature"]


def test_the_same_seed_gives_the_same_bytes(run, banks, tmp_path):
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        train(run, banks, tmp_path / name, "--steps", "3", "--seed", seed)
    assert tree(tmp_path / "one") == tree(tmp_path / "again")
    assert tree(tmp_path / "one")["tagger/model"] != tree(tmp_path / "other")["tagger/model"]


def test_json(run, banks, tmp_path):
    found = json.loads(train(run, banks, tmp_path / "x", "--steps", "2", "--tags", "xpos", "--format", "json").stdout)
    assert (found["out"], found["steps"], found["labels"]) == (str(tmp_path / "x"), 2, 5)


def test_bad_input_leaves_nothing_behind(run, banks, tmp_path):
    before = sorted(tmp_path.iterdir())
    (tmp_path / "bad").write_text("1\tword\n")
    assert "bad, line 1: 2 columns" in train(run, (tmp_path / "bad", banks[1]), tmp_path / "x", status=2).stderr
    assert "missing: no such file" in train(run, (banks[0], tmp_path / "missing"), tmp_path / "x", status=2).stderr
    assert "no language of spaCy" in train(run, banks, tmp_path / "x", "--language", "zz", status=2).stderr
    assert "every word has the same upos tag" in train(run, banks, tmp_path / "x", "--tags", "upos", status=2).stderr
    (tmp_path / "bad").unlink()
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_that_holds_something_is_left_alone(run, banks, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("x")
    assert "full: is there already" in train(run, banks, tmp_path / "full", status=2).stderr
    assert (tmp_path / "full" / "mine").read_text() == "x"
