"""Encode and decode a side with the tokeniser of a pre-trained model.

The tokeniser is JSON of the library ``tokenizers``, stored in ``subwords.json``, so that a
checkpoint is complete. Its first ids must be <s> <pad> </s> <unk>, as in RoBERTa and BART.
BERT's is renumbered when it is read.
"""

import bisect
import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.errors import InputError, reason_of, require
from cgbench.files import LARGEST_JSON, ordinary_file, parse_json
from cgbench.models.special_ids import EOS, SPECIALS, UNK
from cgbench.models.text.places import Places

BERT_SPECIALS = ("[CLS]", "[PAD]", "[SEP]", "[UNK]")  # in the order of ours
_GAPS = 1 << 16  # allowed gap in ids, beyond four times the vocabulary size


def open_tokenizer(data: bytes | str, where: object) -> Any:
    """Load a tokeniser of the library ``tokenizers``, without truncation, padding and dropout.

    :param data: its JSON; ``where``: its name in messages.
    """
    library = require("tokenizers", "models")
    checked = check_tokenizer_json(data, where)
    try:
        with quiet_panics():
            tokenizer = library.Tokenizer.from_str(json.dumps(checked, ensure_ascii=False))
            with contextlib.suppress(
                Exception
            ):  # a tokeniser that panics does so on the first call
                tokenizer.encode_batch(["a \u00e9 1", ""], add_special_tokens=False)
            return tokenizer
    except BaseException as error:  # the library raises exceptions, and panics of Rust
        raise tokenizer_fault(error, f"{where}: not a valid tokenizer.json") from None


def check_tokenizer_json(data: bytes | str, where: object) -> dict[str, Any]:
    """Check and return the JSON of a tokeniser, without truncation, padding and dropout."""
    content = parse_json(data, where)
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise InputError(f"{where}: not a valid tokenizer.json (no model)")
    vocabulary, added = content["model"].get("vocab"), content.get("added_tokens") or []
    ids = list(vocabulary.values()) if isinstance(vocabulary, dict) else []
    tokens = len(vocabulary) if isinstance(vocabulary, (dict, list)) else 0
    if isinstance(added, list):
        ids += [token.get("id") for token in added if isinstance(token, dict)]
        tokens += len(added)
    ids += _integers(content.get("post_processor"))
    largest = max((id_ for id_ in ids if isinstance(id_, int)), default=0)
    if largest >= 4 * tokens + _GAPS:
        raise InputError(
            f"{where}: has id {largest:,}, but a vocabulary of {tokens:,} tokens; it is damaged"
        )
    return {
        **content,
        "truncation": None,
        "padding": None,
        "model": {
            **content["model"],
            **({"dropout": None} if "dropout" in content["model"] else {}),
        },
    }


def encode_lines(tokenizer: Any, lines: Sequence[str], where: object) -> list[Any]:
    """The library's encodings of lines, without special tokens."""
    try:
        return list(tokenizer.encode_batch(lines, add_special_tokens=False))
    except BaseException as error:
        raise tokenizer_fault(
            error, f"{where}: cannot encode the text; it may have no token for unknown words"
        ) from None


def tokenizer_fault(error: BaseException, message: str) -> InputError:
    """Convert an exception of the library ``tokenizers``, including panics of Rust, which are not
    an ``Exception``.

    Any other exception that is not an ``Exception`` is raised again.
    """
    if isinstance(error, InputError) or not (
        isinstance(error, Exception) or type(error).__name__ == "PanicException"
    ):
        raise error
    return InputError(f"{message} ({reason_of(error)})")


def _integers(value: Any) -> list[int]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [integer for item in value for integer in _integers(item)]
    return [value] if isinstance(value, int) else []


@contextlib.contextmanager
def quiet_panics() -> Iterator[None]:
    """Suppress Rust's messages about panics on standard error; the exception has the same
    message.
    """
    try:
        standard_error = os.dup(2)
    except OSError:  # closed
        yield
        return
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(standard_error, 2)
        os.close(standard_error)
        os.close(nothing)


_SOURCE = "the source's tokeniser"


