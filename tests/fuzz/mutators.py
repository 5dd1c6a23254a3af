"""Damage a file: blindly, and with an idea of what is in it.

The same generator gives the same damage.
"""

import copy
import gzip
import io
import json
import random
import re
import struct
import tarfile
import zipfile
import zlib
from functools import cache

INTERESTING = (
    *(b"", b"0", b"-1", b"1e999", b"nan", b"-inf", b"9" * 30, b"9" * 5000, b"0x10", b"1_000"),
    *("²".encode(), "٣".encode()),
    *(
        b"\0",
        b"\xff",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\r",
        b"\r\n",
        b"\t",
        b"\x1b[2J",
    ),
    *(
        "\u2028".encode(),
        b"\xc2\x85",
        b"\xc2\xa0",
        "\u0301".encode(),
        b"</s>",
        b"<s>",
        b"<unk>",
        b"@@ ",
        b"|||",
        b"/",
    ),
    *(
        b"../../x",
        b"=1+1",
        b"\\ud800",
        b"{",
        b"[",
        b'"',
        b"&a *a",
        b"!!python/name:os.system",
        b"2001-01-01",
        b"null",
    ),
    *(b"%s%n", b"x" * 3000),
)
NUMBERS = INTERESTING[:12]
VALUES = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2**31,
        2**63,
        2**70,
        -(2**63),
        0.5,
        1e308,
        float("inf"),
        float("nan"),
    ),
    *("", "0", "x", "²", "../x", "/etc/passwd", "a\nb", "\x1b[2J", "\ud800", "x" * 5000),
    *([], {}, [[]], [None], {"a": 1}, [0, "x"], 10**4500),
)


def _place(draw, data, size=0):
    return draw.randrange(max(1, len(data) - size + 1))


def flip(draw, data):
    data = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 8))):
        if data:
            data[_place(draw, data, 1)] ^= 1 << draw.randrange(8)
    return bytes(data)


def put(draw, data):
    data = bytearray(data)
    for _ in range(draw.choice((1, 1, 4))):
        if data:
            data[_place(draw, data, 1)] = draw.choice((0, 1, 9, 10, 13, 32, 127, 128, 192, 255))
    return bytes(data)


def cut(draw, data):
    return data[: _place(draw, data)]


def drop(draw, data):
    begin = _place(draw, data)
    return data[:begin] + data[begin + draw.choice((1, 2, 8, 64, 512)) :]


def insert(draw, data):
    begin = _place(draw, data)
    return data[:begin] + draw.choice(INTERESTING) + data[begin:]


def repeat(draw, data):
    begin, size = _place(draw, data), draw.choice((1, 8, 100, 2000))
    return (
        data[:begin] + data[begin : begin + size] * draw.choice((2, 3, 50)) + data[begin + size :]
    )


def splice(draw, data):
    first, second = _place(draw, data), _place(draw, data)
    return data[:first] + data[second:]


def number(draw, data):
    """Another number in the place of one."""
    found = list(re.finditer(rb"-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?", data))
    if not found:
        return insert(draw, data)
    one = draw.choice(found)
    return data[: one.start()] + draw.choice(NUMBERS) + data[one.end() :]


def lines(draw, data):
    """Lines twice, gone, in another order, cut or empty."""
    rows = data.split(b"\n")
    at = draw.randrange(len(rows))
    what = draw.randrange(6)
    if what == 0:
        rows.insert(at, rows[at])
    elif what == 1:
        del rows[at]
    elif what == 2:
        draw.shuffle(rows)
    elif what == 3:
        rows[at] = cut(draw, rows[at])
    elif what == 4:
        rows.insert(at, b"")
    else:
        rows[at] = rows[at] * draw.choice((2, 300))
    return b"\n".join(rows)


def cells(draw, data):
    """A cell of a table twice, gone or another."""
    rows = data.split(b"\n")
    at = draw.randrange(len(rows))
    row = re.split(rb"(\t| )", rows[at])
    place = draw.randrange(len(row))
    row[place] = draw.choice((b"", row[place] * 2, *INTERESTING))
    rows[at] = b"".join(row)
    return b"\n".join(rows)


BLIND = (flip, flip, put, cut, drop, insert, repeat, splice, number)
TEXT = (*BLIND, lines, lines, cells, cells)


def quotes(draw, data):
    """Put a quote, a comma or a newline somewhere."""
    place = _place(draw, data)
    return (
        data[:place]
        + draw.choice((b'"', b'""', b",", b'",', b',"', b"\r\n", b"\n", b"\r"))
        + data[place:]
    )


def blind(draw, data):
    return draw.choice(BLIND)(draw, data)


def text(draw, data):
    return draw.choice(TEXT)(draw, data)


def csv_file(draw, data):
    return draw.choice((*TEXT, quotes, quotes, quotes))(draw, data)


def _paths(value, path=()):
    yield path
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in items:
        yield from _paths(inner, (*path, key))


