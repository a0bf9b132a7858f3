"""`drain`, `undrain`, `set-ask`, `top-up`, `leave`, `withdraw`: a host's life after it has joined."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import click
import docker

from node_agent.drivers.docker.clear import clear_engine, forget_secrets
from node_agent.drivers.firewall import Firewall
from node_agent.install.service import service_for
from node_agent.runtime import config as configs
from node_agent.runtime.startup import AgentSettings, key_of, open_chain
from offchain.adapters.chain.typed import GantryChain
from offchain.cli.provider import agent_options, signing
from offchain.cli.provider.agent_output import StepOutput, details, finish
from offchain.cli.provider.call_text import duration
from offchain.errors import OurError, RefusedError
from offchain.schema.chain_types._generated_chain import Ask, HostRecord, HostStatusRetiring, calls
from offchain.schema.manifest.values import format_amount


class LeaveStep(StrEnum):
    """What a host that leaves does next."""

    DRAIN = "drain"
    WAIT = "wait"
    RETIRE = "retire"
    STOP = "stop"


def next_leave_step(record: HostRecord) -> LeaveStep:
    """Pure. A host that is not online takes no leases, and need not be drained."""
    if record.status.tag in ("Retiring", "Retired"):
        return LeaveStep.STOP
    if record.status.tag == "Online":
        return LeaveStep.DRAIN
    return LeaveStep.WAIT if record.live_leases else LeaveStep.RETIRE


@dataclass(frozen=True, slots=True)
class ProviderSession:
    """A joined host with its chain, and the provider's desk."""

    settings: AgentSettings
    host: str
    chain: GantryChain
    desk: signing.SigningSession
    tell: StepOutput

    async def record(self) -> HostRecord:
        """The host now. Raises where it is not registered."""
        found = await self.chain.host(self.host)
        if found is None:
            raise OurError(f"Host {self.host} is not registered.", "Run gantry agent join first.")
        return found

    async def until(self, holds: Callable[[HostRecord], bool]) -> HostRecord:
        """The host, once something holds for it in a block."""
        async with contextlib.aclosing(self.chain.port.best()) as heads:
            async for head in heads:
                found = await self.chain.host(self.host, at=head.hash)
                if found is not None and holds(found):
                    return found
        raise AssertionError


@contextlib.asynccontextmanager
async def provider_session(
    settings: AgentSettings, keys: signing.SigningOptions, tell: StepOutput
) -> AsyncIterator[ProviderSession]:
    """Everything that a command of the provider needs."""
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
            settings, key.address, chain, signing.SigningSession(port, authority, tell, settings.url), tell
        )


def _command(
    work: Callable[[ProviderSession], Awaitable[None]],
    settings: AgentSettings,
    keys: signing.SigningOptions,
    tell: StepOutput,
) -> None:
    async def run() -> None:
        async with provider_session(settings, keys, tell) as here:
            await work(here)

    finish(run(), as_json=tell.as_json)


@click.command()
@signing.options
@agent_options.JSON
@agent_options.folder
def drain(settings: AgentSettings, keys: signing.SigningOptions, *, as_json: bool) -> None:
    """Finish what the host has, and take nothing new. Undone by undrain.

    \b
    Example:
      gantry agent drain --provider-key-file provider.json
    """
    _command(_drain, settings, keys, StepOutput(as_json))


@click.command()
@signing.options
@agent_options.JSON
@agent_options.folder
def undrain(settings: AgentSettings, keys: signing.SigningOptions, *, as_json: bool) -> None:
    """Take new leases again after drain.

    \b
    Example:
      gantry agent undrain --provider-key-file provider.json
    """

    async def work(here: ProviderSession) -> None:
        if (await here.record()).status.tag == "Draining":
            await here.desk.agreed(
                calls.hosts_undrain(host=here.host), "The host will take leases again.", _is_not(here, "Draining")
            )
        _say_status(here.tell, await here.record())

    _command(work, settings, keys, StepOutput(as_json))


