"""`gantry agent drain`, `undrain`, `set-ask`, `top-up`, `leave`, `withdraw`: changes of a joined host."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial, wraps
from typing import Any

import click
import docker

from node_agent.drivers.docker.clear import clear_engine, forget_secrets
from node_agent.drivers.firewall import Firewall
from node_agent.install.service import service_for
from node_agent.runtime import join_config as configs
from node_agent.runtime.settings import AgentSettings, key_of, open_chain
from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit import options
from offchain.cli.kit.failures import run_command
from offchain.cli.kit.output import StepOutput, detail_lines
from offchain.cli.provider import agent_options, price_options, signing
from offchain.cli.provider.signing import duration
from offchain.errors import OurError, RefusedError
from offchain.schema.chain_types._generated_chain import Ask, HostRecord, HostStatusRetiring, calls
from offchain.schema.manifest.values import format_amount
from offchain.schema.value_text import counted
from offchain.services import provider_calls


class LeaveStep(StrEnum):
    """The next step of a host that leaves."""

    DRAIN = "drain"
    WAIT = "wait"
    RETIRE = "retire"
    STOP = "stop"


def next_leave_step(record: HostRecord) -> LeaveStep:
    """Return the next step. A host that is not online takes no leases and need not be drained. Pure."""
    if record.status.tag in ("Retiring", "Retired"):
        return LeaveStep.STOP
    if record.status.tag == "Online":
        return LeaveStep.DRAIN
    return LeaveStep.WAIT if record.live_leases else LeaveStep.RETIRE


@dataclass(frozen=True, slots=True)
class ProviderSession:
    """A joined host, its chain and the provider's signature."""

    settings: AgentSettings
    host: str
    chain: GantryChain
    signing_session: signing.SigningSession
    output: StepOutput

    async def record(self) -> HostRecord:
        """Return the host's record. Raises OurError if it is not registered."""
        found = await self.chain.host(self.host)
        if found is None:
            raise OurError(f"Host {self.host} is not registered.", "Run gantry agent join first.")
        return found

    async def until(self, holds: Callable[[HostRecord], bool]) -> HostRecord:
        """Wait for a block in which `holds` is true and return the host's record."""
        async with contextlib.aclosing(self.chain.port.best()) as heads:
            async for head in heads:
                found = await self.chain.host(self.host, at=head.hash)
                if found is not None and holds(found):
                    return found
        raise AssertionError


@contextlib.asynccontextmanager
async def provider_session(
    settings: AgentSettings, keys: signing.SigningOptions, output: StepOutput
) -> AsyncIterator[ProviderSession]:
    """Open what a command of the provider needs."""
    key = key_of(settings)
    config = configs.load(settings.state)
    async with open_chain(settings) as port:
        chain = GantryChain(port)
        record = await chain.host(key.address)
        known = record.provider if record is not None else None if config is None else config.provider
        authority = keys.authority(known)
        if record is not None and record.provider != authority.provider:
            raise RefusedError(
                f"Host {key.address} belongs to the provider {record.provider}, not to {authority.provider}.",
                "Sign with that account.",
            )
        yield ProviderSession(
            settings, key.address, chain, signing.SigningSession(port, authority, output, settings.url), output
        )


