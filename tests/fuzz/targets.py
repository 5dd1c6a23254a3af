"""What is tried: a command, valid files that it reads, which of them is damaged and how, and what
must hold then.
"""

import gzip
import io
import json
import tempfile
import zlib
from hashlib import sha256
from pathlib import Path

import kenlm_binary
import listed
import mutators as m
import releases
import stranger_folders
import strangers
from target import ENGLISH, GERMAN, Target


def _pairs(kind):
    """A corpus of both sides in one form, and how that is damaged."""
    rows = list(zip(GERMAN.splitlines(), ENGLISH.splitlines(), strict=True))
    if kind == "tsv":
        return "".join(f"{left}\t{right}\n" for left, right in rows).encode(), m.text
    if kind == "csv":
        quoted = (
            (left, right.replace(" is ", ' "is", ').replace('"', '""')) for left, right in rows
        )
        return (
            "".join(
                f'{left},"{right}"\r\n' for left, right in [("source", "target"), *quoted]
            ).encode(),
            m.csv_file,
        )
    if kind == "json":
        objects = [{"source": left, "target": right} for left, right in rows]
        return json.dumps(objects).encode(), m.json_file
    if kind in ("jsonl", "lines.json"):
        texts = (json.dumps({"source": left, "target": right}) for left, right in rows)
        return "".join(f"{text}\n" for text in texts).encode(), m.json_lines
    import pyarrow
    import pyarrow.parquet

    made = io.BytesIO()
    names = ("source", "target")
    pyarrow.parquet.write_table(
        pyarrow.table(dict(zip(names, zip(*rows, strict=True), strict=True))), made
    )
    return made.getvalue(), m.parquet_file


def _packed(kind, data, how):
    if kind == "gz":
        return gzip.compress(data, mtime=0), m.gz_file(how)
    import zstandard

    return zstandard.ZstdCompressor().compress(data), m.zst_file(how)


def _unchecked_header(path):
    """The text of a .gz file whose header alone is wrong (a reserved bit): the check sum of the
    text holds.
    """
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error):
        return None


def _reference(path):
    """The text of a packed file by another way than cgbench's; None where that finds it damaged."""
    data, text = path.read_bytes(), b""
    if path.suffix == ".gz":
        while data.strip(b"\0"):
            unpacker = zlib.decompressobj(31)
            try:
                text += unpacker.decompress(data) + unpacker.flush()
            except zlib.error:
                return _unchecked_header(path)
            if not unpacker.eof:
                return None
            data = unpacker.unused_data
        return text
    import zstandard

    try:
        return (
            zstandard.ZstdDecompressor()
            .stream_reader(io.BytesIO(data), read_across_frames=True)
            .read()
        )
    except zstandard.ZstdError:
        return None


def _as_read(name):
    """Whether what cgbench has read of a packed file is what is in it."""

    def right(folder):
        from cgbench.text.streams import read_lines

        text = _reference(folder / name)
        if text is None:
            return "accepted, but damaged"
        ours = "\n".join(read_lines(folder / name))
        text = text.removeprefix(b"\xef\xbb\xbf")
        return "" if ours.encode() == text.removesuffix(b"\n") else "read otherwise than it is"

    return right


def _pairs_as_read(name):
    """Whether the pairs of a Parquet file are those that PyArrow itself reads."""

    def right(folder):
        import pyarrow.parquet

        from cgbench.text.formats import CorpusSpec, read_pairs

        columns = list(pyarrow.parquet.read_table(folder / name).to_pydict().values())
        ours = list(read_pairs(CorpusSpec((folder / name,))))
        return "" if len(ours) == len(columns[0]) else "not every row was read"

    return right


def corpora():
    """Aligned text in every form, as the commands that train on it read it."""
    plain = {"t.de": GERMAN.encode(), "t.en": ENGLISH.encode()}
    learn = ("lexicon", "learn", "--method", "simple", "--out", "{}/out/l.json")
    yield Target("lexicon learn", "plain", plain, "t.en", m.text, (*learn, "{}/t.de", "{}/t.en"))
    for kind in ("tsv", "csv", "jsonl", "json", "lines.json", "parquet"):
        data, how = _pairs(kind)
        check = _pairs_as_read("t.parquet") if kind == "parquet" else (lambda folder: "")
        yield Target(
            "lexicon learn",
            kind,
            {f"t.{kind}": data},
            f"t.{kind}",
            how,
            (*learn, f"{{}}/t.{kind}"),
            check,
        )
    for packing in ("gz", "zst"):
        data, how = _packed(packing, *_pairs("tsv"))
        name = f"t.tsv.{packing}"
        yield Target(
            "lexicon learn", f"tsv.{packing}", {name: data}, name, how, (*learn, f"{{}}/{name}")
        )
    augment = ("augment", "geca", "--out", "{}/out/n.tsv", "--samples", "5")
    yield Target("augment geca", "plain", plain, "t.de", m.text, (*augment, "{}/t.de", "{}/t.en"))
    data, how = _pairs("tsv")
    yield Target("augment geca", "tsv", {"t.tsv": data}, "t.tsv", how, (*augment, "{}/t.tsv"))


