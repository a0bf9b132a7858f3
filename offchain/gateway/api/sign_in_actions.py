"""The resources of sign-ins and keys of programs."""

from __future__ import annotations

from typing import Final

from offchain.gateway.api import sign_in_models as made
from offchain.gateway.api.action import ApiAction
from offchain.gateway.api.endpoints import one_answer_of
from offchain.gateway.api.parameters import NoParameters

SIGN_IN_ACTIONS: Final = (
    ApiAction(
        "POST",
        "/v1/sign-in/message",
        "sign_in_message",
        "A text for the account's wallet to sign.",
        made.SignInMessageBody,
        one_answer_of(made.SignInMessageResource),
        act=lambda api, _, asked: api.sign_in.message(asked),
    ),
    ApiAction(
        "POST",
        "/v1/sign-in",
        "sign_in",
        "Sign in with a signed text: sr25519, ed25519 or ecdsa, with or without <Bytes> around it.",
        made.SignInBody,
        one_answer_of(made.NewSessionResource),
        act=lambda api, _, asked: api.sign_in.begin(asked),
    ),
    ApiAction(
        "GET",
        "/v1/session",
        "session",
        "Whom the token stands for.",
        NoParameters,
        one_answer_of(made.SessionResource),
        needs_token=True,
        act=lambda api, who, _: api.sign_in.present(who),
    ),
    ApiAction(
        "DELETE",
        "/v1/session",
        "sign_out",
        "Revoke the token.",
        NoParameters,
        one_answer_of(made.RevokedResource),
        needs_token=True,
        act=lambda api, who, _: api.sign_in.end(who),
    ),
    ApiAction(
        "GET",
        "/v1/api-keys",
        "api_keys",
        "The keys of programs of the account.",
        NoParameters,
        one_answer_of(made.ApiKeyList),
        needs_token=True,
        act=lambda api, who, _: api.sign_in.keys(who),
    ),
    ApiAction(
        "POST",
        "/v1/api-keys",
        "add_api_key",
        "Make a key for programs, for some of the account's roles.",
        made.ApiKeyBody,
        one_answer_of(made.NewApiKeyResource),
        needs_token=True,
        act=lambda api, who, asked: api.sign_in.add_key(who, asked),
    ),
    ApiAction(
        "DELETE",
        "/v1/api-keys/{id}",
        "revoke_api_key",
        "Revoke a key.",
        made.OneApiKey,
        one_answer_of(made.RevokedResource),
        needs_token=True,
        act=lambda api, who, asked: api.sign_in.revoke_key(who, asked),
    ),
)
