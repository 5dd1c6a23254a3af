"""A kind of server: ``cgbench translate --system "ollama:http://localhost:11434?model=NAME"``.

Source: the API reference of Ollama (``/api/chat``).
"""

from cgbench.models.server_kinds import ServerKind


def body(request):
    """The fields of Ollama's chat for a request."""
    sent = request.body
    options = {"temperature": sent.get("temperature"), "num_predict": request.limit}
    known = {name: value for name, value in options.items() if value is not None}
    return {
        "model": sent["model"],
        "messages": sent["messages"],
        "options": known,
        "stream": False,
    }


def reply(answer):
    """Ollama's reply in the fields of OpenAI's interface."""
    return {
        "model": answer["model"],
        "choices": [
            {"message": answer["message"], "finish_reason": answer.get("done_reason", "stop")}
        ],
        "usage": {
            "prompt_tokens": answer.get("prompt_eval_count", 0),
            "completion_tokens": answer.get("eval_count", 0),
        },
    }


OLLAMA = ServerKind("ollama", path=lambda request: "api/chat", body=body, reply=reply)
