"""`gantry agent status`: the state of this host."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from node_agent.install.release_trust import keys_text, load, version_in_use
from node_agent.install.releases import Releases
from node_agent.install.service import AgentService, service_for
from node_agent.runtime.settings import AgentSettings, key_of, open_chain
from offchain.cli.kit.failures import run_command
from offchain.cli.kit.output import StepOutput, detail_lines
from offchain.cli.provider import agent_options
from offchain.cli.provider.host_view import ProviderHostView, read_provider_host
from offchain.cli.provider.signing import duration
from offchain.errors import OurError
from offchain.schema.chain_types._generated_chain import DisputePhase
from offchain.schema.chain_types.suspension import challenges_text
from offchain.schema.manifest.values import format_amount
from offchain.schema.value_text import counted
from offchain.services.dispute_view import DisputeView
from offchain.services.event_text import time_text


@click.command()
@agent_options.output
@agent_options.folder
def status(settings: AgentSettings, *, output: StepOutput) -> None:
    """Show this host: its state on the chain, leases, GPUs, earnings, and its agent on this machine.

    \b
    Example:
      gantry agent status --json
    """
    run_command(_status(settings, output), as_json=output.as_json)


async def _status(settings: AgentSettings, output: StepOutput) -> None:
    key = key_of(settings)
    service = service_for(settings.state, agent_options.DEFAULT_STATE)
    release = release_of(settings.state)
    async with open_chain(settings) as port:
        view = await read_provider_host(port, key.address, settings.state)
    runs = await asyncio.to_thread(service.running)
    if output.as_json:
        output.result(plain(view, service.kind if runs else None, release))
    else:
        output.text(*text(view, service, release, runs=runs))


@dataclass(frozen=True, slots=True)
class ReleaseView:
    """The release in use. `keys`: release keys; None if they cannot be read, with the reason in `trouble`."""

    digest: str
    version: str | None
    keys: tuple[str, ...] | None
    trouble: str = ""


def release_of(state: Path) -> ReleaseView:
    """Read which release is in use in this folder, and which keys have to sign the next one."""
    releases = Releases(state)
    current = releases.current()
    try:
        return ReleaseView(current, str(version_in_use(releases)), load(releases, state).keys)
    except OurError as error:
        return ReleaseView(current, None, None, str(error))


def text(view: ProviderHostView, service: AgentService, release: ReleaseView, *, runs: bool) -> list[str]:
    """Return the host as lines for people."""
    record, running = view.record, view.running
    if record is None:
        return [
            f"Host {view.host} is not registered.",
            "Run gantry agent join; it shows the call to sign if it waits for a signature.",
        ]
    silent = view.silent_ms
    agent = "not running"
    if running is not None:
        up = duration(running.said_ms - running.started_ms)
        agent = f"runs as process {running.pid} for {up}" if running.ready else "starting"
    lines = detail_lines(
        [
            ("Host", view.host),
            ("Provider", record.provider),
            ("Status", _status_text(view)),
            ("Heartbeat", "none yet" if silent is None else f"{duration(silent)} ago"),
            ("Region", record.region.decode(errors="replace")),
            ("Bond", f"{format_amount(record.bond)} of {format_amount(record.bond_required)}"),
            ("Leases", record.live_leases),
            ("Cores", f"{record.free.cpu_milli / 1000:g} of {record.total.cpu_milli / 1000:g} free"),
            ("Memory", f"{record.free.memory_mib} of {record.total.memory_mib} MiB free"),
            ("Disk", f"{record.free.disk_gib} of {record.total.disk_gib} GiB free"),
            (
                "Owed",
                f"{format_amount(view.owed)}, of which gantry agent claim settles {format_amount(view.payable)} now",
            ),
            ("Earned", None if view.earned is None else _earned_text(view)),
            ("Challenges", challenges_text(answers=record.answers_challenges, challenged=record.challenged)),
            ("Challenge", None if running is None else running.challenge.get("state")),
            ("Last challenge", None if running is None else running.challenge.get("last")),
            ("Provider has", None if view.balance is None else f"{format_amount(view.balance.spendable)} to spend"),
            ("Agent", agent),
            ("Service", f"{service.kind}, {'running' if runs else 'stopped'}"),
            ("Release", f"{release.version or 'unknown'}{f' ({release.digest[:16]})' if release.digest else ''}"),
            ("Release keys", release.trouble if release.keys is None else keys_text(release.keys)),
            ("Reached at", ", ".join(running.addresses) if running is not None else None),
            ("Network", _network_text(view)),
        ]
    )
    way_back = () if view.suspension is None else view.suspension.way_back
    troubles = (*_trouble_lines(view), *dispute_lines(view.host, view.disputes))
    return [*lines, *way_back, *troubles, *_gateway_lines(view), *_device_lines(view), *_lease_lines(view)]


def plain(view: ProviderHostView, service: str | None, release: ReleaseView) -> dict[str, Any]:
    """Return the host for --json. Amounts in base units."""
    record, running = view.record, view.running
    return {
        "host": view.host,
        "registered": record is not None,
        "status": None if record is None else record.status.tag,
        "suspension": None if view.suspension is None else view.suspension.plain(view.suspended_since_ms),
        "answers_challenges": None if record is None else record.answers_challenges,
        "challenge": None if running is None else running.challenge.get("state"),
        "last_challenge": None if running is None else running.challenge.get("last"),
        "provider": None if record is None else record.provider,
        "bond": None if record is None else record.bond,
        "bond_required": None if record is None else record.bond_required,
        "last_heartbeat_ms": None if record is None else record.last_heartbeat,
        "silent_ms": view.silent_ms,
        "devices": _plain_devices(view),
        "leases": [
            {
                "lease": lease.id,
                "task": lease.task.id,
                "kind": lease.task.spec.kind.value,
                "state": lease.record.state.tag,
                "rate_per_hour": lease.record.escrow.rate_per_hour,
                "paid": lease.record.escrow.paid,
            }
            for lease in view.leases
        ],
        "due": [
            {"lease": one.lease, "owed": one.owed, "payable": one.payable, "call": one.call, "why_not": one.why_not}
            for one in view.due
        ],
        "disputes": [one.plain() for one in view.disputes],
        "owed": view.owed,
        "payable": view.payable,
        "earned": None if view.earned is None else view.earned.earned,
        "provider_spendable": None if view.balance is None else view.balance.spendable,
        "agent": None
        if running is None
        else {"pid": running.pid, "ready": running.ready, "started_ms": running.started_ms, "pods": running.pods},
        "service": service,
        "version": release.version,
        "release": release.digest,
        "release_keys": None if release.keys is None else list(release.keys),
        "addresses": [] if running is None else list(running.addresses),
        "network": {} if running is None else dict(running.network),
        "troubles": {} if running is None else dict(running.troubles),
        "network_mbps": None if record is None else [record.network_mbps_down, record.network_mbps_up],
        "latency_ms": None if record is None else record.latency_ms or None,
        "gateways": {} if running is None else dict(running.gateways),
    }


def _plain_devices(view: ProviderHostView) -> list[dict[str, Any]]:
    troubles = {} if view.running is None else view.running.devices
    return [
        {
            "device": number,
            "model": device.spec.model.decode(errors="replace"),
            "vram_mib": device.spec.vram_mib,
            "simulated": device.spec.simulated,
            "milli_free": device.milli_free,
            "attested": device.attested,
            "healthy": device.healthy,
            "trouble": troubles.get(str(number), ""),
        }
        for number, device in enumerate(() if view.record is None else view.record.devices)
    ]


def _status_text(view: ProviderHostView) -> str:
    record = view.record
    tag = "" if record is None else record.status.tag
    value: Any = getattr(None if record is None else record.status, "value", 0)
    match tag:
        case "Unverified":
            return f"{tag}: the operators of the network have to verify it"
        case "Draining":
            return f"{tag}: takes no new leases; gantry agent undrain reverses this"
        case "Offline":
            return f"{tag}: no heartbeat for too long; online again after the next one"
        case "Retiring":
            left = int(value) - view.now
            return f"{tag}: the bond is free {f'in {duration(left)}' if left > 0 else 'now: gantry agent withdraw'}"
        case "Suspended" if view.suspension is not None:
            since_ms = view.suspended_since_ms
            since = "" if since_ms is None else f", for {duration(view.now - since_ms)}"
            return f"{tag}{since}: {view.suspension.text}"
        case _:
            return tag


def _earned_text(view: ProviderHostView) -> str:
    total = view.earned
    if total is None:
        return ""
    leases = counted(total.leases, "lease")
    return f"{format_amount(total.earned)} from {leases}, {total.open_leases} not settled in a final block yet"


def _network_text(view: ProviderHostView) -> str | None:
    network = {} if view.running is None else view.running.network
    return str(network["summary"]) if "summary" in network else None


def _trouble_lines(view: ProviderHostView) -> list[str]:
    return [f"Problem with {what}: {why}" for what, why in (view.running.troubles if view.running else {}).items()]


def dispute_lines(host: str, disputes: Sequence[DisputeView]) -> list[str]:
    """Return a line about each dispute with what the provider can do until when."""
    lines = []
    for one in disputes:
        todo = f"gantry dispute show {one.task}"
        if one.is_against_hosts:
            todo = f"the verdict is against this host: gantry host appeal {host}"
        elif one.phase == DisputePhase.HEARING.value:
            todo = f"gantry dispute add-evidence {one.task} FILE"
        lines.append(f"Dispute about task {one.task}: {one.phase_text} until {time_text(one.until)} UTC; {todo}")
    return lines


def _gateway_lines(view: ProviderHostView) -> list[str]:
    return [f"Gateway {address}: {how}" for address, how in (view.running.gateways if view.running else {}).items()]


def _device_lines(view: ProviderHostView) -> list[str]:
    lines = []
    for device in _plain_devices(view):
        marks = [f"{device['milli_free'] / 10:g} % free", *(["simulated"] if device["simulated"] else [])]
        if device["trouble"]:
            marks.append(f"out of order: {device['trouble']}")
        elif not device["healthy"]:
            marks.append("out of order on the chain")
        lines.append(f"GPU {device['device']}  {device['model']}, {device['vram_mib']} MiB, {', '.join(marks)}")
    return lines


def _lease_lines(view: ProviderHostView) -> list[str]:
    due = {one.lease: one for one in view.due}
    lines = []
    for lease in view.leases:
        one = due.get(lease.id)
        owed = "" if one is None else f", {format_amount(one.owed)} to come{f' ({one.why_not})' if one.why_not else ''}"
        rate = format_amount(lease.record.escrow.rate_per_hour)
        lines.append(
            f"Lease {lease.id}  {lease.task.spec.kind.value.lower()} {lease.task.id}, {lease.record.state.tag}, "
            f"{rate} an hour{owed}"
        )
    return lines
