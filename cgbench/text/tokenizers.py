"""Tokenisers by name, from the libraries of the field: functions from a line to words separated by
blanks.

``moses`` is sacremoses, a port of the Moses scripts: it escapes characters, keeps hyphens, and can
be undone.
"""

import importlib
import logging
import warnings
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from cgbench.errors import InputError, argument, install, require
from cgbench.settings import did_you_mean
from cgbench.text.plain_text import words_of

Tokenizer = Callable[[str], str]

SACREBLEU = {
    "13a": ("tokenizer_13a", "Tokenizer13a"),
    "zh": ("tokenizer_zh", "TokenizerZh"),
    "ja": ("tokenizer_ja_mecab", "TokenizerJaMecab"),
    "char": ("tokenizer_char", "TokenizerChar"),
}
"""sacrebleu tokenisers: module and class by name."""
NAMES = ("none", "moses", *SACREBLEU, "jieba")
SPACY = "spacy:"
# Packages that blank spaCy pipelines need besides spaCy.
SPACY_NEEDS = {"ja": "'spacy[ja]'", "ko": "'spacy[ko]'", "th": "pythainlp", "vi": "pyvi"}


def check_tokenizer(name: str) -> str | None:
    """The error message for an unknown tokeniser, or None."""
    if name in NAMES or (name.startswith(SPACY) and name[len(SPACY) :].isalpha()):
        return None
    return f"there is no tokeniser {name!r}{did_you_mean(name, (*NAMES, 'spacy:LANG'))}"


def versions(names: Iterable[str]) -> dict[str, str]:
    """The versions of the libraries of these tokenisers, by package.

    :raises InputError: a library is not installed.
    """
    from importlib.metadata import PackageNotFoundError, version

    module = {}
    for name in sorted(set(names) - {"none", "moses"}):
        packages = (
            [name] if name == "jieba" else ["spacy"] if name.startswith(SPACY) else ["sacrebleu"]
        )
        packages += ["mecab-python3", "ipadic"] if name == "ja" else []
        for package in packages:
            try:
                module[package] = version(package)
            except PackageNotFoundError:
                raise _missing(
                    name, package, "'sacrebleu[ja]'" if name == "ja" else package
                ) from None
    return module


@cache  # creating one can take seconds
def tokenizer(name: str, language: str = "") -> Tokenizer:
    """The tokeniser ``name``.

    ``moses`` is sacremoses with the rules of ``language``; ``13a``, ``zh``, ``ja`` (MeCab) and
    ``char`` are from sacrebleu; ``jieba`` is the default mode of jieba; ``spacy:LANG`` is the
    tokeniser of a blank spaCy pipeline.

    :raises InputError: there is no such tokeniser, or its library is not installed.
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
    """A function that undoes Moses tokenisation of a line of ``language``: it joins words and
    undoes escapes.

    Blanks follow the rules of the language and may differ from the original text.

    :raises InputError: the language is unknown, or sacremoses is not installed.
    """
    join = _moses("MosesDetokenizer", language, argument("detokenize"))
    return lambda line: str(join(words_of(line)))


def _moses(kind: str, language: str, option: str) -> Callable[[Any], Any]:
    if language in ("", "source", "target"):
        raise InputError(
            f"{option} depends on the language: name both with {argument('languages')}, such as"
            " de,en"
        )
    tokenizer = getattr(require("sacremoses", "text"), kind)(lang=language)
    return (
        tokenizer.detokenize
        if kind == "MosesDetokenizer"
        else partial(tokenizer.tokenize, return_str=True)
    )


def _missing(name: str, module: str, extra: str) -> InputError:
    return InputError(
        f"{argument('tokenize', name)}: {module} is not installed; run: {install(extra)}"
    )


def _import(name: str, module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise _missing(name, str(error.name), extra) from None


def _joined(words: Callable[[str], Iterable[str]]) -> Tokenizer:
    return lambda line: " ".join(" ".join(words(line)).split())


def _sacrebleu(name: str) -> Tokenizer:
    if (
        name == "ja"
    ):  # sacrebleu imports without these, and then fails with a message of several lines
        for needed in ("MeCab", "ipadic"):
            _import(name, needed, "cjk")
    module, kind = SACREBLEU[name]
    tokenizer = getattr(_import(name, f"sacrebleu.tokenizers.{module}", "cjk"), kind)()
    # Bypass sacrebleu's cache of 65,536 lines, useless for a corpus.
    call = getattr(type(tokenizer).__call__, "__wrapped__", type(tokenizer).__call__)
    return _joined(lambda line: [call(tokenizer, line)])


def _jieba() -> Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its syntax and pkg_resources
        jieba = _import("jieba", "jieba", "cjk")
    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    # Filled here, because on its first call jieba would read a cache from the temporary folder,
    # which is not trusted.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return _joined(tokenizer.cut)


def _spacy(language: str) -> Tokenizer:
    name = f"{SPACY}{language}"
    spacy = _import(name, "spacy", "spacy")
    try:
        pipeline = spacy.blank(language)
    except ImportError as error:
        if "E048" in str(error):
            raise InputError(
                f"{argument('tokenize', name)}: spaCy has no language {language!r}"
            ) from None
        needed = SPACY_NEEDS.get(
            language, "the package that spaCy names: " + " ".join(str(error).split())
        )
        raise InputError(
            f"{argument('tokenize', name)}: spaCy needs another package for {language}; run: pip"
            f" install {needed}"
        ) from None
    return _joined(lambda line: [token.text for token in pipeline.tokenizer(line)])
