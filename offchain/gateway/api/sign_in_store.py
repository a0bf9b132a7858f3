"""Sign-ins and keys of programs in the index database, so that every gateway of the index knows them.

Only requests with a valid signature or token write, and all that they write is bounded by account.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from sqlalchemy import delete, func, select, text

from offchain.gateway.api.index_readers import ReadersBusy
from offchain.gateway.api.parameters import BadParameter
from offchain.gateway.api.sign_in_message import MOST_SKEW_MS, SignInMessage, SignInRefused
from offchain.indexer.database import IndexDatabase
from offchain.indexer.queries import open_for_reading
from offchain.indexer.sign_in_rows import ApiKeyRow, SessionRow, UsedNonceRow
from offchain.indexer.tables import TABLES, columns
from offchain.schema.durations import HOUR_MS

T = TypeVar("T")
SESSION_MS: Final = HOUR_MS
"""How long a sign-in lasts."""
MOST_SESSIONS: Final = 10
"""Sign-ins of an account; a further one ends the oldest."""
MOST_KEYS: Final = 20
"""Keys of an account."""
_MOST_WAITING: Final = 64
_WRITE_LIMIT_S: Final = 10.0
_REMOVED_AT_ONCE: Final = 100
_USE_NONCE: Final = text(
    f"INSERT INTO {UsedNonceRow.TABLE} (nonce, expires_ms) VALUES (:nonce, :expires_ms)"  # noqa: S608 - our own names
    " ON CONFLICT (nonce) DO NOTHING RETURNING nonce"
)
"""Returns the nonce if it was not used before, also if another gateway uses it at the same moment."""
_SESSION: Final = "gts_"
_KEY: Final = "gtk_"


@dataclass(frozen=True, slots=True)
class Identity:
    """The account that a token stands for. `scopes`: the roles to which a key is limited; None for a sign-in."""

    account: str
    expires_ms: int
    scopes: frozenset[str] | None
    token_hash: str


def token_hash(token: str) -> str:
    """Return what is stored of a token: its SHA-256 as hex digits."""
    return hashlib.sha256(token.encode()).hexdigest()


def identity(db: IndexDatabase, token: str, now_ms: int) -> Identity | None:
    """Return whom a token stands for; None if it is unknown, revoked or expired."""
    hashed = token_hash(token)
    if token.startswith(_SESSION):
        for session in db.rows(SessionRow, columns(SessionRow).token_hash == hashed):
            if session.expires_ms > now_ms:
                return Identity(session.account, session.expires_ms, None, hashed)
    elif token.startswith(_KEY):
        id_ = token.removeprefix(_KEY).partition("_")[0]
        for key in db.rows(ApiKeyRow, columns(ApiKeyRow).id == id_):
            if key.expires_ms > now_ms and secrets.compare_digest(key.key_hash, hashed):
                return Identity(key.account, key.expires_ms, frozenset(key.scopes.split(",")), hashed)
    return None


def keys_of(db: IndexDatabase, account: str) -> list[ApiKeyRow]:
    """Return the keys of an account, without expired ones that a later write removes."""
    return db.rows(ApiKeyRow, columns(ApiKeyRow).account == account)


class SignInStore:
    """Writes sign-ins, keys and webhooks with a connection and a thread of its own. Use :meth:`close` at the end."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="sign-in")
        self._db: IndexDatabase | None = None
        self._waiting = 0

    def close(self) -> None:
        """Wait for the write that runs, and close the connection."""
        self._pool.shutdown(cancel_futures=True)
        if self._db is not None:
            self._db.close()

    async def begin_session(self, message: SignInMessage, now_ms: int) -> tuple[str, int]:
        """Use the nonce of a message that was signed; return a token and its end. Raises SignInRefused for a replay."""
        token = _SESSION + secrets.token_urlsafe(32)
        expires_ms = now_ms + SESSION_MS

        def write(db: IndexDatabase) -> None:
            session = columns(SessionRow)
            if not db.execute(_USE_NONCE.bindparams(nonce=message.nonce, expires_ms=message.expires_ms)):
                raise SignInRefused("This message was used before.", "Ask for a new message and sign that.")
            _remove_expired(db, now_ms)
            newest = select(session.token_hash).where(session.account == message.account)
            kept = [one for (one,) in db.execute(newest.order_by(session.created_ms.desc()).limit(MOST_SESSIONS - 1))]
            db.execute(
                delete(TABLES[SessionRow]).where(session.account == message.account, session.token_hash.not_in(kept))
            )
            db.insert(SessionRow, [SessionRow(token_hash(token), message.account, now_ms, expires_ms)])

        await self.write(write)
        return token, expires_ms

    async def end_session(self, hashed: str) -> None:
        """Revoke the sign-in whose token has this hash."""
        await self.write(
            lambda db: db.execute(delete(TABLES[SessionRow]).where(columns(SessionRow).token_hash == hashed))
        )

    async def add_key(
        self, account: str, name: str, scopes: frozenset[str], now_ms: int, expires_ms: int
    ) -> tuple[str, ApiKeyRow]:
        """Return a new key of an account, which is stored as its hash only, and its row.

        Raises BadParameter beyond the limit.
        """
        id_ = secrets.token_hex(8)
        token = f"{_KEY}{id_}_{secrets.token_urlsafe(32)}"
        row = ApiKeyRow(id_, account, name, token_hash(token), ",".join(sorted(scopes)), now_ms, expires_ms)

        def write(db: IndexDatabase) -> None:
            key = columns(ApiKeyRow)
            db.execute(delete(TABLES[ApiKeyRow]).where(key.account == account, key.expires_ms <= now_ms))
            ((count,),) = db.execute(select(func.count()).select_from(TABLES[ApiKeyRow]).where(key.account == account))
            if count >= MOST_KEYS:
                raise BadParameter(
                    "name", f"this account has {MOST_KEYS} keys, which is the limit.", "Revoke one first."
                )
            db.insert(ApiKeyRow, [row])

        await self.write(write)
        return token, row

    async def revoke_key(self, account: str, id_: str) -> bool:
        """Remove a key of an account; return whether there was one."""

        def write(db: IndexDatabase) -> bool:
            key = columns(ApiKeyRow)
            chosen = (key.account == account, key.id == id_)
            found = db.rows(ApiKeyRow, *chosen)
            db.execute(delete(TABLES[ApiKeyRow]).where(*chosen))
            return bool(found)

        return await self.write(write)

    async def write(self, write: Callable[[IndexDatabase], T]) -> T:
        """Call `write` in a transaction, in the thread of this object. Raises ReadersBusy."""
        if self._waiting >= _MOST_WAITING:
            raise ReadersBusy(f"{_MOST_WAITING} sign-ins wait, which is the limit.", "Try again in a few seconds.")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._written, write)
        finally:
            self._waiting -= 1

    def _written(self, write: Callable[[IndexDatabase], T]) -> T:
        if self._db is None:
            self._db = open_for_reading(self._address, _WRITE_LIMIT_S)
        with self._db.transaction():
            return write(self._db)


def _remove_expired(db: IndexDatabase, now_ms: int) -> None:
    """Remove some expired rows, more than one sign-in adds."""
    # A gateway whose clock is behind would accept a message again whose nonce is removed when it expires.
    for row_type, before_ms in ((UsedNonceRow, now_ms - MOST_SKEW_MS), (SessionRow, now_ms)):
        table = TABLES[row_type]
        (key,) = table.primary_key
        old = select(key).where(table.c.expires_ms <= before_ms).limit(_REMOVED_AT_ONCE)
        db.execute(delete(table).where(key.in_(old)))