@click.command("set-ask")
@signing.options
@agent_options.prices
@agent_options.JSON
@agent_options.folder
def set_ask(
    settings: AgentSettings, keys: signing.SigningOptions, ask: Callable[[Ask | None], Ask], *, as_json: bool
) -> None:
    """Change prices; those not given stay as they are. Leases that are open keep the price they have.

    \b
    Example:
      gantry agent set-ask --gpu-price 0.7 --unit-factor day=0.8 --provider-key-file provider.json
    """

    async def work(here: ProviderSession) -> None:
        record = await here.record()
        wanted = ask(record.ask)
        if wanted == record.ask:
            here.tell.text("The host asks exactly that already.")
        else:

            async def asked() -> bool:
                return (await here.record()).ask == wanted

            await here.desk.agreed(
                calls.hosts_set_ask(host=here.host, ask=wanted), "The host will ask these prices.", asked
            )
            configs.with_ask(settings.state, wanted)
        here.tell.text(*_ask_lines(wanted))
        here.tell.result({"host": here.host, "ask": wanted.encode() | {"gpu": _models(wanted)}})

    _command(work, settings, keys, StepOutput(as_json))


@click.command("top-up")
@click.option("--amount", type=agent_options.PriceParam(), help="How much is added. Default: what the bond lacks.")
@signing.options
@agent_options.JSON
@agent_options.folder
def top_up(settings: AgentSettings, keys: signing.SigningOptions, *, amount: int | None, as_json: bool) -> None:
    """Add to the host's bond. A host that is suspended for slashes comes back with its next heartbeat.

    \b
    Examples:
      gantry agent top-up --provider-key-file provider.json
      gantry agent top-up --amount 5 --provider-key-file provider.json
    """

    async def work(here: ProviderSession) -> None:
        record = await here.record()
        before = record.bond
        added = max(0, record.bond_required - before) if amount is None else amount
        if added:

            async def done() -> bool:
                return (await here.record()).bond >= before + added

            call = calls.hosts_top_up_bond(host=here.host, amount=added)
            await here.desk.agreed(call, f"{format_amount(added)} will be added to the bond.", done)
            record = await here.record()
        bond = f"{format_amount(record.bond)} of {format_amount(record.bond_required)}"
        here.tell.text(f"The bond is {bond}{'' if added else ': it lacks nothing'}. The host is {record.status.tag}.")
        here.tell.result(
            {
                "host": here.host,
                "added": added,
                "bond": record.bond,
                "bond_required": record.bond_required,
                "status": record.status.tag,
            }
        )

    _command(work, settings, keys, StepOutput(as_json))


@click.command()
@signing.options
@agent_options.JSON
@agent_options.folder
def leave(settings: AgentSettings, keys: signing.SigningOptions, *, as_json: bool) -> None:
    """Leave the network: drain, wait until all leases have ended, retire, stop the agent. Run again it goes on.

    The bond stays held for a while and is then had with gantry agent withdraw.

    \b
    Example:
      gantry agent leave --provider-key-file provider.json
    """
    _command(_leave, settings, keys, StepOutput(as_json))


@click.command()
@signing.options
@agent_options.JSON
@agent_options.folder
def withdraw(settings: AgentSettings, keys: signing.SigningOptions, *, as_json: bool) -> None:
    """Get the bond back after leave, once it is free. The provider's own key is needed; a proxy may not.

    \b
    Example:
      gantry agent withdraw --provider-key-file provider.json
    """

    async def work(here: ProviderSession) -> None:
        record = await here.record()
        bond = record.bond
        if isinstance(record.status, HostStatusRetiring):
            left_ms = record.status.value - await here.chain.now_ms()
            if left_ms > 0:
                raise OurError(
                    f"The bond of {format_amount(bond)} is held for {duration(left_ms)} more.", "Run this again then."
                )
            await here.desk.agreed(
                calls.hosts_withdraw_bond(host=here.host), "The bond is free.", _is_not(here, "Retiring")
            )
            here.tell.text(f"{format_amount(bond)} went back to {record.provider}.")
        elif record.status.tag == "Retired":
            bond = 0
            here.tell.text("The bond was paid back already.")
        else:
            raise OurError(f"The host is {record.status.tag}; its bond is held.", "Run gantry agent leave first.")
        here.tell.result({"host": here.host, "status": (await here.record()).status.tag, "withdrawn": bond})

    _command(work, settings, keys, StepOutput(as_json))


