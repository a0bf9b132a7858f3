"""A host without containers in a process of its own, which can be killed at any moment.

    python -m tests.support.fake_host URL FOLDER PROVIDER

It registers under this provider's key and runs whatever it is given until it is told to end it; each program has noted
in /ckpt/step how far it has come.
"""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

from node_agent.core.values import ContainerSpec, PodSpec
from node_agent.runtime.agent import NodeAgent
from node_agent.runtime.state_dir import StateDir
from node_agent.telemetry.hardware import Hardware
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.transport.routing import open_host
from offchain.clock import unix_ms
from offchain.ports import Signer
from tests.support.chain_records import ask
from tests.support.fake_driver import FakeDriver
from tests.support.fake_engine import FakeEngine, FakeProgram
from tests.support.host_process import module_process, registered_transport
from tests.support.real_chain import Chain, connect

HARDWARE = Hardware(4000, 8192, 100, ())


STEP = {"/ckpt/step": b"73"}


def lasting(_spec: PodSpec, _container: ContainerSpec) -> FakeProgram:
    return FakeProgram(runs=True, output=b"done\n")


def counting(_spec: PodSpec, _container: ContainerSpec) -> FakeProgram:
    """Return a program that has written its 73rd step."""
    return FakeProgram(runs=True, output=b"done\n", files=STEP)


@contextlib.asynccontextmanager
async def fake_host(chain: Chain, folder: Path, provider: Signer, engine: FakeEngine) -> AsyncIterator[str]:
    """A host that is registered and runs; gives its address."""
    with contextlib.closing(StateDir(folder)) as state:
        key, genesis = state.host_key(), await chain.link.genesis_hash()
        prices = ask(cpu_core_per_hour=10**9, memory_gib_per_hour=10**9, disk_gib_per_hour=10**9)
        transport = await registered_transport(chain, state, provider, HARDWARE, prices)
        driver = FakeDriver(engine, key.address)
        dial = partial(open_host, genesis_hash=genesis, signer=key)
        agent = NodeAgent(chain.link, driver, transport, state, key, HARDWARE, now_ms=unix_ms, open_host=dial)
        stop = asyncio.Event()
        running = asyncio.create_task(agent.run(stop))
        try:
            yield key.address
        finally:
            stop.set()
            await running


@contextlib.contextmanager
def fake_host_process(url: str, folder: Path, provider: str) -> Iterator[subprocess.Popen[bytes]]:
    """The same in a process of its own, which is killed at the latest in the end."""
    with module_process("fake_host", folder, url, str(folder), provider) as process:
        yield process


async def _run(url: str, folder: Path, provider: Signer) -> None:
    link = await connect(url)
    async with fake_host(Chain(0, link), folder, provider, FakeEngine(counting)):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_run(sys.argv[1], Path(sys.argv[2]), from_uri(sys.argv[3])))
