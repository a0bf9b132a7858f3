"""A host with a simulated GPU whose results are compared, in a process of its own, which can be killed at any moment.

    python -m tests.support.compared_host URL FOLDER PROVIDER OUTPUT [late | withhold | copy]

Its programs write OUTPUT and end; no container runs. Started again with the same folder, it is the same host. `late`:
programs end when there is a file `go` in the folder. `withhold`: it commits its results and never shows their tags.
`copy`: it commits what another replica of the task has committed.
"""

import asyncio
import contextlib
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from node_agent.chain.replica_results import ReplicaResults, SendCall
from node_agent.core.states import Phase
from node_agent.core.values import HostLease
from node_agent.runtime import agent as agent_module
from node_agent.runtime.agent import NodeAgent
from node_agent.runtime.state_dir import StateDir
from node_agent.telemetry.hardware import Hardware, HostDevice
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.periodic_jobs import PeriodicJobs
from offchain.clock import unix_ms
from offchain.ports import Signer
from offchain.schema.chain_types._generated_chain import PodResult, storage
from offchain.schema.chain_types.ids import lease_parts
from tests.support.chain_records import ask
from tests.support.fake_driver import FakeDriver
from tests.support.host_process import engine_with_output, module_process, registered_transport
from tests.support.real_chain import Chain, connect

MODEL: Final = "SIM-1"
HARDWARE: Final = Hardware(4000, 8192, 100, (HostDevice("Nvidia", MODEL, 24_576, None),))
GPU_PER_HOUR: Final = 36 * 10**12
"""What each host asks for its GPU, in base units."""
GO: Final = "go"
LOOK_S: Final = 0.1


class WithholdingResults(ReplicaResults):
    """Commits results and never shows their tags."""

    async def run(self, send: SendCall) -> None:
        del send
        await asyncio.Event().wait()


class CopyingResults(ReplicaResults):
    """Commits what another replica of the task has committed."""

    async def commitment(self, lease: HostLease, result: PodResult) -> bytes:
        await super().commitment(lease, result)
        task, typed = lease_parts(lease.number)[0], GantryChain(self._port)
        async for head in self._port.best():
            record = await typed.read(storage.verification_results, task, at=head.hash)
            others = () if record is None else [one for one in record.replicas if one.lease != lease.number]
            if others:
                return others[0].commitment
        raise AssertionError("the chain ended")


_BEHAVIOURS: Final = {"withhold": WithholdingResults, "copy": CopyingResults}


@contextlib.contextmanager
def compared_host(
    url: str, folder: Path, provider: str, output: str, behaviour: str = ""
) -> Iterator[subprocess.Popen[bytes]]:
    """The host's process, which is killed at the latest in the end. Its log is beside its folder."""
    arguments = (url, str(folder), provider, output, *([behaviour] if behaviour else []))
    with module_process("compared_host", folder, *arguments) as process:
        yield process


async def _run(url: str, folder: Path, provider: Signer, output: bytes, behaviour: str) -> None:
    chain = Chain(0, await connect(url))
    agent_module.ReplicaResults = _BEHAVIOURS.get(behaviour, ReplicaResults)  # type: ignore[misc]
    with contextlib.closing(StateDir(folder)) as state:
        key, prices = state.host_key(), ask(gpu_per_hour=GPU_PER_HOUR)
        transport = await registered_transport(chain, state, provider, HARDWARE, prices)
        engine = engine_with_output(output, runs=behaviour == "late")

        def end_programs(agent: NodeAgent, jobs: PeriodicJobs) -> None:
            async def look() -> None:
                if behaviour == "late" and (folder / GO).exists():
                    for number, pod in agent.state.pods.items():
                        if pod.phase is Phase.RUNNING:
                            engine.finish(key.address, number)

            jobs.add("end of programs", look, LOOK_S)

        agent = NodeAgent(
            chain.link,
            FakeDriver(engine, key.address),
            transport,
            state,
            key,
            HARDWARE,
            now_ms=unix_ms,
            periodic=(end_programs,),
        )
        await agent.run(asyncio.Event())


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    _, node, place, name, text, *rest = sys.argv
    asyncio.run(_run(node, Path(place), from_uri(name), text.encode(), rest[0] if rest else ""))