def tree(draw, value):
    """Another value in one place of a tree, or a name or an entry gone, twice or renamed."""
    value = copy.deepcopy(value)
    path = draw.choice(list(_paths(value)))
    if not path:
        return draw.choice(VALUES)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    what = draw.randrange(5)
    if what == 0:
        del inner[path[-1]]
    elif what == 1 and isinstance(inner, list):
        inner.insert(path[-1], inner[path[-1]])
    elif what == 1:
        inner[draw.choice(("", "x", "../x", "²"))] = inner.pop(path[-1])
    else:
        inner[path[-1]] = draw.choice(VALUES)
    return value


def _dumped(value):
    # 10**4500 is beyond what Python writes as text
    if isinstance(value, int) and abs(value) > 10**4000:
        return "9" * 4500
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{json.dumps(str(key))}: {_dumped(inner)}" for key, inner in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_dumped, value)) + "]"
    return json.dumps(value)


def json_file(draw, data):
    what = draw.randrange(8)
    if what == 0:
        odd = (
            b"[" * 100_000,
            b'{"a":' * 100_000,
            b"9" * 5000,
            b"[1e999]",
            b'{"a": 1, "a": 2}',
            b"NaN",
            b"",
        )
        return draw.choice(odd)
    if what < 3:
        return text(draw, data)
    return _dumped(tree(draw, json.loads(data))).encode()


SPECIAL = b"\0 instead of a file: "  # the harness puts what follows in the place of a file


def special(draw, data):
    """Something that is no file, or JSON that is none."""
    if draw.random() < 0.5:
        return SPECIAL + draw.choice(
            (b"link /dev/zero", b"link /etc/passwd", b"link missing", b"pipe", b"folder")
        )
    try:
        return json_file(draw, data)
    except ValueError:  # no JSON to begin with
        return blind(draw, data)


def stranger_json(draw, data):
    """JSON whose sizes, ids, patterns and names of files are no longer its own."""
    if draw.random() < 0.1:
        return special(draw, data)
    if draw.random() < 0.4:
        return json_file(draw, data)
    value = json.loads(data)
    leaves = [path for path in _paths(value) if path]
    if not leaves:
        return json_file(draw, data)
    place = value
    *way, last = draw.choice(leaves)
    for step in way:
        place = place[step]
    place[last] = draw.choice(
        (
            0,
            -1,
            1,
            2,
            10**5,
            10**9,
            10**15,
            2**63,
            True,
            None,
            [],
            {},
            "x",
            "(([a-z0-9_]+\\.?)+)+!",
            "(",
            ["q"],
            [[10**9]],
            "../else/w.safetensors",
            "pytorch_model.bin",
            "adapter_model.bin",
            1.5,
            {"Fixed": 10**12},
            ["<s>", 10**9],
        )
    )
    return json.dumps(value).encode()


def many_lines(draw, data):
    """A .gz of lines so short that their bytes break no limit."""
    line = draw.choice((b"", b"a", b"aa", b"a b")) + b"\n"
    return gzip.compress(line * draw.choice((10, 10**6, 2 * 10**6, 2**23)), 1, mtime=0)


def json_lines(draw, data):
    rows = data.rstrip(b"\n").split(b"\n")
    at = draw.randrange(len(rows))
    if draw.random() < 0.6:
        rows[at] = json_file(draw, rows[at])
        return b"\n".join([*rows, b""])
    return text(draw, data)


def yaml_file(draw, data):
    if draw.random() < 0.2:
        return draw.choice(
            (
                b"a: &a [x,x,x,x,x,x,x,x,x]\n"
                + b"".join(
                    b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n" % ((i + 1, i + 1) + (i,) * 9)
                    for i in range(97, 106)
                ),
                b"a: &a [*a]\n",
                b"&a a: *a\n",
                b"[" * 20_000,
                b"a: " + b"{a: " * 5_000,
                b"a: 2001-01-01\n",
                b"a: 1:30:00\n",
                b"!!python/object/apply:os.system ['true']\n",
                b"a: 0b" + b"1" * 9000,
                b"<<: *x\n",
                b"? [a]\n: b\n",
                b"--- a\n--- b\n",
            )
        )
    return text(draw, data)


def _changed(draw, data, unpack, pack, inside, bomb):
    """Damage to the packed bytes, to what is in them, or a lot of nothing."""
    what = draw.random()
    if what < 0.01:
        return bomb()
    if what < 0.5:
        return blind(draw, data)
    if what < 0.6:
        return data + draw.choice((data, b"\0" * 9, b"rubbish", data[:9]))
    return pack(inside(draw, unpack(data)))


@cache
def _gz_bomb():
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(192)), packer.flush()])


def _compressed(data):
    return gzip.compress(data, mtime=0)


def gz_file(inside):
    return lambda draw, data: _changed(draw, data, gzip.decompress, _compressed, inside, _gz_bomb)


