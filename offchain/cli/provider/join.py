"""`gantry agent join`: from a fresh machine to a paid host. A repeated run continues where the last one ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path

import click

from node_agent.core.release_statement import parse_key, parse_keys
from node_agent.install import release_trust
from node_agent.install.service import AgentService, service_for
from node_agent.runtime import join_config as configs
from node_agent.runtime.settings import (
    HARDWARE,
    AgentSettings,
    check_isolation,
    find_hardware,
    key_of,
    open_chain,
    probe_hardware,
    registration,
)
from node_agent.runtime.state_dir import HOST_KEY, StateDir
from node_agent.runtime.status_file import read_status
from node_agent.telemetry import hardware as hw
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.cli.kit import options
from offchain.cli.kit.failures import run_command
from offchain.cli.kit.output import StepOutput
from offchain.cli.provider import agent_options, price_options, signing
from offchain.cli.provider.challenge_check import challenge_checks
from offchain.cli.provider.check_output import print_results
from offchain.cli.provider.confidential_check import confidential_checks
from offchain.cli.provider.machine_checks import CheckResult, EngineFacts, MachineFacts, check_machine, failed
from offchain.cli.provider.machine_survey import survey_machine
from offchain.errors import OurError, RefusedError
from offchain.ports import ChainPort
from offchain.schema.chain_types._generated_chain import Ask, HostRecord

ONLINE_S = 180.0
UP_S = 60.0
"""Time for the agent to become ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinOptions:
    """Options of `gantry agent join` that are not settings of the agent."""

    region: str | None
    ask: Callable[[Ask | None], Ask]
    check_only: bool
    start: bool
    wait: bool
    release_keys: tuple[str, ...] = ()


@click.command()
@agent_options.REGION
@agent_options.TIER
@price_options.prices
@signing.options
@click.option("--check", "check_only", is_flag=True, help="Only check the machine; change nothing.")
@click.option("--no-start", is_flag=True, help="Register without a service: you keep 'gantry agent run' running.")
@click.option("--no-wait", is_flag=True, help="With --by-hand: print the call to sign and exit.")
@click.option(
    "--release-key",
    "release_keys",
    type=options.Parsed("HEX", parse_key),
    multiple=True,
    help="Accept only releases of the agent signed with this public key (gantry agent update); replaces the stored "
    "keys. May be given several times.",
)
@agent_options.output
@agent_options.machine
def join(
    settings: AgentSettings,
    region: str | None,
    ask: Callable[[Ask | None], Ask],
    keys: signing.SigningOptions,
    release_keys: tuple[str, ...],
    *,
    check_only: bool,
    no_start: bool,
    no_wait: bool,
    output: StepOutput,
) -> None:
    """Make this machine a paid host: check it, make its key, register it, keep its agent running.

    The provider's account posts the bond and is paid. It signs once: by a key given here, by a proxy's key, or in your
    own wallet (--by-hand). A repeated run continues where the last one ended.

    \b
    Examples:
      gantry agent join --check
      gantry agent join --by-hand 5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty --region eu-north
      gantry agent join --provider-key-file provider.json --gpu-price 0.8 --keep-gpu 0 --reserve-cpus 4
    """
    wanted = JoinOptions(
        region=None if region is None else agent_options.region_of(region),
        ask=ask,
        check_only=check_only,
        start=not no_start,
        wait=not no_wait,
        release_keys=_checked(release_keys),
    )
    if not run_command(_join(settings, keys, wanted, output), as_json=output.as_json):
        sys.exit(1)


