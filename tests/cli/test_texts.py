"""Every command that takes a text takes it in every way: a file, compressed, a column of a table,
standard input.
"""

import gzip
import json

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

PAIRS = {
    "the dog sees the cat": "der hund sieht die katze",
    "the cat sees a house": "die katze sieht ein haus",
    "a dog runs": "ein hund rennt",
    "the house stands": "das haus steht",
    "a cat runs": "ein kater rennt",
    "a dog sleeps": "ein hund schläft",
}
EN, DE = [*PAIRS] * 4, [*PAIRS.values()] * 4


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """The same text (``en``; ``de`` beside it) in every form."""
    folder = tmp_path_factory.mktemp("texts")
    for name, lines in (("en", EN), ("de", DE)):
        data = "".join(f"{line}\n" for line in lines).encode()
        (folder / f"x.{name}").write_bytes(data)
        (folder / f"x.{name}.gz").write_bytes(gzip.compress(data))
        (folder / f"x.{name}.zst").write_bytes(zstandard.compress(data))
    rows = [
        {"de": de, "n": number, "en": en}
        for number, (de, en) in enumerate(zip(DE, EN, strict=True))
    ]
    (folder / "x.tsv").write_text(
        "".join(
            f"{row}\n"
            for row in ["de\tn\ten", *(f"{d}\t0\t{e}" for d, e in zip(DE, EN, strict=True))]
        )
    )
    (folder / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "hf.jsonl.gz").write_bytes(
        gzip.compress("".join(json.dumps({"translation": row}) + "\n" for row in rows).encode())
    )
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "x.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"translation": rows}), folder / "hf.parquet")
    return folder


WAYS = [
    "x.en.gz",
    "x.en.zst",
    "x.tsv:en",
    "x.jsonl:en",
    "hf.jsonl.gz:en",
    "x.parquet:en",
    "hf.parquet:en",
    "-",
]
COMMANDS = {
    "degree": "degree --train x.en --min-count 2 TEXT",
    "degree --train": "degree --train TEXT --min-count 2 x.en",
    "stats --test": "stats --train x.de --test T=TEXT --format tsv",
    "stats --train": "stats --train TEXT --test T=x.en --format tsv",
    "lm train": "lm train TEXT --order 2 --out out.arpa",
    "lm score": "lm score --lm model.arpa TEXT",
    "score --ref": "score bleu --ref TEXT --hyp A=x.de",
    "score --hyp": "score chrf --ref x.de --hyp A=TEXT",
    "score --train": "score exact --ref x.en --hyp A=x.en --by frequency --train TEXT",
    "lexicon learn": "lexicon learn x.de TEXT --out out.json",
    "augment geca": "augment geca x.de TEXT --out out.tsv",
}


def words_of(command, texts, out, way):
    """The command with its files in ``texts``, what it writes in ``out``."""
    words = []
    for word in command.replace("TEXT", way).split():
        label, sign, rest = word.rpartition("=")
        if rest.startswith(("x.", "hf.")):
            word = f"{label}{sign}{texts / rest}"
        words.append(str(out / word) if word.startswith(("out.", "model.")) else word)
    return words


@pytest.fixture
def call(run, texts, tmp_path):
    """What a command prints of a text and writes, whatever the text is called."""

    def call(command, way):
        if "model.arpa" in command:
            run("lm", "train", texts / "x.en", "--order", "2", "--out", tmp_path / "model.arpa")
        given = (texts / "x.en").read_bytes() if way == "-" else None
        shown = run(*words_of(command, texts, tmp_path, way), input=given).stdout
        written = [path.read_bytes() for path in sorted(tmp_path.glob("out.*"))]
        return shown.replace(str(texts / way), "TEXT").replace("standard input", "TEXT"), written

    return call


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_every_command_takes_every_text(call, command):
    expected = call(command, "x.en")
    assert expected[0].strip()
    for way in WAYS:
        assert call(command, way) == expected, way


@pytest.mark.parametrize(
    "command",
    [
        "degree --train - -",
        "stats --train - --test -",
        "lexicon learn - - --out out.json",
        "score exact --ref - --hyp A=-",
    ],
)
def test_standard_input_is_read_once(run, texts, tmp_path, command):
    err = run(*words_of(command, texts, tmp_path, ""), input=b"a b\n" * 4, status=2).stderr
    assert "standard input is named twice (-)" in err


def test_what_reads_its_text_again_takes_no_standard_input(run, texts, tmp_path):
    words = [
        "train",
        "--train",
        texts / "x.de",
        "-",
        "--arch",
        "transformer",
        "--out",
        tmp_path / "m",
    ]
    assert "standard input (-) can be read once" in run(*words, input=b"a\n", status=2).stderr
