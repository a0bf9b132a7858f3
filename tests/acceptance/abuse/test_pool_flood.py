"""Fifty hosts flood the pool with free calls: calls that pay come into a block all the same, within three blocks."""

import asyncio
import itertools
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from abuse_network import ASK, HARDWARE, JOB, MANIFEST, PEOPLE

from offchain.adapters.chain import registration
from offchain.adapters.keys.signer import from_uri
from offchain.errors import SubmitRefusal, SubmitRefused
from offchain.ports import Call, Signer
from offchain.schema.chain_types._generated_chain import PodPlacement, ReportCheckpoint, calls
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import ANY_RATE
from tests.support.real_chain import GTY, Chain, chain_of

HOSTS: Final = tuple(from_uri(f"//flood{number}", "ed25519") for number in range(50))
AHEAD: Final = 8
"""Nonces from the next one on with which a host sends the same call."""
PAID_CALLS: Final = 20
WITHIN_BLOCKS: Final = 3
PATCH: Final = {
    "hosts": {"params": {"absenceLimitMs": 3_600_000, "heartbeatPeriodMs": 60_000, "freeWeightUs": 5_000}},
    "tasks": {"params": {"checkpointMinMs": 1}},
}


@dataclass
class Flood:
    """The hosts with a lease each, and what the node took and refused of their calls."""

    chain: Chain
    leases: dict[str, int]
    over: asyncio.Event = field(default_factory=asyncio.Event)
    taken: set[bytes] = field(default_factory=set)
    refused: Counter[str] = field(default_factory=Counter)

    async def of(self, host: Signer) -> None:
        """Send free calls as fast as the node answers: a heartbeat, checkpoints, and batches of wrong reports."""
        lease = self.leases[host.address]
        kinds = [
            calls.hosts_heartbeat(),
            calls.tasks_report(lease=lease, report=ReportCheckpoint(digest=bytes(32), bytes_=1)),
            Call("Tasks", "report_batch", {"reports": [(lease, "Started")]}),
        ]
        while not self.over.is_set():
            link = self.chain.link
            first = await link.next_nonce(host.address)
            for call in kinds:
                for nonce in range(first, first + AHEAD):
                    try:
                        extrinsic = await link.sign(call, host, nonce)
                        await link.broadcast(extrinsic)
                        self.taken.add(extrinsic.hash)
                    except SubmitRefused as refused:
                        self.refused[refused.kind.name] += 1


async def built(chain: Chain) -> Flood:
    """Fifty hosts online, each with one running pod."""
    provider, tenant = PEOPLE["provider"], PEOPLE["tenant"]
    genesis = await chain.link.genesis_hash()
    first = int(await chain.link.query("Tasks", "NextTaskId") or 0)
    for at in range(0, len(HOSTS), 10):
        some = HOSTS[at : at + 10]
        await chain.do(
            provider,
            *(registration.register(one, genesis, provider.address, HARDWARE, b"here", b"eu", ASK) for one in some),
        )
        await chain.do(tenant, *(calls.tasks_submit(spec=JOB, manifest=MANIFEST) for _ in some))
    await asyncio.gather(*(chain.do(host, calls.hosts_heartbeat()) for host in HOSTS))
    placed = [
        calls.tasks_assign(task=first + number, pods=[PodPlacement(0, host.address, b"", ANY_RATE)])
        for number, host in enumerate(HOSTS)
    ]
    for at in range(0, len(placed), 10):
        await chain.do(tenant, *placed[at : at + 10])
    leases = {host.address: lease_id(first + number, 0, 0) for number, host in enumerate(HOSTS)}
    await asyncio.gather(*(chain.do(host, calls.tasks_report_started(lease=leases[host.address])) for host in HOSTS))
    return Flood(chain, leases)


async def test_paid_calls_are_included_within_three_blocks_of_a_flood_of_free_ones(tmp_path: Path) -> None:
    async with chain_of(tmp_path, PATCH) as chain:
        flood = await built(chain)
        link, payer = chain.link, PEOPLE["anyone"]
        attackers = [asyncio.create_task(flood.of(host)) for host in HOSTS]
        waited: list[int] = []
        begun = (await link.best_head()).number
        try:
            for number in range(PAID_CALLS):
                remark = Call("System", "remark", {"remark": b"%d" % number})
                signed_at = (await link.best_head()).number
                extrinsic = await link.sign(remark, payer, await link.next_nonce(payer.address))
                await link.broadcast(extrinsic)
                # From now on the pool has it: what this process took until then does not count.
                sent_at = (await link.best_head()).number
                waited.append(await _included_at(chain, extrinsic.hash, signed_at) - sent_at)
        finally:
            flood.over.set()
            await asyncio.gather(*attackers, return_exceptions=True)
        blocks = (await link.best_head()).number - begun
        told = f"waited {waited} blocks; in {blocks} blocks {len(flood.taken)} taken and {dict(flood.refused)}"
        # The block that is being made when a call comes may be full already.
        assert max(waited) <= WITHIN_BLOCKS, told
        assert len(flood.taken) > 10 * blocks, told
        assert flood.refused[SubmitRefusal.FUTURE_NONCE.name] > len(HOSTS) * AHEAD, told
        # A host has one free call in the pool at most.
        assert len(flood.taken) <= len(HOSTS) * (blocks + 2), told
        # Beyond its allowance it pays: wrong reports cost fines, checkpoints the fee.
        bonds = [record["bond"] for _, record in await link.query_map("Hosts", "Hosts")]
        assert all(bond < 10 * GTY for bond in bonds), bonds


async def _included_at(chain: Chain, extrinsic: bytes, since: int) -> int:
    """The number of the final block that has the extrinsic."""
    for number in itertools.count(since + 1):
        block = await chain.block_with(number)
        if any(inclusion.extrinsic_hash == extrinsic for inclusion in block.inclusions):
            return number
    raise AssertionError
