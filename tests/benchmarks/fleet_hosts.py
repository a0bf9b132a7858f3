"""Hosts for the benchmark of a fleet: real agents in one process, each with its own connection to the node.

Their driver is the fake one, whose containers start and end at once: what is measured is the way there. Registers
them, prints one line of JSON when all are online, then one for each container that starts; serves until its input ends.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from node_agent.chain.registration import registration_call
from node_agent.core.values import ContainerSpec, PodSpec
from node_agent.runtime.agent import NodeAgent
from node_agent.runtime.state_dir import StateDir
from node_agent.telemetry.hardware import Hardware
from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.submit_once import submit_once
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.clock import unix_ms
from offchain.ports import Call
from tests.support.chain_records import ask
from tests.support.fake_driver import FakeDriver
from tests.support.fake_engine import FakeEngine, FakeProgram
from tests.support.memory_transport import MemoryNetwork
from tests.support.real_chain import plain

PROVIDER = from_uri("//Bob")
HARDWARE = Hardware(4000, 8192, 100, ())
NUMBER = "BENCH_NUMBER"
"""The variable in which a task's container is told which one it is."""
AT_ONCE = 10


def tell(**facts: Any) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def program(_spec: PodSpec, container: ContainerSpec) -> FakeProgram:
    """A container that ends at once, and says that it ran."""
    tell(number=int(dict(container.service.environment)[NUMBER]), at_ns=time.time_ns())
    return FakeProgram(output=b"done\n")


async def main(url: str, count: int, folder: Path) -> None:
    states = [StateDir(folder / str(number)) for number in range(count)]
    keys = [state.host_key() for state in states]
    chain = SubstrateChain(url)
    await chain.connect()
    genesis = await chain.genesis_hash()
    prices = ask(cpu_core_per_hour=10**9, memory_gib_per_hour=10**9, disk_gib_per_hour=10**9)
    registrations = [
        registration_call(
            key,
            genesis_hash=genesis,
            provider=PROVIDER.address,
            hardware=HARDWARE,
            endpoint=b"",
            region=b"local",
            ask=prices,
        )
        for key in keys
    ]
    for first in range(0, count, AT_ONCE):
        batch = [plain(call) for call in registrations[first : first + AT_ONCE]]
        await submit_once(chain, PROVIDER, Call("Utility", "batch_all", {"calls": batch}))
    engine, network, stop = FakeEngine(program), MemoryNetwork(), asyncio.Event()
    chains = [SubstrateChain(url, expected_genesis=genesis) for _ in keys]
    agents = [
        NodeAgent(
            link,
            FakeDriver(engine, key.address),
            network.endpoint(key.public_key),
            state,
            key,
            HARDWARE,
            now_ms=unix_ms,
        )
        for link, key, state in zip(chains, keys, states, strict=True)
    ]
    running = [asyncio.create_task(agent.run(stop)) for agent in agents]
    await _online(chain, [key.address for key in keys])
    tell(online=count)
    await asyncio.to_thread(sys.stdin.read)
    stop.set()
    await asyncio.gather(*running)
    for link in (chain, *chains):
        await link.close()
    for state in states:
        state.close()


async def _online(chain: SubstrateChain, hosts: list[str]) -> None:
    typed, waiting = GantryChain(chain), set(hosts)
    async for _ in chain.best():
        for host in tuple(waiting):
            record = await typed.host(host)
            if record is not None and record.status.tag == "Online":
                waiting.discard(host)
        if not waiting:
            return


if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(message)s")
    logging.getLogger("node_agent.chain").setLevel(logging.INFO)
    with tempfile.TemporaryDirectory(prefix="gantry-fleet-") as found:
        asyncio.run(main(sys.argv[1], int(sys.argv[2]), Path(found)))
