"""Parts of hosts without containers that run in a process of their own, which a test can kill at any moment."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from node_agent.chain.registration import registration_call
from node_agent.core.values import ContainerSpec, PodSpec
from node_agent.runtime.state_dir import StateDir
from node_agent.telemetry.hardware import Hardware
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.transport.multi_transport import MultiTransport
from offchain.devnet.paths import ROOT
from offchain.ports import Signer
from offchain.schema.chain_types._generated_chain import Ask
from offchain.schema.protocol.messages import endpoint_text
from tests.support.fake_engine import FakeEngine, FakeProgram
from tests.support.real_chain import Chain


@contextlib.contextmanager
def module_process(module: str, folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """`python -m tests.support.MODULE`, which is killed at the latest at the end. Its log is beside the folder."""
    line = [sys.executable, "-m", f"tests.support.{module}", *arguments]
    with (
        folder.with_suffix(".log").open("ab") as out,
        subprocess.Popen(line, cwd=ROOT, stdout=out, stderr=out) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


async def registered_transport(
    chain: Chain, state: StateDir, provider: Signer, hardware: Hardware, prices: Ask
) -> MultiTransport:
    """Return the transport of the host with this state; register the host with its address, if it is new."""
    key = state.host_key()
    transport = await MultiTransport.bind(key.seed(), "127.0.0.1:0")
    if await GantryChain(chain.link).host(key.address) is None:
        call = registration_call(
            key,
            genesis_hash=await chain.link.genesis_hash(),
            provider=provider.address,
            hardware=hardware,
            endpoint=endpoint_text(transport.addresses),
            region=b"eu",
            ask=prices,
        )
        await chain.do(provider, call)
    return transport


def engine_with_output(output: bytes, *, runs: bool = False) -> FakeEngine:
    """Return an engine whose programs write this, and end unless `runs`."""

    def program(_spec: PodSpec, _container: ContainerSpec) -> FakeProgram:
        return FakeProgram(output=output, runs=runs)

    return FakeEngine(program)
