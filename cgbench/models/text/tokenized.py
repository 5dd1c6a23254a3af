"""A side that the tokeniser of a pre-trained model reads, and the target that it writes.

The tokeniser is one that the library ``tokenizers`` writes as JSON; it is kept whole in ``subwords.json``, so that a
checkpoint needs nothing beside it. Its first ids must be <s> <pad> </s> <unk>, as RoBERTa's and BART's are.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.errors import InputError, require
from cgbench.files import LARGEST_JSON, ordinary_file, parse_json
from cgbench.models.special_ids import EOS, SPECIALS, UNK

_GAPS = 1 << 16  # ids that a vocabulary may leave out beyond three of four


def open_tokenizer(data: bytes | str, where: object) -> Any:
    """A tokeniser of the library ``tokenizers``, as a function of a line alone: no truncation, padding or dropout.

    :param data: its JSON; ``where``: what messages call it.
    :raises InputError: it is none, or its ids are far beyond its vocabulary.
    """
    library = require("tokenizers", "models")
    checked = check_tokenizer(data, where)
    try:
        with quiet_panics():
            made = library.Tokenizer.from_str(json.dumps(checked, ensure_ascii=False))
            with contextlib.suppress(Exception):  # a tokeniser that panics does so at once
                made.encode_batch(["a \u00e9 1", ""], add_special_tokens=False)
            return made
    except BaseException as error:  # the library raises plain ones, and panics of Rust
        raise tokenizer_fault(error, f"{where}: no tokenizer.json") from None


def check_tokenizer(data: bytes | str, where: object) -> dict[str, Any]:
    """The JSON of a tokeniser, checked, without truncation, padding and dropout.

    :raises InputError: as :func:`open_tokenizer` does.
    """
    made = parse_json(data, where)
    if not isinstance(made, dict) or not isinstance(made.get("model"), dict):
        raise InputError(f"{where}: no tokenizer.json (no model)")
    vocabulary, added = made["model"].get("vocab"), made.get("added_tokens") or []
    ids = list(vocabulary.values()) if isinstance(vocabulary, dict) else []
    size = len(vocabulary) if isinstance(vocabulary, (dict, list)) else 0
    if isinstance(added, list):
        ids += [one.get("id") for one in added if isinstance(one, dict)]
        size += len(added)
    ids += _numbers(made.get("post_processor"))
    largest = max((number for number in ids if isinstance(number, int)), default=0)
    if largest >= 4 * size + _GAPS:
        raise InputError(f"{where}: has the id {largest:,}, and a vocabulary of {size:,} tokens; it is damaged")
    return {
        **made, "truncation": None, "padding": None,
        "model": {**made["model"], **({"dropout": None} if "dropout" in made["model"] else {})},
    }  # fmt: skip


def encode_lines(tokenizer: Any, lines: Sequence[str], where: object) -> list[Any]:
    """The library's encodings of lines, without special tokens.

    :raises InputError: a line holds what the vocabulary lacks, and there is no token for the unknown.
    """
    try:
        return list(tokenizer.encode_batch(lines, add_special_tokens=False))
    except BaseException as error:
        raise tokenizer_fault(
            error, f"{where}: cannot read all of the text; it may have no token for unknown words"
        ) from None


def tokenizer_fault(error: BaseException, what: str) -> InputError:
    """What the library ``tokenizers`` raised, as one line; any other exception that is no ``Exception`` is raised.

    It ends in panics of Rust, which are no ``Exception``.
    """
    if isinstance(error, InputError) or not (isinstance(error, Exception) or type(error).__name__ == "PanicException"):
        raise error
    return InputError(f"{what} ({' '.join(str(error).split())[:200] or type(error).__name__})")


def _numbers(value: Any) -> list[int]:
    """Every number in JSON."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for one in value for number in _numbers(one)]
    return [value] if isinstance(value, int) else []


@contextlib.contextmanager
def quiet_panics() -> Iterator[None]:
    """Without what Rust itself writes to standard error where it panics: the exception says the same."""
    try:
        kept = os.dup(2)
    except OSError:  # closed
        yield
        return
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


_SOURCE = "the source's tokeniser"


class TokenizerSide:
    """A side of :class:`.subwords.Subwords`, by a tokeniser: ids, </s> last.

    :param tokenizer: its JSON.
    :raises InputError: it cannot be read, or begins with other ids.
    """

    def __init__(self, tokenizer: str) -> None:
        self._made: Any = open_tokenizer(tokenizer, _SOURCE)
        added = self._made.get_added_tokens_decoder().values()
        self._special = {*SPECIALS, *(token.content for token in added if token.special)}
        table = self._made.get_vocab(with_added_tokens=True)
        self.tokens = [f"<unused {number}>" for number in range(max(table.values(), default=-1) + 1)]
        for token, number in table.items():
            self.tokens[number] = token
        if tuple(self.tokens[: len(SPECIALS)]) != SPECIALS:
            raise InputError(
                f"the source's tokeniser begins with {' '.join(self.tokens[: len(SPECIALS)])}, where RoBERTa's begins "
                f"with {' '.join(SPECIALS)}: it is another model's"
            )

    def tokens_by_name(self) -> dict[str, int]:
        """The id of each token."""
        return {token: number for number, token in enumerate(self.tokens)}

    def encode(self, lines: Iterable[str]) -> list[np.ndarray]:
        """Ids of each line."""
        return [np.array([*found.ids, EOS], np.int32) for found in encode_lines(self._made, list(lines), _SOURCE)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids before </s>, on one line; special tokens are left out, but for ``<unk>``."""
        kept = []
        for number in ids:
            if number == EOS:
                break
            if number == UNK or self.tokens[number] not in self._special:
                kept.append(int(number))
        text = str(self._made.decode(kept, skip_special_tokens=False))
        return " ".join(text.strip().splitlines()).strip()

    def unknown(self, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
        """Every part that the tokeniser does not know, and its line from 0."""
        for number, line in enumerate(lines):
            (found,) = encode_lines(self._made, [line], _SOURCE)
            for id_, (begin, end) in zip(found.ids, found.offsets, strict=True):
                if id_ == UNK:
                    yield number, line[begin:end]


def read_tokenizer(folder: Path) -> str:
    """The tokeniser of a folder of transformers, as JSON of one form.

    :raises InputError: there is none that ``tokenizers`` reads.
    """
    path = folder / "tokenizer.json"
    if not os.path.lexists(path):
        raise InputError(
            f"{folder}: no tokenizer.json; load its tokeniser with transformers and write it again (save_pretrained)"
        )
    text = read_tokenizer_file(path)
    check_tokenizer(text, path)
    return json.dumps(parse_json(text, path), ensure_ascii=False, sort_keys=False)


def read_tokenizer_file(path: Path) -> bytes:
    """The bytes of a ``tokenizer.json``.

    :raises InputError: it is missing, no regular file or cannot be read.
    """
    try:
        return ordinary_file(path, link=True, largest=LARGEST_JSON).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def mask_id(tokenizer: str) -> int | None:
    """The id of ``<mask>``, if a tokeniser has one."""
    return TokenizerSide(tokenizer).tokens_by_name().get("<mask>")
