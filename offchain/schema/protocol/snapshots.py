"""Snapshots of rentals: their names, and the messages about them between host and tenant."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from offchain.schema.protocol import fields as read
from offchain.schema.protocol.fields import WireError, canonical_json, json_object

MAX_SNAPSHOTS: Final = 8
"""The most snapshots of one rental."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_U64_MAX: Final = (1 << 64) - 1


class SnapshotAction(StrEnum):
    """An action on snapshots. RESTORE: the machine is created again from one."""

    TAKE = "take"
    LIST = "list"
    REMOVE = "remove"
    RESTORE = "restore"


@dataclass(frozen=True, slots=True)
class RentalSnapshot:
    """A saved file system of a rental's first container. `size_bytes`: its size without the image.

    `digest`: that of the snapshot as an image, as engines show it.
    """

    name: str
    created_ms: int
    size_bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class Snapshots:
    """All snapshots of a rental, the oldest first. `current`: the origin of its machine; None: the image."""

    snapshots: tuple[RentalSnapshot, ...]
    current: str | None

    def encode(self) -> bytes:
        return canonical_json({"snapshots": [asdict(one) for one in self.snapshots], "current": self.current})

    @classmethod
    def decode(cls, data: bytes) -> Snapshots:
        """Raise :class:`WireError`."""
        fields = json_object(data)
        found = fields.get("snapshots")
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise WireError("snapshots must be a list of objects")
        current = read.optional_text(fields, "current", 64)
        return cls(tuple(_snapshot(one) for one in found), None if current is None else snapshot_name(current))


def snapshot_name(text: str) -> str:
    """Return the text if it is the name of a snapshot. Raise :class:`WireError` otherwise."""
    if _NAME.fullmatch(text) is None:
        raise WireError(
            f"{text[:80]!r} is no name for a snapshot: 1 to 63 small letters, digits, dots, dashes and underscores, "
            "a letter or digit first"
        )
    return text


def _snapshot(fields: dict[str, Any]) -> RentalSnapshot:
    digest = read.text(fields, "digest", 128)
    if _DIGEST.fullmatch(digest) is None:
        raise WireError("digest must be sha256: and 64 hexadecimal digits")
    return RentalSnapshot(
        snapshot_name(read.text(fields, "name", 64)),
        read.integer(fields, "created_ms", _U64_MAX),
        read.integer(fields, "size_bytes", _U64_MAX),
        digest,
    )
