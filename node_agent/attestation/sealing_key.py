"""The key for which tenants of a confidential host seal their files: in memory only, so that no disk has it."""

from __future__ import annotations

import secrets

from offchain.adapters.keys.sealed_box import KEY_BYTES, open_sealed, public_of


class SealingKey:
    """An X25519 key of this run of the agent."""

    def __init__(self) -> None:
        self._private = secrets.token_bytes(KEY_BYTES)
        self.public = public_of(self._private)

    def open(self, sealed: bytes) -> bytes:
        """Open a box that was sealed for this key. Raises BadKey where it is for another, or altered."""
        return open_sealed(self._private, sealed)
