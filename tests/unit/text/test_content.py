"""Files of other formats are refused with the remedy, whatever their name; texts never are."""

import bz2
import gzip
import json
import lzma
import warnings
import zipfile

import pytest

from cgbench.errors import InputError
from cgbench.text.blocks import read_blocks
from cgbench.text.columns import read_text
from cgbench.text.content import check_bytes, check_sentences
from cgbench.text.corpus import index_text
from tests.helpers.shared_data import SHARED, needs

SENTENCES = "The dog sees a cat .\nIt runs .\n" * 20
CONLLU = (
    "# sent_id = 1\n# text = It runs\n"
    + "\t".join(["1", "It", "it", "PRON", "PRP", "_", "2", "nsubj", "_", "_"])
    + "\n"
    + "\t".join(["2", "runs", "run", "VERB", "VBZ", "_", "0", "root", "_", "_"])
    + "\n\n"
)
TMX = '<?xml version="1.0"?>\n<tmx version="1.4">\n<body><tu></tu></body></tmx>\n'
SGML = '<srcset setid="newstest" srclang="de">\n<doc docid="1">\n<seg id="1">Ja</seg>\n'
PIECES = b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02\n\x0c\n\x03<s>\x15\x00\x00\x00\x00"
FORMATS = {
    "tmx": (TMX, r"markup \(tmx\).*name it .*\.tmx"),
    "xliff": ('<xliff version="1.2">\n<file original="a">\n', r"name it .*\.xliff"),
    "sgml": (SGML, r"markup \(srcset\).*\.sgm"),
    "doc": ('<doc docid="1">\n<seg id="1">Ja</seg>\n', "markup, not sentences; write its text"),
    "conllu": (CONLLU * 20, "CoNLL-U, not sentences"),
    "scan": ("IN: jump OUT: I_JUMP\nIN: run OUT: I_RUN\n", "commands and actions of SCAN"),
    "dictionary": (
        json.dumps({f"word {n}": {"x": 1} for n in range(9999)}),
        "JSON, a single object",
    ),
    "dictionary, in lines": (json.dumps({"dog": "Hund", "cat": "Katze"}, indent=1), "JSON"),
    "old Mac": (SENTENCES.replace("\n", "\r"), "lines end with CR alone"),
    "gzip": (gzip.compress(SENTENCES.encode()), r"compressed with gzip; name it .*\.gz"),
    "xz": (lzma.compress(SENTENCES.encode()), r"compressed with xz; name it .*\.xz"),
    "bzip2": (bz2.compress(SENTENCES.encode()), r"compressed with bzip2; name it .*\.bz2"),
    "SentencePiece": (PIECES * 9, "a SentencePiece model, not a text"),
    "binary": (bytes(range(256)) * 9, "a binary file, not a text"),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("suffix", ["", ".txt", ".de"])
def test_another_format_is_named_with_the_remedy(name, suffix, tmp_path):
    content, message = FORMATS[name]
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for read in (lambda: list(read_text(path)), lambda: list(read_blocks(path))):
        with pytest.raises(InputError, match=message) as error:
            read()
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=message):
        index_text(path)
    # The same within a .gz.
    if isinstance(content, str):
        packed = tmp_path / "corpus.gz"
        packed.write_bytes(gzip.compress(content.encode()))
        with pytest.raises(InputError, match=message.partition(r" it .*\.")[0]):
            list(read_text(packed))


def test_a_zip_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "corpus.de", "w") as archive:
        archive.writestr("corpus", SENTENCES)
    with pytest.raises(InputError, match=r"compressed with zip; unpack it \(unzip\)"):
        list(read_text(tmp_path / "corpus.de"))


@pytest.mark.parametrize(
    "text",
    [
        SENTENCES,
        "<s> a b </s>\n" * 9,
        "<unk>\n<unk>\n",
        "< 3 is a heart .\n",
        "# sent_id = 1\nIt runs\n",
        "1\t2\n",
        '{"answer": 1}\n{"answer": 2}\n',
        "{ x : x > 0 }\nb\n",
        "a\0b\0c\nd\n" * 3,
        "one\rtwo\n",
        "\x1b[31mred\x1b[0m\n" * 40,
        "IN: a question\nan answer\n",
        "a\u2028b\u0085c\n",
        "日本語 の 文\n" * 5000,
        "\ufeffwith a mark\n",
        "",
        "x",
    ],
)
def test_texts_are_texts(text):
    check_bytes(text.encode(), "text")
    check_sentences(text.encode()[: 1 << 16], "text")


def test_a_byte_order_mark_within_a_text_is_told(tmp_path):
    path = tmp_path / "joined.de"
    readers = (lambda: list(read_text(path)), lambda: list(read_blocks(path)))
    # A full-width comma begins with the same byte as a mark.
    for line in ("one", "one\uff0c"):
        path.write_bytes(f"\ufeff{line}\ntwo\n\ufeffthree\nfour\ufeff\n".encode())
        for read in readers:
            with pytest.warns(UserWarning, match="line 3: a byte order mark within the text"):
                read()
    path.write_text("one\uff0c\ntwo\n", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for read in readers:
            read()


@needs("tatoeba-de-en/deu.txt.gz")
def test_no_real_text_is_refused():
    """Every file of the maintainers' data, but those of other formats and binary archives."""
    others = {".json", ".jsonl", ".conllu"}
    tried = 0
    for path in sorted(SHARED.rglob("*")):
        suffixes = {*path.suffixes}
        if not path.is_file() or others & suffixes or "tasks" in path.name:
            continue
        next(iter(read_text(path if not suffixes & {".tsv", ".csv"} else f"{path}:1")), None)
        tried += 1
    assert tried > 60