def _translators_files():
    """The English text as each of the formats of translators."""
    lines = [line.replace("&", "and") for line in ENGLISH.splitlines()]
    numbered = list(enumerate(lines, 1))
    segments = "\n".join(f'<seg id="{row}">{line}</seg>' for row, line in numbered)
    units = "\n".join(
        f'<trans-unit id="{row}"><source>x</source><target>{line}</target></trans-unit>'
        for row, line in numbered
    )
    variants = "\n".join(
        f'<tu><tuv xml:lang="target"><seg>{line}</seg></tuv></tu>' for line in lines
    )
    quoted = (line.replace('"', r"\"") for line in lines)
    entries = "\n\n".join(f'msgid "m{row}"\nmsgstr "{line}"' for row, line in enumerate(quoted, 1))
    texts = {
        "sgm": f'<tstset><doc docid="d" sysid="target">\n{segments}\n</doc>'
        '<doc docid="d" sysid="b"><seg id="1">x</seg></doc></tstset>',
        "xml": '<dataset><doc id="d"><src lang="en"><p><seg id="1">x</seg></p></src>'
        f'<hyp system="target"><p>\n{segments}\n</p></hyp></doc></dataset>',
        "tmx": f"<tmx><body>{variants}</body></tmx>",
        "xliff": f"<xliff><file><body>{units}</body></file></xliff>",
        "po": f"{entries}\n",
    }
    return {kind: text.encode() for kind, text in texts.items()}


def columns():
    """Single columns, as score reads them."""
    lines = ENGLISH.encode()
    score = ("score", "exact", "--ref", "{}/r")
    yield Target(
        "score exact", "plain", {"r": lines, "h": lines}, "h", m.text, (*score, "--hyp", "a={}/h")
    )
    for packing in ("gz", "zst"):
        data, how = _packed(packing, lines, m.text)
        name = f"h.{packing}"
        words = (*score, "--hyp", f"a={{}}/{name}")
        yield Target(
            "score exact", packing, {"r": lines, name: data}, name, how, words, _as_read(name)
        )
    for kind in ("tsv", "csv", "jsonl", "json", "lines.json", "parquet"):
        data, how = _pairs(kind)
        column = "2" if kind == "tsv" else "target"
        words = (*score, "--hyp", f"a={{}}/h.{kind}:{column}")
        yield Target("score exact", kind, {"r": lines, f"h.{kind}": data}, f"h.{kind}", how, words)
    for kind, data in _translators_files().items():
        words = (*score, "--hyp", f"a={{}}/h.{kind}:target")
        yield Target(
            "score exact", kind, {"r": lines, f"h.{kind}": data}, f"h.{kind}", m.text, words
        )
    table = b"kind\tscore\n" + b"".join(b"k%d\t%d.5\n" % (n % 2, n) for n in range(12))
    files = {"r": lines, "h": lines, "t.tsv": table}
    words = (
        *score,
        "--hyp",
        "a={}/h",
        "--table",
        "{}/t.tsv",
        "--by",
        "column:score",
        "--bins",
        "2",
    )
    yield Target("score --by column", "tsv", files, "t.tsv", m.text, words)
    words = ("score", "bleu", "--ref", "{}/r", "--hyp", "a={}/h")
    yield Target("score bleu", "plain", {"r": lines, "h": lines}, "r", m.text, words)
    words = (*words, "--set", "normalise=en=moses", "--lowercase")
    many = 8 * lines  # enough lines for the check of their form
    yield Target("score bleu --normalise", "plain", {"r": many, "h": many}, "h", m.text, words)


