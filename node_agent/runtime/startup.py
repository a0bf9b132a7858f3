"""Opens what an agent needs. What fails here is told in one message."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from node_agent.chain.duplicates import other_agent_block, wait_for_silence
from node_agent.chain.registration import registration_call
from node_agent.drivers.docker.access import DockerAccess
from node_agent.drivers.docker.cdi import offers_all
from node_agent.drivers.docker.driver import DockerDriver
from node_agent.drivers.docker.orphan_programs import end_orphans
from node_agent.drivers.docker.sandbox_trial import is_sandboxed
from node_agent.handlers.agent_loop import BoundReceipts
from node_agent.handlers.receipt_requests import ReceiptRequests
from node_agent.images.book import ImageBook
from node_agent.images.decide import Mirror, parse_mirror
from node_agent.images.docker_engine import DockerImages
from node_agent.images.registries import Endpoint, Rules, parse_allowed
from node_agent.images.registry_client import RegistryClient
from node_agent.images.store import ImageStore
from node_agent.install.launch import RELEASE_VARIABLE
from node_agent.install.releases import Releases
from node_agent.metering.docker import DockerGauge
from node_agent.metering.gpus import GpuGauges
from node_agent.metering.meter import Meter, machine_moment
from node_agent.runtime import heap_trim
from node_agent.runtime.journal import EarningsJournal
from node_agent.runtime.loop_thread import LoopThread
from node_agent.runtime.machine_lock import MachineLock
from node_agent.runtime.service import NodeAgent
from node_agent.runtime.state_dir import HOST_KEY, StateDir
from node_agent.runtime.status_file import StatusFile
from node_agent.telemetry import hardware as hw
from node_agent.telemetry.network_probe import Prober
from node_agent.telemetry.probe import Reserve, found_devices, offered, probe, simulated, sources
from node_agent.telemetry.source import Found
from node_agent.telemetry.watch import FAULTS, DeviceWatch, this_boot
from offchain.adapters.chain.chain_pin import expected_genesis, pin_genesis
from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import Ed25519Signer, load_host_key
from offchain.adapters.transport.fd_limit import have_open_files
from offchain.adapters.transport.gateway import ByGateways
from offchain.adapters.transport.multi_transport import Ways
from offchain.adapters.transport.routing import Reach, open_direct, open_host
from offchain.errors import OurError
from offchain.ports import Call, ChainPort
from offchain.schema.chain_types._generated_chain import Ask, Capabilities, Tier
from offchain.schema.protocol.gateway import GatewayAddress
from offchain.schema.protocol.messages import endpoint_text

DEFAULT_BIND = "0.0.0.0:0"
FIRST_CONTACT_S = 5.0
OPEN_FILES = 16_384
SWITCH_S = 0.001
"""Seconds after which a thread that computes gives way to the other: heartbeats share the interpreter with the link."""
HARDWARE = "hardware.json"
_NO_FACTS: Mapping[str, Mapping[str, Any]] = {"pods": {}, "devices": {}, "network": {}, "gateways": {}}

log = logging.getLogger(__name__)


def unix_ms() -> int:
    """The machine's clock."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """How an agent is to run on this machine."""

    url: str
    state: Path
    bind: str | None = None
    simulate: str | None = None
    docker_host: str | None = None
    runtime: str | None = None
    """The engine's runtime for tenants' containers; None: runc."""
    network: bool = True
    reserve: Reserve = field(default_factory=Reserve)
    keep_gpus: tuple[int, ...] = ()
    share_gpus: bool = False
    """Tenants may have shares of GPUs."""
    registry_mirror: str | None = None
    """A registry that images are pulled through."""
    allow_registries: tuple[Endpoint, ...] = ()
    """Registries that images may be pulled from although their addresses are not public."""
    image_quota_gib: int | None = None
    """Disk for images that tenants asked for; None: a quarter of what is free at first, and at most 200."""
    tier: Tier | None = None
    """The class of the machine where its owner knows better than the probe."""
    genesis: bytes | None = None
    """The only chain to work for; None: the one of the first contact."""
    gateways: tuple[GatewayAddress, ...] = ()
    """Where tenants who cannot dial this machine find it."""