def session_command(
    settings_options: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """Make a command of a coroutine function of a ProviderSession: adds the options for signing, --json and these."""

    def make(work: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        @wraps(work)
        def command(settings: AgentSettings, keys: signing.SigningOptions, output: StepOutput, **values: Any) -> None:
            async def run() -> None:
                async with provider_session(settings, keys, output) as session:
                    await work(session, **values)

            run_command(run(), as_json=output.as_json)

        return signing.options(agent_options.output(settings_options(command)))

    return make


@click.command()
@session_command(agent_options.folder)
async def drain(session: ProviderSession) -> None:
    """Finish the present leases and take no new ones. undrain reverses this.

    \b
    Example:
      gantry agent drain --provider-key-file provider.json
    """
    record = await session.record()
    if record.status.tag != "Draining":
        call = provider_calls.drain(session.host, record)
        await session.signing_session.submit(call, "The host takes no new leases.", _is_not(session, "Online"))
        record = await session.record()
    _say_status(session.output, record)


@click.command()
@session_command(agent_options.folder)
async def undrain(session: ProviderSession) -> None:
    """Take new leases again after drain.

    \b
    Example:
      gantry agent undrain --provider-key-file provider.json
    """
    record = await session.record()
    if record.status.tag == "Draining":
        call = provider_calls.undrain(session.host, record)
        await session.signing_session.submit(call, "The host takes leases again.", _is_not(session, "Draining"))
    _say_status(session.output, await session.record())


@click.command("set-ask")
@price_options.prices
@session_command(agent_options.folder)
async def set_ask(session: ProviderSession, ask: Callable[[Ask | None], Ask]) -> None:
    """Change prices; others stay as they are. Open leases keep their price.

    \b
    Example:
      gantry agent set-ask --gpu-price 0.7 --unit-factor day=0.8 --provider-key-file provider.json
    """
    record = await session.record()
    wanted = ask(record.ask)
    if wanted == record.ask:
        session.output.text("The host has these prices already.")
    else:

        async def asked() -> bool:
            return (await session.record()).ask == wanted

        call = provider_calls.set_ask(session.host, record, wanted)
        await session.signing_session.submit(call, "The host gets these prices.", asked)
        configs.with_ask(session.settings.state, wanted)
    session.output.text(*_ask_lines(wanted))
    session.output.result({"host": session.host, "ask": wanted.encode() | {"gpu": _models(wanted)}})


@click.command("top-up")
@click.option("--amount", type=options.AMOUNT, help="Amount to add. Default: what the bond lacks.")
@session_command(agent_options.folder)
async def top_up(session: ProviderSession, amount: int | None) -> None:
    """Add to the host's bond. A host suspended for slashes is online again after its next heartbeat.

    \b
    Examples:
      gantry agent top-up --provider-key-file provider.json
      gantry agent top-up --amount 5 --provider-key-file provider.json
    """
    record = await session.record()
    before = record.bond
    added = max(0, record.bond_required - before) if amount is None else amount
    if added:

        async def done() -> bool:
            return (await session.record()).bond >= before + added

        call = provider_calls.top_up_bond(session.host, record, added)
        await session.signing_session.submit(call, f"{format_amount(added)} is added to the bond.", done)
        record = await session.record()
    bond = f"{format_amount(record.bond)} of {format_amount(record.bond_required)}"
    session.output.text(f"The bond is {bond}{'' if added else ', which is complete'}. The host is {record.status.tag}.")
    session.output.result(
        {
            "host": session.host,
            "added": added,
            "bond": record.bond,
            "bond_required": record.bond_required,
            "status": record.status.tag,
        }
    )


@click.command()
@session_command(agent_options.folder)
async def leave(session: ProviderSession) -> None:
    """Leave the network: drain, wait for the end of all leases, retire, stop the agent. A repeated run continues.

    The bond stays held for a while; then gantry agent withdraw returns it.

    \b
    Example:
      gantry agent leave --provider-key-file provider.json
    """
    while True:
        record = await session.record()
        match next_leave_step(record):
            case LeaveStep.DRAIN:
                await session.signing_session.submit(
                    calls.hosts_drain(host=session.host),
                    "The host leaves and takes no new leases.",
                    _is_not(session, "Online"),
                )
                session.output.text("Draining: the host takes no new leases.")
            case LeaveStep.WAIT:
                session.output.text(
                    f"Waiting for the end of {counted(record.live_leases, 'lease')}. "
                    "You may interrupt and repeat this command."
                )
                session.output.step("waiting", live_leases=record.live_leases)
                await session.until(partial(_has_other_leases, record.live_leases))
            case LeaveStep.RETIRE:
                await session.signing_session.submit(
                    calls.hosts_retire(host=session.host), "All leases have ended; the host retires.", _retired(session)
                )
            case LeaveStep.STOP:
                break
    service = service_for(session.settings.state, agent_options.DEFAULT_STATE)
    await asyncio.to_thread(service.remove)
    session.output.text("The agent is stopped and its service removed.")
    await _clear(session)
    free_at = record.status.value if isinstance(record.status, HostStatusRetiring) else None
    left_ms = None if free_at is None else max(0, free_at - await session.chain.now_ms())
    if left_ms is not None:
        when = f"in {duration(left_ms)}" if left_ms else "now"
        session.output.text(f"The bond of {format_amount(record.bond)} is free {when}: gantry agent withdraw")
    session.output.result(
        {"host": session.host, "status": record.status.tag, "bond": record.bond, "bond_free_at_ms": free_at}
    )


@click.command()
@session_command(agent_options.folder)
async def withdraw(session: ProviderSession) -> None:
    """Withdraw the bond after leave, once it is free. Needs the provider's own key, not a proxy's.

    \b
    Example:
      gantry agent withdraw --provider-key-file provider.json
    """
    record = await session.record()
    bond = record.bond
    if record.status.tag == "Retired":
        bond = 0
        session.output.text("The bond was returned already.")
    else:
        call = await provider_calls.withdraw_bond(session.chain.port, session.host, record)
        await session.signing_session.submit(call, "The bond can be withdrawn.", _is_not(session, "Retiring"))
        session.output.text(f"{format_amount(bond)} was returned to {record.provider}.")
    session.output.result({"host": session.host, "status": (await session.record()).status.tag, "withdrawn": bond})


async def _clear(session: ProviderSession) -> None:
    """Remove pods that the stopped agent has left. Retained data stays: it is the tenants'."""
    config = configs.load(session.settings.state)
    url = session.settings.docker_host or (None if config is None else config.docker_host)
    try:
        await asyncio.to_thread(clear_engine, url, session.host, data=False)
    except (docker.errors.DockerException, OSError) as error:
        session.output.text(f"Remaining containers of this host could not be listed: {error}")
    await asyncio.to_thread(forget_secrets, session.settings.state)
    if os.getuid() == 0:
        # If pods of other hosts remain, the firewall rules stay.
        await Firewall().remove_unused()


def _has_other_leases(before: int, found: HostRecord) -> bool:
    return found.live_leases != before


def _is_not(session: ProviderSession, tag: str) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        return (await session.record()).status.tag != tag

    return holds


def _retired(session: ProviderSession) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        return (await session.record()).status.tag in ("Retiring", "Retired")

    return holds


def _say_status(output: StepOutput, record: HostRecord) -> None:
    leases = f" and has {counted(record.live_leases, 'lease')}" if record.live_leases else ""
    output.text(f"The host is {record.status.tag}{leases}.")
    output.result({"status": record.status.tag, "live_leases": record.live_leases})


def _models(ask: Ask) -> list[dict[str, object]]:
    return [{"model": price.model.decode(errors="replace"), "per_hour": price.per_hour} for price in ask.gpu]


def _ask_lines(ask: Ask) -> list[str]:
    models = [(price.model.decode(errors="replace"), format_amount(price.per_hour)) for price in ask.gpu]
    return detail_lines(
        [
            ("GPU an hour", format_amount(ask.gpu_per_hour)),
            *((f"{model} an hour", price) for model, price in models),
            ("Core an hour", format_amount(ask.cpu_core_per_hour)),
            ("GiB memory an hour", format_amount(ask.memory_gib_per_hour)),
            ("GiB disk an hour", format_amount(ask.disk_gib_per_hour)),
            ("GiB of a stopped rental", format_amount(ask.storage_gib_per_hour)),
            (
                "By the second, hour, day",
                f"{ask.second_ppm / 1e6:g}, {ask.hour_ppm / 1e6:g}, {ask.day_ppm / 1e6:g} times",
            ),
        ]
    )
