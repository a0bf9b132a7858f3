"""Sign-in with a wallet's signature, and keys of programs. Tokens are in the index database: any gateway knows them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import BaseModel

from offchain.adapters.keys.wallet_signature import is_signed_by
from offchain.clock import unix_ms
from offchain.errors import GantryError
from offchain.gateway.api import sign_in_models as made
from offchain.gateway.api.answers import as_of, not_found
from offchain.gateway.api.index_readers import IndexReaders
from offchain.gateway.api.models import BlockReference, ResourceAnswer
from offchain.gateway.api.sign_in_message import (
    LIFETIME_MS,
    NONCE_DIGITS,
    SignInMessage,
    SignInRefused,
    chain_name,
    read_message,
)
from offchain.gateway.api.sign_in_store import Identity, SignInStore, identity, keys_of
from offchain.indexer import meta
from offchain.indexer.database import IndexDatabase
from offchain.indexer.rows import AccountRow, HostRow
from offchain.indexer.sign_in_rows import ApiKeyRow
from offchain.indexer.state_rows import GenesisBalanceRow
from offchain.indexer.tables import columns
from offchain.schema.durations import DAY_MS

M = TypeVar("M", bound=BaseModel)
_BEARER: Final = "Bearer "


class NotSignedIn(GantryError):  # noqa: N818
    """A request without a valid token."""

    code = "not_signed_in"

    def __init__(self) -> None:
        super().__init__(
            "This needs a valid token: it is missing, unknown, expired or revoked.",
            "Sign in (POST /v1/sign-in/message, then /v1/sign-in) and send Authorization: Bearer TOKEN.",
        )


class NotAllowed(GantryError):  # noqa: N818
    """A request that this token may not make."""

    code = "not_allowed"


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the index says about an account at a block."""

    as_of: BlockReference
    chain: str
    is_known: bool
    roles: list[made.Role]


