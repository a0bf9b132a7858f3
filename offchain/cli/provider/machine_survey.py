"""Survey of the machine for `join`: collects the facts for the checks."""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
from pathlib import Path
from typing import Any

import docker
import psutil
import requests.exceptions
from docker.utils import kwargs_from_env

from node_agent.drivers.docker.disks import disks_of
from node_agent.drivers.docker.engine_features import (
    TRIAL_S,
    cdi_devices,
    checked_runtime,
    choose_runtime,
    sandboxing_runtimes,
)
from node_agent.drivers.docker.start_gate import StartGates
from node_agent.install.service import has_systemd
from node_agent.runtime.settings import FIRST_CONTACT_S, AgentSettings, find_devices, listen_address
from node_agent.telemetry.hardware import HostDevice
from node_agent.telemetry.nvml import driver_version
from node_agent.telemetry.probe import GIB, MIB, offered, tier_of
from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.transport.iroh_quic import IrohTransport
from offchain.adapters.transport.port import TransportError
from offchain.cli.provider.advisories import Component, engine_components, installed_toolkit, with_packages
from offchain.cli.provider.machine_checks import ChainFacts, EngineFacts, FundsFacts, MachineFacts
from offchain.clock import unix_ms
from offchain.errors import GantryError, OurError, WrongChain
from offchain.schema.chain_types._generated_chain import HostsParams, Tier
from offchain.schema.protocol.messages import WEBSOCKET

_ENGINE_TIMEOUT_S = 5
_DIAL_S = 3.0


async def survey_machine(settings: AgentSettings, key: Ed25519Signer, provider: str | None) -> MachineFacts:
    """Return all facts about this machine. `provider`: the account whose balance is read."""
    devices, kept = await asyncio.to_thread(_devices, settings)
    engine, root_dir = await asyncio.to_thread(engine_facts, settings.docker_host, settings.runtime)
    gates = StartGates(settings.state / "gates")
    await gates.connect(settings.docker_host, platform.machine())
    chain, funds = await _chain(settings, key.address, provider, devices)
    components = () if isinstance(engine, str) else engine.components
    return MachineFacts(
        engine=engine,
        components=await asyncio.to_thread(_all_components, components),
        devices=devices,
        driver=driver_version(),
        kept_gpus=kept,
        disk_trouble=await asyncio.to_thread(disk_trouble, root_dir, key.address),
        gate_trouble=gates.trouble,
        disk_free_gib=psutil.disk_usage(str(disk_of(root_dir, settings.state))).free // GIB,
        memory_mib=psutil.virtual_memory().total // MIB,
        cores=psutil.cpu_count() or 1,
        reserve=settings.reserve,
        addresses=await _addresses(settings, key),
        chain=chain,
        funds=funds,
        systemd=has_systemd(),
        root=os.getuid() == 0,
    )


def engine_facts(url: str | None, runtime: str | None = None) -> tuple[EngineFacts | str, Path | None]:
    """Return the facts about the engine, or why there are none; and its image folder if it is on this machine."""
    where: dict[str, Any] = dict(kwargs_from_env()) if url is None else {"base_url": url}
    shown = url or where.get("base_url", "unix:///var/run/docker.sock")
    try:
        api = docker.APIClient(version="auto", timeout=_ENGINE_TIMEOUT_S, **where)
        try:
            info = api.info()
            components = engine_components(api.version())
            runtime_trouble = _runtime_trouble(api, info, runtime)
        finally:
            api.close()
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
        if "Permission denied" in str(error) or "PermissionError" in str(error):
            return f"the engine at {shown} does not let this user in: sudo usermod -aG docker $USER, log in again", None
        return f"no Docker engine answers at {shown}", None
    folders = [Path(folder) for folder in info.get("CDISpecDirs") or ()]
    root_dir = Path(str(info.get("DockerRootDir") or ""))
    facts = EngineFacts(
        version=str(info.get("ServerVersion")),
        cgroup_version=int(info.get("CgroupVersion") or 1),
        cdi=bool(folders),
        cdi_devices=cdi_devices(folders),
        runtimes=frozenset(info.get("Runtimes") or ()),
        seccomp=any(option.startswith("name=seccomp") for option in info.get("SecurityOptions") or ()),
        storage=str(info.get("Driver") or ""),
        runtime=runtime,
        runtime_trouble=runtime_trouble,
        sandboxed=runtime is not None and not runtime_trouble and choose_runtime(runtime, info["Runtimes"]).sandboxed,
        sandboxes=sandboxing_runtimes(info.get("Runtimes") or {}),
        components=components,
    )
    return facts, root_dir if root_dir.is_dir() else None


