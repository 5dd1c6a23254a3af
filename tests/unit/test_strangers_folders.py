"""Folders that this project reads may come from strangers: a link, a device or a pipe in one is
refused at once.
"""

import os

import pytest
from click.testing import CliRunner
from small_ensemble import learn_subwords, write_member
from text_files import exchange, write_lines

from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.measure.overlap.corpus_counts import CorpusCounts
from cgbench.benchmark.measure.overlap.overlap import overlap
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.verify import verify
from cgbench.cli import main
from cgbench.engines import Local
from cgbench.errors import InputError
from cgbench.files import ordinary_file, ordinary_folder, read_json
from cgbench.models.checkpoints import ensemble_identity, load_checkpoint
from cgbench.models.ensemble import Ensemble
from cgbench.models.lexicons.lexicon import Lexicon

LINES = [
    f"the cat sees {thing} {number}" for number in range(12) for thing in ("the dog", "a bird")
]
KINDS = ("link", "device", "pipe")


def read_split(folder):
    split = Release.open(folder)
    split.sets()
    return [
        split.train_lines("source"),
        split.train_lines("target"),
        split.lines("source"),
        split.lines("target"),
    ]


@pytest.fixture
def folders(tmp_path):
    """What makes each kind of folder."""

    def make_checkpoint():
        write_member(tmp_path / "x/model", learn_subwords(tmp_path / "text"), 1)

    def make_ensemble():
        subwords = learn_subwords(tmp_path / "text")
        for number in range(2):
            write_member(tmp_path / f"x/member-{number}", subwords, number)

    def make_split():
        (tmp_path / "x").mkdir()
        for language in ("de", "en"):
            (tmp_path / f"t.{language}").write_text(
                "".join(f"{language} {line} {language}\n" for line in LINES)
            )
        words = ("split", "--method", "random", "--corpus", tmp_path / "t.de", tmp_path / "t.en")
        words += ("--out", tmp_path / "x/split")
        done = CliRunner().invoke(main, list(map(str, words)), catch_exceptions=False)
        assert done.exit_code == 0, done.output

    return {
        "model": (make_checkpoint, load_checkpoint),
        "": (make_ensemble, Ensemble.open),
        "ngrams": (
            lambda: KnownNgrams.learn(LINES, min_count=1).save(tmp_path / "x/ngrams"),
            KnownNgrams.load,
        ),
        "result": (
            lambda: overlap(
                LINES,
                write_lines(tmp_path / "corpus", LINES),
                out=tmp_path / "x/result",
                engine=Local(1),
            ),
            CorpusCounts.load,
        ),
        "split": (make_split, read_split),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("model", ("config.json", "model.safetensors", "subwords.json", "SHA256SUMS")),
        ("", ("member-0/config.json", "member-1/subwords.json")),
        (
            "ngrams",
            ("ngrams.json", "words.json", "trie.slots.npy", "words.arena.npy", "tail.text.npy"),
        ),
        (
            "result",
            (
                "known/known.json",
                "known/matches.npy",
                "known/automaton.table.npy",
                "known/SHA256SUMS",
            ),
        ),
        ("split", ("manifest.json", "split.tsv", "train.de", "test.en")),
    ],
)
def test_what_is_no_ordinary_file_is_refused(folders, tmp_path, name, files, kind):
    make, read = folders[name]
    make()
    folder = tmp_path / "x" / name
    read(folder)
    for file in files:
        aside = exchange(folder / file, kind)
        with pytest.raises(InputError) as caught:
            read(folder)
        said = str(caught.value)
        # What has a digest elsewhere is found damaged first; either way it is one line that names
        # the file.
        assert said.startswith(str(folder / file)) and "\n" not in said
        assert "not a regular file" in said or (kind != "link" and "no such file" in said), said
        (folder / file).unlink()
        aside.rename(folder / file)
    read(folder)


def test_a_member_is_no_link_and_its_bytes_are_its_own(folders, tmp_path):
    make, read = folders[""]
    make()
    (tmp_path / "x/member-1").rename(tmp_path / "elsewhere")
    (tmp_path / "x/member-1").symlink_to(tmp_path / "elsewhere")
    for one in (read, ensemble_identity):
        with pytest.raises(InputError, match=r"member-1: not a regular folder \(it is a link\)"):
            one(tmp_path / "x")
    (tmp_path / "link").symlink_to(tmp_path / "x/member-0")  # what the user names may be one
    read(tmp_path / "link")


def test_a_forged_split_fails_its_checks(folders, tmp_path):
    folders["split"][0]()
    exchange(tmp_path / "x/split/split.tsv", "device")
    found = verify(tmp_path / "x/split")
    assert not found.ok and any("not a regular file" in str(check) for check in found)


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_a_lexicon_may_be_a_link_but_no_device(tmp_path, kind):
    folder = tmp_path / "x"
    folder.mkdir()
    path = folder / "l.json"
    path.write_text('{"dax": {"RED": 1}}')
    (tmp_path / path.name).symlink_to(path)
    assert len(Lexicon.load(tmp_path / path.name)) == 1
    exchange(path, kind)
    with pytest.raises(InputError, match=f"not a regular file .it is a {kind}"):
        Lexicon.load(path)


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_a_language_model_is_no_device(tmp_path, kind):
    pytest.importorskip("kenlm")
    from cgbench.lm.language_model import LanguageModel

    (tmp_path / "x").mkdir()
    exchange(write_lines(tmp_path / "x/m.arpa", ["x"]), kind)
    with pytest.raises(InputError, match=f"not a regular file .it is a {kind}"):
        LanguageModel.load(tmp_path / "x/m.arpa")


def test_kinds_are_named(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("link")
    write_lines(tmp_path / "file", ["a"])
    for name, said in (("pipe", "it is a pipe"), ("link", "it is a link"), ("", "it is a folder")):
        with pytest.raises(InputError, match=said):
            ordinary_file(tmp_path / name)
    with pytest.raises(InputError, match="cannot be read"):
        ordinary_file(tmp_path / "link", link=True)
    with pytest.raises(InputError, match="no such file"):
        ordinary_file(tmp_path / "a\0b")
    with pytest.raises(InputError, match="it is a file"):
        ordinary_folder(tmp_path / "file")
    with pytest.raises(InputError, match=r"2 bytes are too many for such a file \(at most 1\)"):
        ordinary_file(tmp_path / "file", largest=1)
    with pytest.raises(InputError, match="it is a pipe"):
        read_json(tmp_path / "pipe")
