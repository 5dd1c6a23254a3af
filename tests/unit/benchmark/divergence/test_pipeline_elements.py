"""Atoms and compounds by a small spaCy pipeline that is made here: those of its own output as CoNLL-U."""

import json

import numpy as np
import pytest

from cgbench.benchmark.divergence.elements import element_type, elements_of
from cgbench.benchmark.stats.stats import stats
from cgbench.errors import InputError

spacy = pytest.importorskip("spacy")

LINES = ["the cats sleep", "a dog runs", "", "the dog sleeps", "the cats sleep", "dogs run", "cats"]
TAGS = {"the": "DT", "a": "DT", "cats": "NNS", "dogs": "NNS", "dog": "NN"}


def save(folder, *left_out):
    """A tagger that has learned the words, its tags as universal ones, lemmas looked up, and a parser."""
    from spacy.lookups import Lookups
    from spacy.tokens import Doc
    from spacy.training import Example

    spacy.util.fix_random_seed(3)
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger")
    ruler = nlp.add_pipe("attribute_ruler")
    nlp.add_pipe("lemmatizer", config={"mode": "lookup"})
    nlp.add_pipe("parser").add_label("det")
    sentences = [line.split() for line in LINES if line]
    docs = [Doc(nlp.vocab, words=words, tags=[TAGS.get(word, "VB") for word in words]) for words in sentences]
    for doc in docs:
        for token in doc:
            token.head, token.dep_ = doc[len(doc) - 1], "det" if token.i < len(doc) - 1 else "ROOT"
    examples = [Example(Doc(nlp.vocab, words=[token.text for token in doc]), doc) for doc in docs]
    lookups = Lookups()
    lookups.add_table("lemma_lookup", {"cats": "cat", "dogs": "dog", "sleeps": "sleep", "runs": "run"})
    with nlp.select_pipes(disable=["lemmatizer"]):
        optimizer = nlp.initialize(lambda: examples)
        for _ in range(20):
            nlp.update(examples, sgd=optimizer)
    nlp.get_pipe("lemmatizer").initialize(lookups=lookups)
    for tag, values in {
        "DT": {"POS": "DET"},
        "NN": {"POS": "NOUN", "MORPH": "Number=Sing"},
        "NNS": {"POS": "NOUN", "MORPH": "Number=Plur"},
        "VB": {"POS": "VERB"},
    }.items():
        ruler.add([[{"TAG": tag}]], values)
    for name in left_out:
        nlp.remove_pipe(name)
    nlp.to_disk(folder)
    return folder


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    return save(tmp_path_factory.mktemp("models") / "mine")


@pytest.fixture(scope="module")
def conllu(pipeline, tmp_path_factory):
    """The same by spaCy itself, as a file; a sentence that is empty has no place in one."""
    from spacy.tokens import Doc

    nlp = spacy.load(pipeline)
    path = tmp_path_factory.mktemp("conllu") / "x.conllu"
    out = []
    for line in filter(None, LINES):
        doc = nlp(Doc(nlp.vocab, words=line.split()))
        for token in doc:
            head = 0 if token.head is token or token.head.i == token.i else token.head.i + 1
            columns = (token.lemma_, token.pos_, token.tag_, str(token.morph) or "_", head, token.dep_)
            out.append("\t".join(map(str, (token.i + 1, token.text, *columns, "_", "_"))))
        out.append("")
    path.write_text("\n".join([*out, ""]))
    return path


def rows(found):
    dicts = [{} for _ in range(found.examples)]
    for row, number, weight in zip(found.rows, found.ids, found.weights, strict=True):
        dicts[row][found.names[number]] = float(weight)
    return dicts


@pytest.mark.parametrize("kind", ["lemmas", "triples"])
def test_they_are_those_of_the_same_analysis_in_a_file(pipeline, conllu, kind):
    lines = [line for line in LINES if line]
    ours = elements_of(element_type(f"{kind}:spacy:{pipeline}", trust=True), [("x", lines)])
    theirs = elements_of(element_type(f"{kind}:{conllu}"), [("x", lines)])
    for one, other in ((ours.atoms, theirs.atoms), (ours.compounds, theirs.compounds)):
        assert rows(one) == rows(other)
    assert list(ours.templates) == list(theirs.templates)


def test_what_it_has_learned_and_empty_lines(pipeline):
    kind = element_type(f"lemmas:spacy:{pipeline}", trust=True)
    found = elements_of(kind, [("x", LINES[:3]), ("y", LINES[3:])])
    assert rows(found.atoms)[2] == {}
    assert rows(found.compounds)[0] == {"the|DET": 1, "cat|Number=Plur": 1, "sleep|VERB": 1}


def test_a_pipeline_that_lacks_a_component(tmp_path):
    folder = save(tmp_path / "plain", "attribute_ruler", "parser", "lemmatizer")
    for kind, component in (("lemmas", "lemmatizer"), ("triples", "parser")):
        with pytest.raises(InputError, match=f"this pipeline has no {component}; it has tagger"):
            elements_of(element_type(f"{kind}:spacy:{folder}", trust=True), [("x", LINES)])


def test_a_folder_is_loaded_by_those_who_trust_it(pipeline, tmp_path):
    with pytest.raises(InputError, match="can run any code when it is loaded"):
        element_type(f"lemmas:spacy:{pipeline}")
    with pytest.raises(InputError, match="no spaCy pipeline of this name is installed"):
        element_type("lemmas:spacy:en_core_nowhere")
    with pytest.raises(InputError, match="not a spaCy pipeline"):
        element_type(f"lemmas:spacy:{tmp_path}")


def test_a_split_by_them(pipeline, run, tmp_path):
    rng = np.random.default_rng(0)
    words = ["the", "a", "cats", "dogs", "dog", "sleep", "runs"]
    lines = [" ".join(rng.choice(words, rng.integers(2, 6))) for _ in range(80)]
    for side in ("de", "en"):
        (tmp_path / f"x.{side}").write_text("\n".join(lines) + "\n")
    given = ("split", "--corpus", tmp_path / "x.de", tmp_path / "x.en", "--compounds", f"lemmas:spacy:{pipeline}")
    given = (*given, "--method", "dbca", "--divergence", "1", "--nearest", "--set", "exchanges=1")
    said = run(*given, "--out", tmp_path / "no", status=2).stderr
    assert "add --trust" in said and not (tmp_path / "no").exists()
    for name in ("one", "two"):
        run(*given, "--trust", "--out", tmp_path / name)
    manifest = json.loads((tmp_path / "one/manifest.json").read_text())
    (entry,) = manifest["inputs"]["elements"]
    assert entry["path"] == "mine" and len(entry["sha256"]) == 64
    assert manifest["configuration"]["elements"] == f"lemmas:spacy:mine@{entry['sha256'][:8]}"
    assert "compounds=lemmas:spacy:mine" in manifest["command"] and "--trust" in manifest["command"]
    assert str(tmp_path) not in (tmp_path / "one/manifest.json").read_text()
    assert (tmp_path / "one/manifest.json").read_bytes() == (tmp_path / "two/manifest.json").read_bytes()
    run("verify", tmp_path / "one")


def test_divergence_by_them(pipeline):
    arguments = {"train": LINES[:2] + LINES[3:], "tests": ["a dog sleeps"], "min_count": 1}
    (row,) = stats(**arguments, divergence=f"lemmas:spacy:{pipeline}", trust=True).rows
    assert row.divergence is not None and "div:lemmas:spacy:mine@" in str(row.signature)