def zst_file(inside):
    import zstandard

    @cache
    def bomb():
        packer = zstandard.ZstdCompressor().compressobj()
        return b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(192)), packer.flush()])

    def unpack(data):
        return zstandard.ZstdDecompressor().decompress(data)

    return lambda draw, data: _changed(
        draw, data, unpack, zstandard.ZstdCompressor().compress, inside, bomb
    )


def parquet_file(draw, data):
    import pyarrow
    import pyarrow.parquet

    if draw.random() < 0.7:
        return blind(draw, data)
    table = pyarrow.parquet.read_table(io.BytesIO(data))
    name, rows = draw.choice(table.column_names), table.num_rows
    cells = None, b"\xff\xfe", ["a"], {"de": "a"}, "a\nb", 1.5, "\x1b[2J"
    column = draw.choice(
        (
            *(pyarrow.array([cell] * rows) for cell in cells),
            pyarrow.array(range(rows)),
            pyarrow.array(["x"] * rows).dictionary_encode(),
        )
    )
    columns = {key: column if key == name else table[key] for key in table.column_names}
    if draw.random() < 0.2:
        columns = {draw.choice(("", "source", "²")): column}
    made = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), made)
    return made.getvalue()


def safetensors_file(draw, data):
    if draw.random() < 0.4:
        return blind(draw, data)
    (size,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8 : 8 + size])
    name = draw.choice([name for name in head if name != "__metadata__"])
    what = draw.randrange(5)
    if what == 0:
        head[name + "x"] = head.pop(name)
    elif what == 1:
        head[name]["dtype"] = draw.choice(("F16", "BF16", "I64", "F64", "BOOL", "X"))
    elif what == 2:
        head[name]["shape"] = draw.choice(([], [0], [1 << 62, 4], head[name]["shape"][::-1], [-1]))
    elif what == 3:
        begin = 8 + size + head[name]["data_offsets"][0]
        hole = draw.choice((b"\0\0\xc0\x7f", b"\0\0\x80\x7f", b"\xff\xff\x7f\x7f"))
        return data[:begin] + hole + data[begin + 4 :]
    else:
        return data[:8] + json_file(draw, data[8 : 8 + size])[:size].ljust(size) + data[8 + size :]
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + size :]


def tar_file(draw, data):
    """Fields of a header with its check sum mended, or blind damage, before it is packed again."""
    raw = bytearray(gzip.decompress(data))
    if draw.random() < 0.5:
        return blind(draw, data) if draw.random() < 0.5 else _compressed(blind(draw, bytes(raw)))
    heads = [at for at in range(0, len(raw), 512) if raw[at + 257 : at + 262] == b"ustar"]
    at = draw.choice(heads)
    begin, size = draw.choice(
        ((0, 100), (100, 8), (124, 12), (136, 12), (156, 1), (157, 100), (345, 155), (386, 96))
    )
    new = draw.choice(
        (
            b"7" * size,
            b"\0" * size,
            b"-1".ljust(size, b"\0"),
            b"\x80" + b"\xff" * (size - 1),
            b"../x",
            b"/x",
            b"S",
            b"L",
            b"x",
            b"g",
            b"2",
            b"5",
            b"\xff" * size,
        )
    )
    raw[at + begin : at + begin + size] = new[:size].ljust(size, b"\0")
    raw[at + 148 : at + 156] = b" " * 8
    raw[at + 148 : at + 156] = b"%06o\0 " % sum(raw[at : at + 512])
    return _compressed(bytes(raw))


def http(draw, data):
    head, _, body = data.partition(b"\r\n\r\n")
    if draw.random() < 0.5:
        return blind(draw, head) + b"\r\n\r\n" + body
    rows = head.split(b"\r\n")
    at = draw.randrange(len(rows))
    names = (
        b"Content-Length",
        b"Content-Range",
        b"Transfer-Encoding",
        b"Location",
        b"ETag",
        b"Content-Encoding",
    )
    field = draw.choice(names) + b": "
    starts = (
        b"HTTP/1.1 206 x",
        b"HTTP/1.1 416 x",
        b"HTTP/1.1 302 x",
        b"HTTP/9 1",
        b"HTTP/1.1 -1 x",
        rows[at],
    )
    place = at if draw.random() < 0.5 else 0
    rows[place] = draw.choice((field + draw.choice(INTERESTING[:40]), *starts))
    if draw.random() < 0.5:
        rows.append(field + draw.choice(INTERESTING[:40]))
    return b"\r\n".join(rows) + b"\r\n\r\n" + (cut(draw, body) if draw.random() < 0.3 else body)


def seeded(*words):
    """A generator that these words decide."""
    return random.Random("/".join(map(str, words)))


def make_tar(files):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, data in files.items():
            item = tarfile.TarInfo(name)
            item.size = len(data)
            archive.addfile(item, io.BytesIO(data))
    return _compressed(made.getvalue())


def make_zip(files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(
                zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED
            )  # without the time of now
    return made.getvalue()