async def _join(settings: AgentSettings, keys: signing.SigningOptions, wanted: JoinOptions, output: StepOutput) -> bool:
    kept = configs.load(settings.state)
    known = None if kept is None else kept.provider
    if wanted.check_only:
        return await _check_only(settings, keys.by_hand or keys.proxy_for or known, output)
    authority = keys.authority(known)
    service = service_for(settings.state, agent_options.DEFAULT_STATE)
    key, hardware = set_up(settings, known=kept is not None)
    facts = await survey_machine(settings, key, authority.provider)
    results = await _results(facts, settings, key)
    print_results(results, output)
    if failed(results):
        raise OurError("This machine cannot be a host yet.", "Fix the checks marked FAIL, then repeat this command.")
    sandboxed = isinstance(facts.engine, EngineFacts) and facts.engine.sandboxed
    async with open_chain(settings) as port:
        chain = GantryChain(port)
        record = await chain.host(key.address)
        if record is None:
            hardware = _probe_unregistered(settings, hardware, service, sandboxed=sandboxed)
        config = _configuration(settings, kept, authority.provider, await port.genesis_hash(), wanted)
        if record is not None:
            check_isolation(record.capabilities, sandboxed=sandboxed, warn=output.text)
            if wanted.ask(record.ask) != record.ask:
                output.text("The host is registered; use gantry agent set-ask to change its prices.")
            config = replace(config, ask=record.ask, region=record.region.decode(errors="replace"))
        signing_session = signing.SigningSession(port, authority, output, config.url)
        left = remaining_steps(JoinState(key.address, authority.provider, record, service.running() and config == kept))
        configs.save(settings.state, config)
        _keep_release_keys(settings, wanted.release_keys, output)
        if JoinStep.REGISTER in left:
            call = await registration(
                settings, key, hardware, config.genesis, config.provider, config.region, config.ask
            )
            why = f"Host {key.address} is ready to be registered."
            await signing_session.submit(call, why, lambda: _is_registered(chain, key.address), wait=wanted.wait)
            if await chain.host(key.address) is None and not wanted.wait:
                output.result({"host": key.address, "provider": config.provider, "status": "unregistered"})
                return True
            output.text(f"Registered: host {key.address}, provider {config.provider}.")
            output.step("registered", host=key.address, provider=config.provider)
        if wanted.start:
            if JoinStep.SERVICE in left:
                await asyncio.to_thread(_serve, service, settings, output)
            record = await _online(port, key, settings, service, output)
        else:
            output.text("Start it with: gantry agent run")
            record = await chain.host(key.address)
        _tell_end(output, config, key.address, record, service, settings.state)
    return True


def _keep_release_keys(settings: AgentSettings, keys: tuple[str, ...], output: StepOutput) -> None:
    if not keys:
        return
    with release_trust.only_updater(settings.state):
        release_trust.save(settings.state, release_trust.ReleaseTrust(keys))
    output.text(f"Releases of the agent must be signed with: {release_trust.keys_text(keys)}.")
    output.step("release_keys", keys=list(keys))


