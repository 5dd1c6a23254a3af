"""A web server on this machine that misbehaves as it is told."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Web:
    """Files by their path, and what goes wrong with the next answers.

    ``troubles`` is used up from the front, one an answer: ``drop`` (half, then the line goes dead),
    ``short`` (says that half is all), ``long`` (promises more than it sends), ``503``, or None for
    a good answer.
    """

    def __init__(self):
        self.files, self.troubles, self.requests = {}, [], []
        self.ranges, self.tag = True, '"1"'
        self.url = ""


@contextmanager
def listening(handler):
    """Answer requests by a handler on this machine; yields the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def served():
    web = Web()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            web.requests.append((self.path, self.headers.get("Range")))
            trouble = web.troubles.pop(0) if web.troubles else None
            body = web.files.get(self.path.lstrip("/"))
            if trouble == "503" or body is None:
                self.send_response(503 if trouble == "503" else 404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            begin, total = 0, len(body)
            asked = self.headers.get("Range")
            fresh = self.headers.get("If-Range") in (None, web.tag)
            if asked and web.ranges and fresh:
                begin = int(asked.removeprefix("bytes=").rstrip("-"))
                if begin >= total:
                    self.send_response(416)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {begin}-{total - 1}/{total}")
            else:
                self.send_response(200)
            rest = body[begin:]
            half = rest[: len(rest) // 2]
            promised = {"short": len(half), "long": len(rest) + 10}.get(trouble, len(rest))
            self.send_header("Content-Length", str(promised))
            if web.tag:
                self.send_header("ETag", web.tag)
            self.end_headers()
            self.wfile.write(half if trouble in ("drop", "short") else rest)
            self.close_connection = trouble is not None

        def log_message(self, *words):
            pass

    with listening(Handler) as web.url:
        yield web
