"""Tags by a small spaCy pipeline that is made here, and from CoNLL-U files."""

import shutil
import sys
from pathlib import Path

import pytest

from cgbench.benchmark.build.stats.pos import (
    ConlluTags,
    SpacyTags,
    hash_folder,
    load_pipeline,
    tags_from,
)
from cgbench.errors import InputError

WORDS = [
    ["the", "cat", "does", "n't", "sleep"],
    ["a", "New", "dog"],
    ["the", "cat", "does", "n't", "sleep"],
]


def make_pipeline(folder, *factories):
    import spacy

    nlp = spacy.blank("en")
    for factory in factories:
        pipe = nlp.add_pipe(factory)
        if factory == "tagger":
            pipe.add_label("NN")
    nlp.initialize()
    nlp.to_disk(folder)
    return folder


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    """A tagger that listens to a tok2vec of the pipeline, as in spaCy's own models, and has learned
    two sentences.
    """
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import Doc
    from spacy.training import Example

    spacy.util.fix_random_seed(5)
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec")
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "*"}
    tagger = {
        "@architectures": "spacy.Tagger.v2",
        "nO": None,
        "normalize": False,
        "tok2vec": listener,
    }
    nlp.add_pipe("tagger", config={"model": tagger})
    nlp.add_pipe("sentencizer")
    gold = [["DT", "NN", "VBZ", "RB", "VB"], ["DT", "NNP", "NN"]]
    docs = [
        Doc(nlp.vocab, words=words, tags=tags) for words, tags in zip(WORDS, gold, strict=False)
    ]
    examples = [Example(Doc(nlp.vocab, words=[token.text for token in doc]), doc) for doc in docs]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(15):
        nlp.update(examples, sgd=optimizer)
    folder = tmp_path_factory.mktemp("models") / "mine"
    nlp.to_disk(folder)
    return folder


@pytest.fixture
def conllu(tmp_path):
    def write(name, *sentences):
        lines = []
        for sentence in sentences:
            for number, pair in enumerate(sentence.split(), 1):
                word, tag = pair.split("/")
                lines.append(f"{number}\t{word}\t_\tX\t{tag}" + "\t_" * 5)
            lines.append("")
        (tmp_path / name).write_text("\n".join(lines))
        return tmp_path / name

    return write


def test_the_tags_are_spacys_own_on_the_words_given(pipeline):
    import spacy
    from spacy.tokens import Doc

    nlp = spacy.load(pipeline)
    expected = [[token.tag_ for token in nlp(Doc(nlp.vocab, words=words))] for words in WORDS]
    tags = SpacyTags(str(pipeline), trust=True)
    assert tags.tag(WORDS, "train", 0) == expected
    assert expected[:2] == [
        ["DT", "NN", "VBZ", "RB", "VB"],
        ["DT", "NNP", "NN"],
    ]  # it has learned them
    assert len(tags.known) == 2  # the sentence that comes twice was tagged once
    assert tags.tag(WORDS[:1], "test", 1) == expected[:1]


def test_only_the_tagger_runs(pipeline):
    assert load_pipeline(str(pipeline), trust=True).pipe_names == ["tok2vec", "tagger"]


