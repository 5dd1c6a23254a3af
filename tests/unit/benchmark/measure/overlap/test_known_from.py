"""What a corpus knows of a pool, out of ``cgbench overlap``: the same as n-grams learned from all
of that corpus.
"""

import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_build import pair
from text_files import flip

from cgbench.benchmark.build.react.build_plan import plan_build
from cgbench.benchmark.build.react.build_react import build_react, explain, workspace_of
from cgbench.benchmark.build.react.request import BuildRequest
from cgbench.benchmark.build.stats.stats import stats
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.measure.overlap.automaton import Automaton
from cgbench.benchmark.measure.overlap.corpus_counts import CorpusCounts
from cgbench.benchmark.measure.overlap.known_from import ngrams_of_pool, words_of_pool
from cgbench.benchmark.measure.overlap.overlap import overlap
from cgbench.benchmark.release.verify import verify
from cgbench.engines import Local
from cgbench.errors import InputError
from cgbench.report.release_data import find_material
from cgbench.text.blocks import join_blocks

LINE = st.lists(st.sampled_from(["a", "b", "c", "é", "long-word-of-17-b"]), max_size=9).map(
    " ".join
)
MOST = 3


def known_of(pool, corpus, tmp_path):
    """What ``overlap`` finds, without its files."""
    words = Vocabulary.learn(pool, min_count=1)
    automaton = Automaton.build(*words.read_lines(pool), len(words))
    matches = automaton.no_matches(MOST)
    automaton.read(*words.read_lines(corpus), matches)
    return CorpusCounts(tmp_path, words, automaton, matches, {}, "")


@settings(deadline=None, max_examples=200)
@given(
    st.lists(LINE, min_size=1, max_size=6),
    st.lists(LINE, max_size=8).map(lambda lines: lines * 2),
    st.integers(1, MOST),
    st.integers(1, MOST),
)
def test_of_the_pool_it_is_what_is_learned_from_the_corpus(pool, corpus, min_count, word_min_count):
    known = known_of(pool, corpus, None)
    counts = {"min_count": min_count, "word_min_count": word_min_count}
    learned = KnownNgrams.learn(corpus, **counts)
    found = ngrams_of_pool(known, [("pool", join_blocks(pool))], **counts)
    for ours, theirs in zip(found.measure(pool), learned.measure(pool), strict=True):
        assert ours.tolist() == theirs.tolist()
    assert [found.cover(line) for line in pool] == [learned.cover(line) for line in pool]
    words = words_of_pool(known, [("pool", join_blocks(pool))], word_min_count)
    usual = Vocabulary.learn(corpus, min_count=word_min_count)
    for word in {word for line in pool for word in line.split()}:
        rare = [
            vocabulary.ids([word])[0] >= vocabulary.usable
            for vocabulary in (found.words, words, learned.words)
        ]
        assert len(set(rare)) == 1
        assert found.words.count(word) == min(MOST, learned.words.count(word))
        assert words.count(word) == min(MOST, usual.count(word))
    assert (found.min_count, found.words.min_count) == (min_count, word_min_count)


def test_of_a_line_that_is_not_in_the_pool_nothing_is_said(tmp_path):
    known = known_of(["a b c", "b c a"], ["a b c"] * 3, tmp_path)
    for strange in ("a z", "c b", "a b c a"):
        texts = [("the pool", list(join_blocks(["a b", strange])))]
        with pytest.raises(InputError, match="row 2 of the pool is not in the text"):
            ngrams_of_pool(known, texts, min_count=2, word_min_count=2)
        with pytest.raises(InputError, match="row 2 of the pool is not in the text"):
            words_of_pool(known, texts, 2)
    with pytest.raises(InputError, match="counts are known up to 3"):
        words_of_pool(known, [], 4)


SMALL = {"preset": "demo", "until": "candidates", "candidates": 200, "jobs": 1}


