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

from node_agent.chain.registration import registration_call
from node_agent.core.values import ContainerSpec, PodSpec
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
from offchain.adapters.transport.multi_transport import MultiTransport
from offchain.clock import unix_ms
from offchain.ports import Signer
from offchain.schema.protocol.messages import endpoint_text
from offchain.services.runner import run_worker
from tests.support.chain_records import ask
from tests.support.fake_driver import FakeDriver
from tests.support.fake_engine import FakeEngine, FakeProgram
from tests.support.fake_usage import FakeUsageSource
from tests.support.real_chain import Chain, connect

ROOT = Path(__file__).resolve().parents[2]
HARDWARE = Hardware(4000, 8192, 100, ())


class NoGpus:
    """A machine without GPUs to meter."""

    def read(self, _uuids: object) -> dict[str, object]:
        return {}

    def close(self) -> None:
        """Do nothing."""


def engine_of(output: bytes) -> FakeEngine:
    """Return an engine whose programs write this and end."""

    def program(_spec: PodSpec, _container: ContainerSpec) -> FakeProgram:
        return FakeProgram(output=output)

    return FakeEngine(program)


@contextlib.contextmanager
def played(what: str, url: str, folder: Path, account: str, output: str) -> Iterator[subprocess.Popen[bytes]]:
    """The process of a host or a juror, which is killed at the latest in the end. Its log is beside its folder."""
    line = [sys.executable, "-m", "tests.support.disputed_host", what, url, str(folder), account, output]
    with (
        folder.with_suffix(".log").open("ab") as out,
        subprocess.Popen(line, cwd=ROOT, stdout=out, stderr=out) as run,
    ):
        try:
            yield run
        finally:
            run.kill()


async def _run_host(url: str, folder: Path, provider: Signer, output: bytes) -> None:
    chain = Chain(0, await connect(url))
    with contextlib.closing(StateDir(folder)) as state:
        key, genesis = state.host_key(), await chain.link.genesis_hash()
        transport = await MultiTransport.bind(key.seed(), "127.0.0.1:0")
        if await GantryChain(chain.link).host(key.address) is None:
            call = registration_call(
                key,
                genesis_hash=genesis,
                provider=provider.address,
                hardware=HARDWARE,
                endpoint=endpoint_text(transport.addresses),
                region=b"eu",
                ask=ask(cpu_core_per_hour=10**12),
            )
            await chain.do(provider, call)
        engine, typed = engine_of(output), GantryChain(chain.link)
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
        yield PodExecutor(FakeDriver(engine_of(output), account.address), account.address)

    await run_worker(["juror"], url, folder, account, None, open_executor=executor)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    _, kind, node, place, name, text = sys.argv
    play = _run_host if kind == "host" else _run_juror
    asyncio.run(play(node, Path(place), from_uri(name), text.encode()))
