"""A host with a simulated GPU that answers challenges, in a process of its own, which can be killed at any moment.

    python -m tests.support.challenged_host URL FOLDER PROVIDER
        [--cheat | --device FILE | --container ENGINE IMAGE] [--output TEXT]

Started again with the same folder, it is the same host. A host that cheats answers with a proof for another seed, as
one that was computed in advance. Hosts with one file as their device have one GPU: it computes one proof at a time, and
the file counts them. With an engine and an image, its challenge program runs in a container. Pods run
without containers; their programs write the output and end.
"""

import argparse
import asyncio
import contextlib
import fcntl
import logging
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from node_agent.chain.challenge_responder import ChallengeResponder
from node_agent.challenge.child_process import ChildProgram, ChildPrograms
from node_agent.challenge.program_port import ProgramSource
from node_agent.challenge.sources import program_source
from node_agent.handlers.challenge_requests import ChallengeRequests
from node_agent.runtime.agent import NodeAgent
from node_agent.runtime.state_dir import StateDir
from node_agent.telemetry.hardware import Hardware, HostDevice
from offchain.adapters.keys.signer import from_uri
from offchain.clock import unix_ms
from offchain.ports import Signer
from offchain.schema.challenge.order import ChallengeWork
from tests.support.chain_records import ask
from tests.support.fake_driver import FakeDriver
from tests.support.host_process import engine_with_output, module_process, registered_transport
from tests.support.real_chain import Chain, connect

HARDWARE = Hardware(4000, 8192, 100, (HostDevice("Nvidia", "SIM-1", 24_576, None),), answers_challenges=True)
OTHER_SEED = bytes(32)
GPU_PER_HOUR = 36 * 10**12
"""What the host asks for its GPU, in base units."""


class CheatingPrograms(ChildPrograms):
    async def start(self, device: HostDevice, work: ChallengeWork) -> ChildProgram:
        return CheatingProgram((await super().start(device, work)).process)


class CheatingProgram(ChildProgram):
    """Computes for another seed, and claims that the proof is for the right one."""

    async def ask(self, order: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        if order["type"] != "compute":
            return await super().ask(order, timeout_s)
        answer = await super().ask({**order, "seed": OTHER_SEED.hex()}, timeout_s)
        return {**answer, "commitment": {**answer["commitment"], "seed": order["seed"]}}


class SharedDevicePrograms(ChildPrograms):
    """Programs of a host whose GPU other hosts offer, too. `device`: the file that stands for the GPU."""

    def __init__(self, folder: Path, device: Path) -> None:
        super().__init__(folder)
        self._device = device

    async def start(self, device: HostDevice, work: ChallengeWork) -> ChildProgram:
        return SharedDeviceProgram((await super().start(device, work)).process, self._device)


class SharedDeviceProgram(ChildProgram):
    """Computes while no other host uses the GPU."""

    def __init__(self, process: asyncio.subprocess.Process, device: Path) -> None:
        super().__init__(process)
        self._device = device

    async def ask(self, order: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        if order["type"] != "compute":
            return await super().ask(order, timeout_s)
        with self._device.open("ab", buffering=0) as gpu:
            await asyncio.to_thread(fcntl.flock, gpu, fcntl.LOCK_EX)
            answer = await super().ask(order, timeout_s)
            gpu.write(b"proof\n")
            return answer


@contextlib.contextmanager
def challenged_host(
    url: str,
    folder: Path,
    provider: str,
    *,
    cheats: bool = False,
    container: tuple[str, str] | None = None,
    device: Path | None = None,
    output: str = "",
) -> Iterator[subprocess.Popen[bytes]]:
    """The host's process, which is killed at the latest in the end. Its log is beside its folder.

    `container`: engine and image of the challenge program. `device`: file of a GPU that other hosts have, too.
    `output`: what the programs of pods write.
    """
    options = [f"--output={output}"]
    options += ["--cheat"] if cheats else []
    options += [] if device is None else ["--device", str(device)]
    options += [] if container is None else ["--container", *container]
    with module_process("challenged_host", folder, url, str(folder), provider, *options) as process:
        yield process


def _programs(host: str, options: argparse.Namespace) -> ProgramSource:
    if options.cheat:
        return CheatingPrograms(options.folder)
    if options.device is not None:
        return SharedDevicePrograms(options.folder, options.device)
    engine, image = options.container
    return program_source(image, engine, host, options.folder)


async def _run(options: argparse.Namespace) -> None:
    provider: Signer = from_uri(options.provider)
    output: bytes = options.output.encode()
    chain = Chain(0, await connect(options.url))
    with contextlib.closing(StateDir(options.folder)) as state:
        key, prices = state.host_key(), ask(gpu_per_hour=GPU_PER_HOUR)
        transport = await registered_transport(chain, state, provider, HARDWARE, prices)
        programs, driver = _programs(key.address, options), FakeDriver(engine_with_output(output), key.address)
        responder = ChallengeResponder(chain.link, state.store, programs, driver, key.address, HARDWARE)
        agent = NodeAgent(
            chain.link,
            driver,
            transport,
            state,
            key,
            HARDWARE,
            now_ms=unix_ms,
            beside=(responder.run,),
            periodic=(responder.add_jobs,),
            handlers=ChallengeRequests(asyncio.get_running_loop(), responder.document).handlers(),
        )
        await agent.run(asyncio.Event())


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("folder", type=Path)
    parser.add_argument("provider")
    parser.add_argument("--cheat", action="store_true")
    parser.add_argument("--device", type=Path)
    parser.add_argument("--container", nargs=2, default=(None, None))
    parser.add_argument("--output", default="")
    asyncio.run(_run(parser.parse_args()))
