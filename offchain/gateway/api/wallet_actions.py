"""The resources that ask a node: calls, extrinsics for wallets, balances, checks of manifests."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

from offchain.gateway.api import manifest_models, node_models, receipt_models, reputation_models, wallet_models
from offchain.gateway.api.action import LARGE_BODY, ApiAction
from offchain.gateway.api.endpoints import one_answer_of
from offchain.gateway.api.parameters import NoParameters
from offchain.gateway.api.templates import templates
from offchain.schema.protocol.receipt import MAX_DOCUMENT

WALLET_ACTIONS: Final = (
    ApiAction(
        "GET",
        "/v1/calls",
        "calls",
        "The calls and actions that can be built, with their parameters as JSON schemas.",
        wallet_models.CallFilter,
        wallet_models.CallList,
        lambda api, _, asked: api.extrinsics.calls(asked),
    ),
    ApiAction(
        "POST",
        "/v1/extrinsics/build",
        "build_extrinsic",
        "An extrinsic for the account's wallet to sign. Nothing is stored or sent.",
        wallet_models.BuildBody,
        wallet_models.UnsignedExtrinsicResource,
        lambda api, _, asked: api.extrinsics.build(asked),
        budget="build",
        most_body=LARGE_BODY,
    ),
    ApiAction(
        "POST",
        "/v1/extrinsics",
        "submit_extrinsic",
        "Submit a built extrinsic with the wallet's signature.",
        wallet_models.SubmitBody,
        wallet_models.SubmittedResource,
        lambda api, _, asked: api.extrinsics.submit(asked),
        budget="submit",
        most_body=LARGE_BODY,
        status=HTTPStatus.ACCEPTED,
    ),
    ApiAction(
        "POST",
        "/v1/manifests/check",
        "check_manifest",
        "What is wrong with a manifest; else its price, where it fits, and when it would start.",
        manifest_models.ManifestBody,
        manifest_models.ManifestCheckResource,
        lambda api, _, asked: api.manifests.check(asked),
        budget="check",
        most_body=LARGE_BODY,
    ),
    ApiAction(
        "GET",
        "/v1/templates",
        "templates",
        "Manifests to begin with.",
        NoParameters,
        manifest_models.TemplateList,
        lambda api, _, __: asyncio.to_thread(templates, api.template_values),
    ),
    ApiAction(
        "GET",
        "/v1/accounts/{account}/balance",
        "balance",
        "An account's coins at the last final block of the node, with the reasons of holds.",
        wallet_models.BalanceOfAccount,
        one_answer_of(wallet_models.BalanceResource),
        lambda api, _, asked: api.extrinsics.balance(asked),
    ),
    ApiAction(
        "GET",
        "/v1/tasks/{task}/terms",
        "terms_of_task",
        "What the bills of a task's leases depend on besides rates and times, at the last final block of the node.",
        node_models.TermsOfTask,
        one_answer_of(node_models.TaskTermsResource),
        lambda api, _, asked: api.records.terms(asked),
    ),
    ApiAction(
        "GET",
        "/v1/validators",
        "validators",
        "The validators of the session at the last final block of the node.",
        NoParameters,
        one_answer_of(node_models.ValidatorList),
        lambda api, _, __: api.records.validators(),
    ),
    ApiAction(
        "GET",
        "/v1/reputation/{account}",
        "reputation",
        "The reputation of a host, tenant or provider with its parts, at the last final block of the node.",
        reputation_models.ReputationOf,
        one_answer_of(reputation_models.ReputationResource),
        lambda api, _, asked: api.records.reputation(asked),
    ),
    ApiAction(
        "POST",
        "/v1/receipts/check",
        "check_receipt",
        "Whether a receipt is signed by its host and agrees with the lease on the chain.",
        receipt_models.ReceiptBody,
        one_answer_of(receipt_models.ReceiptCheckResource),
        lambda api, _, asked: api.records.receipt(asked),
        budget="check",
        most_body=MAX_DOCUMENT,
    ),
    ApiAction(
        "GET",
        "/v1/blocks/{block}/extrinsics/{index}/call",
        "call_of_extrinsic",
        "The call of an extrinsic with its arguments, from the body of its block at the node.",
        node_models.CallOfExtrinsic,
        one_answer_of(node_models.ExtrinsicCallResource),
        lambda api, _, asked: api.records.call(asked),
        is_costly=True,
        budget="body",
    ),
)
