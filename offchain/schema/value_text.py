"""Numbers and durations as text."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: "1 attempt", "2 attempts"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def duration_text(ms: int) -> str:
    """Return a duration as manifests write it: 1h30m."""
    if ms == 0:
        return "0s"
    parts = []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, ms = divmod(ms, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)