async def run_agent(settings: AgentSettings) -> None:
    """Run until SIGTERM or SIGINT. A release on trial that does not become ready in its time ends by itself."""
    have_open_files(OPEN_FILES)
    sys.setswitchinterval(SWITCH_S)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    release = os.environ.get(RELEASE_VARIABLE, "")
    releases = Releases(settings.state)
    async with contextlib.AsyncExitStack() as stack:
        state = stack.enter_context(contextlib.closing(StateDir(settings.state)))
        key = state.host_key()
        hardware = find_hardware(settings, state)
        async with open_pinned_chain(settings, state) as first:
            # A wrong address is told soon; later on, the agent is patient with its node.
            genesis = await first.genesis_hash()
        chain = SubstrateChain(settings.url, expected_genesis=genesis)
        stack.push_async_callback(chain.close)
        lock = stack.enter_context(MachineLock(key.address))
        if not await _may_start(chain, key.address, state, release, stop):
            return
        images = ImageStore(
            DockerImages(settings.docker_host, RegistryClient(rules_of(settings))),
            ImageBook(settings.state / "images.json"),
            mirror=mirror_of(settings),
            quota_bytes=hardware.image_gib << 30,
            now_ms=unix_ms,
        )
        stack.push_async_callback(images.close)
        driver = await DockerDriver.connect(
            settings.docker_host,
            key.address,
            images,
            network=settings.network,
            files=state.files,
            runtime=settings.runtime,
            gates=settings.state / "gates",
        )
        stack.push_async_callback(driver.close)
        check_isolation(hardware.capabilities, sandboxed=driver.sandboxed, tell=log.info)
        link = LoopThread.start("link")
        stack.push_async_callback(link.close)
        link_chain = SubstrateChain(settings.url, expected_genesis=genesis)
        stack.push_async_callback(lambda: link.run(link_chain.close()))
        transport, by_gateways = await link.run(_open_link(settings, state, key, genesis))
        stack.push_async_callback(lambda: link.run(transport.close()))
        pods = DockerAccess(settings.docker_host, key.address)
        stack.push_async_callback(lambda: link.run(pods.close()))
        await end_orphans(settings.docker_host, key.address)
        watch = DeviceWatch(hardware.devices, sources(), settings.state / FAULTS, now_ms=unix_ms, boot_id=this_boot())
        journal = EarningsJournal(state.store)
        gauge, gpus = DockerGauge(settings.docker_host, key.address, now_ms=unix_ms), GpuGauges()
        stack.push_async_callback(gauge.close)
        stack.callback(gpus.close)
        meter = Meter(GantryChain(chain), state.store, key, genesis, gauge, gpus, now_ms=unix_ms, moment=machine_moment)
        open_way = partial(open_direct, genesis_hash=genesis, signer=key)
        prober = Prober(open_way, settings.gateways, now_ms=unix_ms)
        agent = NodeAgent(
            chain,
            driver,
            transport,
            state,
            key,
            hardware,
            now_ms=unix_ms,
            pods=pods,
            sandboxed=driver.sandboxed,
            open_host=partial(open_host, genesis_hash=genesis, signer=key),
            beside=(watch.run, journal.run, prober.run, meter.run, heap_trim.keep_heap_trimmed),
            handlers=ReceiptRequests(BoundReceipts(asyncio.get_running_loop(), meter)).handlers(),
            link=link,
            link_port=link_chain,
        )
        facts = _facts(agent, lock, watch, prober, by_gateways)
        beacon = StatusFile(settings.state, release, transport.addresses, facts, now_ms=unix_ms)
        await _serve(agent.run(stop), _confirm(releases, release, agent.ready), beacon.run(agent.ready))


async def _open_link(
    settings: AgentSettings, state: StateDir, key: Ed25519Signer, genesis: bytes
) -> tuple[Reach, ByGateways]:
    """Listen, directly and at gateways. To be run in the loop of the link."""
    direct = await listen(state, key, settings.bind)
    by_gateways = ByGateways(direct, key.seed(), genesis_hash=genesis, signer=key)
    by_gateways.listen(settings.gateways)
    return Reach(direct, by_gateways), by_gateways


