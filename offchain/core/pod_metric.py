"""A number that a pod tells by itself: the question, and how its answer is read. Pure.

The page is in the text format of Prometheus. Samples of the name that differ only in their labels are added up. A pod
is not trusted: what is too long, of another shape, negative or no number is no answer.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from offchain.schema.manifest.types import PodMetric

MAX_ANSWER: Final = 1 << 20
"""Bytes of an answer, head and page."""
_MOST: Final = 1e12
_STATUS = re.compile(rb"HTTP/1\.[01] 200(?: [^\r\n]*)?")
_LABELS = r"""\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}"""
_SAMPLE = re.compile(rf"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:{_LABELS})?[ \t]+(\S+)(?:[ \t]+-?\d+)?[ \t]*")


class NoNumberError(ValueError):
    """The pod's answer does not tell the number. Says why."""


@dataclass(frozen=True, slots=True)
class Told:
    """The number on a page, in thousandths. `counter`: it only grows, and counts by what it grows in a second."""

    milli: int
    counter: bool


def question(metric: PodMetric) -> bytes:
    """An HTTP/1.0 request: its answer ends with the connection, and comes in one piece."""
    return f"GET {metric.path} HTTP/1.0\r\nHost: 127.0.0.1:{metric.port}\r\nAccept: text/plain\r\n\r\n".encode()


def read(metric: PodMetric, answer: bytes) -> Told:
    """The number in a whole answer. Raises :class:`NoNumberError`."""
    head, end, page = answer.partition(b"\r\n\r\n")
    status, *fields = head.split(b"\r\n")
    if not end or _STATUS.fullmatch(status) is None:
        raise NoNumberError(f"{metric.path} on port {metric.port} answers {status[:60]!r}, not HTTP 200")
    if any(field.lower().startswith(b"transfer-encoding:") for field in fields):
        raise NoNumberError("the page comes in chunks, which HTTP/1.0 does not have")
    found, counter = [], False
    for line in page.decode("utf-8", errors="replace").split("\n"):
        words = line.split()
        if words[:1] == ["#"]:
            counter = counter or words[1:] == ["TYPE", metric.name, "counter"]
        elif line.startswith(metric.name):
            sample = _SAMPLE.fullmatch(line.rstrip("\r"))
            if sample is not None and sample[1] == metric.name:
                found.append(_value(metric.name, sample[2]))
    if not found:
        raise NoNumberError(f"there is no {metric.name} on the page")
    return Told(round(min(math.fsum(found), _MOST) * 1000), counter)


def load_milli(older_ms: int, older: Told, newer_ms: int, newer: Told) -> int | None:
    """What counts between two looks; None where that cannot be said: a counter seen once, or one that began anew."""
    if not newer.counter:
        return newer.milli
    if newer_ms <= older_ms or newer.milli < older.milli:
        return None
    return (newer.milli - older.milli) * 1000 // (newer_ms - older_ms)


def _value(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= _MOST:
        raise NoNumberError(f"{name} is {text[:40]!r}, not a number from 0 to 10^12")
    return value
