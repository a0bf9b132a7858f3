"""Trace identifiers of tasks: one for each task of a chain, computed from its number, so that nothing carries it.

It has the 32 hex digits of a trace id of W3C Trace Context: the task's number, then 8 bytes of a hash of the chain's
genesis hash and that number. So it names its task, differs between chains, and its low bytes are spread evenly, as
samplers of OpenTelemetry expect.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

_NUMBER_BYTES: Final = 8
_DOMAIN: Final = b"gantry task trace\0"
_FORM: Final = re.compile(r"[0-9a-f]{32}")


def trace_id(genesis: bytes, task: int) -> str:
    """Return the trace id of a task, 32 hex digits. `genesis`: the hash of the chain's genesis block."""
    number = task.to_bytes(_NUMBER_BYTES, "big")
    return (number + hashlib.sha256(_DOMAIN + genesis + number).digest()[:_NUMBER_BYTES]).hex()


def is_trace_id(text: str) -> bool:
    """Return whether the text has the form of a trace id."""
    return _FORM.fullmatch(text) is not None


def task_of_trace(genesis: bytes, trace: str) -> int:
    """Return the task of a trace id. Raises ValueError if it is no trace id of this chain."""
    if not is_trace_id(trace):
        raise ValueError("a trace id has 32 hex digits (0-9, a-f)")
    task = int(trace[: 2 * _NUMBER_BYTES], 16)
    if trace_id(genesis, task) != trace:
        raise ValueError("this trace id is not of this chain")
    return task