class TokenizerSide:
    """A side of :class:`.subwords.Subwords` with a tokeniser (JSON); </s> ends the ids."""

    def __init__(self, tokenizer: str) -> None:
        self._tokenizer: Any = open_tokenizer(tokenizer, _SOURCE)
        added = self._tokenizer.get_added_tokens_decoder().values()
        self._special = {*SPECIALS, *(token.content for token in added if token.special)}
        table = self._tokenizer.get_vocab(with_added_tokens=True)
        self.tokens = [f"<unused {id_}>" for id_ in range(max(table.values(), default=-1) + 1)]
        for token, id_ in table.items():
            self.tokens[id_] = token
        if tuple(self.tokens[: len(SPECIALS)]) != SPECIALS:
            raise InputError(
                f"the source's tokeniser begins with {' '.join(self.tokens[: len(SPECIALS)])},"
                f" RoBERTa's with {' '.join(SPECIALS)}; it belongs to another model"
            )

    def encode(self, lines: Iterable[str]) -> list[np.ndarray]:
        """Ids of each line."""
        encodings = encode_lines(self._tokenizer, list(lines), _SOURCE)
        return [np.array([*encoding.ids, EOS], np.int32) for encoding in encodings]

    def places(self, line: str) -> Places:
        """The tokens of each word of a line."""
        (encoding,) = encode_lines(self._tokenizer, [line], _SOURCE)
        ends = [match.end() for match in re.finditer(r"\S+", line)]
        words: list[list[int]] = [[] for _ in ends]
        for token, (_, end) in enumerate(encoding.offsets):
            # A token may begin with the blank before its word.
            words[bisect.bisect_left(ends, end)].append(token)
        return Places([tuple(word) for word in words], len(encoding.ids))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids before </s>, on one line, without special tokens but ``<unk>``."""
        ordinary = []
        for id_ in map(int, ids):
            if id_ == EOS:
                break
            if id_ == UNK or self.tokens[id_] not in self._special:
                ordinary.append(id_)
        text = str(self._tokenizer.decode(ordinary, skip_special_tokens=False))
        return " ".join(text.strip().splitlines()).strip()

    def unknown(self, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
        """Every part of a line that the tokeniser does not know, with the line from 0."""
        for index, line in enumerate(lines):
            (encoding,) = encode_lines(self._tokenizer, [line], _SOURCE)
            for id_, (begin, end) in zip(encoding.ids, encoding.offsets, strict=True):
                if id_ == UNK:
                    yield index, line[begin:end]


def read_tokenizer(folder: Path) -> str:
    """The tokeniser of a Hugging Face model, as normalised JSON; BERT's with our first ids.

    See :func:`ids_of_bert`.
    """
    content = _tokenizer_of(folder)
    if content["model"].get("type") == "WordPiece":
        content = _like_roberta(content, folder)
    return json.dumps(content, ensure_ascii=False, sort_keys=False)


def ids_of_bert(folder: Path) -> list[int]:
    """The id in BERT of each of our ids: [CLS], [PAD], [SEP] and [UNK], which are our first four,
    then all others in their order.
    """
    table: dict[str, int] = _tokenizer_of(folder)["model"]["vocab"]
    if missing := [token for token in BERT_SPECIALS if token not in table]:
        raise InputError(f"{folder}: its tokeniser has no {missing[0]}; it is not BERT's")
    first = [table[token] for token in BERT_SPECIALS]
    return [*first, *sorted(set(table.values()).difference(first))]


def _like_roberta(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A tokeniser of BERT with the names and ids of RoBERTa's special tokens."""
    order = ids_of_bert(folder)
    names = dict(zip(BERT_SPECIALS, SPECIALS, strict=True))
    if len(order) <= max(order):
        raise InputError(f"{folder}: the ids of its tokeniser have gaps")
    new_ids = {old: new for new, old in enumerate(order)}
    table = {
        names.get(token, token): new_ids[id_] for token, id_ in content["model"]["vocab"].items()
    }
    added = [
        {
            **token,
            "id": new_ids[token["id"]],
            "content": names.get(token["content"], token["content"]),
        }
        for token in content.get("added_tokens") or []
    ]
    model = {**content["model"], "vocab": table, "unk_token": SPECIALS[UNK]}
    return {**content, "model": model, "added_tokens": added, "post_processor": None}


def _tokenizer_of(folder: Path) -> dict[str, Any]:
    path = folder / "tokenizer.json"
    if not os.path.lexists(path):
        raise InputError(
            f"{folder}: no tokenizer.json; load its tokeniser with transformers and save it again"
            " (save_pretrained)"
        )
    text = read_tokenizer_file(path)
    check_tokenizer_json(text, path)
    content: dict[str, Any] = parse_json(text, path)
    return content


def read_tokenizer_file(path: Path) -> bytes:
    """The bytes of a ``tokenizer.json``."""
    try:
        return ordinary_file(path, link=True, largest=LARGEST_JSON).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def mask_id(tokenizer: str) -> int | None:
    """The id of ``<mask>``, BERT's ``[MASK]``, if a tokeniser has one."""
    tokens = TokenizerSide(tokenizer).tokens
    return next((tokens.index(mask) for mask in ("<mask>", "[MASK]") if mask in tokens), None)
