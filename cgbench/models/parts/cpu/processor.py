"""The processor's maker, which decides what is fastest on it.

A measurement at the start would choose differently under other load, and an interrupted run would end in other bytes.
"""

from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def is_amd() -> bool:
    """Whether this is an AMD processor, by ``/proc/cpuinfo``; false where there is no such file."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return False
    return any(line.startswith("vendor_id") and "AuthenticAMD" in line for line in lines)
