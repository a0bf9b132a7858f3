"""Opens what an agent needs, and registers a host. What fails here is told in one message."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

from node_agent.access.docker import DockerAccess
from node_agent.drivers.docker import DockerDriver
from node_agent.images.book import ImageBook
from node_agent.images.docker_engine import DockerImages
from node_agent.images.store import ImageStore
from node_agent.register import registration_call
from node_agent.service import Agent
from node_agent.state_dir import StateDir
from node_agent.telemetry import hardware as hw
from node_agent.telemetry.probe import Reserve, nvidia_devices, probe
from offchain.link.chain_pin import expected_genesis, pin_genesis
from offchain.link.errors import OurError, RefusedError
from offchain.link.keys import Ed25519Signer
from offchain.link.once import submit_once
from offchain.link.p2p_ways import Ways
from offchain.link.ports import ChainPort, Signer
from offchain.link.substrate import SubstrateChain
from offchain.link.typed import GantryChain
from offchain.schema._generated_chain import Ask, Tier
from offchain.schema.chain import Call
from offchain.schema.wire import endpoint_text

DEFAULT_BIND = "0.0.0.0:0"
REGISTER_TIMEOUT_S = 120.0
FIRST_CONTACT_S = 5.0
IMAGE_QUOTA_BYTES = 200 << 30


def unix_ms() -> int:
    """The machine's clock."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is common to running and registering."""

    url: str
    state: Path
    bind: str | None
    simulate: str | None
    reserve: Reserve
    genesis: bytes | None = None
    """The only chain to work for; None: the one of the first contact."""


async def run_agent(settings: Settings, docker_host: str | None, *, network: bool) -> None:
    """Run until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    with contextlib.closing(StateDir(settings.state)) as state:
        key = state.host_key()
        hardware = find_hardware(settings, state)
        async with contextlib.AsyncExitStack() as stack:
            async with connected(settings, state) as first:
                # A wrong address is told soon; later on, the agent is patient with its node.
                genesis = await first.genesis_hash()
            chain = SubstrateChain(settings.url, expected_genesis=genesis)
            stack.push_async_callback(chain.close)
            images = ImageStore(
                DockerImages(docker_host),
                ImageBook(settings.state / "images.json"),
                mirror=None,
                quota_bytes=IMAGE_QUOTA_BYTES,
                now_ms=unix_ms,
            )
            stack.push_async_callback(images.close)
            driver = await DockerDriver.connect(docker_host, key.address, images, network=network, files=state.files)
            stack.push_async_callback(driver.close)
            transport = await listen(state, key, settings.bind)
            stack.push_async_callback(transport.close)
            pods = DockerAccess(docker_host, key.address)
            stack.push_async_callback(pods.close)
            await pods.end_orphans()
            await Agent(chain, driver, transport, state, key, hardware, now_ms=unix_ms, pods=pods).run(stop)


async def register_host(
    settings: Settings, provider: Signer, region: str, ask: Ask, tier: Tier | None = None
) -> dict[str, object]:
    """Register this machine under a provider's account. Says so where it is registered already.

    `tier`: the class of the machine where the provider knows better than its probe.
    """
    with contextlib.closing(StateDir(settings.state)) as state:
        key = state.host_key()
        hardware = find_hardware(settings, state)
        hardware = hardware if tier is None else replace(hardware, tier=tier)
        async with connected(settings, state) as port:
            chain = GantryChain(port)
            record = await chain.host(key.address)
            if record is None:
                transport = await listen(state, key, settings.bind)
                endpoint = endpoint_text(transport.addresses)
                await transport.close()
                call = registration_call(
                    key,
                    genesis_hash=await port.genesis_hash(),
                    provider=provider.address,
                    hardware=hardware,
                    endpoint=endpoint,
                    region=region.encode(),
                    ask=ask,
                )
                await send_once(port, provider, call)
                record = await chain.host(key.address)
            elif record.provider != provider.address:
                raise RefusedError(
                    f"Host {key.address} is registered already, under the provider {record.provider}.",
                    "Use that provider's key, or another --state folder for a new host key.",
                )
        return {
            "host": key.address,
            "provider": provider.address,
            "status": record.status.tag if record is not None else "Unknown",
            "devices": [device.model for device in hardware.devices],
            "simulated": any(device.simulated for device in hardware.devices),
        }


def find_hardware(settings: Settings, state: StateDir) -> hw.Hardware:
    """What was found on the first start of this folder; looked for on that first start."""
    path = state.path / "hardware.json"
    simulated = None if settings.simulate is None else hw.load_profile(settings.simulate)
    kept = hw.load(path)
    if kept is None:
        kept = probe(state.path, settings.reserve, simulated)
        hw.save(path, kept)
        return kept
    if simulated is not None and simulated != kept.devices:
        raise OurError(
            f"The profile {settings.simulate!r} is not the hardware this folder was set up with.",
            "Leave out --simulate, or use another --state folder.",
        )
    wanted = {device.uuid for device in kept.devices if device.uuid is not None}
    missing = wanted - {device.uuid for device in nvidia_devices()} if wanted else set()
    if missing:
        raise OurError(f"The GPU {min(map(str, missing))} of this host is gone.", "Check it with nvidia-smi.")
    return kept


async def listen(state: StateDir, key: Ed25519Signer, bind: str | None) -> Ways:
    """The host's endpoint. Where no port is given, the one of the last time is used again if it is free."""
    path = state.path / "port"
    ip, _, port = (bind or DEFAULT_BIND).rpartition(":")
    if port == "0" and path.exists() and path.read_text().strip().isdecimal():
        with contextlib.suppress(OSError):
            return await Ways.bind(key.seed(), f"{ip}:{path.read_text().strip()}")
    try:
        transport = await Ways.bind(key.seed(), f"{ip}:{port}")
    except OSError as error:
        raise OurError(str(error)) from None
    if transport.addresses:
        path.write_text(transport.addresses[0].rpartition(":")[2] + "\n")
    return transport


@contextlib.asynccontextmanager
async def connected(settings: Settings, state: StateDir) -> AsyncIterator[ChainPort]:
    """A connection for the length of a block, to the one chain that this folder belongs to."""
    expected = expected_genesis(state.store, settings.genesis)
    chain = SubstrateChain(settings.url, expected_genesis=expected, timeout=FIRST_CONTACT_S)
    try:
        await chain.connect()
        pin_genesis(state.store, await chain.genesis_hash())
        yield chain
    finally:
        await chain.close()


async def send_once(chain: ChainPort, signer: Signer, call: Call) -> None:
    """Have a call included and final. Raises :class:`RefusedError` with the chain's reason."""
    try:
        await submit_once(chain, signer, call, REGISTER_TIMEOUT_S)
    except TimeoutError:
        raise RefusedError(
            f"{call.pallet}.{call.function} came into no block within {REGISTER_TIMEOUT_S:g} s.",
            "Check that the chain makes blocks, then try again.",
        ) from None
