"""Log-probabilities over a server equal those of the same model on this machine."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from external_models import LINES, PROMPT, write_model  # noqa: E402
from model_server import Model, serving  # noqa: E402

import cgbench  # noqa: E402
from cgbench.errors import InputError  # noqa: E402
from cgbench.models.external.opening import plan_member  # noqa: E402
from cgbench.models.servers.exchange import Request, read_answer  # noqa: E402
from cgbench.models.servers.likelihood import log_probs  # noqa: E402

ANSWERS = ["the dog sleeps", "", "the cat sees the bird", "cat", "the dog sees the cat the dog"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    write_model(path, "gpt2", seed=3)
    return path


def local(folder):
    """The sum over the tokens of each answer and the end token, by the model's own forward pass."""
    member = plan_member(f"hf:{folder}", PROMPT).open()
    targets = member.encode_targets(ANSWERS)
    states = member.states(LINES, targets).split([len(one) for one in targets])
    head = member.head()
    return [
        float(torch.log_softmax(head.logits(part).double(), 1)[range(len(ids)), ids.tolist()].sum())
        for part, ids in zip(states, targets, strict=True)
    ]


def ask(model):
    def answers(requests):
        return [read_answer(model.reply(one.body, one.is_chat), one) for one in requests]

    return answers


def requests(chat, **more):
    texts = [PROMPT.replace("{source}", line) for line in LINES]
    if chat:
        return [Request({"model": "m", "messages": [{"role": "user", "content": text}], **more}) for text in texts]
    return [Request({"model": "m", "prompt": f"{text} ", **more}) for text in texts]


@pytest.mark.parametrize("chat", [True, False])
def test_equal_to_the_model_itself(folder, chat):
    model = Model(folder)
    given = requests(chat, n=3, temperature=1.0, top_p=0.5, seed=1, max_tokens=99, stop=["\n"])
    found = log_probs(ask(model), given, ANSWERS, " </s>", "here")
    assert found == pytest.approx(local(folder), abs=1e-4)
    for body in model.bodies:
        assert body["n"] == 1 and body["max_tokens"] == 1 and not {"top_p", "seed", "stop"} & {*body}


def test_a_template_that_ends_an_answer_with_one_token(folder):
    found = log_probs(ask(Model(folder, behind="</s>")), requests(True), ANSWERS, "", "here")
    assert found == pytest.approx(local(folder), abs=1e-4)


@pytest.mark.parametrize(("generated", "usage"), [("x", None), ("x", 1), ("xyz", 3)])
def test_generated_tokens_do_not_count(generated, usage):
    """One token is asked for; llama.cpp gives more where one is a part of a character."""

    def answers(given):
        for one in given:
            tokens = [*one.body["prompt"], *generated]
            choice = {"text": "", "logprobs": {"tokens": tokens, "token_logprobs": [None, *[-1.0] * (len(tokens) - 1)]}}
            counts = {} if usage is None else {"usage": {"completion_tokens": usage}}
            yield read_answer({"choices": [choice], **counts}, one)

    assert log_probs(answers, [Request({"model": "m", "prompt": "ab"})], ["cde"], "", "here") == [-3.0]


def test_without_the_end_token_it_is_that_of_the_words(folder):
    with_end = log_probs(ask(Model(folder)), requests(False), ANSWERS, " </s>", "here")
    without = log_probs(ask(Model(folder)), requests(False), ANSWERS, "", "here")
    assert without[1] == 0.0 and all(one < other for one, other in zip(with_end, without, strict=True))


def test_a_token_that_prompt_and_answer_share(folder):
    glued = [Request({"model": "m", "prompt": f"der hund {end}"}) for end in ("the", "the do")]
    with pytest.raises(InputError, match="here: line 2: the end of the prompt and the beginning of the answer share"):
        log_probs(ask(Model(folder)), glued, [" dog", "g"], " </s>", "here")


@pytest.mark.parametrize(
    "reply",
    [
        {"choices": [{"text": "x"}]},
        {"choices": [{"text": "x", "logprobs": None}]},
        {"choices": [{"text": "x", "logprobs": {"tokens": ["a", "b"], "token_logprobs": [None]}}]},
        {"choices": [{"text": "x", "logprobs": {"tokens": ["a", "b"], "token_logprobs": [None, None]}}]},
        {"choices": [{"text": "x"}], "prompt_logprobs": None},
        {"choices": [{"text": "x"}], "prompt_logprobs": [None, {"1": {}}]},
        {"choices": [{"text": "x"}], "prompt_logprobs": [None, {}]},
        {"choices": [{"text": "x"}], "prompt_logprobs": [None, {"1": {"logprob": "x"}}]},
    ],
)
def test_a_server_without_log_probabilities(reply):
    def answers(given):
        return [read_answer(reply, one) for one in given]

    with pytest.raises(InputError, match="here: the server returns no log-probabilities of a given text"):
        log_probs(answers, [Request({"model": "m", "prompt": "a"})], ["b"], "", "here")


@pytest.mark.parametrize("options", ["", "&endpoint=completions&end=%20</s>"])
def test_a_server_is_a_member_as_its_model_is(folder, tmp_path, options):
    pytest.importorskip("sacrebleu")
    other = tmp_path / "other"
    write_model(other, "gpt2", seed=4)
    prompt = f"{PROMPT} " if options else PROMPT
    texts = {"sources": LINES, "hypotheses": ANSWERS, "prompt": prompt, "text_space": True, "jobs": 1}
    limit = {"beam": 1, "max_length_ratio": 0.0, "max_length_extra": 5}
    with serving(Model(folder)) as url:
        found = cgbench.uncertainty(members=[f"{url}&max_tokens=5{options}", f"hf:{other}"], **texts, **limit)
    expected = cgbench.uncertainty(members=[f"hf:{folder}", f"hf:{other}"], **texts, **limit)
    for one, same in zip(found, expected, strict=True):
        assert one["hypothesis"] == same["hypothesis"]
        for name in ("text_log_prob", "text_log_prob_variance", "text_chrf_disagreement"):
            assert one[name] == pytest.approx(same[name], abs=1e-4)


def test_members_that_cannot_be(folder):
    for address, prompt, said in (
        ("openai:http://x/v1?model=m&endpoint=completions", "{source}", r"name the model's end token: \?end="),
        ("openai:http://x/v1?model=m", None, "a server needs a prompt"),
        ("openai:http://x/v1?model=m", "{{ source }} {{ domain }}", "a member has no shots and no columns"),
    ):
        with pytest.raises(InputError, match=said):
            cgbench.uncertainty(LINES, [address, f"hf:{folder}"], prompt=prompt, text_space=True)
    with pytest.raises(InputError, match="or be measured over texts"):
        cgbench.uncertainty(LINES, ["openai:http://x/v1?model=m"], prompt="{source}")
