"""The rule for Inspect's early stopping, alone and in a task with Inspect's mock model."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from cgbench import InputError, sequential
from cgbench.studies.race.inspect_rule import StopWhenCertain


def finished(coroutine):
    """The result of a coroutine, in a thread: a browser test may have left a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def sample(name):
    return SimpleNamespace(id=name)


def score(value):
    return {"match": SimpleNamespace(score=SimpleNamespace(value=value))}


async def follow(rule, values, order=None):
    """The number of samples until the rule stops, and what it writes in the log."""
    await rule.start_task(None, [sample(name) for name in range(len(values))], 1)
    for count, name in enumerate(order or range(len(values))):
        if await rule.schedule_sample(name, 1):
            return count, await rule.complete_task()
        await rule.complete_sample(name, 1, score(values[name]))
    return len(values), await rule.complete_task()


def test_it_stops_as_soon_as_it_is_certain(monkeypatch):
    util = SimpleNamespace(EarlyStop=lambda **values: values)
    scorer = SimpleNamespace(value_to_float=lambda: float)
    for module, stub in {"": SimpleNamespace(), ".util": util, ".scorer": scorer}.items():
        monkeypatch.setitem(sys.modules, f"inspect_ai{module}", stub)
    values = [float(row % 10 != 0) for row in range(200)]
    count, log = finished(follow(StopWhenCertain(0.5, batch=1), values))
    known = sequential([value - 0.5 for value in values], -0.5, 0.5)
    assert count == known.decided_after < 60 and log["decision"] == "better"
    baseline = {name: 1.0 - value for name, value in enumerate(values)}
    assert finished(follow(StopWhenCertain(baseline), values))[0] < 60
    same = dict(enumerate(values))
    log = finished(follow(StopWhenCertain(same), values))[1]
    assert (log["decision"], log["about"]) == ("undecided", "models") and log["p"] > 0.5
    log = finished(follow(StopWhenCertain(same, about="test-set"), values))[1]
    assert log["decision"] == "equivalent" and "p" not in log and log["low"] == log["high"] == 0
    # Good samples that finish first do not count before those that precede them.
    good_first = sorted(range(200), key=lambda row: -values[row])
    count, log = finished(follow(StopWhenCertain(0.99), values, good_first))
    assert count > 180 and log["decision"] == "worse"


def test_a_baseline_that_lacks_a_sample():
    with pytest.raises(InputError, match="no score of sample 1"):
        finished(StopWhenCertain({0: 1.0}).start_task(None, [sample(0), sample(1)], 1))


def test_with_the_mock_model_of_inspect(tmp_path, monkeypatch):
    pytest.importorskip("inspect_ai")
    import tiktoken
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.scorer import match

    encoding = SimpleNamespace(encode=lambda text, **options: list(text))
    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: encoding)  # which downloads
    samples = [Sample(id=row + 1, input=f"question {row}", target="yes") for row in range(150)]
    answers = [
        ModelOutput.from_content("mockllm/model", "yes" if row % 10 else "no") for row in range(150)
    ]
    task = Task(MemoryDataset(samples), scorer=match(), early_stopping=StopWhenCertain(0.5))
    model = get_model("mockllm/model", custom_outputs=answers)
    (log,) = eval(
        task, model, log_dir=str(tmp_path), display="none", max_samples=4, max_connections=4
    )
    summary = log.results.early_stopping
    assert log.status == "success" and summary.metadata["decision"] == "better"
    assert 15 < summary.metadata["samples"] < 60 and len(summary.early_stops) > 80