async def _may_start(chain: ChainPort, host: str, state: StateDir, release: str, stop: asyncio.Event) -> bool:
    """Wait for the end of another agent of this host, if the last run of this one ended because of it.

    Returns False where this agent was told to stop meanwhile.
    """
    block = other_agent_block(state.store)
    if block is None:
        return True
    said = (
        "this agent waits, and starts nothing, until the heartbeats of another agent with this host's key end; "
        f"that one was seen in block {block}: stop it, or stop this one for good"
    )
    log.warning("%s", said)
    beacon = StatusFile(state.path, release, (), lambda: {**_NO_FACTS, "troubles": {"identity": said}}, now_ms=unix_ms)
    saying = asyncio.create_task(beacon.run(asyncio.Event()))
    waiting = asyncio.create_task(wait_for_silence(chain, host, state.store))
    told = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({waiting, told}, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            waiting.result()
    finally:
        for task in (saying, waiting, told):
            task.cancel()
        await asyncio.gather(saying, waiting, told, return_exceptions=True)
    return not stop.is_set()


def _facts(agent: NodeAgent, lock: MachineLock, watch: DeviceWatch, prober: Prober, by_gateways: ByGateways) -> Any:
    def facts() -> Mapping[str, Mapping[str, Any]]:
        pods = {str(number): pod.phase.value for number, pod in agent.state.pods.items()}
        devices = {str(index): why for index, why in watch.troubles().items()}
        gateways = {kept.gateway.text: "attached" if kept.attached else kept.trouble for kept in by_gateways.states}
        network = prober.facts()
        troubles = {**({"identity": lock.trouble} if lock.trouble else {}), **agent.troubles}
        since_ms = agent.suspended_since_ms
        suspension = {} if since_ms is None else {"since_ms": since_ms}
        return {
            "pods": pods,
            "devices": devices,
            "network": network,
            "gateways": gateways,
            "troubles": troubles,
            "suspension": suspension,
        }

    return facts


async def _serve(
    agent: Coroutine[Any, Any, None], trial: Coroutine[Any, Any, None], beacon: Coroutine[Any, Any, None]
) -> None:
    """Until the agent ends, or its trial fails, which ends it."""
    serving, trying, saying = (asyncio.create_task(work) for work in (agent, trial, beacon))
    try:
        await asyncio.wait({serving, trying}, return_when=asyncio.FIRST_COMPLETED)
        if trying.done():
            trying.result()
        await serving
    finally:
        for task in (serving, trying, saying):
            task.cancel()
        await asyncio.gather(serving, trying, saying, return_exceptions=True)


async def _confirm(releases: Releases, release: str, ready: asyncio.Event) -> None:
    """End the trial of this release when it is ready; end the program when its time is over, so that it is undone."""
    trial = releases.trial()
    if trial is None or trial.release != release:
        return
    try:
        async with asyncio.timeout(max(0, trial.until_ms - unix_ms()) / 1000):
            await ready.wait()
    except TimeoutError:
        raise OurError("This release did not become ready in its time.", "The one before it is started.") from None
    releases.confirm(release)


def mirror_of(settings: AgentSettings) -> Mirror | None:
    """The registry that images are pulled through. OurError where it cannot be one."""
    if settings.registry_mirror is None:
        return None
    try:
        return parse_mirror(settings.registry_mirror)
    except ValueError as error:
        raise OurError(f"{error}.", "Correct --registry-mirror.") from None


def rules_of(settings: AgentSettings) -> Rules:
    """Where images may be pulled from: public registries, those that the operator allows, and the mirror."""
    allowed = set(settings.allow_registries)
    mirror = mirror_of(settings)
    if mirror is not None:
        allowed.add(parse_allowed(f"{'http' if mirror.plain else 'https'}://{mirror.host}"))
    return Rules(frozenset(allowed))


def key_of(settings: AgentSettings) -> Ed25519Signer:
    """The key of a host that was set up with this folder, without opening the folder."""
    path = settings.state / HOST_KEY
    if not path.exists():
        raise OurError(f"No host was set up in {settings.state}.", "Run gantry agent join first, or give its --state.")
    return load_host_key(path)


async def registration(
    settings: AgentSettings,
    key: Ed25519Signer,
    hardware: hw.Hardware,
    genesis: bytes,
    provider: str,
    region: str,
    ask: Ask,
) -> Call:
    """The call with which the provider registers this host, countersigned by the host's key."""
    transport = await listen_address(settings, key)
    try:
        endpoint = endpoint_text((*transport.addresses, *(gateway.text for gateway in settings.gateways)))
    finally:
        await transport.close()
    return registration_call(
        key,
        genesis_hash=genesis,
        provider=provider,
        hardware=hardware,
        endpoint=endpoint,
        region=region.encode(),
        ask=ask,
    )


def find_hardware(settings: AgentSettings, state: StateDir) -> hw.Hardware:
    """What was found on the first start of this folder; looked for on that first start."""
    path = state.path / HARDWARE
    kept = hw.load(path)
    if kept is None:
        kept = probe_hardware(settings)
        hw.save(path, kept)
        return kept
    if settings.simulate is not None and hw.load_profile(settings.simulate) != kept.devices:
        raise OurError(
            f"The profile {settings.simulate!r} is not the hardware this folder was set up with.",
            "Leave out --simulate, or use another --state folder.",
        )
    return kept


def check_isolation(registered: Capabilities, *, sandboxed: bool, tell: Callable[[str], None]) -> None:
    """Compare how pods are isolated with what the host was registered with. OurError where they are isolated less.

    `tell` is called with a hint where they are isolated better.
    """
    if registered.sandboxed and not sandboxed:
        raise OurError(
            "This host is registered as one that runs pods in a sandbox, and they would use the machine's kernel.",
            "Give the runtime it was registered with (--runtime), or register it as it is now: "
            "gantry agent change-hardware --runtime runc.",
        )
    if sandboxed and not registered.sandboxed:
        tell("The host is registered without its sandbox: gantry agent change-hardware lets tenants ask for it.")


def probe_hardware(settings: AgentSettings, *, sandboxed: bool | None = None) -> hw.Hardware:
    """What this machine offers now by these settings.

    `sandboxed`: whether pods have a kernel of their own under the runtime of the settings; None: it is tried out, and
    the call blocks for as long as a trial container runs.
    """
    devices = offered(find_devices(settings), settings.keep_gpus)
    hardware = probe(settings.state, settings.reserve, devices, settings.image_quota_gib)
    if sandboxed is None:
        sandboxed = is_sandboxed(settings.docker_host, settings.runtime)
    nvidia = [device.uuid for device in hardware.devices if device.uuid is not None and device.vendor == "Nvidia"]
    cdi = offers_all(settings.docker_host, nvidia)
    capabilities = replace(hardware.capabilities, shares=settings.share_gpus, cdi=cdi, sandboxed=sandboxed)
    return replace(hardware, tier=settings.tier or hardware.tier, capabilities=capabilities)


def find_devices(settings: AgentSettings) -> tuple[Found, ...]:
    """All GPUs of this machine, or those of the profile that stands for them."""
    return found_devices() if settings.simulate is None else simulated(hw.load_profile(settings.simulate))


async def listen(state: StateDir, key: Ed25519Signer, bind: str | None) -> Ways:
    """The host's endpoint. Where no port is given, the one of the last time is used again if it is free."""
    return await _listen(state.path, key, bind)


async def listen_address(settings: AgentSettings, key: Ed25519Signer) -> Ways:
    """Open the host's endpoint with the port of its last run, for a check of its addresses; no agent has to run."""
    return await _listen(settings.state, key, settings.bind)


async def _listen(folder: Path, key: Ed25519Signer, bind: str | None) -> Ways:
    path = folder / "port"
    ip, _, port = (bind or DEFAULT_BIND).rpartition(":")
    if port == "0" and path.exists() and path.read_text().strip().isdecimal():
        with contextlib.suppress(OSError):
            return await Ways.bind(key.seed(), f"{ip}:{path.read_text().strip()}")
    try:
        transport = await Ways.bind(key.seed(), f"{ip}:{port}")
    except OSError as error:
        raise OurError(str(error)) from None
    if transport.addresses and not path.exists():
        path.write_text(transport.addresses[0].rpartition(":")[2] + "\n")
    return transport


@contextlib.asynccontextmanager
async def open_pinned_chain(settings: AgentSettings, state: StateDir) -> AsyncIterator[ChainPort]:
    """A connection for the length of a block, to the one chain that this folder belongs to."""
    expected = expected_genesis(state.store, settings.genesis)
    chain = SubstrateChain(settings.url, expected_genesis=expected, timeout=FIRST_CONTACT_S)
    try:
        await chain.connect()
        pin_genesis(state.store, await chain.genesis_hash())
        yield chain
    finally:
        await chain.close()


@contextlib.asynccontextmanager
async def open_chain(settings: AgentSettings) -> AsyncIterator[ChainPort]:
    """A connection for a command that looks or signs, beside an agent that may be running."""
    first = SubstrateChain(settings.url, expected_genesis=settings.genesis, timeout=FIRST_CONTACT_S)
    try:
        # A wrong address is told soon; once the node was there, it may be away for a while.
        await first.connect()
        genesis = await first.genesis_hash()
    finally:
        await first.close()
    chain = SubstrateChain(settings.url, expected_genesis=genesis)
    try:
        yield chain
    finally:
        await chain.close()
