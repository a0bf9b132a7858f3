"""A chain where coins can be counted exactly, and the wallets of tenants: a plain one, a multisig, one with a proxy."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b, sha256
from typing import Any, Protocol

from offchain.adapters.chain import registration
from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import from_uri
from offchain.ports import Call, ChainEvent, DispatchFailure, Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.values import compact
from offchain.schema.durations import HOUR_MS
from tests.support.chain_records import NO_GPU, ask, hardware, task_spec
from tests.support.real_chain import GTY, Chain, plain

MANIFEST = b"services: {}"
RATE = 36 * GTY + 7
"""Base units an hour for the one core of every rental here: divides no interval evenly, so that rounding shows."""
MINUTE_MS = 60_000
PATCH = {
    # No heartbeats are due, and what is retired or settled can be put away at once.
    "hosts": {"params": {"heartbeatPeriodMs": 30 * MINUTE_MS, "absenceLimitMs": 60 * MINUTE_MS, "unbondingMs": 1}},
    "tasks": {"params": {"startTimeoutMs": 60 * MINUTE_MS, "disputeWindowMs": 60 * MINUTE_MS, "archiveAfterMs": 1}},
}
ANYONE = from_uri("//Ferdie")
HARDWARE = hardware(8_000, 8_192, 100)
RENTAL = task_spec(
    kind=gen.TaskKind.RENTAL,
    manifest_digest=sha256(MANIFEST).digest(),
    resources=gen.Resources(1_000, 512, 1, NO_GPU),
    max_rate_per_hour=RATE,
    max_duration_ms=10 * MINUTE_MS,
)


class Refused(Exception):  # noqa: N818
    """The wallet's call was included, and what it carried was refused: pallet and name of the error."""

    def __init__(self, failure: DispatchFailure) -> None:
        super().__init__(f"{failure.pallet}.{failure.name}")


class Wallet(Protocol):
    """The account that pays, and how it acts."""

    @property
    def account(self) -> str: ...

    async def act(self, *calls: Call) -> tuple[ChainEvent, ...]:
        """Have calls take effect in the account's name; gives the events of all extrinsics that it took."""
        ...


@dataclass(frozen=True)
class Plain:
    """A key of its own."""

    chain: Chain
    signer: Signer

    @property
    def account(self) -> str:
        return self.signer.address

    async def act(self, *calls: Call) -> tuple[ChainEvent, ...]:
        return await self.chain.do(self.signer, *calls)


@dataclass(frozen=True)
class Multisig:
    """Some of several signatories: the first two act, unless others are named."""

    chain: Chain
    signatories: tuple[Signer, ...]
    threshold: int = 2

    @property
    def account(self) -> str:
        return self.account_of(self.signatories, self.threshold)

    @staticmethod
    def account_of(signatories: Iterable[Signer], threshold: int) -> str:
        """What pallet multisig makes of the signatories' keys, in their order, and the threshold."""
        keys = sorted(signer.public_key for signer in signatories)
        seed = b"modlpy/utilisuba" + compact(len(keys)) + b"".join(keys) + threshold.to_bytes(2, "little")
        return ss58.encode(blake2b(seed, digest_size=32).digest())

    async def act(self, *calls: Call, by: tuple[int, ...] = (0, 1)) -> tuple[ChainEvent, ...]:
        events: tuple[ChainEvent, ...] = ()
        for number in by:
            events += await self.sign(number, *calls)
        return events

    async def sign(self, number: int, *calls: Call) -> tuple[ChainEvent, ...]:
        """One signatory asks for the call, or agrees to it; the last that is needed has it executed."""
        signer = self.signatories[number]
        asked = await self.asked()
        weight = {"ref_time": 10**10, "proof_size": 10**6}
        args = {**self.others(signer), "maybe_timepoint": asked["when"] if asked else None}
        call = Call("Multisig", "as_multi", {**args, "call": plain(together(calls)), "max_weight": weight})
        events = await self.chain.do(signer, call)
        raise_refusals(self.chain, results(events, "Multisig", "MultisigExecuted"))
        return events

    def others(self, signer: Signer) -> dict[str, Any]:
        """How a signatory names the multisig: threshold and the other signatories, by their keys."""
        keys = sorted(other.public_key for other in self.signatories if other is not signer)
        return {"threshold": self.threshold, "other_signatories": [ss58.encode(key) for key in keys]}

    def cancel(self, signer: Signer, asked: dict[str, Any], *calls: Call) -> Call:
        """The call with which the signatory that asked takes it back."""
        encoded = self.chain.runtime().encode_call(together(calls))
        digest = blake2b(encoded, digest_size=32).digest()
        args = {**self.others(signer), "timepoint": asked["when"], "call_hash": digest}
        return Call("Multisig", "cancel_as_multi", args)

    def deposit(self) -> int:
        """Reserved of the signatory that asks, as docs/wallets.md says."""
        return GTY // 10 + (88 + 32 * self.threshold) * GTY // 10_000

    async def asked(self) -> dict[str, Any] | None:
        """What waits for more signatories."""
        found = [record for _, record in await self.chain.link.query_map("Multisig", "Multisigs", [self.account])]
        assert len(found) <= 1
        return found[0] if found else None


