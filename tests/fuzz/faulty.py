"""A target that fails on what is damaged, and what the harness says of it: ``python
tests/fuzz/faulty.py crash``.
"""

import json
import os
import sys
import time

import harness


class Bad:
    """Damaged, it fails as it is told to."""

    name, form, heavy = "bad", "plain", False
    damaged, files = "x", {"x": b"valid"}

    def __init__(self, fault):
        self.fault = fault
        self.how = lambda draw, data: b"damaged"
        self.right = lambda folder: ""

    def words(self, folder):
        if (folder / "x").read_bytes() == b"valid":
            return
        if self.fault == "crash":
            os.kill(os.getpid(), 11)
        elif self.fault == "hang":
            time.sleep(60)
        elif self.fault == "traceback":
            _ = [bytes(1 << 30) for _ in range(9)]  # more than there may be
        elif self.fault == "corrupt":
            self.right = lambda folder: "not what it was"


if __name__ == "__main__":
    fault = sys.argv[1]
    if fault == "hang":  # the others may take their time: a busy machine is no hang
        harness.WAIT = 1
    print(json.dumps([[number, status] for number, status, _ in harness.run(Bad(fault), range(2))]))
