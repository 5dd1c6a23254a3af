"""Counts from elsewhere, against a service on this machine that answers as infini-gram's does."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from twins_overlap import count_ngrams, ends_of

from cgbench.benchmark.overlap import count_sources
from cgbench.benchmark.overlap.count_sources import InfiniGram, ends_from
from cgbench.benchmark.overlap.overlap import overlap
from cgbench.engines import Local
from cgbench.errors import InputError

CORPUS = ["the cat slept on a mat", "a dog ate the cake", "the cat slept"]
TEST = ["a dog slept on a mat", "the cat slept on the cake", ""]


class Service:
    """Counts of CORPUS; ``answers`` are given first."""

    def __init__(self):
        self.counts, self.asked, self.answers = count_ngrams([line.split() for line in CORPUS]), [], []

    def answer(self, asked):
        self.asked.append(asked)
        if self.answers:
            return self.answers.pop(0)
        return 200, {"count": self.counts[tuple(asked["query"].split())], "approx": False, "latency": 0.5}


@pytest.fixture
def service():
    found = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            status, body = found.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_address[1]}/"
    yield found
    server.shutdown()
    server.server_close()


def test_what_it_counts(service, monkeypatch, tmp_path):
    pytest.importorskip("httpx")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    index = InfiniGram("v4_test", service.url)
    sentences = [line.split() for line in TEST]
    for min_count in (1, 2):
        service.asked.clear()
        expected = [end for words in sentences for end in ends_of(words, service.counts, min_count)]
        assert ends_from(index, sentences, min_count).tolist() == expected
        assert len(service.asked) <= 2 * len(expected)
    assert service.asked[0] == {"index": "v4_test", "query_type": "count", "query": "a"}
    (tmp_path / "corpus.txt").write_text("\n".join(CORPUS) + "\n")
    read = overlap(TEST, tmp_path / "corpus.txt", orders=(1, 2, 3), engine=Local(1))
    asked = overlap(TEST, infini_gram=index, orders=(1, 2, 3))
    assert asked.table() == read.table()
    assert asked.as_dict()["sides"] == read.as_dict()["sides"]
    assert asked.report().startswith(f"counts of infini-gram index v4_test of {service.url}; known: at least 1 time")


def test_what_it_may_answer(service, monkeypatch):
    pytest.importorskip("httpx")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(count_sources, "WAIT", 0.0)
    index = InfiniGram("v4_test", service.url)
    for answer, said in (
        ((200, {"error": "[Flask] Invalid index"}), r"no count in its answer .*Invalid index.*check the index name"),
        ((200, {"count": "3"}), "no count in its answer"),
        ((200, {"count": 3, "approx": True}), "the count of 'a b' is not exact"),
        ((200, [1]), "no count in its answer"),
        ((404, b"<html>"), r"not JSON \(status 404\)"),
    ):
        service.answers[:] = [answer]
        with pytest.raises(InputError, match=said):
            index.count(["a", "b"])
    service.answers[:] = [(503, b""), (429, b"")]
    assert index.count(["the"]) == 3
    service.answers[:] = [(503, b"")] * count_sources.ATTEMPTS
    with pytest.raises(InputError, match=r"cannot be reached \(status 503\); run the command again later"):
        index.count(["the"])


def test_addresses_and_redirects(monkeypatch):
    pytest.importorskip("httpx")
    from raw_web import answer, answering

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for url in ("http://[::1", "file:///etc/passwd", "http://x:99999/", "http://a b/"):
        with pytest.raises(InputError, match="not the address of a server; write INDEX, or INDEX@URL"):
            InfiniGram("v4_test", url).count(["the"])
    with pytest.raises(InputError, match="no password belongs here") as error:
        InfiniGram("v4_test", "http://me:secret@x/").count(["the"])
    assert "secret" not in str(error.value)
    with (
        answering(answer(b"", "Location: http://127.0.0.1:9/", status="307 Elsewhere")) as (url, asked),
        pytest.raises(InputError, match=r"redirects \(status 307\) to http://127.0.0.1:9/"),
    ):
        InfiniGram("v4_test", url).count(["the"])
    assert len(asked) == 1
