"""Input of the derivation, for the modules with its rules. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from offchain.indexer.rows import R


@dataclass(frozen=True, slots=True)
class IndexedEvent:
    """An event with its place and the time of its block. `fields` is a JSON object, `text` the same as it is stored.

    `signer`: of the extrinsic that caused it; None if nobody signed one, or an older release has stored it.
    """

    block: int
    place: int
    time_ms: int
    pallet: str
    name: str
    fields: Mapping[str, Any]
    text: str
    signer: str | None = None


class RowLookup(Protocol):
    """The present row with a key; None where there is none."""

    def __call__(self, table: type[R], *key: Any) -> R | None:
        """As the class says."""
        ...


def text_of(value: Any) -> str:
    """An enum's value as text: Running, or Failed(AttemptsExhausted)."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, payload),) = value.items()
        return f"{name}({text_of(payload)})"
    return str(value)
