"""Exponential backoff. Pure."""

from __future__ import annotations

from typing import TypeVar

Number = TypeVar("Number", int, float)


def backoff(retries: int, first: Number, longest: Number) -> Number:
    """Return the delay after this number of retries, in the unit of `first`; each retry doubles it."""
    return min(longest, first * (1 << min(max(retries, 0), 16)))
