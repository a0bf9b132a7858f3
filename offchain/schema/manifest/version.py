"""Which task a version of a service takes the place of: the last line of its manifest, as it goes on the chain.

It is a comment, so every reader of manifests reads past it, and it fits under any YAML. It comes onto the chain in the
same call as the version itself, and stays as long as that lives: whoever looks, on any machine, finds the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(rb"\n# gantry: takes the place of task (\d{1,19}), (\d{1,2}) pods, sha256:([0-9a-f]{64})\n\Z")


@dataclass(frozen=True, slots=True)
class TakesPlace:
    """Of which task, how many pods that had, and the SHA-256 of its manifest's bytes as they are on the chain."""

    task: int
    pods: int
    manifest: bytes


def stamped(text: bytes, place: TakesPlace) -> bytes:
    """The manifest with the line; one that it has gives way."""
    said = f"\n# gantry: takes the place of task {place.task}, {place.pods} pods, sha256:{place.manifest.hex()}\n"
    return plain(text) + said.encode()


def plain(text: bytes) -> bytes:
    """The manifest without the line, as its tenant wrote it."""
    return _LINE.sub(b"", text)


def place_of(text: bytes) -> TakesPlace | None:
    """What the line says; None where there is none."""
    found = _LINE.search(text)
    if found is None:
        return None
    return TakesPlace(int(found[1]), int(found[2]), bytes.fromhex(found[3].decode()))