async def _drain(here: ProviderSession) -> None:
    record = await here.record()
    if record.status.tag == "Online":
        await here.desk.agreed(
            calls.hosts_drain(host=here.host), "The host will take nothing new.", _is_not(here, "Online")
        )
        record = await here.record()
    elif record.status.tag != "Draining":
        raise OurError(
            f"The host is {record.status.tag}; only one that is online is drained.", "See gantry agent status."
        )
    _say_status(here.tell, record)


async def _leave(here: ProviderSession) -> None:
    while True:
        record = await here.record()
        match next_leave_step(record):
            case LeaveStep.DRAIN:
                await here.desk.agreed(
                    calls.hosts_drain(host=here.host), "The host leaves: it takes nothing new.", _is_not(here, "Online")
                )
                here.tell.text("Draining: nothing new is taken.")
            case LeaveStep.WAIT:
                here.tell.text(
                    f"{record.live_leases} leases go on; waiting for their end. You may stop here and run this again."
                )
                here.tell.step("waiting", live_leases=record.live_leases)
                await here.until(partial(_has_other_leases, record.live_leases))
            case LeaveStep.RETIRE:
                await here.desk.agreed(
                    calls.hosts_retire(host=here.host), "All leases have ended: the host retires.", _retired(here)
                )
            case LeaveStep.STOP:
                break
    service = service_for(here.settings.state, agent_options.DEFAULT_STATE)
    await asyncio.to_thread(service.remove)
    here.tell.text("The agent is stopped and does not start again.")
    await _clear(here)
    free_at = record.status.value if isinstance(record.status, HostStatusRetiring) else None
    left_ms = None if free_at is None else max(0, free_at - await here.chain.now_ms())
    if left_ms is not None:
        when = f"in {duration(left_ms)}" if left_ms else "now"
        here.tell.text(f"The bond of {format_amount(record.bond)} is free {when}: gantry agent withdraw")
    here.tell.result({"host": here.host, "status": record.status.tag, "bond": record.bond, "bond_free_at_ms": free_at})


async def _clear(here: ProviderSession) -> None:
    """The agent may have been stopped before it had removed its last pods. Retained data stays: it is the tenants'."""
    config = configs.load(here.settings.state)
    url = here.settings.docker_host or (None if config is None else config.docker_host)
    try:
        await asyncio.to_thread(clear_engine, url, here.host, data=False)
    except (docker.errors.DockerException, OSError) as error:
        here.tell.text(f"What containers of this host are left could not be seen: {error}")
    await asyncio.to_thread(forget_secrets, here.settings.state)
    if os.getuid() == 0:
        # Somebody else's pods may be here still: then the rules that keep pods apart stay.
        await Firewall().remove_unused()


def _has_other_leases(before: int, found: HostRecord) -> bool:
    return found.live_leases != before


def _is_not(here: ProviderSession, tag: str) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        return (await here.record()).status.tag != tag

    return holds


def _retired(here: ProviderSession) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        return (await here.record()).status.tag in ("Retiring", "Retired")

    return holds


def _say_status(tell: StepOutput, record: HostRecord) -> None:
    leases = f", {record.live_leases} leases go on" if record.live_leases else ""
    tell.text(f"The host is {record.status.tag}{leases}.")
    tell.result({"status": record.status.tag, "live_leases": record.live_leases})


def _models(ask: Ask) -> list[dict[str, object]]:
    return [{"model": price.model.decode(errors="replace"), "per_hour": price.per_hour} for price in ask.gpu]


def _ask_lines(ask: Ask) -> list[str]:
    models = [(price.model.decode(errors="replace"), format_amount(price.per_hour)) for price in ask.gpu]
    return details(
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