@dataclass(frozen=True)
class ByProxy:
    """Another key acts for the account, within the proxy's type."""

    chain: Chain
    account: str
    delegate: Signer

    async def act(self, *calls: Call) -> tuple[ChainEvent, ...]:
        events = await self.chain.do(self.delegate, *map(self.wrap, calls))
        raise_refusals(self.chain, results(events, "Proxy", "ProxyExecuted"))
        return events

    async def refusals(self, *calls: Call) -> list[str | None]:
        """How each of these calls ended, all in one extrinsic."""
        events = await self.chain.do(self.delegate, *map(self.wrap, calls))
        return [error_of(self.chain, result) for result in results(events, "Proxy", "ProxyExecuted")]

    def wrap(self, call: Call) -> Call:
        args = {"real": {"Id": self.account}, "force_proxy_type": None, "call": plain(call)}
        return Call("Proxy", "proxy", args)


def together(calls: tuple[Call, ...]) -> Call:
    return calls[0] if len(calls) == 1 else Call("Utility", "batch_all", {"calls": [plain(call) for call in calls]})


def results(events: Iterable[ChainEvent], pallet: str, name: str) -> list[Any]:
    return [event.fields["result"] for event in events if (event.pallet, event.name) == (pallet, name)]


def error_of(chain: Chain, result: Any) -> str | None:
    """The error in a result, None where there is none."""
    if not (isinstance(result, dict) and "Err" in result):
        return None
    failure = chain.runtime().failure(result["Err"])
    return f"{failure.pallet}.{failure.name}"


def raise_refusals(chain: Chain, found: Iterable[Any]) -> None:
    for result in found:
        if isinstance(result, dict) and "Err" in result:
            raise Refused(chain.runtime().failure(result["Err"]))


@dataclass(frozen=True)
class Purse:
    """What an account has at one moment: all of it, and how much of that is held, by reason."""

    total: int
    held: dict[str, int]


async def purse(chain: Chain, account: str) -> Purse:
    at = (await chain.link.finalized_head()).hash
    record = await chain.link.query("System", "Account", [account], at)
    holds = await chain.link.query("Balances", "Holds", [account], at) or ()
    assert record is not None
    held = {reason(hold["id"]): hold["amount"] for hold in holds}
    # Deposits of multisigs and proxies are reserved, without a reason.
    if rest := record["data"]["reserved"] - sum(held.values()):
        held["reserved"] = rest
    return Purse(record["data"]["free"] + record["data"]["reserved"], held)


def reason(kept: dict[str, str]) -> str:
    ((pallet, name),) = kept.items()
    return f"{pallet}.{name}"


async def assert_coins_are_conserved(chain: Chain, issuance: int) -> None:
    """Every coin belongs to somebody, and what is held for leases is what escrows hold."""
    coins = await chain.coins((await chain.link.finalized_head()).hash)
    everybody = sum(one["free"] + one["reserved"] for one in coins["accounts"].values())
    assert (coins["issuance"], everybody) == (issuance, issuance)
    escrow = str({"Billing": "Escrow"})
    held = sum(amount for held in coins["holds"].values() for which, amount in held if which == escrow)
    assert held == coins["escrowed"]


def fees(events: Iterable[ChainEvent], account: str) -> int:
    """What an account paid for extrinsics."""
    return sum(
        event.fields["actual_fee"]
        for event in events
        if (event.pallet, event.name, event.fields.get("who")) == ("TransactionPayment", "TransactionFeePaid", account)
    )


def treasury_share(events: Iterable[ChainEvent]) -> int:
    """What the treasury got of the fees of these extrinsics: a fifth of each without its tip."""
    return sum(
        (event.fields["actual_fee"] - event.fields["tip"]) // 5
        for event in events
        if (event.pallet, event.name) == ("TransactionPayment", "TransactionFeePaid")
    )


def price(ms: int) -> int:
    """What so much time holds: rounded up."""
    return -(-RATE * ms // HOUR_MS)


async def register(chain: Chain, provider: Signer, host: Signer) -> Call:
    genesis, asked = await chain.link.genesis_hash(), ask(cpu_core_per_hour=RATE)
    return registration.register(host, genesis, provider.address, HARDWARE, b"here", b"eu", asked)