def joins():
    """Tables in orders of their own, which are joined by their ids."""
    rows = [
        {"id": f"s{number}", "text": line, "n": number, "m": number % 5}
        for number, line in enumerate(ENGLISH.splitlines())
    ]
    head = ["id,text,n\r\n"]
    table = "".join(
        [*head, *(f'{row["id"]},"{row["text"]}",{row["n"]}\r\n' for row in reversed(rows))]
    ).encode()
    lines = "".join(json.dumps(row) + "\n" for row in rows[3:] + rows[:3]).encode()
    array = json.dumps(rows).encode()
    files = {"r.csv": table, "h.jsonl": lines, "t.json": array}
    same = files | {"h.jsonl": "".join(json.dumps(row) + "\n" for row in rows[::-1]).encode()}
    same["t.json"] = json.dumps(rows[::-1]).encode()
    words = (
        "score",
        "exact",
        "--ref",
        "{}/r.csv:text",
        "--hyp",
        "a={}/h.jsonl:text",
        "--table",
        "{}/t.json",
    )
    words += ("--by", "column:n", "--bins", "2")
    power = (
        "power",
        "--scores",
        "a={}/r.csv:n",
        "--scores",
        "b={}/h.jsonl:m",
        "--id",
        "id",
    )
    imported = (
        "score",
        "import",
        "--scores",
        "a={}/h.jsonl:n",
        "--table",
        "{}/r.csv",
        "--by",
        "column:text",
    )
    for name, how in (("r.csv", m.csv_file), ("h.jsonl", m.json_lines), ("t.json", m.json_file)):
        yield Target("score --id", name, files, name, how, (*words, "--id", "id"))
        yield Target("score without --id", name, same, name, how, words)
    for name, how in (("r.csv", m.csv_file), ("h.jsonl", m.json_lines)):
        yield Target("power --id", name, files, name, how, power)
        yield Target("score import --id", name, files, name, how, (*imported, "--id", "id"))
    words = ("score", "import", "--scores", "a={}/t.json:n")
    yield Target("score import", "json", files, "t.json", m.json_file, words)


def rules():
    """Rules, outputs of systems and verdicts."""
    types = [
        {"type": "contains", "any": ["dog", "cat"], "case": False},
        {"type": "regex", "pattern": "d.g"},
        {"type": "length", "most": 9, "weight": 2},
        {"type": "verdict", "name": "polite"},
    ]
    lines = GERMAN.splitlines()
    rows = [{"id": f"e{row}", "source": line, "rules": types} for row, line in enumerate(lines)]
    submission = [
        {"id": row["id"], "translation": line} for row, line in zip(rows, lines, strict=True)
    ]
    verdicts = "id,rule,pass\n" + "".join(f"e{row},polite,{row % 2}\n" for row in range(len(lines)))
    ltb = [
        {
            "id": row,
            "source_text": line,
            "source_lang": "German",
            "target_lang": "English",
            "tags": ["LTBv1"],
            "translations": [
                {"model": name, "translation": line, "verified": [True, False]} for name in "ab"
            ],
            "verification_rules": ["one", "two"],
        }
        for row, line in enumerate(lines)
    ]
    files = {
        "r.jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode(),
        "h.json": json.dumps(submission).encode(),
        "v.csv": verdicts.encode(),
        "v1.json": json.dumps(ltb).encode(),
    }
    words = (
        "score",
        "rules",
        "--rules",
        "{}/r.jsonl",
        "--hyp",
        "a={}/h.json",
        "--verdicts",
        "{}/v.csv",
    )
    for name, how in (("r.jsonl", m.json_lines), ("h.json", m.json_file), ("v.csv", m.csv_file)):
        yield Target("score rules", name, files, name, how, words)
    yield Target(
        "score rules",
        "v1.json",
        files,
        "v1.json",
        m.json_file,
        ("score", "rules", "--rules", "{}/v1.json"),
    )


def cter():
    """What CTER is judged by."""
    files = {
        "s": b"he liked the dog .\nthe small house is old\n",
        "c": b"the dog\nthe small house\n",
        "h": b"er mochte den Hund .\ndas kleine Haus ist alt\n",
        "l": b"the\t/\ndog\tHund\nsmall\tklein/kleine\nhouse\tHaus\n",
        "a": b"DET\tthe\tthe\nN\tdog\tdog\nADJ\tsmall\tsmall\nN\thouse\thouse\n",
    }
    words = (
        "score",
        "cter",
        "--source",
        "{}/s",
        "--compounds",
        "{}/c",
        "--lexicon",
        "{}/l",
        "--set",
        "atoms={}/a",
    )
    words += ("--hyp", "a={}/h", "--set", "group_size=1")
    for name, form in (("l", "lexicon"), ("a", "atoms"), ("c", "compounds"), ("h", "hypotheses")):
        yield Target("score cter", form, files, name, m.text, words)


