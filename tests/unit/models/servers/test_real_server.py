"""The server of transformers: its greedy answers are those of ``hf:``, on both endpoints."""

import contextlib
import importlib.util
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

pytest.importorskip("transformers")
if missing := [name for name in ("fastapi", "uvicorn", "openai") if importlib.util.find_spec(name) is None]:
    pytest.skip(f"needs {', '.join(missing)} (transformers[serving])", allow_module_level=True)

LINES = ["die katze", "der hund sieht die katze", "singt der vogel"]
SERVE = "import sys; sys.argv[0] = 'transformers'; from transformers.cli.transformers import main; main()"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """An untrained Llama over bytes that now and then ends its output; its folder."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    folder = tmp_path_factory.mktemp("llama")
    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        LINES, trainers.BpeTrainer(vocab_size=300, special_tokens=["<pad>", "</s>"], initial_alphabet=alphabet)
    )
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="</s>")
    tokenizer.chat_template = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}<assistant>"
    torch.manual_seed(5)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=128, pad_token_id=0, eos_token_id=1, bos_token_id=None,
    )  # fmt: skip
    found = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in found.parameters():
            if parameter.ndim > 1:
                parameter.mul_(6)
    found.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def server(model, tmp_path_factory):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    with (tmp_path_factory.mktemp("log") / "log").open("w") as log:
        process = subprocess.Popen([sys.executable, "-c", SERVE, *words], stdout=log, stderr=log, cwd=model)
        try:
            for _ in range(1200):
                time.sleep(0.1)
                with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health"):
                    break
            yield f"openai:http://127.0.0.1:{port}/v1?model={model}&max_tokens=10&parallel=2"
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_a_server_answers_as_its_model_does(endpoint, model, server, run, tmp_path):
    (tmp_path / "source").write_text("".join(f"{line}\n" for line in LINES))
    words = ("translate", tmp_path / "source", "--prompt", "Translate {source} =")
    run(*words, "--system", f"{server}&endpoint={endpoint}", "-o", tmp_path / "server", "--price", "in=1,out=1")
    own = f"hf:{model}" + ("?chat=yes" if endpoint == "chat" else "")
    limit = ("--beam", 1, "--max-length-ratio", 0, "--device", "cpu")
    run(*words, "--system", own, *limit, "-o", tmp_path / "own")
    lines = [(tmp_path / name).read_text(encoding="utf-8").splitlines() for name in ("server", "own")]
    # The first token of `hf:` never ends the output; that of a server may.
    assert any(lines[0]) and all(one in ("", other) for one, other in zip(*lines, strict=True))
