"""Log lines with a time, a level, a source, an event and named values."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any, TextIO

from offchain.adapters.task_traces import TRACES, subject
from offchain.schema.terminal_escaping import LogFormatter

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/+,")


class EventLog:
    """Writes the log lines of one part of a process."""

    def __init__(self, name: str) -> None:
        self._log = logging.getLogger(f"gantry.{name}")

    def info(self, event: str, **values: Any) -> None:
        self._log.info(line(event, values), extra=_subject(values))

    def warning(self, event: str, **values: Any) -> None:
        """Log what an operator may want to look at."""
        self._log.warning(line(event, values), extra=_subject(values))


def line(event: str, values: dict[str, Any]) -> str:
    """Return `event name=value name="value with blanks"`, without values of None."""
    return " ".join([event, *(f"{name}={_text(value)}" for name, value in values.items() if value is not None)])


def set_up(stream: TextIO | None = None) -> None:
    """Send all log lines to `stream`, by default standard error."""
    handler = logging.StreamHandler(stream or sys.stderr)
    formatter = LogFormatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    handler.addFilter(TRACES)
    root = logging.getLogger("gantry")
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    root.propagate = False


def _subject(values: dict[str, Any]) -> dict[str, object]:
    return subject(task=values.get("task"), lease=values.get("lease"))


def _text(value: Any) -> str:
    text = str(value)
    if text and set(text) <= _BARE:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