def statistics():
    """Texts and tags, as stats and degree read them."""
    plain = {"train": ENGLISH.encode(), "test": ENGLISH[:90].encode().rpartition(b"\n")[0] + b"\n"}
    words = ("stats", "--train", "{}/train", "--test", "{}/test")
    yield Target("stats", "plain", plain, "test", m.text, words)
    yield Target(
        "degree", "plain", plain, "train", m.text, ("degree", "--train", "{}/train", "{}/test")
    )

    def tagged(line):
        return b"".join(
            b"%d\t%s\t_\tNOUN\tNN" % row + b"\t_" * 5 + b"\n" for row in enumerate(line.split(), 1)
        )

    files = dict(plain)
    for name, text in plain.items():
        files[f"{name}.conllu"] = b"\n".join(map(tagged, text.splitlines())) + b"\n"
    words += ("--pos", "conllu:{}/train.conllu,{}/test.conllu")
    yield Target("stats --pos", "CoNLL-U", files, "test.conllu", m.text, words)


def language_models():
    """Training text, and models in both forms."""
    from cgbench.lm.training import train_lm

    text = {"t": ENGLISH.encode()}
    train = ("lm", "train", "--order", "2", "--jobs", "1", "--out", "{}/out/m.arpa")
    yield Target("lm train", "plain", text, "t", m.text, (*train, "{}/t"))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "t").write_bytes(text["t"])
        train_lm(Path(folder) / "t", Path(folder) / "m.arpa", order=2)
        arpa = (Path(folder) / "m.arpa").read_bytes()
    for form, file, data, how in (
        ("ARPA", "m.arpa", arpa, m.text),
        ("KenLM", "m.binary", kenlm_binary.DATA, m.blind),
    ):
        yield Target(
            "lm score",
            form,
            text | {file: data},
            file,
            how,
            ("lm", "score", "--lm", f"{{}}/{file}", "{}/t"),
        )


def settings():
    """YAML, by a dry run of the command with the most settings."""
    files = {"t.de": GERMAN.encode(), "t.en": ENGLISH.encode()}
    files["c.yaml"] = (
        b"seed: 3\ncandidates: 4\nmin_length: 1\n"
        b"training:\n  max_updates: 5\n  learning_rate: 1e-3\nmodel:\n  width: 32\n"
    )
    words = (
        "build-react",
        "--train",
        "{}/t.de",
        "{}/t.en",
        "--pool",
        "{}/t.de",
        "{}/t.en",
        "--config",
        "{}/c.yaml",
    )
    words += ("--preset", "demo", "--model", "tiny", "--dry-run", "--out", "{}/out/r")
    yield Target("build-react --config", "YAML", files, "c.yaml", m.yaml_file, words)


def prepared():
    """Data sets and what is recorded of them; archives; answers of a server."""
    from cgbench.data_recipes.archives import members

    record = {
        **{
            "format": 1,
            "recipe": "colors",
            "revision": 1,
            "version": "0",
            "licence": "MIT",
            "citation": "",
        },
        **{
            "homepage": "",
            "splits": {"train": {"rows": 1, "origin": "generated", "files": ["train.src"]}},
        },
        **{
            "missing": [],
            "missing_files": [],
            "notes": [],
            "sources": {},
            "files": {"train.src": "0" * 64},
        },
    }
    words = ("data", "get", "colors", "--offline", "--jobs", "1", "--out", "{}/set")
    files = {"set/recipe.json": json.dumps(record).encode(), "set/train.src": b"dax\n"}
    yield Target("data get", "recipe.json", files, "set/recipe.json", m.json_file, words)
    packed = {"mirror/colors/train.tsv.gz": gzip.compress(b"dax\tRED\n" * 9, mtime=0)}
    words = (
        "data",
        "get",
        "colors",
        "--mirror",
        "{}/mirror",
        "--offline",
        "--jobs",
        "1",
        "--out",
        "{}/out/set",
    )
    yield Target(
        "data get --mirror", "gz", packed, "mirror/colors/train.tsv.gz", m.gz_file(m.text), words
    )

    def read(name):
        def work(folder):
            for member in members(folder / name):
                while member.read():
                    pass

        return work

    inside = {"top/a.txt": b"one two\n" * 50, "top/b.txt": b"three\n" * 50}
    yield Target(
        "archives", "tar.gz", {"x.tgz": m.make_tar(inside)}, "x.tgz", m.tar_file, read("x.tgz")
    )
    right = _whole("x.zip", set(inside.values()))
    yield Target(
        "archives", "zip", {"x.zip": m.make_zip(inside)}, "x.zip", m.blind, read("x.zip"), right
    )
    head = b'HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Length: 30\r\nConnection: close\r\n\r\n'
    answer = head + b"hello world\n" * 2 + b"hello\n"
    yield Target("download", "HTTP", {"answer": answer}, "answer", m.http, _downloaded)


