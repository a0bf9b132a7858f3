"""Trace ids in log lines: each line about a task or lease ends with `trace=` and the trace id of the task.

Where an OpenTelemetry collector is configured, each such line is also exported as a span.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Final

from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.trace_ids import trace_id

_SUBJECT: Final = re.compile(r"(lease|task) (\d{1,20})\b")
"""How a line of the agent begins that is about a lease or task."""
_MOST: Final = 1 << 64

SpanExport = Callable[[str, logging.LogRecord], None]
"""Receives the trace id and the record of a line."""


def subject(*, task: object = None, lease: object = None) -> dict[str, object]:
    """Return the value for `extra` of a log call that is about this task or lease; others have no trace."""
    if isinstance(task, int):
        return {"gantry_task": task}
    return {"gantry_task": lease_parts(lease)[0]} if isinstance(lease, int) else {}


class TaskTraces(logging.Filter):
    """Adds trace ids to log lines once the chain is known. A handler has it as a filter; there is one in a process."""

    def __init__(self) -> None:
        super().__init__()
        self._genesis: bytes | None = None
        self._export: SpanExport | None = None

    def begin(self, genesis: bytes, export: SpanExport | None = None) -> None:
        """Add the trace ids of this chain from now on."""
        self._genesis, self._export = genesis, export

    def filter(self, record: logging.LogRecord) -> bool:
        """Let each record through; one about a task gets the trace id, once."""
        if self._genesis is None or hasattr(record, "gantry_trace"):
            return True
        try:
            message = record.getMessage()
        except (TypeError, ValueError):  # the handler reports it
            return True
        task = _task_of(record, message)
        if task is not None:
            found = trace_id(self._genesis, task)
            record.gantry_trace = found
            if self._export is not None:
                self._export(found, record)
            record.msg, record.args = f"{message} trace={found}", ()
        return True


def _task_of(record: logging.LogRecord, message: str) -> int | None:
    named = getattr(record, "gantry_task", None)
    if named is None and (found := _SUBJECT.match(message)):
        number = int(found[2])
        named = lease_parts(number)[0] if found[1] == "lease" else number
    return named if isinstance(named, int) and 0 <= named < _MOST else None


TRACES: Final = TaskTraces()
"""The filter of this process's log handlers."""