@pytest.fixture(scope="module")
def results(demo, tmp_path_factory):
    """What the two sides of the demo's training text know of its pool."""
    folder = tmp_path_factory.mktemp("results")
    for side, text, corpus in zip(
        ("source", "target"), pair(demo, "pool"), pair(demo, "train"), strict=True
    ):
        overlap(text, corpus, out=folder / side, engine=Local(1))
    return folder


@pytest.fixture(scope="module")
def arguments(demo):
    return {
        "train": pair(demo, "train"),
        "pools": pair(demo, "pool"),
        "exclude": [pair(demo, "valid")],
        **SMALL,
    }


@pytest.fixture(scope="module")
def usual(arguments, tmp_path_factory):
    return build_react(out=tmp_path_factory.mktemp("usual") / "out", **arguments)


def same_choice(one, other):
    """The same candidates with the same figures but for counts of words, which a result has up to a
    number.
    """
    left = [f"{side}_rarest" for side in ("source", "target")]
    tables = [release.table().drop_columns(left) for release in (one, other)]
    texts = [[release.lines(side) for side in ("source", "target")] for release in (one, other)]
    capped = np.minimum(one.table()[left[0]].to_numpy(), MOST).tolist()
    return (
        tables[0].equals(tables[1])
        and texts[0] == texts[1]
        and capped == other.table()[left[0]].to_pylist()
    )


@pytest.fixture(scope="module")
def built(arguments, results, tmp_path_factory):
    known = {side: results / side for side in ("source", "target")}
    return build_react(out=tmp_path_factory.mktemp("built") / "out", known_from=known, **arguments)


def test_a_build_selects_the_same(usual, built, arguments, results, tmp_path):
    assert same_choice(usual, built)
    assert built.manifest["counts"] == usual.manifest["counts"]
    # One side alone; a folder without a side is of the side of the degree.
    alone = build_react(out=tmp_path / "out", known_from=results / "target", **arguments)
    assert (
        alone.table()
        .drop_columns(["target_rarest"])
        .equals(usual.table().drop_columns(["target_rarest"]))
    )
    assert list(alone.manifest["inputs"]["known_from"]) == ["target"]


def test_another_corpus_another_choice(usual, arguments, demo, results, tmp_path):
    """What is in the result decides, not the training text."""
    corpus = [demo / "train.en", demo / "pool.en"]
    overlap(demo / "pool.en", corpus, out=tmp_path / "more", engine=Local(1))
    found = build_react(
        out=tmp_path / "out",
        known_from=tmp_path / "more",
        **{**arguments, "filter_sides": "target"},
    )
    assert found.manifest["counts"]["known_words"] > usual.manifest["counts"]["known_words"]
    assert found.manifest["figures"]["degree"]["mean"] < usual.manifest["figures"]["degree"]["mean"]


def test_the_release_says_so_and_is_verified(built, results, tmp_path):
    assert " --known-from source=" in built.manifest["command"] and "larger corpus" in (
        built.path("README.md").read_text()
    )
    checks = {check.name: check.ok for check in verify(built)}
    assert [checks[name] for name in checks if name.startswith("known-from ")] == [True, True]
    # Covers of the release's lines, also where the workspace is gone.
    lines = built.lines("target")[:20]
    expected = built.ngrams().measure(lines)[0].tolist()
    shutil.copytree(built.folder, tmp_path / "alone")
    found = find_material(type(built).open(tmp_path / "alone"))
    assert found.ngrams is None and "no such file" in found.missing[0]
    assert find_material(built).ngrams.measure(lines)[0].tolist() == expected


