"""A side that the tokeniser of a pre-trained model reads, and the target that it writes.

The tokeniser is one that the library ``tokenizers`` writes as JSON; it is kept whole in ``subwords.json``, so that a
checkpoint needs nothing beside it. Its first ids must be <s> <pad> </s> <unk>, as RoBERTa's and BART's are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.errors import InputError, require
from cgbench.models.special_ids import EOS, SPECIALS, UNK


class TokenizerSide:
    """A side of :class:`.subwords.Subwords`, by a tokeniser: ids, </s> last.

    :param tokenizer: its JSON.
    :raises InputError: it cannot be read, or begins with other ids.
    """

    def __init__(self, tokenizer: str) -> None:
        tokenizers = require("tokenizers", "models")
        try:
            self._made: Any = tokenizers.Tokenizer.from_str(tokenizer)
        except Exception as error:  # the library raises plain ones
            raise InputError(f"the source's tokeniser cannot be read ({error})") from None
        self._made.no_truncation()
        self._made.no_padding()
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
        given = list(lines)
        return [
            np.array([*found.ids, EOS], np.int32) for found in self._made.encode_batch(given, add_special_tokens=False)
        ]

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
            found = self._made.encode(line, add_special_tokens=False)
            for id_, (begin, end) in zip(found.ids, found.offsets, strict=True):
                if id_ == UNK:
                    yield number, line[begin:end]


def read_tokenizer(folder: Path) -> str:
    """The tokeniser of a folder of transformers, as JSON of one form.

    :raises InputError: there is none that ``tokenizers`` reads.
    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise InputError(
            f"{folder}: no tokenizer.json; load its tokeniser with transformers and write it again (save_pretrained)"
        )
    try:
        return json.dumps(json.loads(path.read_text(encoding="utf-8")), ensure_ascii=False, sort_keys=False)
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from None


def mask_id(tokenizer: str) -> int | None:
    """The id of ``<mask>``, if a tokeniser has one."""
    return TokenizerSide(tokenizer).tokens_by_name().get("<mask>")
