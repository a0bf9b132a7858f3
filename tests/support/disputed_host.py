"""A host without containers whose programs write what the test says, and which shows evidence; and a juror's worker
whose programs write what a right execution writes. Each in a process of its own, which can be killed at any moment.

    python -m tests.support.disputed_host host URL FOLDER PROVIDER OUTPUT
    python -m tests.support.disputed_host juror URL FOLDER ACCOUNT OUTPUT
"""

import asyncio
import contextlib
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from node_agent.handlers.evidence_files import EvidenceFiles
from node_agent.handlers.evidence_requests import EvidenceRequests
from node_agent.handlers.receipt_requests import ReceiptRequests
from node_agent.metering.meter import UsageMeter, steady_time
from node_agent.runtime.agent import NodeAgent
from node_agent.runtime.job_execution import PodExecutor
from node_agent.runtime.state_dir import StateDir
from node_agent.telemetry.hardware import Hardware
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.clock import unix_ms
from offchain.ports import Signer
from offchain.services.runner import run_worker
from tests.support.chain_records import ask
from tests.support.fake_driver import FakeDriver
from tests.support.fake_usage import FakeUsageSource
from tests.support.host_process import engine_with_output, module_process, registered_transport
from tests.support.real_chain import Chain, connect

HARDWARE = Hardware(4000, 8192, 100, ())


class NoGpus:
    """A machine without GPUs to meter."""

    def read(self, _uuids: object) -> dict[str, object]:
        return {}

    def close(self) -> None:
        """Do nothing."""


@contextlib.contextmanager
def played(what: str, url: str, folder: Path, account: str, output: str) -> Iterator[subprocess.Popen[bytes]]:
    """The process of a host or a juror, which is killed at the latest in the end. Its log is beside its folder."""
    with module_process("disputed_host", folder, what, url, str(folder), account, output) as process:
        yield process


async def _run_host(url: str, folder: Path, provider: Signer, output: bytes) -> None:
    chain = Chain(0, await connect(url))
    with contextlib.closing(StateDir(folder)) as state:
        key, prices = state.host_key(), ask(cpu_core_per_hour=10**12)
        transport = await registered_transport(chain, state, provider, HARDWARE, prices)
        engine, typed, genesis = engine_with_output(output), GantryChain(chain.link), await chain.link.genesis_hash()
        usage = FakeUsageSource(engine, key.address)
        meter = UsageMeter(typed, state.store, key, genesis, usage, NoGpus(), now_ms=unix_ms, moment=steady_time)  # type: ignore[arg-type]
        agent = NodeAgent(
            chain.link,
            FakeDriver(engine, key.address),
            transport,
            state,
            key,
            HARDWARE,
            now_ms=unix_ms,
            periodic=(meter.add_jobs,),
            handlers={
                **ReceiptRequests(asyncio.get_running_loop(), meter).handlers(),
                **EvidenceRequests(typed, state, meter.newest).handlers(),
                **EvidenceFiles(typed, state.path).handlers(),
            },
        )
        await agent.run(asyncio.Event())


async def _run_juror(url: str, folder: Path, account: Signer, output: bytes) -> None:
    @contextlib.asynccontextmanager
    async def executor() -> AsyncIterator[PodExecutor]:
        yield PodExecutor(FakeDriver(engine_with_output(output), account.address), account.address)

    await run_worker(["juror"], url, folder, account, None, open_executor=executor)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    _, kind, node, place, name, text = sys.argv
    play = _run_host if kind == "host" else _run_juror
    asyncio.run(play(node, Path(place), from_uri(name), text.encode()))
