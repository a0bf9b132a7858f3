"""Results that are compared: stored with their salts before they are committed; tag and result are shown later."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Final

from node_agent.core.replica_results import HeldResult, ResultStep, ResultView, next_step
from node_agent.core.values import HostLease
from offchain.adapters.background_tasks import BackgroundTasks
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.outbox.store import Store
from offchain.errors import BadReply, ChainUnreachable, StoreStuck
from offchain.ports import BlockRef, ChainPort
from offchain.schema.chain_types._generated_chain import PodResult, Usage, VerificationParams, calls, storage
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.chain_types.values import LIVE_LEASE_STATES, Call

log = logging.getLogger(__name__)

RETRY_S: Final = 5.0
"""Pause after the node could not be reached, or the disk was full."""
SALT_BYTES: Final = 32
_TABLES: Final = [
    """
    CREATE TABLE replica_results (
        lease INTEGER NOT NULL, created_at_ms INTEGER NOT NULL, digest BLOB NOT NULL, exit_code INTEGER NOT NULL,
        wall_ms INTEGER NOT NULL, cpu_ms INTEGER NOT NULL, memory_peak_mib INTEGER NOT NULL, salt BLOB NOT NULL,
        PRIMARY KEY (lease, created_at_ms)
    ) STRICT
    """
]
SendCall = Callable[[str, Call], Awaitable[bool]]
"""(key, call): submits a call of the host, one at a time for each key; returns whether it took effect."""


class ReplicaResults:
    """The committed results of one host that are not revealed yet. `host_key`: its public key."""

    def __init__(self, port: ChainPort, store: Store, host_key: bytes) -> None:
        self._port = port
        self._chain = GantryChain(port)
        self._store = store
        self._host_key = host_key
        self._sending: set[str] = set()
        self._lost: set[int] = set()
        self._tasks = BackgroundTasks()
        store.migrate("replica_results", _TABLES)

    async def commitment(self, lease: HostLease, result: PodResult) -> bytes:
        """Return what binds the host to its result of a lease.

        The first result of a lease is stored with a salt, and is on the disk when this returns. It is never replaced,
        so that all commitments for a lease are equal.
        """
        key, used = (lease.number, lease.created_at_ms), result.usage
        row = (result.digest, result.exit_code, used.wall_ms, used.cpu_ms, used.memory_peak_mib)
        salt = secrets.token_bytes(SALT_BYTES)
        statement = "INSERT OR IGNORE INTO replica_results VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        while True:
            try:
                await self._store.write(lambda: self._store.writer.run(statement, *key, *row, salt))
                await self._store.flush()
                break
            except StoreStuck as error:
                log.warning("lease %d: its result waits to be committed: %s", lease.number, error)
                await asyncio.sleep(RETRY_S)
        (held,) = [one for one in self.held() if (one.lease, one.created_at_ms) == key]
        return held.commitment(self._host_key)

    def held(self) -> tuple[HeldResult, ...]:
        """Return the stored results."""
        rows = self._store.all("SELECT * FROM replica_results ORDER BY lease, created_at_ms")
        return tuple(
            HeldResult(
                row["lease"],
                row["created_at_ms"],
                PodResult(
                    bytes(row["digest"]),
                    row["exit_code"],
                    Usage(row["wall_ms"], row["cpu_ms"], row["memory_peak_mib"]),
                ),
                bytes(row["salt"]),
            )
            for row in rows
        )

    async def run(self, send: SendCall) -> None:
        """Show tags and results until cancelled."""
        try:
            while True:
                try:
                    async for head in self._port.best():
                        await self._step_all(head, send)
                except (ChainUnreachable, BadReply, StoreStuck) as error:
                    log.debug("compared results wait: %s", error)
                await asyncio.sleep(RETRY_S)
        finally:
            await self._tasks.close()

    async def _step_all(self, head: BlockRef, send: SendCall) -> None:
        results = self.held()
        if not results:
            return
        final = await self._port.finalized_head()
        params = VerificationParams.decode(await self._port.query("Verification", "Params", (), head.hash))
        now_ms = await self._chain.now_ms(head.hash)
        for held in results:
            await self._step(held, await self._view(held, head, final, now_ms, params.result_reveal_ms), send)

    async def _step(self, held: HeldResult, view: ResultView, send: SendCall) -> None:
        step = next_step(view)
        if step is ResultStep.FORGET:
            statement = "DELETE FROM replica_results WHERE lease = ? AND created_at_ms = ?"
            await self._store.write(lambda: self._store.writer.run(statement, held.lease, held.created_at_ms))
        elif step is ResultStep.LOST and held.lease not in self._lost:
            self._lost.add(held.lease)
            log.error("lease %d: the committed result is not from this agent's folder, and is not revealed", held.lease)
        elif step is ResultStep.TAG:
            call = calls.verification_tag_result(lease=held.lease, tag=held.tag)
            self._show("tag-result", held, call, send)
        elif step is ResultStep.REVEAL:
            call = calls.verification_reveal_result(lease=held.lease, result=held.result, salt=held.salt)
            self._show("reveal-result", held, call, send)

    def _show(self, what: str, held: HeldResult, call: Call, send: SendCall) -> None:
        """Send a call about a result, one at a time."""
        # The outbox continues the call after a restart: the key is the same, and so is the call.
        key = f"{what}:{held.lease}:{held.created_at_ms}"
        if key not in self._sending:
            self._sending.add(key)
            self._tasks.run(self._sent(key, held.lease, call, send))

    async def _sent(self, key: str, lease: int, call: Call, send: SendCall) -> None:
        try:
            if await send(key, call):
                log.info("lease %d: %s is on the chain", lease, call.function)
        finally:
            self._sending.discard(key)

    async def _view(self, held: HeldResult, head: BlockRef, final: BlockRef, now_ms: int, reveal_ms: int) -> ResultView:
        task = lease_parts(held.lease)[0]
        at_best = await self._chain.read(storage.verification_results, task, at=head.hash)
        at_final = await self._chain.read(storage.verification_results, task, at=final.hash)
        is_over = await self._is_over(held, final)
        return ResultView(held.lease, held.commitment(self._host_key), at_best, at_final, is_over, now_ms, reveal_ms)

    async def _is_over(self, held: HeldResult, final: BlockRef) -> bool:
        """Whether the lease has ended in a final block, or is not in the final chain although it is older."""
        lease = await self._chain.lease(held.lease, final.hash)
        if lease is not None and lease.record.created_at == held.created_at_ms:
            return lease.record.state.tag not in LIVE_LEASE_STATES
        return await self._chain.now_ms(final.hash) >= held.created_at_ms
