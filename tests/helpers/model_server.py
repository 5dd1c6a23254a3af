"""A server with OpenAI's interface in front of a small model of transformers, with log-probabilities of given texts.

It answers as vLLM does: ``echo`` with ``logprobs`` for completions, ``prompt_logprobs`` for chats.
"""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
import transformers


class Model:
    """``behind``: what the chat template writes after an answer."""

    def __init__(self, folder, behind="</s> cat"):
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.behind, self.lock, self.bodies = behind, threading.Lock(), []

    @torch.no_grad()
    def reply(self, body, chat):
        """The reply to a request, as JSON."""
        with self.lock:
            self.bodies.append(body)
            text = self._conversation(body["messages"], body) if chat else body["prompt"]
            ids = self.tokenizer(text)["input_ids"]
            made = self._greedy(ids, body.get("max_tokens", 16))
            choice = {"index": 0, "finish_reason": "stop" if made[-1:] == [1] else "length"}
            spoken = self.tokenizer.decode([one for one in made if one != 1])
            found = {"model": "tiny", "usage": {"prompt_tokens": len(ids), "completion_tokens": len(made)}}
            if chat:
                choice["message"] = {"role": "assistant", "content": spoken}
                if "prompt_logprobs" in body:
                    found["prompt_logprobs"] = [
                        None if value is None else {str(token): {"logprob": value, "rank": 1}}
                        for token, value in self._scored(ids)
                    ]
            else:
                choice["text"] = spoken
                if body.get("echo"):
                    pairs = self._scored([*ids, *made])
                    names = self.tokenizer.convert_ids_to_tokens([token for token, _ in pairs])
                    choice["logprobs"] = {"tokens": names, "token_logprobs": [value for _, value in pairs]}
            return {**found, "choices": [choice]}

    def _conversation(self, messages, body):
        users = " ".join(one["content"] for one in messages if one["role"] != "assistant")
        answers = [one["content"] for one in messages if one["role"] == "assistant"]
        return users if body.get("add_generation_prompt", True) else f"{users} {answers[0]} {self.behind}"

    def _scored(self, ids):
        table = torch.log_softmax(self.model(torch.tensor([ids])).logits[0].double(), 1)
        return [(ids[0], None), *((token, float(table[place, token])) for place, token in enumerate(ids[1:]))]

    def _greedy(self, ids, most):
        made = []
        while len(made) < most and made[-1:] != [1]:
            made.append(int(self.model(torch.tensor([[*ids, *made]])).logits[0, -1].argmax()))
        return made


@contextlib.contextmanager
def serving(model):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *given):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data = json.dumps(model.reply(body, self.path.endswith("/chat/completions"))).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"openai:http://127.0.0.1:{server.server_port}/v1?model=tiny"
    finally:
        server.shutdown()
        server.server_close()
