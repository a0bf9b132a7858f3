"""Extrinsics that wallets sign: built here, signed there, and submitted with the signature."""

from __future__ import annotations

import asyncio
from typing import Final

from offchain.adapters.chain.json_calls import argument_schemas
from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.chain.typed import GantryChain
from offchain.errors import CheckFailed, RefusedError, SubmitRefusal, SubmitRefused
from offchain.gateway.api import call_parameters as ask
from offchain.gateway.api import wallet_models as made
from offchain.gateway.api.call_plans import CallPlanner, PlannedCall
from offchain.gateway.api.chain_access import ChainAccess, SigningChain, final_block
from offchain.gateway.api.models import ResourceAnswer
from offchain.gateway.api.parameters import Parameters
from offchain.schema.manifest.values import format_amount
from offchain.services.call_text import call_lines

_LONGEST_LINE: Final = 200
_MOST_LINES: Final = 60
_STATUS_URL: Final = "/v1/extrinsics/{hash}"
_AGAIN: Final = "Build it again, sign the new payload and submit that."
_HINTS: Final = {
    SubmitRefusal.STALE_NONCE: f"Another extrinsic of the account came first. {_AGAIN}",
    SubmitRefusal.FUTURE_NONCE: f"Submit the earlier one first, or: {_AGAIN.lower()}",
    SubmitRefusal.CANNOT_PAY: "Give the account coins for the fee.",
    SubmitRefusal.POOL_FULL: "Submit it again in a minute.",
    SubmitRefusal.PRIORITY_TOO_LOW: f"Wait until the account's other extrinsic is in a block. {_AGAIN}",
    SubmitRefusal.EXPIRED: _AGAIN,
    SubmitRefusal.BANNED: f"Wait a minute. {_AGAIN}",
    SubmitRefusal.BAD_PROOF: f"The chain's runtime may have changed. {_AGAIN}",
}
_ROLES: Final = {
    "tenant": frozenset(
        (
            *("Tasks.submit", "Tasks.submit_array", "Tasks.cancel", "Tasks.accept_result", "Tasks.scale", "Tasks.end"),
            *("Tasks.rate", "Tasks.move_pod", "Tasks.assign", "Leases.extend", "Leases.top_up", "Leases.suspend"),
            *("Leases.resume", "Leases.keep", "Leases.release_data", "Verification.open_dispute"),
        )
    ),
    "provider": frozenset(
        (
            *("Hosts.register", "Hosts.set_ask", "Hosts.drain", "Hosts.undrain", "Hosts.retire", "Hosts.withdraw_bond"),
            *("Hosts.top_up_bond", "Hosts.change_hardware", "Leases.reclaim", "Leases.settle", "Tasks.settle"),
        )
    ),
}
_FOR_ANY: Final = frozenset(("Balances", "Utility", "Proxy", "Multisig", "Verification", "Tasks", "Leases"))


class ExtrinsicRefused(RefusedError):  # noqa: N818
    """A refusal by the pool of a node, for the client of the API."""

    def __init__(self, refused: SubmitRefused) -> None:
        hint = _HINTS.get(refused.kind, refused.hint)
        maybe = "" if refused.certain else " An earlier try may have been accepted: look at the extrinsic's status."
        super().__init__(refused.message, hint + maybe, code=f"refused_{refused.kind}")


