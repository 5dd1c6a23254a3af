"""Members that several processes train: which processes these are, and what must be the same every
time.
"""

import time
from pathlib import Path


def files_of(folder):
    names = ("config.json", "model.safetensors", "metrics.jsonl", "subwords.json")
    return {name: (folder / name).read_bytes() for name in names}


def children(process):
    """The processes that one has started, and that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            rest = stat.read_text().rpartition(")")[2]
            arguments = stat.with_name("cmdline").read_text()
        except OSError:
            continue
        if rest.split()[1] == str(process) and rest.split()[0] != "Z" and "spawn_main" in arguments:
            found.append(int(stat.parent.name))
    return sorted(found)


def is_there(process):
    """Whether a process exists."""
    return Path(f"/proc/{process}").exists()


def alive(process):
    """Whether a process exists and has not ended unread."""
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def wait_until(condition):
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it never happened")
