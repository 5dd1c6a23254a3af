"""Bad input of models from outside: one line, status 2, nothing left behind."""

import json
import shutil

import pytest

from cgbench.models.search_settings import SearchSettings

pytest.importorskip("transformers")
import torch
from external_models import LINES, write_model


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    for kind in ("marian", "gpt2"):
        write_model(folder / kind, kind)
    return folder


@pytest.fixture
def model(whole, tmp_path):
    """A copy of a whole model, to be spoilt."""
    shutil.copytree(whole / "marian", tmp_path / "m")
    return tmp_path / "m"


@pytest.fixture
def refused(run, tmp_path):
    """Call translate with a system and return the one line that refuses it."""
    (tmp_path / "source").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")

    def call(system, *words):
        before = {path.name for path in tmp_path.iterdir()}
        found = run(
            "translate",
            tmp_path / "source",
            "--system",
            system,
            *words,
            "-o",
            tmp_path / "out",
            status=2,
        )
        lines = [line for line in found.stderr.splitlines() if not line.startswith("warning:")]
        assert len(lines) == 1 and lines[0].startswith("error: "), found.stderr
        assert {path.name for path in tmp_path.iterdir()} - before <= {"out.work"}
        return lines[0]

    return call


def change(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_revisions(refused, monkeypatch):
    assert "add a revision: hf:some/model@main" in refused("hf:some/model")
    assert "add a revision: hf:some/model@REVISION" in refused("hf:some/model@")
    import huggingface_hub
    from huggingface_hub.errors import (
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RevisionNotFoundError,
    )

    def missing(*given, **named):
        import httpx

        raise RevisionNotFoundError(
            "no", response=httpx.Response(404, request=httpx.Request("GET", "http://x"))
        )

    monkeypatch.setattr(huggingface_hub, "snapshot_download", missing)
    assert "hf:some/model@v9: cannot be downloaded (" in refused("hf:some/model@v9")

    for kind in (LocalEntryNotFoundError, OfflineModeIsEnabled):

        def offline(*given, kind=kind, **named):
            raise kind("no")

        monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
        said = refused("hf:some/model@v9")
        assert "cannot be downloaded (no)" in said
        assert "hf download some/model --revision v9" in said


def test_a_model_of_the_hub_is_known_by_its_commit(whole, monkeypatch, tmp_path):
    """What is fetched, and that nothing else is asked."""
    import huggingface_hub

    from cgbench.models.external.opening import plan_member

    snapshot = tmp_path / "models--some--model" / "snapshots" / ("c0ffee" * 6 + "0000")
    shutil.copytree(whole / "marian", snapshot)
    calls = []

    def download(name, *, revision, allow_patterns):
        calls.append((name, revision))
        assert not any(pattern.endswith((".bin", ".py", ".pt")) for pattern in allow_patterns)
        return str(snapshot)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    planned = plan_member("hf:some/model@v1")
    assert calls == [("some/model", "v1")]
    assert (
        planned.identity["revision"] == snapshot.name and planned.identity["name"] == "some/model"
    )
    assert planned.vocabulary == plan_member(f"hf:{whole / 'marian'}").vocabulary
    assert len(planned.open().translate(LINES[:1], SearchSettings(beam=1))) == 1


def test_weights(model, refused):
    address = f"hf:{model}"
    change(model / "config.json", d_model=32)
    assert "the weights do not fit the configuration: " in (said := refused(address))
    assert "has another shape than in config.json" in said
    change(model / "config.json", d_model=16, decoder_layers=2)
    assert "the weights do not fit the configuration: model.decoder.layers.1" in (
        said := refused(address)
    )
    assert "is missing, required by config.json" in said
    data = (model / "model.safetensors").read_bytes()
    (model / "model.safetensors").write_bytes(data[: len(data) // 2])
    assert "model.safetensors: not a valid safetensors file" in refused(address)
    (model / "model.safetensors").unlink()
    assert "has no safetensors weights" in refused(address)
    torch.save({}, model / "pytorch_model.bin")
    assert (
        "its weights are in pytorch_model.bin; pickles are never loaded; if you trust"
        in refused(address)
    )
    assert "save_pretrained" in refused(address)


def test_code_that_comes_with_a_model(model, refused):
    change(model / "config.json", auto_map={"AutoModelForSeq2SeqLM": "evil.Model"})
    (model / "evil.py").write_text("raise SystemExit('it ran')\n")
    said = refused(f"hf:{model}")
    assert (
        "config.json requires code that comes with the model (auto_map), which is never run" in said
    )


def test_folders_that_are_no_models(model, refused, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "has no config.json" in refused(f"hf:{tmp_path / 'empty'}")
    assert "there is no folder" in refused(f"hf:{tmp_path / 'missing'}")
    (model / "config.json").write_text("[]")
    assert "no model_type" in refused(f"hf:{model}")
    (model / "config.json").write_text('{"model_type": "marian"')
    assert "not valid JSON" in refused(f"hf:{model}")
    assert "not an external model" in refused(model)


def test_tokenizers_and_languages(model, refused):
    said = refused(f"hf:{model}?source=deu_Latn&target=eng_Latn")
    assert "its tokeniser has no language codes; leave out source= and target=" in said
    (model / "tokenizer.json").write_text("{}")
    assert "tokenizer.json: not a valid tokenizer.json (no model)" in refused(f"hf:{model}")


def test_prompts(whole, refused, tmp_path):
    address = f"hf:{whole / 'gpt2'}"
    assert "needs a prompt; set --prompt" in refused(address)
    assert "--prompt: Jinja needs a server" in refused(address, "--prompt", "{{ source }}")
    said = refused(address, "--prompt", "Translate this:")
    assert "--prompt: 'Translate this:' is no file, and has no {source}" in said
    assert "cannot be read" in refused(f"{address}?prompt={tmp_path / 'none'}")
    (tmp_path / "prompt").write_text("der\n")
    assert "prompt: the template 'der' has no {source}" in refused(
        f"{address}?prompt={tmp_path / 'prompt'}"
    )
    assert "a server needs a prompt" in refused("openai:http://127.0.0.1:9/v1?model=m")


def test_lengths(whole, refused, tmp_path):
    (tmp_path / "source").write_text("der hund\n" + "der " * 40 + "\n")
    assert "line 2 has 41 tokens, but the model has positions for 32" in refused(
        f"hf:{whole / 'marian'}"
    )
    said = refused(f"hf:{whole / 'gpt2'}", "--prompt", "die {source} the")
    assert "the prompt and the longest translation of line 2 has" in said


def test_options(model, refused):
    address = f"hf:{model}"
    assert "unknown option 'dtipe'; did you mean dtype?" in refused(f"{address}?dtipe=float32")
    assert "dtype must be one of float32" in refused(f"{address}?dtype=int8")
    assert "an option is given twice" in refused(f"{address}?dtype=float32&dtype=float32")
    assert "NAME=VALUE" in refused(f"{address}?dtype")
    assert "seed needs mc:" in refused(f"{address}?seed=1")
    assert "needs the seed of its masks" in refused(f"mc:{address}")
    assert "unknown option .remote_code." in refused(f"{address}?remote_code=yes").replace("'", ".")
    assert "is not an adapter" in refused(f"{address}?adapter={model}")


def test_options_of_the_commands(whole, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "source").write_text("der hund\n")
    system = ("--system", f"hf:{whole / 'marian'}")
    for words, said in (
        (("translate", "source"), "use one of --model and --system"),
        (("translate", "source", *system, "--model", "m"), "use one of --model and --system"),
        (
            ("translate", "source", "--model", "hf:m"),
            "hf:m: an external model; name it with --system hf:m",
        ),
        (("translate", "source", *system), "--output is needed with an external system"),
        (("translate", "source", *system, "--uncertainty", "-o", "o"), "use cgbench uncertainty"),
        (("translate", "source", *system, "--truncate", "-o", "o"), "--truncate needs --model"),
        (
            ("translate", "source", "--model", "m", "--prompt", "{source}"),
            "--prompt needs --system",
        ),
        (("uncertainty", "source", "-o", "o"), "--member is missing; give --member "),
        (
            ("uncertainty", "source", "--member", "nowhere", "-o", "o"),
            "nowhere: no such checkpoint folder",
        ),
    ):
        assert said in run(*words, status=2).stderr, words
    (tmp_path / "three").write_text("a\nb\nc\n")
    command = (
        "uncertainty",
        "source",
        "--member",
        f"hf:{whole / 'marian'}",
        "--hypotheses",
        "three",
        "-o",
        "o",
    )
    assert "3 hypotheses for 1 sentences" in run(*command, status=2).stderr
    twice = ("uncertainty", "source", *["--member", f"hf:{whole / 'marian'}"] * 2, "-o", "o")
    assert "the same member as" in run(*twice, status=2).stderr
    assert {path.name for path in tmp_path.iterdir()} == {"source", "three"}
