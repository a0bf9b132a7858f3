"""`gantry agent change-hardware`: update the registration of a host to its present hardware."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import click

from node_agent.chain.registration import hardware_spec
from node_agent.install.service import AgentService, service_for
from node_agent.runtime import join_config as configs
from node_agent.runtime.settings import HARDWARE, AgentSettings, key_of, probe_hardware
from node_agent.runtime.status_file import read_status
from node_agent.telemetry import hardware as hw
from offchain.adapters.chain.registration import change_hardware as changed_call
from offchain.cli.kit.output import detail_lines
from offchain.cli.provider import agent_options
from offchain.cli.provider.challenge_check import require_challenge_program
from offchain.cli.provider.host_lifecycle import ProviderSession, session_command
from offchain.errors import OurError
from offchain.schema.chain_types._generated_chain import HostRecord
from offchain.schema.manifest.values import format_amount
from offchain.schema.value_text import counted


@click.command("change-hardware")
@agent_options.TIER
@click.option("--check", "check_only", is_flag=True, help="Only show the differences; change nothing.")
@session_command(agent_options.machine)
async def change_hardware(session: ProviderSession, *, check_only: bool) -> None:
    """Update the registration to the present hardware: GPUs added or removed, memory, reserves, isolation.

    Probes the machine, shows the differences and asks the provider to sign. The isolation of pods (--runtime) is part
    of the registration. The host must have no leases: drain it first. Its bond is raised to what the new hardware
    needs; on a network that verifies hosts, it takes no work until it is verified again. The agent restarts. Options
    given here are stored, as with join.

    \b
    Examples:
      gantry agent change-hardware --check
      gantry agent drain --provider-key-file provider.json
      gantry agent change-hardware --provider-key-file provider.json
    """
    settings = session.settings
    record = await session.record()
    kept = hw.load(settings.state / HARDWARE)
    if kept is None:
        raise OurError(f"{settings.state / HARDWARE} does not exist.", "Run gantry agent join with this folder.")
    now = probe_hardware(settings)
    await require_challenge_program(settings, session.host, now.devices, session.output)
    lines = [*differences(kept, now), *answers_changed(record, now)]
    on_chain = _is_on_chain(record, now)
    if not lines:
        session.output.text("The hardware is the registered one.")
    for line in lines:
        session.output.text(line)
    # If the chain has the change already, an earlier run was interrupted after the signature.
    left = bool(lines) and not (on_chain and not _is_on_chain(record, kept))
    if lines and not check_only:
        service = service_for(settings.state, agent_options.DEFAULT_STATE)
        _no_other_agent(settings, service)
        if left:
            await _submit_change(session, settings, record, now, service)
        await asyncio.to_thread(_apply_hardware, settings, now, service)
        record = await session.record()
        session.output.text(
            *detail_lines(
                [
                    ("The host is", record.status.tag),
                    ("Its bond", f"{format_amount(record.bond)} of {format_amount(record.bond_required)}"),
                ]
            )
        )
    session.output.result(
        {
            "host": session.host,
            "changed": lines,
            "done": bool(lines) and not check_only,
            "generation": record.generation,
            "status": record.status.tag,
        }
    )


async def _submit_change(
    session: ProviderSession, settings: AgentSettings, record: HostRecord, now: hw.Hardware, service: AgentService
) -> None:
    """Submit the change. If it is signed at once, the agent is stopped before: it would serve hardware that is gone."""
    if record.live_leases:
        raise OurError(
            f"The host has {counted(record.live_leases, 'lease')}, whose devices cannot be changed.",
            "Run gantry agent drain, and repeat this command when the leases have ended.",
        )
    genesis = await session.chain.port.genesis_hash()
    call = changed_call(key_of(settings), genesis, record.provider, record.generation, hardware_spec(now))

    async def done() -> bool:
        return (await session.record()).generation > record.generation

    stopped = session.signing_session.authority.signer is not None and await asyncio.to_thread(service.running)
    if stopped:
        await asyncio.to_thread(service.stop)
    try:
        await session.signing_session.submit(call, "The host is registered with the hardware above.", done)
    except BaseException:
        if stopped:
            await asyncio.to_thread(service.start)
        raise
    if stopped:
        # The restart below uses the stored hardware.
        await asyncio.to_thread(_store_hardware, settings, now)
        await asyncio.to_thread(service.start)


def _apply_hardware(settings: AgentSettings, now: hw.Hardware, service: AgentService) -> None:
    if hw.load(settings.state / HARDWARE) != now:
        _store_hardware(settings, now)
        if service.running():
            service.restart()


def _store_hardware(settings: AgentSettings, now: hw.Hardware) -> None:
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
                answer_challenges=settings.answer_challenges,
                challenge_image=settings.challenge_image,
                image_quota_gib=settings.image_quota_gib,
                tier=settings.tier,
            ),
        )


def _no_other_agent(settings: AgentSettings, service: AgentService) -> None:
    """Refuse if an agent runs that is not a service, and so would keep the previous hardware."""
    by_hand = None if service.running() else read_status(settings.state)
    if by_hand is not None:
        raise OurError(
            f"An agent uses this folder (process {by_hand.pid}) without being a service.",
            "Stop it, repeat this command, and start it afterwards.",
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


def answers_changed(record: HostRecord, now: hw.Hardware) -> Iterator[str]:
    """Yield a line if the chain and the agent differ about answering challenges."""
    if record.answers_challenges != now.answers_challenges:
        yield "answers challenges: yes -> no" if record.answers_challenges else "answers challenges: no -> yes"


def differences(kept: hw.Hardware, now: hw.Hardware) -> Iterator[str]:
    """Yield a line for each difference. Pure."""
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
    earlier, present = Counter(map(_device, kept.devices)), Counter(map(_device, now.devices))
    for device, count in sorted((earlier - present).items()):
        yield f"GPU gone: {count} x {device}"
    for device, count in sorted((present - earlier).items()):
        yield f"GPU new: {count} x {device}"
    if earlier == present and kept.devices != now.devices:
        yield "GPUs: in another order"


def _device(device: hw.HostDevice) -> str:
    identity = "simulated" if device.uuid is None else device.uuid
    return f"{device.model}, {device.vram_mib} MiB ({identity})"
