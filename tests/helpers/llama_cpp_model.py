"""A small random Llama for llama.cpp, and what its own Python interface computes: ``python FILE MODEL < QUESTIONS``.

A question is ``{"chat": TEXT}`` or ``{"text": TEXT}``, whose greedy continuation is wanted. One JSON list of answers is
printed.
"""

import json
import sys
from pathlib import Path

import numpy as np

WORDS = ["die", "katze", "der", "hund", "sieht", "the", "dog", "cat", "sees"]
WIDTH, HEADS, INNER = 64, 4, 128


def write(path):
    import gguf

    ordinary = [f"\u2581{word}" for word in WORDS] + ["\u2581", *"abcdefghijklmnopqrstuvwxyz=:."]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *ordinary]
    kinds = gguf.TokenType
    types = [kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL] + [kinds.BYTE] * 256 + [kinds.NORMAL] * len(ordinary)
    file = gguf.GGUFWriter(path, "llama")
    file.add_context_length(512), file.add_embedding_length(WIDTH), file.add_block_count(2)
    file.add_feed_forward_length(INNER), file.add_head_count(HEADS), file.add_head_count_kv(HEADS)
    file.add_rope_dimension_count(WIDTH // HEADS), file.add_layer_norm_rms_eps(1e-5), file.add_vocab_size(len(tokens))
    file.add_tokenizer_model("llama"), file.add_token_list(tokens), file.add_token_types(types)
    file.add_token_scores([0.0] * 259 + [-float(rank) for rank in range(len(ordinary))])
    file.add_bos_token_id(1), file.add_eos_token_id(2), file.add_unk_token_id(0), file.add_add_bos_token(True)
    file.add_chat_template("{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:")
    draw = np.random.default_rng(5)

    def add(name, *shape, size=0.25):
        values = np.ones(shape) if len(shape) == 1 else draw.standard_normal(shape) * size
        file.add_tensor(f"{name}.weight", values.astype(np.float32))

    add("token_embd", len(tokens), WIDTH, size=1), add("output", len(tokens), WIDTH, size=0.4)
    add("output_norm", WIDTH)
    for layer in ("blk.0", "blk.1"):
        for name in ("attn_norm", "ffn_norm"):
            add(f"{layer}.{name}", WIDTH)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"{layer}.{name}", WIDTH, WIDTH)
        add(f"{layer}.ffn_gate", INNER, WIDTH), add(f"{layer}.ffn_up", INNER, WIDTH)
        add(f"{layer}.ffn_down", WIDTH, INNER)
    file.write_header_to_file(), file.write_kv_data_to_file(), file.write_tensors_to_file()
    file.close()


def answer(model, question):
    # The server's own default, which the client does not change, is a penalty of 1.1.
    greedy = {"max_tokens": 12, "temperature": 0.0, "repeat_penalty": 1.1}
    if "chat" in question:
        messages = [{"role": "user", "content": question["chat"]}]
        return model.create_chat_completion(messages, **greedy)["choices"][0]["message"]["content"]
    return model.create_completion(question["text"], stop=["\n"], **greedy)["choices"][0]["text"]


if __name__ == "__main__":
    path = Path(sys.argv[1])
    if not path.is_file():
        write(path)
    import llama_cpp

    made = llama_cpp.Llama(str(path), n_ctx=512, logits_all=True, verbose=False, n_threads=1)
    print(json.dumps([answer(made, json.loads(line)) for line in sys.stdin]))