def _all_components(of_engine: tuple[Component, ...]) -> tuple[Component, ...]:
    toolkit = installed_toolkit()
    return (*with_packages(of_engine), *(() if toolkit is None else (toolkit,)))


def _runtime_trouble(api: Any, info: dict[str, Any], name: str | None) -> str:
    """Return why pods cannot run under this runtime; empty if they can. A sandbox is tried out."""
    try:
        if name is not None:
            api.timeout = TRIAL_S
            checked_runtime(api, info, name)
    except ValueError as error:
        return str(error)
    return ""


def disk_of(root_dir: Path | None, state: Path) -> Path:
    """Return where pods use disk: the engine's folder, else the agent's or its nearest existing parent."""
    folder = root_dir or state
    while not folder.is_dir():
        folder = folder.parent
    return folder


def disk_trouble(root_dir: Path | None, host: str) -> str:
    """Return why leases cannot have their own file systems; empty if a trial succeeds."""
    if root_dir is None:
        return "the engine's folder is not on this machine, or closed to this user"
    return disks_of(root_dir, host).try_out()


def least_bond(params: HostsParams, tier: Tier, devices: int) -> int:
    """Return the bond of a provider without faults, in base units."""
    by_tier = {
        Tier.CONSUMER: params.bond_consumer,
        Tier.PROFESSIONAL: params.bond_professional,
        Tier.DATACENTER: params.bond_datacenter,
    }
    return by_tier[tier] * max(1, devices)


def _devices(settings: AgentSettings) -> tuple[tuple[HostDevice, ...] | str, int]:
    try:
        found = find_devices(settings)
        return offered(found, settings.keep_gpus), len({one.gpu for one in found} & set(settings.keep_gpus))
    except OurError as error:
        return str(error), 0


async def _addresses(settings: AgentSettings, key: Ed25519Signer) -> tuple[str, ...] | str:
    """Return the addresses for tenants after a connection over UDP to one of them, or why it failed."""
    try:
        transport = await listen_address(settings, key)
    except OurError as error:
        return str(error)
    udp = tuple(address for address in transport.addresses if not address.startswith(WEBSOCKET))
    try:
        caller = await IrohTransport.bind(secrets.token_bytes(32), "0.0.0.0:0", listen=False)
        accepting = asyncio.create_task(transport.accept())
        try:
            await caller.dial(transport.key, udp, _DIAL_S)
        except TransportError as error:
            return f"this machine cannot reach itself over UDP: {error}"
        finally:
            accepting.cancel()
            await asyncio.gather(accepting, return_exceptions=True)
            await caller.close()
        return udp
    finally:
        await transport.close()


async def _chain(
    settings: AgentSettings, host: str, provider: str | None, devices: tuple[HostDevice, ...] | str
) -> tuple[ChainFacts | str, FundsFacts | None]:
    port = SubstrateChain(settings.url, expected_genesis=settings.genesis, timeout=FIRST_CONTACT_S)
    try:
        await port.connect()
        head = await port.best_head()
        chain = GantryChain(port)
        facts = ChainFacts(settings.url, head.number, await chain.now_ms() - unix_ms())
        # A registered host has its bond.
        if provider is None or isinstance(devices, str) or await chain.host(host) is not None:
            return facts, None
        tier = settings.tier or tier_of(devices)
        bond = least_bond(await chain.params("Hosts"), tier, len(devices))
        return facts, FundsFacts(provider, (await chain.balance(provider)).spendable, bond)
    except WrongChain as error:
        if error.what == "genesis":
            return ChainFacts(settings.url, 0, 0, error.actual), None
        return str(error), None
    except GantryError as error:
        return error.message, None
    finally:
        await port.close()
