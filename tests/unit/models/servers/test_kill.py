"""Killed at any moment, a run asks again only for what was in flight, and its account stays a
bound.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from fake_openai import Fake, serving, translation

from cgbench.models.servers.address import parse_server
from cgbench.models.servers.client import Client
from cgbench.models.servers.exchange import Request, Usage

PARALLEL = 3
LINES = [f"word {number}" for number in range(18)]
ASK = """
import sys
from pathlib import Path
from test_kill import ask
ask(sys.argv[1], Path(sys.argv[2]))
"""


def requests_for(lines):
    chats = [[{"role": "user", "content": f"Say: {line}"}] for line in lines]
    return [Request({"model": "m", "messages": chat, "n": 1, "max_tokens": 50}) for chat in chats]


def ask(url, journal):
    with Client(parse_server(f"{url}?model=m&parallel={PARALLEL}"), journal) as client:
        return client.answers(requests_for(LINES)), client.journal.spending


def answered(journal):
    """The sentences whose answer is in a journal, whatever its last line is."""
    if not journal.is_file():
        return set()
    whole = journal.read_bytes()
    events = map(json.loads, whole[: whole.rfind(b"\n") + 1].splitlines())
    found = [
        event["request"]["body"]["messages"][0]["content"] for event in events if "reply" in event
    ]
    assert len(found) == len({*found})
    return {line.removeprefix("Say: ") for line in found}


def test_a_kill_at_any_moment(tmp_path):
    draw, journal = random.Random(7), tmp_path / "journal"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*map(str, sys.path), str(Path(__file__).parent)]),
    }
    with serving(fake := Fake(delay=0.02)) as url:
        kept, asked, kills = set(), 0, 0
        for until in (1, 9):
            child = subprocess.Popen(
                [sys.executable, "-c", ASK, url, str(journal)], env=environment
            )
            while len(fake.asked) - asked < until and child.poll() is None:
                time.sleep(0.001)
            time.sleep(draw.random() * 0.05)
            kills += child.poll() is None
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            while fake.in_hand:  # the server finishes what it has begun
                time.sleep(0.001)
            assert not kept & {*fake.asked[asked:]}
            kept, asked = answered(journal), len(fake.asked)
        answers, spending = ask(url, journal)
        assert not kept & {*fake.asked[asked:]}
    assert kills == 2 and [answer[0].text for answer in answers] == [
        translation(line) for line in LINES
    ]
    # Only what was in flight is asked again, and nothing that the server may have counted is left
    # out.
    assert len(LINES) <= len(fake.asked) <= spending.attempts <= len(LINES) + kills * PARALLEL
    assert spending.lost == spending.attempts - len(LINES)
    server = Usage(fake.input, fake.output)
    assert spending.usage.total <= server.total <= spending.most.total