def _checked(keys: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return parse_keys(keys) if keys else ()
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--release-key") from None


async def _check_only(settings: AgentSettings, provider: str | None, output: StepOutput) -> bool:
    # A temporary key, so that a check leaves nothing behind.
    key = key_of(settings) if (settings.state / HOST_KEY).exists() else Ed25519Signer(bytes(32))
    with contextlib.ExitStack() as stack:
        if not settings.state.is_dir():
            import tempfile  # noqa: PLC0415  (only here)

            settings = replace(settings, state=Path(stack.enter_context(tempfile.TemporaryDirectory())))
        findings = await _results(await survey_machine(settings, key, provider), settings, key)
    print_results(findings, output)
    good = not failed(findings)
    output.text("", "This machine can be a host." if good else "This machine cannot be a host yet.")
    output.result({"ready": good, "checks": [asdict(finding) for finding in findings]})
    return good


async def _results(facts: MachineFacts, settings: AgentSettings, key: Ed25519Signer) -> tuple[CheckResult, ...]:
    """Return the results of all checks. Without an engine the challenge program is not tried."""
    found = (*check_machine(facts), *await confidential_checks(settings, key.public_key))
    if isinstance(facts.engine, str):
        return found
    return (*found, *await challenge_checks(settings, key.address, facts.devices))


def set_up(settings: AgentSettings, *, known: bool) -> tuple[Ed25519Signer, hw.Hardware]:
    """Return the host's key and hardware; made on first use. Beside a running agent they are only read."""
    kept = hw.load(settings.state / HARDWARE)
    if known and kept is not None and (settings.state / HOST_KEY).exists():
        return key_of(settings), kept
    with contextlib.closing(StateDir(settings.state)) as state:
        return state.host_key(), kept or find_hardware(settings, state)


def _probe_unregistered(
    settings: AgentSettings, hardware: hw.Hardware, service: AgentService, *, sandboxed: bool
) -> hw.Hardware:
    """Return the present hardware for a host that is not registered yet."""
    now = probe_hardware(settings, sandboxed=sandboxed)
    if now == hardware:
        return hardware
    if service.running():
        service.stop()  # the running agent has the previous hardware
    hw.save(settings.state / HARDWARE, now)
    return now


def _configuration(
    settings: AgentSettings, kept: configs.JoinConfig | None, provider: str, genesis: bytes, wanted: JoinOptions
) -> configs.JoinConfig:
    shared = {field.name for field in fields(configs.JoinConfig)} & {field.name for field in fields(AgentSettings)}
    stored = configs.JoinConfig(
        provider=provider,
        region=wanted.region or (kept.region if kept is not None else "local"),
        ask=wanted.ask(None if kept is None else kept.ask),
        **{**{name: getattr(settings, name) for name in shared}, "genesis": genesis},
    )
    # A service does not have the environment of this shell.
    return replace(stored, docker_host=settings.docker_host or os.environ.get("DOCKER_HOST"))


async def _is_registered(chain: GantryChain, host: str) -> bool:
    return await chain.host(host) is not None


def _serve(service: AgentService, settings: AgentSettings, output: StepOutput) -> None:
    by_hand = None if service.running() else read_status(settings.state)
    if by_hand is not None:
        raise OurError(
            f"An agent uses this folder (process {by_hand.pid}) without being a service.",
            "Stop it, then repeat this command; its containers keep running.",
        )
    service.install()
    if service.running():
        service.restart()
    else:
        service.start()
    output.text(f"The agent is running; {service.kind} restarts it.")
    output.step("service", kind=service.kind)


async def _online(
    port: ChainPort, key: Ed25519Signer, settings: AgentSettings, service: AgentService, output: StepOutput
) -> HostRecord | None:
    """Wait until the host is online; say why it is not if that does not pass by itself."""
    chain = GantryChain(port)
    record = await chain.host(key.address)
    clock = asyncio.get_running_loop()
    began_s = clock.time()
    try:
        async with asyncio.timeout(ONLINE_S), contextlib.aclosing(port.best()) as heads:
            async for head in heads:
                record = await chain.host(key.address, at=head.hash)
                if is_online(record) or why_not_online(record):
                    break
                agent_status = read_status(settings.state)
                if clock.time() - began_s > UP_S and (agent_status is None or not agent_status.ready):
                    raise await _late("its agent is not ready", UP_S, service)
    except TimeoutError:
        raise await _late("its agent is ready, but no heartbeat is on the chain", ONLINE_S, service) from None
    if not is_online(record):
        output.text(f"Not online yet: {why_not_online(record)}.")
    return record


async def _late(why: str, after_s: float, service: AgentService) -> OurError:
    lines = await asyncio.to_thread(lambda: list(service.log(5, follow=False)))
    return OurError(
        f"The host is not online after {after_s:g} s: {why}. The end of its log:\n" + "\n".join(lines),
        "See gantry agent logs, then repeat this command.",
    )


def _tell_end(
    output: StepOutput,
    config: configs.JoinConfig,
    host: str,
    record: HostRecord | None,
    service: AgentService,
    state: Path,
) -> None:
    status = record.status.tag if record is not None else "unregistered"
    where = "" if state == agent_options.DEFAULT_STATE else f" --state {state}"
    output.text(f"Host {host} is {status}. gantry agent status{where} shows it.")
    output.result(
        {
            "host": host,
            "provider": config.provider,
            "status": status,
            "service": service.kind if service.running() else None,
        }
    )


class JoinStep(StrEnum):
    """The steps of `join`, in order."""

    REGISTER = "register"
    SERVICE = "service"
    ONLINE = "online"


@dataclass(frozen=True, slots=True)
class JoinState:
    """State of the host. `record`: on the chain; `running`: the service runs with the present configuration."""

    host: str
    provider: str
    record: HostRecord | None
    running: bool


def remaining_steps(now: JoinState) -> tuple[JoinStep, ...]:
    """Return the remaining steps. Raises if the host cannot join any more, or belongs to another provider."""
    record = now.record
    if record is None:
        return (JoinStep.REGISTER, JoinStep.SERVICE, JoinStep.ONLINE)
    if record.provider != now.provider:
        raise RefusedError(
            f"Host {now.host} is registered already, under the provider {record.provider}.",
            "Use that provider's key, or another --state folder for a new host key.",
        )
    if record.status.tag in ("Retiring", "Retired"):
        raise OurError(
            f"Host {now.host} has left the network ({record.status.tag}), and a host's key is used once.",
            "Join with another --state folder.",
        )
    left = () if now.running else (JoinStep.SERVICE,)
    return (*left, JoinStep.ONLINE)


def is_online(record: HostRecord | None) -> bool:
    """Whether the host takes work, or would if it were not drained."""
    return record is not None and record.status.tag in ("Online", "Draining")


def why_not_online(record: HostRecord | None) -> str:
    """Return why a registered host does not come online by itself; empty if it only needs its heartbeat."""
    match None if record is None else record.status.tag:
        case "Unverified":
            return "the operators of this network have to verify the host first"
        case "Suspended":
            return "the host is suspended; gantry agent status says why, and what ends it"
        case _:
            return ""
