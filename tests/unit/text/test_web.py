"""What a server may send: a reply, a reason to ask again, or one line."""

import gzip
import json
import shutil
import ssl
import subprocess
import threading
import time
import tracemalloc
import zlib
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

pytest.importorskip("httpx")
from raw_web import answer, answering

from cgbench.errors import InputError
from cgbench.text import web
from cgbench.text.web import NoReply, Reply, post_json

NOW = 1_800_000_000  # a time of the system's clock

GOOD = {"a": ["ä", 1.5]}
BODY = json.dumps(GOOD).encode()


def post(*answers, seconds=5.0):
    with answering(*answers) as (url, asked):
        return (
            post_json(f"{url}/v1", {"q": "ö"}, {"Authorization": "Bearer k"}, seconds=seconds),
            asked,
        )


def test_what_is_sent_and_what_comes_back(tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password mine\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    reply, asked = post(answer(BODY))
    assert (reply.status, reply.json()) == (200, GOOD)
    head, _, body = asked[0].partition("\r\n\r\n")
    assert json.loads(body) == {"q": "ö"} and "Authorization: Bearer k" in head


@pytest.mark.parametrize(
    "sent",
    [
        answer(BODY, length=False),
        answer(
            b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY), "Transfer-Encoding: chunked", length=False
        ),
        answer(gzip.compress(BODY), "Content-Encoding: gzip"),
        answer(zlib.compress(BODY), "Content-Encoding: deflate"),
        [answer(BODY)[:40], answer(BODY)[40:]],
    ],
)
def test_forms_of_a_good_reply(sent):
    assert post(sent)[0].json() == GOOD


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"", "."),
        (b"rubbish\r\n\r\n", "."),
        (answer(BODY)[:-3], "."),
        (answer(BODY).replace(b"Length: ", b"Length: 9"), "."),
        (answer(b"zz\r\n" + BODY, "Transfer-Encoding: chunked", length=False), "."),
        (answer(b"ff\r\n" + BODY, "Transfer-Encoding: chunked", length=False), "."),
        (answer(b"not gzip", "Content-Encoding: gzip"), "a damaged reply .gzip"),
        (
            answer(gzip.compress(BODY)[:-9], "Content-Encoding: gzip"),
            "a reply that breaks off .gzip",
        ),
        (answer(gzip.compress(bytes(web.LARGEST + 9)), "Content-Encoding: gzip"), "more than 4 MB"),
        (answer(BODY, "Content-Encoding: br"), "an encoding that was not requested .br"),
        (answer(bytes(web.LARGEST + 1)), "more than 4 MB"),
        (answer(b"busy\x1b[2J", status="503 No"), r"status 503: busy\\x1b\[2J"),
        (answer(b"busy", status="429 No")[:-2], "status 429"),
        (
            b"".join(
                [b"HTTP/1.1 200 OK\r\n", *(b"X-%d: y\r\n" % n for n in range(20_000)), b"\r\n"]
            ),
            ".",
        ),
    ],
)
def test_reasons_to_ask_again(sent, said):
    with pytest.raises(NoReply, match=said) as found:
        post(sent)
    assert "\n" not in str(found.value) and len(str(found.value)) < 300


def test_a_bomb_is_not_unpacked():
    body = gzip.compress(bytes(100 << 20))
    tracemalloc.start()
    with pytest.raises(NoReply, match="more than 4 MB"):
        post(answer(body, "Content-Encoding: gzip"))
    assert tracemalloc.get_traced_memory()[1] < 30 << 20
    tracemalloc.stop()


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"[" * 100_000, b"[1e999]", b"\xff", b""],
)
def test_bodies_that_are_no_json(body):
    with pytest.raises(NoReply) as found:
        post(answer(body))[0].json()
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    "sent",
    [
        [answer(b"", length=False), *[b" "] * 500],  # the body
        [b"HTTP/1.1 200 OK\r\nX: ", *[b"y"] * 500],  # the headers
        [b"HTTP/1.1 200 OK\r\n", *[b"X: y\r\n"] * 500],
        [*[b"HTTP/1.1 100 Continue\r\n\r\n"] * 500],
    ],
)
def test_a_drip_ends_at_the_deadline(sent):
    began = time.monotonic()
    with pytest.raises(NoReply, match=r"no whole reply within 0.5 s"):
        post(sent, seconds=0.5)
    assert time.monotonic() - began < 5  # of the 10 s that it drips