def test_statistics_of_such_a_release(built, tmp_path):
    (row,) = stats(release=built.folder, side="target").rows
    assert row.degree == pytest.approx(built.manifest["figures"]["degree"]["mean"], abs=1e-12)
    (tmp_path / "tags").touch()
    with pytest.raises(InputError, match="the target side of the release is from"):
        stats(release=built.folder, side="target", pos=f"conllu:{tmp_path}/tags,{tmp_path}/tags")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"known_from": "{}/nowhere"}, "nowhere: not a result of cgbench overlap --out"),
        ({"known_from": {"middle": "{}/target"}}, "middle={}/target.: give a side and a folder"),
        ({"known_from": 7}, "a folder, or one per side"),
        ({"known_from": ["source={}/source", "source={}/target"]}, "one folder per side"),
        (
            {"known_from": "{}/target", "ngram_min_count": 4},
            "counts are known up to 3, but ngram_min_count=4",
        ),
        (
            {"known_from": "source={}/source", "word_min_count": 5},
            "counts are known up to 3, but word_min_count=5",
        ),
        (
            {"known_from": "{}/target", "lowercase": True},
            r"its words were separated differently \(lowercase\)",
        ),
        ({"known_from": "{}/target", "anonymise": "cogs"}, "replaces names pair by pair"),
        ({"known_from": "{}/source"}, "row 1 of the target of .*pool.en is not in the text"),
    ],
)
def test_what_does_not_fit_is_said_in_a_line(arguments, results, tmp_path, change, message):
    def filled(value):
        if isinstance(value, dict):
            return {key: filled(one) for key, one in value.items()}
        if isinstance(value, list):
            return list(map(filled, value))
        return value.replace("{}", str(results)) if isinstance(value, str) else value

    with pytest.raises(InputError, match=message.replace("{}", str(results))):
        build_react(out=tmp_path / "out", **{**arguments, **filled(change)})
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_several_corpora_of_a_pool_are_one_text(usual, arguments, demo, results, tmp_path):
    pools = []
    for number, (begin, end) in enumerate(((0, 700), (700, None))):
        pools.append([tmp_path / f"{number}.{language}" for language in ("de", "en")])
        for path, text in zip(pools[-1], pair(demo, "pool"), strict=True):
            path.write_text("\n".join(text.read_text().splitlines()[begin:end]) + "\n")
    known = {"source": results / "source", "target": results / "target"}
    found = build_react(out=tmp_path / "out", known_from=known, **{**arguments, "pools": pools})
    assert sorted(found.lines("target")) == sorted(usual.lines("target"))
    strange = pools[1][1]
    strange.write_text("never seen\n" + "\n".join(strange.read_text().splitlines()[1:]) + "\n")
    with pytest.raises(InputError, match="row 1 of the target of .*1.en is not in the text"):
        build_react(out=tmp_path / "out", known_from=known, **{**arguments, "pools": pools})


@pytest.mark.parametrize(
    "name", ["known.json", "matches.npy", "words.counts.npy", "automaton.links.npy"]
)
def test_a_damaged_result_is_refused(arguments, results, tmp_path, name):
    shutil.copytree(results / "target", tmp_path / "target")
    flip(tmp_path / "target/known" / name, -1)
    with pytest.raises(InputError, match=f"{name}.* is damaged"):
        build_react(out=tmp_path / "out", known_from=tmp_path / "target", **arguments)


def test_the_command_and_a_file_of_settings(built, arguments, corpora, results, run, tmp_path):
    """The same bytes, whoever names the results."""
    known = {side: results / side for side in ("source", "target")}
    (tmp_path / "settings.yaml").write_text(
        "candidates: 200\nknown_from:\n"
        + "".join(f"- {side}={folder}\n" for side, folder in known.items())
    )
    words = ["build-react", *corpora, "--preset", "demo", "--until", "candidates"]
    run(*words, "--config", tmp_path / "settings.yaml", "--out", tmp_path / "one")
    given = [f"{side}={folder}" for side, folder in known.items()]
    run(
        *words,
        "--set",
        "candidates=200",
        "--known-from",
        given[0],
        "--known-from",
        given[1],
        "--out",
        tmp_path / "two",
    )
    for name in ("manifest.json", "candidates.en", "README.md"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert (tmp_path / "one/candidates.en").read_bytes() == built.path("candidates.en").read_bytes()
    request = BuildRequest(known_from=known, out=tmp_path / "two", **arguments)
    assert all("kept" in line for line in explain(plan_build(request), workspace_of(request)))