class SignIn:
    """Sign-ins at one domain. `operators`: the accounts that have the role of an operator."""

    def __init__(
        self,
        readers: IndexReaders,
        store: SignInStore,
        domain: str,
        operators: frozenset[str],
    ) -> None:
        self._readers = readers
        self._store = store
        self._domain = domain
        self._operators = operators

    @property
    def domain(self) -> str:
        return self._domain

    async def message(self, asked: made.SignInMessageBody) -> ResourceAnswer[made.SignInMessageResource]:
        """Return the text to sign. Nothing is stored: who does not sign costs nothing."""
        seen = await self._seen(asked.account)
        issued_ms = unix_ms()
        nonce = secrets.token_hex(NONCE_DIGITS // 2)
        message = SignInMessage(self._domain, asked.account, seen.chain, nonce, issued_ms, issued_ms + LIFETIME_MS)
        data = made.SignInMessageResource(message=message.text(), expires_ms=message.expires_ms)
        return _answer(seen, data)

    async def begin(self, asked: made.SignInBody) -> ResourceAnswer[made.NewSessionResource]:
        """Return a token for a signed message. Raises SignInRefused."""
        chain = await self._readers.read(_chain)
        message = read_message(asked.message, domain=self._domain, chain=chain, now_ms=unix_ms())
        if not is_signed_by(message.account, asked.message, bytes.fromhex(asked.signature.removeprefix("0x"))):
            raise SignInRefused(
                f"The signature is not by {message.account}, or not of this message.",
                "Sign the text exactly as it was given, with the key of that account.",
            )
        seen = await self._seen(message.account)
        if not seen.is_known:
            raise SignInRefused(
                f"The chain does not know {message.account}.",
                "Give the account coins first; a final block must have them.",
            )
        token, expires_ms = await self._store.begin_session(message, unix_ms())
        data = made.NewSessionResource(account=message.account, roles=seen.roles, expires_ms=expires_ms, token=token)
        return _answer(seen, data)

    async def identity(self, authorization: str | None) -> Identity:
        """Return whom the header of a request stands for. Raises NotSignedIn."""
        if authorization is None or not authorization.startswith(_BEARER):
            raise NotSignedIn
        token, asked_ms = authorization.removeprefix(_BEARER).strip(), unix_ms()
        found = await self._readers.read(lambda db: identity(db, token, asked_ms))
        if found is None:
            raise NotSignedIn
        return found

    async def present(self, who: Identity) -> ResourceAnswer[made.SessionResource]:
        """Return whom a token stands for."""
        seen = await self._seen(who.account)
        roles = [role for role in seen.roles if who.scopes is None or role in who.scopes]
        return _answer(seen, made.SessionResource(account=who.account, roles=roles, expires_ms=who.expires_ms))

    async def require_role(self, who: Identity, role: made.Role) -> None:
        """Raise NotAllowed unless the account has a role, and the key of a program the scope as well."""
        roles = (await self.present(who)).data.roles
        if role not in roles:
            raise NotAllowed(
                f"This is for the role {role}; {who.account} has {', '.join(roles) or 'none'} here.",
                "Sign in with another account. The gateway's operator names operators (--http-operator).",
            )

    async def require_owner(self, who: Identity, owner: str | None, role: made.Role, thing: str) -> None:
        """Raise NotAllowed unless the account is `owner` of a thing, with its role, or has the role of an operator."""
        roles = (await self.present(who)).data.roles
        if "operator" not in roles and not (who.account == owner and role in roles):
            raise NotAllowed(
                f"{who.account} is not the {role} of {thing}.",
                f"Sign in with the account of its {role}, or of an operator.",
            )

    async def end(self, who: Identity) -> ResourceAnswer[made.RevokedResource]:
        """Revoke a sign-in."""
        require_session(who)
        await self._store.end_session(who.token_hash)
        return _answer(await self._seen(who.account), made.RevokedResource(revoked=True))

    async def add_key(self, who: Identity, asked: made.ApiKeyBody) -> ResourceAnswer[made.NewApiKeyResource]:
        """Make a key of the account that is signed in. Raises NotAllowed for a scope that it does not have."""
        require_session(who)
        seen = await self._seen(who.account)
        missing = sorted(set(asked.scopes) - set(seen.roles))
        if missing:
            raise NotAllowed(
                f"{who.account} is no {missing[0]}.",
                f"Leave out the scope {missing[0]}; its roles are {', '.join(seen.roles)}.",
            )
        made_ms = unix_ms()
        token, row = await self._store.add_key(
            who.account, asked.name, frozenset(asked.scopes), made_ms, made_ms + asked.days * DAY_MS
        )
        return _answer(seen, made.NewApiKeyResource(**_key(row).model_dump(), key=token))

    async def keys(self, who: Identity) -> ResourceAnswer[made.ApiKeyList]:
        """Return the keys of the account that is signed in."""
        require_session(who)
        asked_ms = unix_ms()
        found = await self._readers.read(lambda db: keys_of(db, who.account))
        data = made.ApiKeyList(keys=[_key(row) for row in found if row.expires_ms > asked_ms])
        return _answer(await self._seen(who.account), data)

    async def revoke_key(self, who: Identity, asked: made.OneApiKey) -> ResourceAnswer[made.RevokedResource]:
        """Revoke a key. Raises NotFound if the account has none with this id."""
        require_session(who)
        if not await self._store.revoke_key(who.account, asked.id):
            raise await self._readers.read(lambda db: not_found(db, f"key {asked.id} of {who.account}"))
        return _answer(await self._seen(who.account), made.RevokedResource(revoked=True))

    async def _seen(self, account: str) -> _Seen:
        return await self._readers.read(lambda db: self._read(db, account))

    def _read(self, db: IndexDatabase, account: str) -> _Seen:
        roles: list[made.Role] = ["tenant"]
        if db.rows(HostRow, columns(HostRow).provider == account, limit=1):
            roles.append("provider")
        if account in self._operators:
            roles.append("operator")
        is_known = bool(
            db.rows(AccountRow, columns(AccountRow).account == account)
            or db.rows(GenesisBalanceRow, columns(GenesisBalanceRow).account == account)
        )
        return _Seen(as_of(db), _chain(db), is_known, roles)


def _chain(db: IndexDatabase) -> str:
    return chain_name(meta.read_meta(db)["genesis"])


def _answer(seen: _Seen, data: M) -> ResourceAnswer[M]:
    # Parametrised by the endpoint's table; here only the values matter.
    return ResourceAnswer[M](as_of=seen.as_of, data=data)


def require_session(who: Identity) -> None:
    """Raise NotAllowed for the key of a program."""
    if who.scopes is not None:
        raise NotAllowed("A key of a program may not do this.", "Sign in with the wallet of the account.")


def _key(row: ApiKeyRow) -> made.ApiKeyResource:
    scopes: list[made.Role] = row.scopes.split(",")  # type: ignore[assignment]  # checked when it was made
    return made.ApiKeyResource(
        id=row.id, name=row.name, scopes=scopes, created_ms=row.created_ms, expires_ms=row.expires_ms
    )