def test_the_page_of_an_error_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(web, "_ERROR_SECONDS", 0.2)
    began = time.monotonic()
    reply, _ = post([answer(b"", status="401 No", length=False), *[b"no "] * 500], seconds=60)
    assert reply.status == 401 and time.monotonic() - began < 5
    with pytest.raises(NoReply, match="status 500"):
        post([answer(b"", status="500 No", length=False), *[b"no "] * 500], seconds=60)
    assert time.monotonic() - began < 9


@pytest.mark.parametrize(
    "where",
    ["https://127.0.0.1:9/v1", "http://elsewhere.invalid/", "file:///etc/passwd", "\x1b[2J"],
)
def test_no_redirect_is_followed(where):
    with pytest.raises(InputError, match=r"the server redirects \(status 30.\) to ") as found:
        post(answer(b"", f"Location: {where}", status="302 Found"))
    assert "\x1b" not in str(found.value)


def test_a_proxy_has_the_same_deadline(monkeypatch):
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with answering(answer(BODY), [answer(b"", length=False), *[b" "] * 500]) as (url, asked):
        monkeypatch.setenv("http_proxy", url)
        assert post_json("http://nowhere.invalid/v1", {}, seconds=5).json() == GOOD
        assert asked[0].startswith("POST http://nowhere.invalid/v1 HTTP/1.1")
        with pytest.raises(NoReply, match=r"no whole reply within 0.5 s"):
            post_json("http://nowhere.invalid/v1", {}, seconds=0.5)


@pytest.fixture
def certificate(tmp_path):
    """A certificate for 127.0.0.1 that nobody has signed, with its key."""
    if not (openssl := shutil.which("openssl")):
        pytest.skip("needs openssl")
    words = (
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext"
        " subjectAltName=IP:127.0.0.1"
    )
    files = ("-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "certificate.pem"))
    subprocess.run([openssl, *words.split(), *files], check=True, capture_output=True)
    return tmp_path


def test_https_is_verified(certificate, monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "certificate.pem", certificate / "key.pem")
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(self.headers["Authorization"])
            self.rfile.read(int(self.headers["Content-Length"]))
            self.wfile.write(answer(BODY))

        def log_message(self, *words):
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *words):  # the client has refused the certificate
            pass

    with Server(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        url = f"https://127.0.0.1:{server.server_port}/v1"
        try:
            with pytest.raises(
                InputError, match="no verified connection .*self-signed.*; check the address"
            ):
                post_json(url, {}, {"Authorization": "Bearer k"}, seconds=10)
            assert asked == []
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "certificate.pem"))
            assert post_json(url, {}, {"Authorization": "Bearer k"}, seconds=10).json() == GOOD
            assert asked == ["Bearer k"]
        finally:
            server.shutdown()


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        (formatdate(NOW + 1000, usegmt=True), 1000.0),
        ("-1", None),
        ("1e9", None),
        ("soon", None),
        ("9" * 50, None),
        ("\u0663".encode().decode("latin-1"), None),
    ],
)
def test_when_to_ask_again(header, seconds, monkeypatch):
    monkeypatch.setattr(web, "time", SimpleNamespace(time=lambda: NOW))
    with pytest.raises(NoReply) as error:
        post(answer(b"", f"Retry-After: {header}", status="429 Too Many"))
    assert (error.value.after, error.value.status) == (seconds, 429)


def test_the_software_that_answers():
    assert (
        post(answer(BODY, "Server: uvicorn"))[0].server == "uvicorn"
        and post(answer(BODY))[0].server == ""
    )


def test_what_is_no_text_in_a_reply_is_replaced():
    """Asking again would cost as much and bring the same."""
    for body, text in (
        (rb'{"a": ["x \ud83d y", "\ud83d\ude00"]}', ["x \ufffd y", "\U0001f600"]),
        (b'{"a": ["caf\xe9"]}', ["caf\ufffd"]),
    ):
        assert Reply(200, body).json() == {"a": text}
