"""The server of llama-cpp-python: its answers are those of its model.

Where the program is not installed here, ``CGBENCH_LLAMA_CPP`` names a Python that has it (``llama-cpp-python[server]``
and ``gguf``).
"""

import contextlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

import llama_cpp_model
import pytest

LINES = ["die katze", "der hund sieht die katze", "", "Äpfel 漢字", "die hund die katze sieht"]


@pytest.fixture(scope="module")
def python():
    found = os.environ.get("CGBENCH_LLAMA_CPP")
    if found is None and importlib.util.find_spec("llama_cpp") and importlib.util.find_spec("gguf"):
        found = sys.executable
    return found or pytest.skip("llama_cpp is not installed here, and CGBENCH_LLAMA_CPP names no Python that has it")


@pytest.fixture(scope="module")
def model(python, tmp_path_factory):
    """What the model itself answers to questions, and its file."""
    path = tmp_path_factory.mktemp("llama") / "tiny.gguf"

    def asked(questions):
        text = "".join(json.dumps(each) + "\n" for each in questions)
        words = [python, llama_cpp_model.__file__, str(path)]
        return json.loads(subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout)

    asked([])
    return asked, path


@pytest.fixture(scope="module")
def server(python, model, tmp_path_factory):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [
        "--model",
        str(model[1]),
        "--port",
        str(port),
        "--n_ctx",
        "512",
        "--logits_all",
        "true",
        "--n_threads",
        "1",
    ]
    with (tmp_path_factory.mktemp("log") / "log").open("w") as log:
        process = subprocess.Popen([python, "-m", "llama_cpp.server", *words], stdout=log, stderr=log)
        try:
            for _ in range(1200):
                time.sleep(0.1)
                with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models"):
                    break
            yield f"openai:http://127.0.0.1:{port}/v1?model=tiny&max_tokens=12&parallel=1"
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize(("endpoint", "kind"), [("chat", "chat"), ("completions", "text")])
def test_greedy_answers_are_those_of_the_model(endpoint, kind, model, server, run, tmp_path):
    (tmp_path / "source").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    words = ("translate", tmp_path / "source", "--prompt", "Translate {source} =", "-o", tmp_path / "out")
    run(*words, "--system", f"{server}&endpoint={endpoint}")
    own = model[0]([{kind: f"Translate {line} ="} for line in LINES if line])
    expected = [" ".join(filter(None, map(str.strip, text.splitlines()))) for text in own]
    expected.insert(LINES.index(""), "")
    assert (tmp_path / "out").read_text(encoding="utf-8").split("\n") == [*expected, ""]
