"""A server with OpenAI's interface on this machine, which answers badly when it is told to, and
counts tokens.
"""

import contextlib
import functools
import gzip
import json
import os
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GOOD = "good"
REASONING = {
    "think": {"content": "<think>Hm.</think>\n\n{}"},
    "unclosed": {"content": "<think>Hm, {}"},
    "unopened": {"content": "Hm.</think>{}"},
    "field": {"content": "{}", "reasoning_content": "Hm."},
    "new field": {"content": "{}", "reasoning": "Hm."},
}
"""Five forms of reasoning."""
BODIES = {
    "html": b"<html>",
    "deep": b'{"choices": ' + b"[" * 100_000,
    "refused by a filter": b'{"error": {"code": "content_filter", "message": "no"}}',
}


class Fake:
    """``troubles``: sentence -> what goes wrong with it, one after another, before it is answered
    well.
    """

    def __init__(self, troubles=None, *, model="m-1", delay=0.0):
        self.troubles = {line: list(wrong) for line, wrong in (troubles or {}).items()}
        self.model, self.delay = model, delay
        self.asked, self.answered, self.keys, self.bodies, self.paths = [], [], [], [], []
        self.in_hand = 0  # requests without a reply so far
        self.input = self.output = 0  # tokens of all replies that are sent whole
        self.lock = threading.Lock()

    def trouble(self, line):
        with self.lock:
            self.in_hand += 1
            self.asked.append(line)
            waiting = self.troubles.get(line, [])
            return waiting.pop(0) if waiting else GOOD

    def reply(self, body, wrong):
        return reply_to(body, self.model, wrong)


def translation(line, number=0):
    return " ".join(reversed(line.split())).upper() + ("" if number == 0 else f" {number}")


def _message(line, number, wrong):
    text = translation(line, number)
    if wrong in REASONING:
        return {name: form.format(text) for name, form in REASONING[wrong].items()}
    return {"content": None if number == 0 and wrong in ("no text", "filtered") else text}


def reply_to(body, model="m-1", wrong=GOOD):
    """A reply of a good server, or of one with a wrong number of choices, a limit, a filter, or
    reasoning.
    """
    asked = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
    line = asked.removeprefix("Say: ")
    number = body["n"] + {"too few": -1, "too many": 1}.get(wrong, 0)
    messages = [_message(line, one, wrong) for one in range(number)]
    end = {"cut": "length", "filtered": "content_filter"}.get(wrong, "stop")
    if "messages" in body:
        choices = [
            {"message": {"role": "assistant", **each}, "finish_reason": end} for each in messages
        ]
    else:
        choices = [{"text": each["content"], "finish_reason": end} for each in messages]
    usage = {
        "prompt_tokens": len(asked) + 3,
        "completion_tokens": sum(len(each["content"] or "") + 1 for each in messages),
        "prompt_tokens_details": {"cached_tokens": len(line) % 3},
    }
    return {
        "id": "x",
        "model": "other" if wrong == "other model" else model,
        "choices": choices,
        "usage": usage,
    }


class _Server(ThreadingHTTPServer):
    """One per process: an address never changes.

    ``fake`` answers; ``over`` ends the requests that hang.
    """

    fake, over = None, threading.Event()

    def handle_error(self, request, client_address):  # the client has left
        pass


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *given):
        pass

    def version_string(self):
        names = {"other software": "proxy", "echo": f"fake {self.headers['Authorization']}"}
        return names.get(getattr(self, "wrong", GOOD), "fake")

    def do_POST(self):
        fake = self.server.fake
        try:
            self.answer()
        finally:
            with fake.lock:
                fake.in_hand -= 1

    def answer(self):
        fake, over = self.server.fake, self.server.over
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
        line = asked.removeprefix("Say: ")
        fake.bodies.append(body)
        fake.paths.append(self.path)
        fake.keys.append(self.headers.get("Authorization"))
        wrong = self.wrong = fake.trouble(line)
        time.sleep(fake.delay)
        if wrong == "hangs":
            over.wait()
            return
        if wrong == "hangs up":
            return
        if isinstance(wrong, int):
            self.send_response(wrong)
            if wrong == 429:
                self.send_header("Retry-After", "0.02")
            key = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            if wrong in (301, 302, 307):
                self.send_header(
                    "Location", f"http://127.0.0.1:9/elsewhere?key={urllib.parse.quote(key)}"
                )
            page = f"not today{key and ', '}{key}".encode()
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)
            return
        reply = fake.reply(body, wrong)
        if wrong == "no usage":
            del reply["usage"]
        data = (
            gzip.compress(b" " * (1 << 24))
            if wrong == "bomb"
            else BODIES.get(wrong) or json.dumps(reply).encode()
        )
        if wrong == "echo":
            data = data.replace(b'"m-1"', b'"m-1 for %s"' % self.headers["Authorization"].encode())
        if wrong == "mark":
            data = b"\xef\xbb\xbf" + data
        if wrong == "surrogate":
            data = data.replace(b'"content": "', b'"content": "\\ud800')
        self.send_response(400 if wrong == "refused by a filter" else 200)
        if wrong == "bomb":
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data) + (5 if wrong == "breaks off" else 0)))
        self.end_headers()
        if wrong not in (
            "html",
            "deep",
            "bomb",
            "refused by a filter",
            "surrogate",
            "breaks off",
            "half a line",
        ):
            with fake.lock:  # before the reply is sent, because a test may look at once
                fake.input += reply.get("usage", {}).get("prompt_tokens", 0)
                fake.output += reply.get("usage", {}).get("completion_tokens", 0)
                if wrong not in ("too few", "too many", "other model", "other software"):
                    fake.answered.append(line)
        self.wfile.write(data[: len(data) // 2] if wrong == "half a line" else data)


@functools.cache
def _server(process):
    server = _Server(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@contextlib.contextmanager
def serving(fake):
    """Let ``fake`` answer at the address of this process's server, which is yielded."""
    server = _server(os.getpid())
    server.fake, server.over = fake, threading.Event()
    try:
        yield f"openai:http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.over.set()
