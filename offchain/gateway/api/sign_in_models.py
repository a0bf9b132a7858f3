"""Bodies and answers of sign-ins and keys of programs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from offchain.gateway.api.models import Account, AnsweredModel, TimeMs
from offchain.gateway.api.parameters import AccountId, Parameters

Role = Literal["tenant", "provider", "operator"]


SignedText = Annotated[str, Field(max_length=1_000)]
WalletSignature = Annotated[str, Field(pattern="^(0x)?([0-9a-fA-F]{128}|[0-9a-fA-F]{130}|[0-9a-fA-F]{132})$")]


class SignInMessageBody(Parameters):
    """The account that wants to sign in."""

    account: AccountId


class SignInBody(Parameters):
    """A message of this gateway, and the wallet's signature of it."""

    message: SignedText
    signature: WalletSignature


class ApiKeyBody(Parameters):
    """A key to be made. `scopes`: the roles in which it may act; `days`: how long it is valid."""

    name: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[ -~]+$")]
    scopes: Annotated[list[Role], Field(min_length=1, max_length=3)]
    days: Annotated[int, Field(ge=1, le=365)] = 90


class OneApiKey(Parameters):
    id: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]


class SignInMessageResource(AnsweredModel):
    """The text that a wallet signs, exactly as it is, and until when it can be used."""

    message: str
    expires_ms: Annotated[int, Field(description="Unix milliseconds of the gateway's clock.")]


class SessionResource(AnsweredModel):
    """A sign-in or key, by its token. `roles` are those of the account now; of a key only those in its scopes."""

    account: Account
    roles: list[Role]
    expires_ms: int


class NewSessionResource(SessionResource):
    """A sign-in. `token` is shown once: send it as `Authorization: Bearer TOKEN`."""

    token: str


class ApiKeyResource(AnsweredModel):
    """A key of an account, without its secret."""

    id: str
    name: str
    scopes: list[Role]
    created_ms: TimeMs
    expires_ms: int


class NewApiKeyResource(ApiKeyResource):
    """A new key. `key` is shown once, and stored as its hash only."""

    key: str


class ApiKeyList(AnsweredModel):
    """The keys of an account."""

    keys: list[ApiKeyResource]


class RevokedResource(AnsweredModel):
    """What was revoked: a token is refused from now on, at every gateway of the index."""

    revoked: bool