class WalletExtrinsicsApi:
    """Builds and submits extrinsics, and describes calls. It holds no keys."""

    def __init__(self, access: ChainAccess[SigningChain], planner: CallPlanner) -> None:
        self._access = access
        self._planner = planner
        self._described: tuple[ChainRuntime, list[made.CallResource]] | None = None

    async def build(self, asked: made.BuildBody) -> made.UnsignedExtrinsicResource:
        """Return an extrinsic for the account's wallet to sign."""
        planned = await self._planner.plan(asked.account, asked.call)
        async with self._access.use() as chain:
            runtime = await chain.runtime()
            encoded = runtime.encode_call(planned.call)
            built, (head, as_of) = await asyncio.gather(
                chain.unsigned_extrinsic(encoded, asked.account), final_block(chain)
            )
            balance = await GantryChain(chain).balance(asked.account, head.hash)
        refusals = [*planned.refusals]
        if balance.spendable < built.fee and all(one.code != "no_funds" for one in refusals):
            refusals.append(
                CheckFailed(
                    f"the fee is about {format_amount(built.fee)}, and {asked.account} can spend "
                    f"{format_amount(balance.spendable)}.",
                    "Give the account coins.",
                    code="cannot_pay",
                )
            )
        return made.UnsignedExtrinsicResource(
            as_of=as_of,
            call_hex=f"0x{encoded.hex()}",
            payload=dict(built.payload),
            signing_payload_hex=f"0x{built.signed_bytes.hex()}",
            expires_at_block=built.valid_until,
            fee_estimate=built.fee,
            summary=_summary(planned),
            refusals=[made.RefusalResource(code=one.code, message=one.message, hint=one.hint) for one in refusals],
        )

    async def submit(self, asked: made.SubmitBody) -> made.SubmittedResource:
        """Submit an extrinsic with a wallet's signature. Raises WrongPayload, WrongSignature and ExtrinsicRefused."""
        call, signature = (bytes.fromhex(text[2:]) for text in (asked.call_hex, asked.signature))
        async with self._access.use() as chain:
            signed = await chain.signed_extrinsic(asked.account, call, asked.payload, signature)
            _, as_of = await final_block(chain)
            # The last thing that can fail: who gets an answer knows whether the node has the extrinsic.
            try:
                await chain.broadcast(signed)
            except SubmitRefused as refused:
                raise ExtrinsicRefused(refused) from None
        found = f"0x{signed.hash.hex()}"
        return made.SubmittedResource(as_of=as_of, hash=found, status_url=_STATUS_URL.format(hash=found))

    async def calls(self, asked: made.CallFilter) -> made.CallList:
        """Return the calls and actions that can be built."""
        async with self._access.use() as chain:
            runtime = await chain.runtime()
            _, as_of = await final_block(chain)
            if self._described is None or self._described[0] is not runtime:
                self._described = runtime, [*_actions(), *await _calls(chain, runtime)]
        found = [
            one
            for one in self._described[1]
            if asked.kind in (None, one.kind)
            and (asked.pallet is None or (one.kind == "call" and one.name.startswith(f"{asked.pallet}.")))
        ]
        return made.CallList(as_of=as_of, data=found)

    async def balance(self, asked: made.BalanceOfAccount) -> ResourceAnswer[made.BalanceResource]:
        """Return what an account has at the last final block, with the reasons of holds."""
        async with self._access.use() as chain:
            head, as_of = await final_block(chain)
            balance, record, holds = await asyncio.gather(
                GantryChain(chain).balance(asked.account, head.hash),
                chain.query("System", "Account", (asked.account,), head.hash),
                chain.query("Balances", "Holds", (asked.account,), head.hash),
            )
        data = made.BalanceResource(
            account=asked.account,
            free=balance.free,
            held=balance.held,
            frozen=balance.frozen,
            spendable=balance.spendable,
            nonce=int(record["nonce"]) if record else 0,
            holds=[made.HoldResource(reason=_reason(one["id"]), amount=one["amount"]) for one in holds or ()],
        )
        return ResourceAnswer[made.BalanceResource](as_of=as_of, data=data)


def _summary(planned: PlannedCall) -> str:
    lines = [planned.about, "", *(_short(line) for line in call_lines(planned.call))]
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"… and {len(lines) - _MOST_LINES} lines more"]
    return "\n".join(lines)


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… ({len(line)} characters)"


def _reason(plain: object) -> str:
    """Return the reason of a hold: `{"Billing": "Escrow"}` is Billing.Escrow."""
    if isinstance(plain, dict) and len(plain) == 1:
        ((pallet, name),) = plain.items()
        return f"{pallet}.{name}"
    return str(plain)


def _actions() -> list[made.CallResource]:
    return [_action(model) for model in ask.ACTION_PARAMETERS]


def _action(model: type[Parameters]) -> made.CallResource:
    name = ask.action_name(model)
    provider = name.startswith(("host.", "hosts.")) or name == "task.reclaim"
    return made.CallResource(
        kind="action",
        name=name,
        role="any" if name == "transfer" else "provider" if provider else "tenant",
        documentation=" ".join((model.__doc__ or "").split()),
        parameters=model.model_json_schema(),
    )


async def _calls(chain: SigningChain, runtime: ChainRuntime) -> list[made.CallResource]:
    about = {(one.pallet, one.name): one.text for one in await chain.documentation() if one.kind == "call"}
    return [
        made.CallResource(
            kind="call",
            name=f"{pallet.name}.{call.name}",
            role=_role(pallet.name, call.name),
            documentation=about.get((pallet.name, call.name), ""),
            parameters=argument_schemas(runtime, pallet.name, call.name),
        )
        for pallet in runtime.metadata.pallets.values()
        for call in runtime.metadata.variants(pallet.calls)
    ]


def _role(pallet: str, call: str) -> str:
    name = f"{pallet}.{call}"
    for role, names in _ROLES.items():
        if name in names:
            return role
    return "any" if pallet in _FOR_ANY and not call.startswith("set_") else "operator"
