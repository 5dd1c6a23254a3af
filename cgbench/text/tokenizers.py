"""Tokenisers by name, each from the library that the field uses: a function from a line to words, blanks between.

Moses' is sacremoses, a port of the Moses scripts: escapes as Moses writes them, hyphens kept; it can be undone.
"""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from cgbench.errors import InputError, argument, require
from cgbench.settings import did_you_mean
from cgbench.text.plain_text import words_of

Tokenizer = Callable[[str], str]

SACREBLEU = {
    "13a": ("tokenizer_13a", "Tokenizer13a"),
    "zh": ("tokenizer_zh", "TokenizerZh"),
    "ja": ("tokenizer_ja_mecab", "TokenizerJaMecab"),
    "char": ("tokenizer_char", "TokenizerChar"),
}
"""Names of sacrebleu's tokenisers, with their modules and classes."""
NAMES = ("none", "moses", *SACREBLEU, "jieba")
SPACY = "spacy:"
# What blank pipelines of spaCy need besides spaCy.
SPACY_NEEDS = {"ja": "'spacy[ja]'", "ko": "'spacy[ko]'", "th": "pythainlp", "vi": "pyvi"}


def check_tokenizer(name: str) -> str | None:
    """What is wrong with the name of a tokeniser, or None."""
    if name in NAMES or (name.startswith(SPACY) and name[len(SPACY) :].isalpha()):
        return None
    return f"there is no tokeniser {name!r}{did_you_mean(name, (*NAMES, 'spacy:LANG'))}"


def versions(names: Iterable[str]) -> dict[str, str]:
    """The versions of the libraries that decide where words end.

    :raises InputError: a library is not installed.
    """
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in sorted(set(names) - {"none", "moses"}):
        packages = [name] if name == "jieba" else ["spacy"] if name.startswith(SPACY) else ["sacrebleu"]
        packages += ["mecab-python3", "ipadic"] if name == "ja" else []
        for package in packages:
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                raise _missing(name, package, "'sacrebleu[ja]'" if name == "ja" else package) from None
    return found


@cache  # in each process: making one takes up to seconds
def tokenizer(name: str, language: str = "") -> Tokenizer:
    """The tokeniser ``name``.

    ``moses`` is sacremoses' with the rules of ``language``; ``13a``, ``zh``, ``ja`` (MeCab) and ``char`` are
    sacrebleu's; ``jieba`` is jieba's default mode; ``spacy:LANG`` is the tokeniser of spaCy's blank pipeline. Text in
    which words are already apart is taken as it is, blanks and all.

    :raises InputError: there is none of that name, or its library is not installed.
    """
    if wrong := check_tokenizer(name):
        raise InputError(f"{argument('tokenize')}: {wrong}")
    if name == "moses":
        return _moses("MosesTokenizer", language, argument("tokenize", name))
    if name in SACREBLEU:
        return _sacrebleu(name)
    if name == "jieba":
        return _jieba()
    return _spacy(name[len(SPACY) :]) if name.startswith(SPACY) else str


@cache
def detokenizer(language: str) -> Tokenizer:
    """What undoes Moses tokenisation of a line of ``language``: words joined, escapes undone.

    A blank is put where words of the language have one: it need not be where the text once had it.

    :raises InputError: the language is not known, or sacremoses is not installed.
    """
    join = _moses("MosesDetokenizer", language, argument("detokenize"))
    return lambda line: str(join(words_of(line)))


def _moses(kind: str, language: str, option: str) -> Callable[[Any], Any]:
    if language in ("", "source", "target"):
        raise InputError(f"{option} has rules of each language: name both with {argument('languages')}, such as de,en")
    made = getattr(require("sacremoses", "text"), kind)(lang=language)
    return made.detokenize if kind == "MosesDetokenizer" else partial(made.tokenize, return_str=True)


def _missing(name: str, module: str, package: str) -> InputError:
    return InputError(f"{argument('tokenize', name)}: {module} is not installed; run: pip install {package}")


def _import(name: str, module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise _missing(name, str(error.name), package) from None


def _joined(words: Callable[[str], Iterable[str]]) -> Tokenizer:
    """A line from words, of which none is blank or holds a blank."""
    return lambda line: " ".join(" ".join(words(line)).split())


def _sacrebleu(name: str) -> Tokenizer:
    if name == "ja":  # sacrebleu imports without it, and fails with a text of several lines
        for needed in ("MeCab", "ipadic"):
            _import(name, needed, "'sacrebleu[ja]'")
    module, kind = SACREBLEU[name]
    made = getattr(_import(name, f"sacrebleu.tokenizers.{module}", "sacrebleu"), kind)()
    # Past sacrebleu's cache of 65,536 lines, which a corpus only fills.
    call = getattr(type(made).__call__, "__wrapped__", type(made).__call__)
    return _joined(lambda line: [call(made, line)])


def _jieba() -> Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own syntax, and of pkg_resources
        jieba = _import("jieba", "jieba", "jieba")
    jieba.setLogLevel(logging.WARNING)
    made = jieba.Tokenizer()
    # Filled here: on its first call it would read a cache in the temporary folder, whoever wrote that.
    made.FREQ, made.total = made.gen_pfdict(made.get_dict_file())
    made.initialized = True
    return _joined(made.cut)


def _spacy(language: str) -> Tokenizer:
    name = f"{SPACY}{language}"
    spacy = _import(name, "spacy", "spacy")
    try:
        pipeline = spacy.blank(language)
    except ImportError as error:
        if "E048" in str(error):
            raise InputError(f"{argument('tokenize', name)}: spaCy has no language {language!r}") from None
        needed = SPACY_NEEDS.get(language, "what spaCy says: " + " ".join(str(error).split()))
        raise InputError(
            f"{argument('tokenize', name)}: spaCy needs another package for {language}; run: pip install {needed}"
        ) from None
    return _joined(lambda line: [token.text for token in pipeline.tokenizer(line)])
