"""What tells hosts apart that are alike: each scheduler draws for itself, so that several choose differently."""

from __future__ import annotations

import hashlib


def draw(name: str, seed: bytes) -> float:
    """For the host of this name, a number from 0 to 1 that the seed alone decides."""
    digest = hashlib.blake2b(name.encode(), key=seed, digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64
