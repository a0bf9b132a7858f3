"""Snapshots of rentals: their names, and the messages about them between host and tenant."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

from offchain.schema.protocol.fields import (
    WireError,
    canonical_json,
    decode,
    json_object,
    objects_of,
    optional,
    text,
    whole,
)

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


def snapshot_name(given: str) -> str:
    """Return the text if it is the name of a snapshot. Raise :class:`WireError` otherwise."""
    if _NAME.fullmatch(given) is None:
        raise WireError(
            f"{given[:80]!r} is not a name for a snapshot: 1 to 63 small letters, digits, dots, dashes and "
            "underscores, a letter or digit first"
        )
    return given


def _name(fields: dict[str, Any], name: str) -> str:
    return snapshot_name(text(fields, name, 64))


def _digest(fields: dict[str, Any], name: str) -> str:
    digest = text(fields, name, 128)
    if _DIGEST.fullmatch(digest) is None:
        raise WireError("digest must be sha256: and 64 hexadecimal digits")
    return digest


@dataclass(frozen=True, slots=True)
class RentalSnapshot:
    """A saved file system of a rental's first container. `size_bytes`: its size without the image.

    `digest`: that of the snapshot as an image, as engines show it.
    """

    name: Annotated[str, _name]
    created_ms: Annotated[int, whole(_U64_MAX)]
    size_bytes: Annotated[int, whole(_U64_MAX)]
    digest: Annotated[str, _digest]


@dataclass(frozen=True, slots=True)
class Snapshots:
    """All snapshots of a rental, the oldest first. `current`: the origin of its machine; None: the image."""

    snapshots: Annotated[tuple[RentalSnapshot, ...], objects_of(RentalSnapshot)]
    current: Annotated[str | None, optional(_name)]

    def encode(self) -> bytes:
        return canonical_json({"snapshots": [asdict(one) for one in self.snapshots], "current": self.current})

    @classmethod
    def decode(cls, data: bytes) -> Snapshots:
        """Raise :class:`WireError`."""
        return decode(cls, json_object(data), ignore_unknown=True)
