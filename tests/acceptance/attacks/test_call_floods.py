"""Free calls of a hostile host and calls of strangers at the full rate, against a running network."""

import asyncio
import itertools
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import jobs

from offchain.adapters.chain import registration
from offchain.adapters.chain.submit_once import submit_once
from offchain.adapters.keys.signer import from_uri
from offchain.errors import SubmitRefused
from offchain.ports import Call, Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import ask, hardware
from tests.support.local_network import TENANT, Net

PROVIDER, HOST, STRANGER = "//Dave", "//Flooder", "//Nobody"
HARDWARE = hardware(100, 16, 1)
"""Too little for any pod: nothing is assigned to the host once its first heartbeat makes it online."""
SENDERS = 4
BATCH = 50
"""Nonces ahead of the account's own that are tried: the pool judges each call by the state of the newest block."""
COMMAND_S = 60.0
"""For `gantry host list` on a busy machine; it takes some two seconds."""


def calls_of(task: int) -> Iterator[Call]:
    """What a host may call without coins, for a lease that is another host's and for one that never was."""
    lease, none = lease_id(task, 0, 0), lease_id(4_000_000, 0, 0)
    result = gen.PodResult(bytes(32), 0, gen.Usage(1, 1, 1))
    return itertools.cycle(
        [
            gen.calls.hosts_heartbeat(),
            gen.calls.tasks_report_started(lease=lease),
            gen.calls.tasks_report_result(lease=lease, result=result),
            gen.calls.tasks_report_failed(lease=none, reason=gen.HostFailure.IMAGE_INVALID),
            gen.calls.hosts_set_endpoint(endpoint=b"elsewhere"),
        ]
    )


async def flood(net: Net, signer: Signer, task: int, over: asyncio.Event, seen: Counter[str]) -> None:
    """Send until `over`, and count what the pool says."""
    calls = calls_of(task)
    while not over.is_set():
        first = await net.chain.next_nonce(signer.address)
        for nonce in range(first, first + BATCH):
            if over.is_set():
                return
            try:
                await net.chain.broadcast(await net.chain.sign(next(calls), signer, nonce))
                seen["taken"] += 1
            except SubmitRefused as error:
                seen[error.kind.name] += 1


async def test_a_flood_of_free_calls_keeps_nobody_waiting(net: Net, tmp_path: Path) -> None:
    """Work goes on while a registered host and a stranger without coins send as fast as the node answers."""
    host, provider = from_uri(HOST, "ed25519"), from_uri(PROVIDER)
    genesis = await net.chain.genesis_hash()
    call = registration.register(host, genesis, provider.address, HARDWARE, b"nowhere", b"flood", ask())
    await submit_once(net.chain, provider, call)
    lasting = await jobs.submit(net, tmp_path, "echo up; sleep 600")
    await net.until(lasting, {"Running"})
    over, seen = asyncio.Event(), {HOST: Counter[str](), STRANGER: Counter[str]()}
    attackers = [
        asyncio.create_task(flood(net, signer, lasting, over, seen[name]))
        for name, signer in ((HOST, host), (STRANGER, from_uri(STRANGER)))
        for _ in range(SENDERS)
    ]
    begun, first = time.monotonic(), (await net.chain.best_head()).number
    try:
        number = await jobs.submit(net, tmp_path, "echo done")
        await net.until(number, {"Reported", "Settled"})
        asked = time.monotonic()
        listed = await net.gantry("host", "list")
        assert (listed.code, time.monotonic() - asked < COMMAND_S) == (0, True), listed.said
        log = await jobs.told(net, "logs", str(number))
        assert "done" in log.out, log.said
    finally:
        over.set()
        await asyncio.gather(*attackers, return_exceptions=True)
        await net.gantry("task", "cancel", str(lasting), "--account", TENANT)
        # Its first heartbeat has made it online; other tests look for the host that has an agent.
        await submit_once(net.chain, provider, gen.calls.hosts_retire(host=host.address))
    seconds, blocks = time.monotonic() - begun, (await net.chain.best_head()).number - first
    told = f"{seconds:.0f} s, {blocks} blocks, {dict(seen[HOST])} of the host, {dict(seen[STRANGER])} of the stranger"
    # Nobody speaks for the lease of another host, and a stranger's calls take no place in the pool.
    (lease,) = await net.leases(number)
    assert lease.result is not None
    assert lease.result.exit_code == 0
    assert seen[STRANGER]["taken"] == 0, told
    assert sum(seen[STRANGER].values()) > BATCH, told
    assert blocks >= seconds, told  # a slot is 300 ms
    for name in ("agent", "workers"):
        net.pid(name)
    sys.stderr.write(told + "\n")
