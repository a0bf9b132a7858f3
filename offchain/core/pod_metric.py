"""A metric that a pod reports over HTTP: the request, and the parser of the response. Pure.

The page is in the text format of Prometheus. Samples that differ only in their labels are added up. The pod is not
trusted: a response that is too long or malformed, and a value that is negative or not a number, are rejected.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from offchain.schema.manifest.types import PodMetric

MAX_ANSWER: Final = 1 << 20
"""Maximum size of a response with its header, bytes."""
_MOST: Final = 1e12
_STATUS = re.compile(rb"HTTP/1\.[01] 200(?: [^\r\n]*)?")
_LABELS = r"""\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}"""
_SAMPLE = re.compile(rf"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:{_LABELS})?[ \t]+(\S+)(?:[ \t]+-?\d+)?[ \t]*")


class MetricReadError(ValueError):
    """The response does not contain the metric; the message says why."""


@dataclass(frozen=True, slots=True)
class MetricSample:
    """The value of a metric, in thousandths. `counter`: its increase per second is the load."""

    milli: int
    counter: bool


def question(metric: PodMetric) -> bytes:
    """Return an HTTP/1.0 request, whose response is not chunked and ends with the connection."""
    return f"GET {metric.path} HTTP/1.0\r\nHost: 127.0.0.1:{metric.port}\r\nAccept: text/plain\r\n\r\n".encode()


def read(metric: PodMetric, answer: bytes) -> MetricSample:
    """Parse a complete response. Raises :class:`MetricReadError`."""
    head, end, page = answer.partition(b"\r\n\r\n")
    status, *fields = head.split(b"\r\n")
    if not end or _STATUS.fullmatch(status) is None:
        raise MetricReadError(f"{metric.path} on port {metric.port} answers {status[:60]!r}, not HTTP 200")
    if any(field.lower().startswith(b"transfer-encoding:") for field in fields):
        raise MetricReadError("the page comes in chunks, which HTTP/1.0 does not have")
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
        raise MetricReadError(f"there is no {metric.name} on the page")
    return MetricSample(round(min(math.fsum(found), _MOST) * 1000), counter)


def load_milli(older_ms: int, older: MetricSample, newer_ms: int, newer: MetricSample) -> int | None:
    """Return the load in thousandths; None: it is unknown, because a counter has only one sample or was reset."""
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
        raise MetricReadError(f"{name} is {text[:40]!r}, not a number from 0 to 10^12")
    return value
