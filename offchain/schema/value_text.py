"""Numbers, durations and times as text."""

from __future__ import annotations

from datetime import UTC, datetime

from offchain.schema.durations import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: "1 attempt", "2 attempts"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def duration_text(ms: int) -> str:
    """Return a duration as manifests write it: 1h30m."""
    if ms == 0:
        return "0s"
    parts = []
    for unit, size in (("d", DAY_MS), ("h", HOUR_MS), ("m", MINUTE_MS), ("s", SECOND_MS), ("ms", 1)):
        count, ms = divmod(ms, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)


def utc_text(time_ms: int) -> str:
    """Return a time in Unix ms as texts for wallets have it: 2026-11-27T12:00:00.000Z."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_utc_text(text: str) -> int:
    """Return Unix ms. Raises ValueError."""
    seconds = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    return round(seconds.timestamp() * 1000)
