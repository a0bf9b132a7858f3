"""Hosts that report the start and the result of each pod of new tasks, with nothing behind them.

They follow final blocks. A node takes one free call of a host for each block, so a host's reports go in one batch.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from contextlib import aclosing
from dataclasses import dataclass, field

from chainbench.scene import result_of
from chainbench.signing import Account

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.watcher import blocks_after
from offchain.errors import SubmitRefused
from offchain.ports import Block, ChainEvent
from offchain.schema.chain_types._generated_chain import ReportResult, ReportStarted, calls
from offchain.schema.chain_types.ids import lease_parts

_AGAIN_AFTER_BLOCKS = 6


@dataclass
class Ledger:
    """What final blocks say about the tasks from number `first` on, and what they say that nobody expected.

    [task]: the number of the block that holds its submission, its assignment; how often it was settled.
    """

    first: int
    submitted: dict[int, int] = field(default_factory=dict)
    assigned: dict[int, int] = field(default_factory=dict)
    settled: Counter[int] = field(default_factory=Counter)
    odd: Counter[str] = field(default_factory=Counter)


_ODD = frozenset({"Requeued", "Expired", "LeaseExpired", "ItemRefused", "Cancelled", "ExtrinsicFailed"})


class ReportingHosts:
    """`accounts`: [address] of each host. `run_blocks`: blocks between the start and the end of each pod."""

    def __init__(self, chain: SubstrateChain, accounts: dict[str, Account], first: int, run_blocks: int) -> None:
        self.ledger = Ledger(first)
        self._chain = chain
        self._signers = {address: account.signer for address, account in accounts.items()}
        self._run_blocks = run_blocks
        self._starts: dict[str, set[int]] = defaultdict(set)
        self._results: dict[str, set[int]] = defaultdict(set)
        self._ends: dict[int, list[tuple[str, int]]] = defaultdict(list)
        """[block]: the pods that end then, as host and lease."""
        self._host_of: dict[int, str] = {}
        self._sent_at: dict[str, int] = {}
        self.moved = asyncio.Event()

    async def run(self, start: int) -> None:
        """Follow final blocks from the one with this number on, for ever."""
        async with aclosing(blocks_after(self._chain, None, start)) as blocks:
            async for block, head in blocks:
                self._read(block)
                if block.ref.number >= head.number:
                    await self._send(block.ref.number)
                self.moved.set()

    def _read(self, block: Block) -> None:
        number, ledger = block.ref.number, self.ledger
        for event in block.events:
            if event.name in _ODD:
                ledger.odd[f"{event.pallet}.{event.name}"] += 1
            if event.pallet == "Tasks":
                self._read_event(event, number)
        for host, lease in self._ends.pop(number, ()):
            self._results[host].add(lease)

    def _read_event(self, event: ChainEvent, number: int) -> None:
        fields, ledger = event.fields, self.ledger
        match event.name:
            case "Submitted" if fields["first"] >= ledger.first:
                tasks = range(fields["first"], fields["first"] + fields["count"])
                ledger.submitted.update(dict.fromkeys(tasks, number))
            case "Assigned":
                ledger.assigned[fields["task"]] = number
                for lease, host, *_ in fields["leases"]:
                    self._host_of[lease] = host
                    self._starts[host].add(lease)
            case "PodStarted" if fields["lease"] in self._host_of:
                host = self._host_of[fields["lease"]]
                self._starts[host].discard(fields["lease"])
                self._ends[number + self._run_blocks].append((host, fields["lease"]))
                self._sent_at.pop(host, None)
            case "PodReported" if fields["lease"] in self._host_of:
                host = self._host_of.pop(fields["lease"])
                self._results[host].discard(fields["lease"])
                self._sent_at.pop(host, None)
            case "Settled" if fields["task"] >= ledger.first:
                ledger.settled[fields["task"]] += 1

    async def _send(self, number: int) -> None:
        ready = [
            host
            for host in {*self._starts, *self._results}
            if (self._starts[host] or self._results[host])
            and number >= self._sent_at.get(host, -_AGAIN_AFTER_BLOCKS) + _AGAIN_AFTER_BLOCKS
        ]
        await asyncio.gather(*(self._report(host, number) for host in ready))

    async def _report(self, host: str, number: int) -> None:
        reports = [(lease, ReportStarted()) for lease in sorted(self._starts[host])]
        reports += [(lease, ReportResult(result_of(lease_parts(lease)[0]))) for lease in sorted(self._results[host])]
        signer = self._signers[host]
        self._sent_at[host] = number
        nonce = await self._chain.next_nonce(signer.address)
        call = calls.tasks_report_batch(reports=reports)
        try:
            await self._chain.broadcast(await self._chain.sign(call, signer, nonce, era_blocks=32))
        except SubmitRefused as refused:
            self.ledger.odd[f"refused: {refused.kind.value}"] += 1
