"""Metrics of a process's connection to the chain, and of the account that it signs with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.typed import AccountBalance, GantryChain
from offchain.adapters.metrics.definitions import MetricDefinition, MetricReading
from offchain.adapters.outbox.account_intents import AccountIntents
from offchain.adapters.outbox.intent_values import IntentState, OutboxCounts
from offchain.adapters.outbox.store import Store
from offchain.errors import BadReply, ChainUnreachable
from offchain.ports import ChainPort
from offchain.schema.manifest.values import GTY

BALANCE_EVERY_S: Final = 30.0

CONNECTED: Final = MetricDefinition(
    "gantry_chain_connected", "gauge", "Whether the process has a connection to a chain node now."
)
BEST_BLOCK: Final = MetricDefinition("gantry_chain_best_block", "gauge", "Number of the best block that the node sent.")
FINAL_BLOCK: Final = MetricDefinition(
    "gantry_chain_final_block", "gauge", "Number of the newest final block that the node sent."
)
FINAL_AGE: Final = MetricDefinition(
    "gantry_chain_final_block_age_seconds", "gauge", "Time since the node sent a newer final block."
)
BALANCE: Final = MetricDefinition(
    "gantry_account_balance_gty", "gauge", "Balance of the account that the process signs with.", ("kind",)
)
OUTBOX_CALLS: Final = MetricDefinition(
    "gantry_outbox_calls", "gauge", "Calls in the outbox that have not taken effect, by state.", ("state",)
)
OUTBOX_EXTRINSICS: Final = MetricDefinition(
    "gantry_outbox_extrinsics_total", "counter", "Extrinsics that were signed to be submitted."
)
OUTBOX_OUTCOMES: Final = MetricDefinition(
    "gantry_outbox_outcomes_total", "counter", "Calls that ended, by outcome.", ("outcome",)
)
METRICS: Final = (
    CONNECTED,
    BEST_BLOCK,
    FINAL_BLOCK,
    FINAL_AGE,
    BALANCE,
    OUTBOX_CALLS,
    OUTBOX_EXTRINSICS,
    OUTBOX_OUTCOMES,
)


class ChainMetrics:
    """Reads what a connection to the chain has seen."""

    def __init__(self, chain: SubstrateChain) -> None:
        self._chain = chain

    def __call__(self) -> Iterator[MetricReading]:
        seen = self._chain.seen
        yield CONNECTED.read(self._chain.is_connected)
        yield from BEST_BLOCK.read_if_known(seen.best)
        yield from FINAL_BLOCK.read_if_known(seen.final)
        if seen.final_at_s is not None:
            yield FINAL_AGE.read(time.monotonic() - seen.final_at_s)


class AccountMetrics:
    """Reads the balance of an account, at most every 30 s: :meth:`refresh` asks the node."""

    def __init__(self, chain: ChainPort, account: str) -> None:
        self._chain = GantryChain(chain)
        self._account = account
        self._balance: AccountBalance | None = None
        self._read_s = float("-inf")

    async def refresh(self) -> None:
        if time.monotonic() - self._read_s < BALANCE_EVERY_S:
            return
        try:
            self._balance = await self._chain.balance(self._account)
        except (ChainUnreachable, BadReply):
            return  # the connection has a metric of its own
        self._read_s = time.monotonic()

    def __call__(self) -> Iterator[MetricReading]:
        if self._balance is not None:
            yield BALANCE.read(self._balance.free / GTY, "free")
            yield BALANCE.read(self._balance.held / GTY, "held")


class OutboxMetrics:
    """Reads the outbox of an account."""

    def __init__(self, store: Store, account: str, counts: OutboxCounts) -> None:
        self._intents = AccountIntents(store, account)
        self._counts = counts

    def __call__(self) -> Iterator[MetricReading]:
        for state in (IntentState.QUEUED, IntentState.SENT, IntentState.DEAD):
            yield OUTBOX_CALLS.read(self._intents.number_of(state), state.value)
        yield OUTBOX_EXTRINSICS.read(self._counts.signed)
        yield OUTBOX_OUTCOMES.read(self._counts.included, "included")
        yield OUTBOX_OUTCOMES.read(self._counts.rejected, "rejected")
        yield OUTBOX_OUTCOMES.read(self._counts.given_up, "given_up")