def _whole(name, texts):
    def right(folder):
        from cgbench.data_recipes.archives import members

        found = {b"".join(iter(member.read, b"")) for member in members(folder / name)}
        return "" if found <= texts else "a member was read otherwise than it was packed"

    return right


def _downloaded(folder):
    from raw_web import answering

    from cgbench.data_recipes import download

    download.WAIT, download.TIMEOUT = 0.001, (1, 0.5)
    with answering((folder / "answer").read_bytes()) as (url, _):
        download.download(f"{url}/file", folder / "out" / "file", attempts=2)


def results():
    """What runs of reproduce left."""
    result = {
        **{
            "benchmark": "Colors",
            "system": "LSTM",
            "scale": "full",
            "fraction": 1.0,
            "seed": 1,
            "updates": 10,
        },
        **{
            "settings": "a",
            "rows": 0,
            "ended": 1,
            "seconds": 1,
            "device": "cpu",
            "figures": {"exact match": 50.0},
        },
        **{"preset": "x", "generated": []},
    }
    files = {}
    for seed in (1, 2):
        files[f"runs/colors.lstm.full.seed-{seed}/{seed}/result.json"] = json.dumps(
            result | {"seed": seed}
        ).encode()
    words = ("reproduce", "show", "{}", "--others")
    yield Target("reproduce show", "result.json", files, next(iter(files)), m.json_file, words)


def lexicons():
    """Lexicons of models, by what loads them."""
    from cgbench.models.lexicons.lexicon import Lexicon

    data = {
        "json": b'{"dax": {"RED": 6, "BLUE": 1}, "lug": {"BLUE": 5.5}}',
        "tsv": b"dax\tRED\t6\nlug\tBLUE\t5.5\n",
    }
    for kind, how in (("json", m.json_file), ("tsv", m.text)):
        name = f"l.{kind}"

        def load(folder, name=name):
            Lexicon.load(folder / name)

        yield Target("lexicons", kind, {name: data[kind]}, name, how, load)
        files = {
            name: data[kind],
            f"{name}.sha256": f"{sha256(data[kind]).hexdigest()}  {name}\n".encode(),
        }
        right = releases.unchanged(name, data[kind])
        yield Target("lexicons", f"{kind} with a digest", files, name, how, load, right)


def checkpoints():
    """A model that nobody has trained."""
    import torch

    from cgbench.models.checkpoints import CheckpointConfig, save_checkpoint
    from cgbench.models.config.architectures import build_model
    from cgbench.models.config.common import TextConfig
    from cgbench.models.config.presets import load_preset
    from cgbench.models.text.subwords import Subwords

    torch.set_num_threads(1)
    preset = load_preset("tiny")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, text in (("de", GERMAN), ("en", ENGLISH)):
            (folder / name).write_text(text)
        subwords = Subwords.learn(folder / "de", folder / "en", TextConfig(merges=9))
        torch.manual_seed(1)
        model = build_model(preset.model, subwords.source_size, subwords.target_size)
        sizes = (subwords.source_size, subwords.target_size)
        config = CheckpointConfig(preset.model, preset.training, *sizes, subwords.digest)
        save_checkpoint(folder / "m", config, model.state_dict(), subwords)
        files = {f"m/{path.name}": path.read_bytes() for path in (folder / "m").iterdir()}
    files["s"] = b"das haus\n"
    words = ("translate", "--model", "{}/m", "--device", "cpu", "--beam", "1", "{}/s")
    forms = {
        "config.json": m.json_file,
        "subwords.json": m.json_file,
        "model.safetensors": m.safetensors_file,
    }
    for name, how in forms.items():
        yield Target("translate", name, files, f"m/{name}", how, words, heavy=True)


LIGHT = (
    *(
        corpora,
        columns,
        joins,
        cter,
        rules,
        statistics,
        language_models,
        settings,
        prepared,
        results,
        lexicons,
    ),
    *(releases.splits, stranger_folders.ours, stranger_folders.many_lines, releases.unfinished),
    *(strangers.servers, strangers.imports, *listed.GROUPS),
)
HEAVY = (checkpoints, stranger_folders.hugging_face, releases.finished)


def targets(heavy=True):
    """All of them, those that import PyTorch last."""
    for group in (*LIGHT, *(HEAVY if heavy else ())):
        yield from group()
