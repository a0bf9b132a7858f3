"""Settings of an agent, and what they open: key, hardware, endpoint and connections to the chain."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from node_agent.chain.registration import registration_call
from node_agent.drivers.docker.engine_features import is_sandboxed, offers_cdi_devices
from node_agent.images.policy import Mirror, parse_mirror
from node_agent.images.registries import Endpoint, RegistryRules, parse_allowed
from node_agent.runtime.state_dir import HOST_KEY, StateDir
from node_agent.telemetry import hardware as hw
from node_agent.telemetry.ports import FoundDevice
from node_agent.telemetry.probe import Reserve, found_devices, offered, probe, simulated
from offchain.adapters.chain.chain_identity import expected_genesis, pin_genesis
from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.keys.signer import Ed25519Signer, load_host_key
from offchain.adapters.transport.multi_transport import MultiTransport
from offchain.errors import OurError
from offchain.ports import Call, ChainPort
from offchain.schema.chain_types._generated_chain import Ask, Capabilities, Tier
from offchain.schema.challenge.sizing import terms_of
from offchain.schema.protocol.gateway import GatewayAddress
from offchain.schema.protocol.messages import endpoint_text

DEFAULT_BIND = "0.0.0.0:0"
FIRST_CONTACT_S = 5.0
HARDWARE = "hardware.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Settings of an agent on this machine."""

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
    """Whether tenants may have shares of GPUs."""
    answer_challenges: bool = False
    """Whether the host answers challenges of its GPUs."""
    challenge_image: str | None = None
    """Image of the challenge program, by its digest; None: it runs as a child process, for simulated GPUs only."""
    confidential: bool = False
    """Whether the host makes attestation documents."""
    registry_mirror: str | None = None
    """A registry through which images are pulled."""
    allow_registries: tuple[Endpoint, ...] = ()
    """Registries from which images may be pulled although their addresses are not public."""
    image_quota_gib: int | None = None
    """Disk for images of tenants; None: a quarter of the space that was free at first, at most 200."""
    tier: Tier | None = None
    """Tier of the machine if the owner overrides the detected one."""
    genesis: bytes | None = None
    """The only chain to work for; None: the one of the first contact."""
    gateways: tuple[GatewayAddress, ...] = ()
    """Gateways for tenants who cannot dial this machine."""
    metrics: str | None = None
    """`IP:PORT` where metrics are served; None: nowhere."""


def mirror_of(settings: AgentSettings) -> Mirror | None:
    """Return the registry through which images are pulled. Raises OurError if it is invalid."""
    if settings.registry_mirror is None:
        return None
    try:
        return parse_mirror(settings.registry_mirror)
    except ValueError as error:
        raise OurError(f"{error}.", "Correct --registry-mirror.") from None


def rules_of(settings: AgentSettings) -> RegistryRules:
    """Return where images may be pulled from: public registries, those that the operator allows, and the mirror."""
    allowed = set(settings.allow_registries)
    mirror = mirror_of(settings)
    if mirror is not None:
        allowed.add(parse_allowed(f"{'http' if mirror.plain else 'https'}://{mirror.host}"))
    return RegistryRules(frozenset(allowed))


def key_of(settings: AgentSettings) -> Ed25519Signer:
    """Return the key of a host that was set up with this folder, without opening the folder."""
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
    """Return the call with which the provider registers this host, countersigned by the host's key."""
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
    """Return the hardware of this folder, probed on its first start."""
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


def check_isolation(registered: Capabilities, *, sandboxed: bool, warn: Callable[[str], None]) -> None:
    """Compare the isolation of pods with the registered one. Raises OurError if it is weaker.

    `warn` is called with a hint if it is stronger.
    """
    if registered.sandboxed and not sandboxed:
        raise OurError(
            "This host is registered as one that runs pods in a sandbox, and they would use the machine's kernel.",
            "Give the runtime it was registered with (--runtime), or register it as it is now: "
            "gantry agent change-hardware --runtime runc.",
        )
    if sandboxed and not registered.sandboxed:
        warn("The host is registered without its sandbox: gantry agent change-hardware lets tenants ask for it.")


