"""Rows that gateways write: who is signed in, used nonces, and keys of programs. All other rows are the indexer's.

Times are Unix ms of the gateways' clocks. Tokens and keys are stored as SHA-256 only: they are random, so that they
cannot be found from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from offchain.indexer.rows import Row


@dataclass(frozen=True, slots=True)
class UsedNonceRow(Row):
    """A nonce of a sign-in. The row is kept until the message with it has expired."""

    TABLE = "used_nonces"
    KEY = ("nonce",)
    INDEXES = (("expires_ms",),)
    nonce: str
    expires_ms: int


@dataclass(frozen=True, slots=True)
class SessionRow(Row):
    """A sign-in of an account until `expires_ms`."""

    TABLE = "sessions"
    KEY = ("token_hash",)
    INDEXES = (("account", "created_ms"), ("expires_ms",))
    token_hash: str
    account: str
    created_ms: int
    expires_ms: int


@dataclass(frozen=True, slots=True)
class ApiKeyRow(Row):
    """A key with which programs act for an account. `scopes`: the roles in which they may, with commas between them."""

    TABLE = "api_keys"
    KEY = ("id",)
    INDEXES = (("account", "id"),)
    id: str
    account: str
    name: str
    key_hash: str
    scopes: str
    created_ms: int
    expires_ms: int


SIGN_IN_ROWS: tuple[type[Row], ...] = (UsedNonceRow, SessionRow, ApiKeyRow)
"""Tables that gateways write."""
