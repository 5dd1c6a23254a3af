"""What others wrote or answer: logs of evaluation harnesses, files of scores, and servers on this
machine.
"""

import io
import json
import zipfile
from functools import cache

import mutators as m
from target import Target

LINES = ["a b", "c d e"]
CHAT = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "usage": {"total_tokens": 9},
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "ä b"}, "finish_reason": "stop"}
    ],
}


def _reply(value, *headers):
    body = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
    head = [b"HTTP/1.1 200 OK", *headers, b"Content-Length: %d" % len(body), b"Connection: close"]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def reply(draw, data):
    """Damage to the head of a reply, or to its body with a head that fits."""
    if draw.random() < 0.4:
        return m.http(draw, data)
    body = m.json_file(draw, data.partition(b"\r\n\r\n")[2])
    packing = draw.choice((b"gzip", b"deflate", b"br", b"\xff", None, None, None, None))
    headers = [b"Content-Encoding: " + packing] if packing else []
    return _reply(m.gz_file(m.blind)(draw, m._compressed(body)) if packing else body, *headers)


def _pieces(folder):
    """The reply, in two parts now and then: a server may stop in the middle of a line."""
    data = (folder / "reply").read_bytes()
    return [data[: len(data) // 2], data[len(data) // 2 :]] if len(data) % 3 == 0 else data


def _asked():
    from cgbench.models.servers.exchange import Request

    return [
        Request({"model": "m", "messages": [{"role": "user", "content": f"Say: {line}"}], "n": 1})
        for line in LINES
    ]


def _ask(address, journal, tries):
    from cgbench.models.servers import client
    from cgbench.models.servers.address import parse_server

    client.TRIES, client.FIRST_WAIT, client.LONGEST_PAUSE = tries, 0.0, 0.1
    with client.Client(parse_server(address), journal) as asked:
        return [json.dumps(answer[0][:2]) for answer in asked.answers(_asked())]


def _chat(folder):
    from raw_web import answering

    (folder / "out" / "kept").unlink(missing_ok=True)
    with answering(_pieces(folder)) as (url, _):
        found = _ask(f"openai:{url}/v1?model=m&timeout=5&parallel=1", folder / "out" / "kept", 2)
    (folder / "out" / "texts").write_text("".join(text + "\n" for text in found), encoding="utf-8")
    (folder / "out" / "url").write_text(url)


def _as_many(folder):
    """An answer per sentence, and the same when it is read again, from nobody."""
    texts = (folder / "out" / "texts").read_text(encoding="utf-8").split("\n")[:-1]
    again = _ask(
        f"openai:{(folder / 'out' / 'url').read_text()}/v1?model=m", folder / "out" / "kept", 1
    )
    return "" if texts == again else "read otherwise than it was answered"


def _address(folder):
    from cgbench.models.servers.address import parse_server
    from cgbench.text.web import check_url

    text = (folder / "address").read_bytes().decode("utf-8", "surrogateescape")
    server = parse_server(text)
    check_url(server.url, "", "")
    json.dumps(server.identity, ensure_ascii=False).encode()


def _kept(folder):
    """What an earlier command has kept; there is nothing to ask for but what is missing, and nobody
    answers.
    """
    _ask("openai:http://127.0.0.1:9/v1?model=m&timeout=1", folder / "kept", 1)


def servers():
    """Replies of servers of chat completions, what is kept of them, and addresses."""
    for packing in ("plain", "gzip"):
        body, headers = json.dumps(CHAT).encode(), []
        if packing == "gzip":
            body, headers = m._compressed(body), [b"Content-Encoding: gzip"]
        how = reply if packing == "plain" else m.http
        yield Target(
            "openai", packing, {"reply": _reply(body, *headers)}, "reply", how, _chat, _as_many
        )
    address = {
        "address": (
            b"openai:http://127.0.0.1:8000/v1?model=a%2Fb&temperature=0.5&max_tokens=9&timeout=5"
        )
    }
    yield Target("openai", "address", address, "address", m.text, _address)
    rows = [{"format": 1, "url": "http://127.0.0.1:9/v1"}]
    for one in _asked():
        rows.append({"sent": one.key, "most": [300, 512]})
        rows.append({"key": one.key, "request": {"body": one.body}, "server": "s", "reply": CHAT})
    kept = {"kept": "".join(json.dumps(row) + "\n" for row in rows).encode()}
    yield Target("openai", "answers kept", kept, "kept", m.json_lines, _kept)


HEADER = {"version": 2, "status": "success", "eval": {"task": "t", "task_version": 0}}
SAMPLES = [
    {
        "id": f"s{row}",
        "epoch": epoch,
        "input": [{"role": "user", "content": f"question {row}"}],
        "scores": {"match": {"value": "CIPN"[(row + epoch) % 4]}},
    }
    for epoch in (1, 2)
    for row in range(4)
]


def eval_file(draw, data):
    """Blind damage to the archive; or to an entry of it, or a large one of nothing."""
    if draw.random() < 0.3:
        return m.blind(draw, data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        inside = {name: archive.read(name) for name in archive.namelist()}
    name = draw.choice(sorted(inside))
    if draw.random() < 0.01:
        return _bomb()
    if draw.random() < 0.1:
        inside[
            draw.choice(("samples/../x.json", "samples/x.json", "header.json", "samples/.json"))
        ] = inside.pop(name)
    else:
        inside[name] = m.json_file(draw, inside[name])
    return m.make_zip(inside)


@cache
def _bomb():
    sample = (
        json.dumps(SAMPLES[0]).replace('"s0"', '"s0", "x": [' + "[]," * 12_000_000 + "0]").encode()
    )
    return m.make_zip({"header.json": json.dumps(HEADER).encode(), "samples/a.json": sample})


def _finite(*words):
    """What is wrong with the figures of an accepted file: as JSON, they have neither NaN nor
    infinity.
    """

    def right(folder):
        from click.testing import CliRunner

        from cgbench.cli import main

        called = [word.replace("{}", str(folder)) for word in words]
        text = CliRunner().invoke(main, called).stdout
        try:
            json.loads(text, parse_constant=lambda name: json.loads("not finite"))
        except ValueError:
            return f"no JSON: {text[:80]}"
        return ""

    return right


def imports():
    """Logs of harnesses, and files of scores."""
    lm_eval = "".join(
        json.dumps(
            {
                "doc_id": row,
                "doc": {"q": f"{row}"},
                "filter": "none",
                "metrics": ["acc"],
                "doc_hash": f"h{row}",
                "resps": [["x"]],
                "acc": float(row % 2),
            }
        )
        + "\n"
        for row in range(6)
    ).encode()
    comet = {"a.txt": [{"src": "s", "mt": "t", "COMET": 0.1 * row} for row in range(6)]}
    inspect = {"header.json": json.dumps(HEADER).encode()}
    inspect |= {
        f"samples/{one['id']}_{one['epoch']}.json": json.dumps(one).encode() for one in SAMPLES
    }
    segments = b"".join(
        b"%s\t0.%d\n" % (system, row) for system in (b"a", b"b") for row in range(6)
    )
    forms = (
        ("lm-eval", "samples_t_1.jsonl", lm_eval, m.json_lines),
        ("inspect", "a.eval", m.make_zip(inspect), eval_file),
        ("inspect JSON", "a.json", json.dumps(HEADER | {"samples": SAMPLES}).encode(), m.json_file),
        ("COMET JSON", "c.json", json.dumps(comet).encode(), m.json_file),
        ("mt-metrics-eval", "a.seg.score", segments, m.text),
        (
            "tsv",
            "a.tsv",
            b"id\tscore\n" + b"".join(b"%d\t%d.5\n" % (n, n) for n in range(6)),
            m.text,
        ),
    )
    for form, name, data, how in forms:
        system = "" if form == "mt-metrics-eval" else "a="
        words = ("score", "import", "--scores", f"{system}{{}}/{name}", "--format", "json")
        yield Target("score import", form, {name: data}, name, how, words, _finite(*words))
    plain = {"a": b"0.5\n0.25\n1e-3\n7\n1\n", "b": b"0.5\n0.5\n2\n1\n1\n"}
    words = (
        "score",
        "import",
        "--scores",
        "a={}/a",
        "--scores",
        "b={}/b",
        "--paired",
        "--set",
        "samples=50",
    )
    words += ("--format", "json")
    for statistic in ("mean", "share:0.5"):
        more = (*words, "--set", f"statistic={statistic}")
        yield Target(f"score import {statistic}", "plain", plain, "a", m.text, more, _finite(*more))
