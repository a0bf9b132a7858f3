"""`gantry agent change-hardware`: register a host anew as its machine is now."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import click

from node_agent.chain.registration import ANSWERS_CHALLENGES, hardware_spec
from node_agent.install.service import AgentService, service_for
from node_agent.runtime import config as configs
from node_agent.runtime.startup import HARDWARE, AgentSettings, key_of, probe_hardware
from node_agent.runtime.status_file import read_status as read_beacon
from node_agent.telemetry import hardware as hw
from offchain.adapters.chain.registration import change_hardware as changed_call
from offchain.cli.provider import agent_options, signing
from offchain.cli.provider.agent_output import StepOutput, details, finish
from offchain.cli.provider.host_lifecycle import ProviderSession, provider_session
from offchain.errors import OurError
from offchain.schema.chain_types._generated_chain import HostRecord
from offchain.schema.manifest.values import format_amount


@click.command("change-hardware")
@signing.options
@agent_options.TIER
@click.option("--check", "check_only", is_flag=True, help="Only show what is different; change nothing.")
@agent_options.JSON
@agent_options.machine
def change_hardware(settings: AgentSettings, keys: signing.SigningOptions, *, check_only: bool, as_json: bool) -> None:
    """Register the machine as it is now: GPUs put in or taken out, cut otherwise, more memory, other reserves.

    Looks at the machine again, shows what is different, and has the provider sign. How pods are isolated (--runtime)
    is a part of what is registered. The host has to be without leases: drain it first. Its bond is made up to what the
    new hardware needs; where the network verifies hosts, it takes no work until that was done again. The agent is
    started anew. Options given here are kept, as with join.

    \b
    Examples:
      gantry agent change-hardware --check
      gantry agent drain --provider-key-file provider.json
      gantry agent change-hardware --provider-key-file provider.json
    """
    tell = StepOutput(as_json)

    async def run() -> None:
        async with provider_session(settings, keys, tell) as here:
            await _change(here, settings, check_only=check_only)

    finish(run(), as_json=as_json)


async def _change(here: ProviderSession, settings: AgentSettings, *, check_only: bool) -> None:
    record = await here.record()
    kept = hw.load(settings.state / HARDWARE)
    if kept is None:
        raise OurError(f"{settings.state / HARDWARE} is not there.", "Run gantry agent join with this folder.")
    now = probe_hardware(settings)
    lines = [*differences(kept, now), *answers_changed(record)]
    on_chain = _is_on_chain(record, now)
    if not lines:
        here.tell.text("Nothing is different from what the host was registered with.")
    for line in lines:
        here.tell.text(line)
    # Where the chain has it already, this was interrupted after it was signed, and only the rest is to be done.
    left = bool(lines) and not (on_chain and not _is_on_chain(record, kept))
    if lines and not check_only:
        service = service_for(settings.state, agent_options.DEFAULT_STATE)
        _no_other_agent(settings, service)
        if left:
            await _agreed(here, settings, record, now, service)
        await asyncio.to_thread(_taken_up, settings, now, service)
        record = await here.record()
        here.tell.text(
            *details(
                [
                    ("The host is", record.status.tag),
                    ("Its bond", f"{format_amount(record.bond)} of {format_amount(record.bond_required)}"),
                ]
            )
        )
    here.tell.result(
        {
            "host": here.host,
            "changed": lines,
            "done": bool(lines) and not check_only,
            "generation": record.generation,
            "status": record.status.tag,
        }
    )


async def _agreed(
    here: ProviderSession, settings: AgentSettings, record: HostRecord, now: hw.Hardware, service: AgentService
) -> None:
    """Have the chain take it. Who signs at once has the agent stopped: it would answer for hardware that is gone."""
    if record.live_leases:
        raise OurError(
            f"{record.live_leases} leases go on, and their devices cannot be changed.",
            "Run gantry agent drain, and this again when they have ended.",
        )
    genesis = await here.chain.port.genesis_hash()
    call = changed_call(key_of(settings), genesis, record.provider, record.generation, hardware_spec(now))

    async def done() -> bool:
        return (await here.record()).generation > record.generation

    stopped = here.desk.authority.signer is not None and await asyncio.to_thread(service.running)
    if stopped:
        await asyncio.to_thread(service.stop)
    try:
        await here.desk.agreed(call, "The host is registered with the hardware above.", done)
    except BaseException:
        if stopped:
            await asyncio.to_thread(service.start)
        raise
    if stopped:
        # It is started below, with what is kept then.
        await asyncio.to_thread(_keep, settings, now)
        await asyncio.to_thread(service.start)


def _taken_up(settings: AgentSettings, now: hw.Hardware, service: AgentService) -> None:
    if hw.load(settings.state / HARDWARE) != now:
        _keep(settings, now)
        if service.running():
            service.restart()


def _keep(settings: AgentSettings, now: hw.Hardware) -> None:
    hw.save(settings.state / HARDWARE, now)
    config = configs.load(settings.state)
    if config is not None:
        configs.save(
            settings.state,
            replace(
                config,
                runtime=settings.runtime,
                simulate=settings.simulate,
                reserve=settings.reserve,
                keep_gpus=settings.keep_gpus,
                share_gpus=settings.share_gpus,
                image_quota_gib=settings.image_quota_gib,
                tier=settings.tier,
            ),
        )


def _no_other_agent(settings: AgentSettings, service: AgentService) -> None:
    """An agent that is no service would go on with the hardware of before."""
    by_hand = None if service.running() else read_beacon(settings.state)
    if by_hand is not None:
        raise OurError(
            f"An agent runs with this folder (process {by_hand.pid}), and not as a service.",
            "Stop it, then run this again; start it afterwards.",
        )


def _is_on_chain(record: HostRecord, hardware: hw.Hardware) -> bool:
    spec = hardware_spec(hardware)
    total = record.total
    return (
        tuple(device.spec for device in record.devices) == tuple(spec.devices)
        and (total.cpu_milli, total.memory_mib, total.disk_gib) == (spec.cpu_milli, spec.memory_mib, spec.disk_gib)
        and (record.tier, record.capabilities) == (spec.tier, spec.capabilities)
        and record.answers_challenges == spec.answers_challenges
    )


def answers_changed(record: HostRecord) -> Iterator[str]:
    """A line where the agent answers challenges and the chain says otherwise, or the other way round."""
    if record.answers_challenges != ANSWERS_CHALLENGES:
        yield "answers challenges: yes -> no" if record.answers_challenges else "answers challenges: no -> yes"


def differences(kept: hw.Hardware, now: hw.Hardware) -> Iterator[str]:
    """What is different, a line each. Pure."""
    for what, before, after in (
        ("cores", f"{kept.cpu_milli / 1000:g}", f"{now.cpu_milli / 1000:g}"),
        ("memory", f"{kept.memory_mib} MiB", f"{now.memory_mib} MiB"),
        ("disk", f"{kept.disk_gib} GiB", f"{now.disk_gib} GiB"),
        ("disk for images", f"{kept.image_gib} GiB", f"{now.image_gib} GiB"),
        ("tier", kept.tier.value, now.tier.value),
    ):
        if before != after:
            yield f"{what}: {before} -> {after}"
    for name, could in kept.capabilities.encode().items():
        can = now.capabilities.encode()[name]
        if can != could:
            yield f"{name}: {'yes' if could else 'no'} -> {'yes' if can else 'no'}"
    had, there = Counter(map(_device, kept.devices)), Counter(map(_device, now.devices))
    for device, count in sorted((had - there).items()):
        yield f"GPU gone: {count} x {device}"
    for device, count in sorted((there - had).items()):
        yield f"GPU new: {count} x {device}"
    if had == there and kept.devices != now.devices:
        yield "GPUs: in another order"


def _device(device: hw.Device) -> str:
    identity = "simulated" if device.uuid is None else device.uuid
    return f"{device.model}, {device.vram_mib} MiB ({identity})"