def test_a_package_is_as_good_as_a_folder(pipeline, tmp_path, monkeypatch):
    """An installed model: a package that holds its data in NAME/NAME-VERSION."""
    import importlib.metadata

    package = tmp_path / "en_mine"
    shutil.copytree(pipeline, package / "en_mine-1.0")
    (package / "__init__.py").write_text("")
    (package / "meta.json").write_text('{"lang": "en", "name": "mine", "version": "1.0"}')
    (tmp_path / "en_mine-1.0.dist-info").mkdir()
    (tmp_path / "en_mine-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: en_mine\nVersion: 1.0\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert importlib.metadata.version("en_mine") == "1.0"
    tags = SpacyTags("en_mine")
    assert tags.tag(WORDS, "train", 0) == SpacyTags(str(pipeline), trust=True).tag(
        WORDS, "train", 0
    )
    assert tags.name == f"en_mine@{hash_folder(pipeline)[:8]}"


def test_the_name_tells_pipelines_apart(pipeline, tmp_path):
    other = make_pipeline(tmp_path / "mine", "tagger")
    names = [SpacyTags(str(folder), trust=True).name for folder in (pipeline, other)]
    assert names[0] == f"mine@{hash_folder(pipeline)[:8]}"
    assert names[0] != names[1]


def test_pipelines_that_will_not_do(pipeline, tmp_path):
    (tmp_path / "empty").mkdir()
    for name, said in (("tagger/model", "tagger"), ("config.cfg", "config")):
        (make_pipeline(tmp_path / f"no {said}", "tagger") / name).write_text("[nothing\n")
    make_pipeline(tmp_path / "none", "sentencizer")
    for name, said in (
        ("en_none_sm", "spacy download en_none_sm, or train one with `python -m spacy train`"),
        ("no/such", "no/such: no spaCy pipeline .* no such folder; train one"),
        ("numpy", "numpy: an installed package, but not a spaCy pipeline"),
        (tmp_path / "none", "this pipeline has no tagger; it has sentencizer"),
        (tmp_path / "empty", "empty: not a spaCy pipeline"),
        (tmp_path / "no tagger", "no tagger: cannot be loaded as a spaCy pipeline"),
        (tmp_path / "no config", "no config: cannot be loaded as a spaCy pipeline"),
    ):
        with pytest.raises(InputError, match=said):
            load_pipeline(str(name), trust=isinstance(name, Path))


def test_without_spacy_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(
        InputError, match=r"spacy is not installed; run: pip install \"cgbench\[spacy\]"
    ):
        tags_from("en_core_web_sm", "xpos", 1)


def test_conllu_tags(conllu):
    train, test = conllu("train", "a/DT cat/NN", "cats/NNS"), conllu("test", "a/DT dog/NN")
    tags = tags_from(f"conllu:{train},{test}", "xpos", 1)
    assert tags.tag([["a", "cat"], ["cats"]], "train", 0) == [["DT", "NN"], ["NNS"]]
    assert tags.tag([["a", "dog"]], "test", 1) == [["DT", "NN"]]
    assert tags.name.startswith("conllu-xpos@")
    assert tags_from(f"conllu:{train},{test}", "upos", 1).tag([["a", "dog"]], "test", 1) == [
        ["X", "X"]
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([["a", "cat"], ["dogs"]], r"sentence 2 \(line 4\): word 1 is 'cats', but 'dogs' in text"),
        ([["a"], ["cats"]], r"sentence 1 \(line 1\): word 2 is 'cat', but missing in text"),
        (
            [["a", "cat", "x"], ["cats"]],
            r"sentence 1 \(line 1\): word 3 is missing, but 'x' in text",
        ),
        ([["a", "cat"]], r"has 2 sentences and text has 1"),
        ([["a", "cat"], ["cats"], ["x"]], r"has 2 sentences and text has 3"),
    ],
)
def test_conllu_of_other_words(conllu, words, message):
    path = conllu("train", "a/DT cat/NN", "cats/NNS")
    with pytest.raises(InputError, match=message):
        ConlluTags([path], "xpos").tag(words, "text", 0)


def test_a_conllu_file_for_each_text(conllu, tmp_path):
    one = conllu("one", "a/DT")
    with pytest.raises(InputError, match="1 files for 2 texts"):
        tags_from(f"conllu:{one}", "xpos", 1)
    with pytest.raises(InputError, match="missing: no such file"):
        tags_from(f"conllu:{one},{tmp_path / 'missing'}", "xpos", 1)
    with pytest.raises(InputError, match="tags='upos': only CoNLL-U files have a choice"):
        tags_from("en_core_web_sm", "upos", 1)
