"""Exponential backoff. Pure."""

from __future__ import annotations


def backoff(retries: int, first: float, longest: float) -> float:
    """Return the delay after this number of retries, in the unit of `first`; each retry doubles it."""
    return min(longest, first * (1 << min(max(retries, 0), 16)))
