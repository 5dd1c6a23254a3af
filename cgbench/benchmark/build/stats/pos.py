"""Part-of-speech tags of words, from a spaCy pipeline or CoNLL-U files.

Words are not tokenised again. Of a pipeline only the tagger runs, with the components that it
needs. Each distinct sentence is tagged once.

Loading a spaCy pipeline can run code in it: load only pipelines that you trust.
"""

import hashlib
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

from cgbench.errors import InputError, argument, require
from cgbench.progress import bar
from cgbench.steps import hash_file
from cgbench.text.conllu import FORM, read_sentences

PREFIX = "conllu:"
VECTORS = (
    "tok2vec",
    "transformer",
    "curated_transformer",
)  # factories that other components may depend on
BATCH = 256  # sentences; fixed, because rounding depends on the batch size

Words = Sequence[Sequence[str]]


def tags_from(source: str, tags: str, tests: int, trust: bool = False) -> "Tags":
    """The tags that ``--pos`` names: a spaCy pipeline (a package or a folder), or
    ``conllu:TRAIN,TEST[,TEST2...]``.

    :param tags: column of CoNLL-U files, ``xpos`` or ``upos``.
    :param tests: the number of test texts, each of which needs a CoNLL-U file.
    :param trust: load a pipeline from a folder, which may run any code.
    :raises InputError: a model is missing, cannot be loaded or has no tagger; the number of files
        is wrong.
    """
    if not source.startswith(PREFIX):
        if tags != "xpos":
            raise InputError(
                f"{argument('tags', tags)}: only CoNLL-U files have a choice of tags; leave it out"
                " for a spaCy pipeline"
            )
        return SpacyTags(source, trust)
    paths = [Path(path) for path in source.removeprefix(PREFIX).split(",")]
    if len(paths) != tests + 1:
        raise InputError(
            f"{argument('pos', source)}: {len(paths)} files for {tests + 1} texts; give one for the"
            " training text and one for each test text, separated by commas"
        )
    return ConlluTags(paths, tags)


class SpacyTags:
    """The fine-grained tags (``token.tag_``) of a spaCy pipeline."""

    def __init__(self, model: str, trust: bool = False) -> None:
        self.nlp = load_pipeline(model, trust)
        self.name = f"{Path(model).name}@{hash_folder(Path(self.nlp.path))[:8]}"
        self.known: dict[tuple[str, ...], list[str]] = {}

    def tag(self, sentences: Words, where: str, text_number: int) -> list[list[str]]:
        """Tag each distinct sentence once."""
        from spacy.tokens import Doc

        keys = [tuple(words) for words in sentences]
        new = [words for words in dict.fromkeys(keys) if words not in self.known]
        docs = (Doc(self.nlp.vocab, words=list(words)) for words in new)
        with bar(len(new), f"tag {where}", "sentence") as progress:
            for words, doc in zip(new, self.nlp.pipe(docs, batch_size=BATCH), strict=True):
                self.known[words] = [token.tag_ for token in doc]
                progress.update(1)
        return [self.known[words] for words in keys]


class ConlluTags:
    """Tags from CoNLL-U files with the same sentences and words as the text."""

    def __init__(self, paths: Sequence[Path], tags: str) -> None:
        for path in paths:
            if not path.is_file():
                raise InputError(f"{path}: no such file")
        self.paths, self.tags = list(paths), tags
        hashes = "".join(hash_file(path) for path in paths)
        self.name = f"conllu-{tags}@{hashlib.sha256(hashes.encode()).hexdigest()[:8]}"

    def tag(self, sentences: Words, where: str, text_number: int) -> list[list[str]]:
        """The tags in the file of that text."""
        path, tags = self.paths[text_number], []
        for sentence_number, sentence in enumerate(read_sentences(path), 1):
            tags.append(sentence.tags(self.tags, path))
            words = sentence.column(FORM)
            expected = (
                sentences[sentence_number - 1] if sentence_number <= len(sentences) else words
            )
            for word_number, (word, other_word) in enumerate(zip_longest(words, expected), 1):
                if word != other_word:
                    raise InputError(
                        f"{path}, sentence {sentence_number} (line {sentence.first}): word"
                        f" {word_number} is {_quoted(word)}, but {_quoted(other_word)} in {where};"
                        f" {_SAME}"
                    )
        if len(tags) != len(sentences):
            raise InputError(
                f"{path} has {len(tags):,} sentences and {where} has {len(sentences):,}: {_SAME}"
            )
        return tags


Tags: TypeAlias = SpacyTags | ConlluTags
"""A source of tags: ``tag`` gives one per word of the training text (``text_number`` 0) or of a
test text (from 1), called ``where`` in messages. ``name`` is part of the signature, because counts
depend on it."""
_SAME = "the tags must belong to the same words, sentence by sentence"


def _quoted(word: str | None) -> str:
    return "missing" if word is None else repr(word)


def load_pipeline(model: str, trust: bool = False) -> Any:
    """Load a spaCy pipeline by the name of its package or folder, with only the tagger and what it
    needs.

    :param trust: allow a folder. The code of an installed package has already run; a folder may
        come from anybody, its configuration names functions to call, and its weights may be
        pickles.
    :raises InputError: spaCy is not installed; the pipeline does not exist, cannot be loaded, or
        lacks the component.
    """
    spacy = require("spacy", "spacy")
    folder = find_pipeline(model, trust)
    try:
        config = spacy.util.load_config(folder / "config.cfg")
        factories = {
            name: config["components"][name].get("factory") for name in config["nlp"]["pipeline"]
        }
        if "tagger" not in factories.values():
            raise InputError(
                f"{model}: this pipeline has no tagger; it has"
                f" {', '.join(factories) or 'no component'}. Choose one with a tagger, such as"
                " en_core_web_sm"
            )
        included = {name for name, factory in factories.items() if factory in ("tagger", *VECTORS)}
        return spacy.load(folder, exclude=sorted(set(factories) - included))
    except InputError:
        raise
    except Exception as error:  # spaCy and its components raise many kinds
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"{model}: cannot be loaded as a spaCy pipeline ({line})") from None


def find_pipeline(model: str, trust: bool = False) -> Path:
    """The folder of a spaCy pipeline; runs none of its code.

    :raises InputError: there is no such pipeline, or it is a folder that is not trusted.
    """
    spacy = require("spacy", "spacy")
    if Path(model).exists():
        folder = Path(model)
        if not (folder / "config.cfg").is_file():
            raise InputError(f"{model}: not a spaCy pipeline (a folder with config.cfg)")
        if not trust:
            raise InputError(
                f"{model}: a spaCy pipeline in a folder can run any code when it is loaded; add "
                f"{argument('trust', True)} if you trust its author"
            )
        return folder
    if spacy.util.is_package(model):
        package = Path(spacy.util.get_package_path(model))
        if not (package / "meta.json").is_file():
            raise InputError(f"{model}: an installed package, but not a spaCy pipeline")
        meta = spacy.util.get_model_meta(package)
        return package / f"{meta['lang']}_{meta['name']}-{meta['version']}"
    remedy = "" if "/" in model else f"run: python -m spacy download {model}, or "
    raise InputError(
        f"{model}: no spaCy pipeline of this name is installed and there is no such folder;"
        f" {remedy}train one with `python -m spacy train`"
    )


def hash_folder(folder: Path) -> str:
    """The SHA-256 of the names and bytes of all files in a folder, in hex."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{hash_file(path)}\n".encode())
    return digest.hexdigest()
