"""``cgbench push`` against a hub on this machine that speaks as much of the protocol as an upload needs."""

import base64
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from small_release import build_release

from cgbench.benchmark.release.release import Release

pytest.importorskip("huggingface_hub")


@pytest.fixture(scope="module")
def release(tmp_path_factory, corpora):
    out = tmp_path_factory.mktemp("push") / "release"
    build_release(corpora, out, "--until", "candidates")
    (out / "notes.txt").write_text("not of the release")
    return out


class Hub(BaseHTTPRequestHandler):
    """What was asked is kept in ``server.asked``, the files of a commit in ``server.files``."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else self.read_chunks()
        self.server.asked.append((self.path, self.headers.get("Authorization"), body))
        if self.server.refuse:
            return self.answer({"error": "You have no rights here"}, 403)
        if self.path == "/api/repos/create":
            return self.answer({"url": f"{self.server.url}/datasets/org/name", "id": "org/name"})
        if self.path == "/api/validate-yaml":
            return self.answer({"errors": [], "warnings": []})
        if "/preupload/" in self.path:
            files = json.loads(body)["files"]
            kinds = [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in files]
            return self.answer({"files": kinds})
        if "/commit/" in self.path:
            for line in body.decode().splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    value = entry["value"]
                    self.server.files[value["path"]] = base64.b64decode(value["content"])
            answer = {
                "success": True,
                "commitOid": "0" * 40,
                "commitUrl": f"{self.server.url}/datasets/org/name/commit/0",
            }
            return self.answer(answer)
        return self.answer({"error": self.path}, 404)

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Authorization"), b""))
        self.answer({"sha": "0" * 40, "id": "org/name"})

    def read_chunks(self):
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def answer(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words):
        pass


@pytest.fixture
def hub(monkeypatch, tmp_path):
    from huggingface_hub import constants

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.asked, server.files, server.refuse = [], {}, False
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)  # it is on this machine
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    yield server
    server.shutdown()
    server.server_close()


def test_a_dry_run_asks_nobody(release, run, hub):
    result = run("push", release, "org/name")
    assert "nothing was sent; with --upload this becomes the data set org/name" in result.stdout
    assert "no licence of the inputs is stated" in result.stderr
    rows = json.loads(run("push", release, "org/name", "--format", "json").stdout)
    assert not rows["uploaded"] and {row["path"] for row in rows["files"]} >= {"README.md", "manifest.json"}
    assert hub.asked == []


def test_the_files_that_the_release_lists_arrive_and_no_others(release, run, hub):
    said = run("push", release, "org/name", "--upload", "--private").stdout
    assert f"published as org/name: {hub.url}/datasets/org/name/commit/0" in said
    listed = Release.open(release).manifest["files"]
    assert set(hub.files) == {*listed, "manifest.json", "timings.json"}
    for name, data in hub.files.items():
        assert hashlib.sha256(data).digest() == hashlib.sha256((release / name).read_bytes()).digest()
    (created,) = (json.loads(body) for path, _, body in hub.asked if path == "/api/repos/create")
    assert created["name"] == "name" and created["organization"] == "org" and created["type"] == "dataset"
    assert created.get("private") is True or created.get("visibility") == "private"
    assert all(path.startswith("/api/") for path, *_ in hub.asked)
    assert "hf_secret" not in said


def test_a_hub_that_refuses_is_one_line(release, run, hub):
    hub.refuse = True
    said = run("push", release, "org/name", "--upload", status=2).stderr
    (line,) = (line for line in said.splitlines() if line.startswith("error:"))
    assert f"org/name: the hub at {hub.url} did not take it" in line and "hf_secret" not in said


def test_a_hub_that_is_not_there(release, run, hub):
    hub.shutdown()
    hub.server_close()
    said = run("push", release, "org/name", "--upload", status=2).stderr
    assert "did not take it" in said.splitlines()[-1]


def test_a_release_that_is_not_in_order_is_not_pushed(release, run, hub, tmp_path):
    import shutil

    shutil.copytree(release, tmp_path / "release")
    (tmp_path / "release/candidates.de").write_text("x\n")
    said = run("push", tmp_path / "release", "org/name", "--upload", status=2).stderr
    assert "does not pass verify: candidates.de" in said and hub.asked == []
    run("push", tmp_path / "release", "org/name", "--upload", "--force")
    assert hub.files["candidates.de"] == b"x\n"
