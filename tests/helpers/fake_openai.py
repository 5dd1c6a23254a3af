"""A server with OpenAI's interface on this machine, which answers badly when it is told to."""

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GOOD = "good"
HANGS = 0.6  # seconds, longer than the client of the tests waits


class Fake:
    """``troubles``: sentence -> what goes wrong with it, one after another, before it is answered well."""

    def __init__(self, troubles=None):
        self.troubles = {line: list(wrong) for line, wrong in (troubles or {}).items()}
        self.asked, self.answered, self.keys, self.bodies = [], [], [], []
        self.lock = threading.Lock()

    def trouble(self, line):
        with self.lock:
            self.asked.append(line)
            waiting = self.troubles.get(line, [])
            return waiting.pop(0) if waiting else GOOD


def translation(line, number=0):
    return " ".join(reversed(line.split())).upper() + ("" if number == 0 else f" {number}")


@contextlib.contextmanager
def serving(fake):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *given):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fake.bodies.append(body)
            fake.keys.append(self.headers.get("Authorization"))
            line = body["messages"][0]["content"].removeprefix("Say: ")
            wrong = fake.trouble(line)
            if wrong == "hangs":
                time.sleep(HANGS)
                return
            if isinstance(wrong, int):
                self.send_response(wrong)
                if wrong == 429:
                    self.send_header("Retry-After", "7")
                if wrong in (301, 302, 307):
                    self.send_header("Location", "http://127.0.0.1:9/elsewhere")
                self.send_header("Content-Length", "9")
                self.end_headers()
                self.wfile.write(b"not today")
                return
            number = body["n"] + {"too few": -1, "too many": 1}.get(wrong, 0)
            choices = [
                {
                    "message": {"content": translation(line, one)},
                    "finish_reason": "length" if wrong == "cut" else "stop",
                }
                for one in range(number)
            ]
            if wrong in ("no text", "filtered"):
                choices[0]["message"]["content"] = None
            if wrong == "filtered":
                choices[0]["finish_reason"] = "content_filter"
            data = {
                "html": b"<html>",
                "deep": b'{"choices": ' + b"[" * 100_000,
                "refused by a filter": b'{"error": {"code": "content_filter", "message": "no"}}',
            }.get(wrong) or json.dumps({"choices": choices}).encode()
            if wrong == "surrogate":
                data = data.replace(b'"content": "', b'"content": "\\ud800')
            self.send_response(400 if wrong == "refused by a filter" else 200)
            self.send_header("Content-Length", str(len(data) + (5 if wrong == "breaks off" else 0)))
            self.end_headers()
            self.wfile.write(data)
            if wrong in (GOOD, "cut"):
                with fake.lock:
                    fake.answered.append(line)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"openai:http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
