"""A tokenizer.json from a stranger: ids of its vocabulary alone, a line at a time, one line where
it fails.
"""

import json

import pytest

pytest.importorskip("tokenizers")

from cgbench.errors import InputError
from cgbench.models.special_ids import SPECIALS
from cgbench.models.text.tokenized import (
    TokenizerSide,
    encode_lines,
    open_tokenizer,
    read_tokenizer,
)

WORDS = {"a": 0, "b": 1, "<unk>": 2}


def tokenizer(model=None, **parts):
    model = model or {"type": "WordLevel", "vocab": WORDS, "unk_token": "<unk>"}
    plain = dict.fromkeys(("truncation", "padding", "normalizer", "post_processor", "decoder"))
    pieces = {"pre_tokenizer": {"type": "Whitespace"}, "added_tokens": [], "version": "1.0"}
    return json.dumps({**plain, **pieces, "model": model, **parts})


def ids(text, line="a b zz b a"):
    return [one.ids for one in encode_lines(open_tokenizer(text, "T"), [line, "a"], "T")]


def bpe(**parts):
    return {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]], **parts}


def test_truncation_padding_and_dropout_are_off():
    cut = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 5}
    pad = {
        "strategy": {"Fixed": 10**12},
        "direction": "Right",
        "pad_to_multiple_of": 0,
        "pad_id": 0,
    }
    pad |= {"pad_type_id": 0, "pad_token": "a"}
    assert ids(tokenizer(truncation=cut, padding=pad)) == [[0, 1, 2, 1, 0], [0]]
    assert {str(ids(tokenizer(bpe(dropout=0.5)), "ab")) for _ in range(30)} == {"[[2], [0]]"}


def added(number):
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return [{"id": number, "content": "zz", **flags}]


@pytest.mark.parametrize(
    "text",
    [
        tokenizer({"type": "WordLevel", "vocab": {**WORDS, "c": 10**9}, "unk_token": "<unk>"}),
        tokenizer(bpe(vocab={"a": 0, "b": 1, "ab": 10**9})),
        tokenizer(added_tokens=added(10**9)),
        tokenizer(
            post_processor={"type": "BertProcessing", "sep": ["</s>", 10**9], "cls": ["<s>", 0]}
        ),
    ],
)
def test_ids_are_bounded_by_the_vocabulary(text):
    with pytest.raises(
        InputError, match=r"^T: has id 1,000,000,000, but a vocabulary of [34] tokens"
    ):
        open_tokenizer(text, "T")


def test_a_vocabulary_may_have_gaps():
    model = {"type": "WordLevel", "vocab": {**WORDS, "zz": 50_000}, "unk_token": "<unk>"}
    assert ids(tokenizer(model))[0] == [0, 1, 50_000, 1, 0]


@pytest.mark.parametrize(
    "text",
    [
        tokenizer(bpe(continuing_subword_prefix="####")),  # panics when it is read
        tokenizer(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        tokenizer(
            normalizer={"type": "Precompiled", "precompiled_charsmap": "BAAAAP////8AAAAA"}
        ),  # when it reads
        tokenizer(pre_tokenizer={"type": "FixedLength", "length": 0}),
        tokenizer({"type": "Unigram", "vocab": [], "unk_id": 0}),
        tokenizer({"type": "What"}),
        '{"model": 5}',
        "[]",
        "[" * 100_000,
        '{"model": {}}',
    ],
)
def test_panics_and_faults_are_one_line(text, capfd):
    with pytest.raises(InputError, match=r"^T: ") as caught:
        ids(text)
    assert "\n" not in str(caught.value) and capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "model",
    [
        {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "<unk>"},
        {"type": "Unigram", "vocab": [["a", -1.0]], "unk_id": None},
        {
            "type": "WordPiece",
            "vocab": {"a": 0},
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
        },
        bpe(unk_token="<u>"),
    ],
)
def test_no_token_for_unknown_words_is_one_line(model):
    with pytest.raises(
        InputError, match=r"^T: cannot encode the text; it may have no token for unknown words"
    ):
        ids(tokenizer(model))


def test_a_side_reads_in_the_same_way(tmp_path):
    table = {token: number for number, token in enumerate([*SPECIALS, "a"])}
    model = {"type": "WordLevel", "vocab": table, "unk_token": "<none>"}
    with pytest.raises(InputError, match="the source's tokeniser: cannot encode the text"):
        TokenizerSide(tokenizer(model)).encode(["b"])
    with pytest.raises(InputError, match="has id 1,000,000,000"):
        TokenizerSide(tokenizer({**model, "vocab": {**table, "b": 10**9}}))
    (tmp_path / "tokenizer.json").write_text(tokenizer({**model, "vocab": {**table, "b": 10**9}}))
    with pytest.raises(InputError, match=r"tokenizer\.json: has id"):
        read_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "tokenizer.json").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="not a regular file"):
        read_tokenizer(tmp_path)