def probe_hardware(settings: AgentSettings, *, sandboxed: bool | None = None) -> hw.Hardware:
    """Return what this machine offers with these settings.

    `sandboxed`: whether pods have their own kernel under the configured runtime; None: a trial container decides, for
    which the call blocks.
    """
    devices = offered(find_devices(settings), settings.keep_gpus)
    hardware = probe(settings.state, settings.reserve, devices, settings.image_quota_gib)
    if sandboxed is None:
        sandboxed = is_sandboxed(settings.docker_host, settings.runtime)
    nvidia = [device.uuid for device in hardware.devices if device.uuid is not None and device.vendor == "Nvidia"]
    cdi = offers_cdi_devices(settings.docker_host, nvidia)
    capabilities = replace(hardware.capabilities, shares=settings.share_gpus, cdi=cdi, sandboxed=sandboxed)
    check_can_answer(settings, devices)
    return replace(
        hardware,
        tier=settings.tier or hardware.tier,
        capabilities=capabilities,
        answers_challenges=settings.answer_challenges,
    )


def check_can_answer(settings: AgentSettings, devices: tuple[hw.HostDevice, ...]) -> None:
    """Raise OurError if the host is to answer challenges, and these devices can never be proven with the settings."""
    if not settings.answer_challenges:
        return
    real = [one for one in devices if not one.simulated]
    unknown = [one.model for one in real if terms_of(one.model, one.vram_mib, simulated=False) is None]
    if unknown:
        raise OurError(
            f"The table of GPU models does not have {unknown[0]!r}, so that a challenge of it cannot be answered.",
            "Leave out --answer-challenges, or keep that GPU (--keep-gpu).",
        )
    if real and settings.challenge_image is None:
        raise OurError(
            f"To prove {real[0].model}, the agent needs the image of the challenge program.",
            "Build it (docker build --target challenge, docs/providers.md) and give its id: --challenge-image sha256:…",
        )
    if settings.challenge_image is None and find_spec("numpy") is None:
        raise OurError(
            "--answer-challenges needs the Python package numpy, which is not installed.",
            f"Run: {sys.executable} -m pip install numpy. Or name an image with --challenge-image.",
        )


def find_devices(settings: AgentSettings) -> tuple[FoundDevice, ...]:
    """Return all GPUs of this machine, or those of the simulated profile."""
    return found_devices() if settings.simulate is None else simulated(hw.load_profile(settings.simulate))


async def listen(state: StateDir, key: Ed25519Signer, bind: str | None) -> MultiTransport:
    """Open the host's endpoint. Without a given port, the last one is used again if it is free."""
    return await _listen(state.path, key, bind)


async def listen_address(settings: AgentSettings, key: Ed25519Signer) -> MultiTransport:
    """Open the host's endpoint with its last port, to check the addresses without an agent."""
    return await _listen(settings.state, key, settings.bind)


async def _listen(folder: Path, key: Ed25519Signer, bind: str | None) -> MultiTransport:
    path = folder / "port"
    ip, _, port = (bind or DEFAULT_BIND).rpartition(":")
    if port == "0" and path.exists() and path.read_text().strip().isdecimal():
        with contextlib.suppress(OSError):
            return await MultiTransport.bind(key.seed(), f"{ip}:{path.read_text().strip()}")
    try:
        transport = await MultiTransport.bind(key.seed(), f"{ip}:{port}")
    except OSError as error:
        raise OurError(str(error)) from None
    if transport.addresses and not path.exists():
        path.write_text(transport.addresses[0].rpartition(":")[2] + "\n")
    return transport


@contextlib.asynccontextmanager
async def open_pinned_chain(settings: AgentSettings, state: StateDir) -> AsyncIterator[ChainPort]:
    """Connect to the only chain of this folder."""
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
    """Connect for a command beside an agent that may be running."""
    first = SubstrateChain(settings.url, expected_genesis=settings.genesis, timeout=FIRST_CONTACT_S)
    try:
        # A wrong address is reported soon; a node that was there may be away for a while.
        await first.connect()
        genesis = await first.genesis_hash()
    finally:
        await first.close()
    chain = SubstrateChain(settings.url, expected_genesis=genesis)
    try:
        yield chain
    finally:
        await chain.close()
