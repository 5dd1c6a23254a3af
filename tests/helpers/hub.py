"""A Hugging Face Hub on this machine, as far as one file of a data set is fetched from it."""

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote

from web import listening

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = "f" * 40


class Hub:
    """``files``: path -> bytes of data set ``org/name`` at ``COMMIT``, which ``main`` is;
    ``older``: at ``OTHER``.
    """

    def __init__(self):
        self.files, self.older, self.requests, self.url = {}, {}, [], ""
        self.gated = False

    def find(self, path):
        """Status, error code, commit and bytes of what ``/datasets/org/name/resolve/REVISION/PATH``
        names.
        """
        if not path.startswith("/datasets/org/name/resolve/"):
            return 401, "RepoNotFound", "", b""
        if self.gated:
            return 403, "GatedRepo", "", b""
        revision, _, name = unquote(path.removeprefix("/datasets/org/name/resolve/")).partition("/")
        versions = {"main": COMMIT, COMMIT: COMMIT, "v1": OTHER, OTHER: OTHER}
        if revision not in versions:
            return 404, "RevisionNotFound", "", b""
        commit = versions[revision]
        files = self.files if commit == COMMIT else self.older
        return (
            (200, "", commit, files[name]) if name in files else (404, "EntryNotFound", commit, b"")
        )


@contextmanager
def serving():
    """A hub that has been started; yields the :class:`Hub`."""
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, body):
            hub.requests.append((self.command, self.path))
            status, code, commit, data = hub.find(self.path.partition("?")[0])
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            if code:
                self.send_header("X-Error-Code", code)
            if commit:
                self.send_header("X-Repo-Commit", commit)
                self.send_header("ETag", f'"{hash(data) & 0xFFFFFFFF:040x}"')
            self.end_headers()
            if body:
                self.wfile.write(data)

        def do_HEAD(self):
            self.answer(False)

        def do_GET(self):
            self.answer(True)

        def log_message(self, *words):
            pass

    with listening(Handler) as hub.url:
        yield hub


def use(monkeypatch, url, cache):
    """Make the library ask ``url``, as HF_ENDPOINT does of a process that begins, and keep what it
    fetches apart.
    """
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
