"""`gantry agent join`: from a fresh machine to a paid host. Run again it goes on where it was."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import click

from node_agent.core.release_statement import parse_key, parse_keys
from node_agent.install import release_trust
from node_agent.install.service import AgentService, service_for
from node_agent.runtime import config as configs
from node_agent.runtime.startup import (
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
from node_agent.runtime.status_file import read_status as read_beacon
from node_agent.telemetry import hardware as hw
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.cli.provider import agent_options, signing
from offchain.cli.provider.agent_output import StepOutput, finish
from offchain.cli.provider.join_plan import JoinState, JoinStep, is_online, remaining_steps, why_not_online
from offchain.cli.provider.machine_checks import CheckResult, CheckVerdict, EngineFacts, check_machine, failed
from offchain.cli.provider.machine_survey import survey_machine
from offchain.errors import OurError
from offchain.ports import ChainPort
from offchain.schema.chain_types._generated_chain import Ask, HostRecord

ONLINE_S = 180.0
UP_S = 60.0
"""So long an agent may take until it is ready."""
_MARKS = {CheckVerdict.PASS: "ok  ", CheckVerdict.WARN: "warn", CheckVerdict.FAIL: "FAIL"}


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinOptions:
    """The options of `gantry agent join` that are not settings of the agent."""

    region: str | None
    ask: Callable[[Ask | None], Ask]
    check_only: bool
    start: bool
    wait: bool
    release_keys: tuple[str, ...] = ()


class ReleaseKeyParam(click.ParamType[str]):
    """A public key that signs releases of the agent."""

    name = "HEX"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return its 64 hex digits."""
        try:
            return parse_key(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command()
@agent_options.REGION
@agent_options.TIER
@agent_options.prices
@signing.options
@click.option("--check", "check_only", is_flag=True, help="Only look at the machine; change nothing.")
@click.option("--no-start", is_flag=True, help="Register, and leave it to you to keep 'gantry agent run' running.")
@click.option("--no-wait", is_flag=True, help="With --by-hand: print the call to sign, and end.")
@click.option(
    "--release-key",
    "release_keys",
    type=ReleaseKeyParam(),
    multiple=True,
    help="Run only releases of the agent that this public key signed (gantry agent update); replaces the keys that are "
    "kept. May be given several times.",
)
@agent_options.JSON
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
    as_json: bool,
) -> None:
    """Make this machine a paid host: check it, make its key, register it, keep its agent running.

    The provider's account posts the bond and is paid. It signs once: by a key given here, by a proxy's key, or in your
    own wallet (--by-hand). Run it again at any time: it goes on where it was.

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
    tell = StepOutput(as_json)
    if not finish(_join(settings, keys, wanted, tell), as_json=as_json):
        sys.exit(1)


async def _join(settings: AgentSettings, keys: signing.SigningOptions, wanted: JoinOptions, tell: StepOutput) -> bool:
    kept = configs.load(settings.state)
    known = None if kept is None else kept.provider
    if wanted.check_only:
        return await _check_only(settings, keys.by_hand or keys.proxy_for or known, tell)
    authority = keys.authority(known)
    service = service_for(settings.state, agent_options.DEFAULT_STATE)
    key, hardware = set_up(settings, known=kept is not None)
    facts = await survey_machine(settings, key, authority.provider)
    if not _told(check_machine(facts), tell):
        raise OurError("This machine cannot be a host yet.", "Mend what is marked FAIL, then run this again.")
    sandboxed = isinstance(facts.engine, EngineFacts) and facts.engine.sandboxed
    async with open_chain(settings) as port:
        chain = GantryChain(port)
        record = await chain.host(key.address)
        if record is None:
            hardware = _looked_again(settings, hardware, service, sandboxed=sandboxed)
        config = _configuration(settings, kept, authority.provider, await port.genesis_hash(), wanted)
        if record is not None:
            check_isolation(record.capabilities, sandboxed=sandboxed, tell=tell.text)
            if wanted.ask(record.ask) != record.ask:
                tell.text("The host is registered: its prices are changed with gantry agent set-ask.")
            config = replace(config, ask=record.ask, region=record.region.decode(errors="replace"))
        desk = signing.SigningSession(port, authority, tell, config.url)
        left = remaining_steps(JoinState(key.address, authority.provider, record, service.running() and config == kept))
        configs.save(settings.state, config)
        _keep_release_keys(settings, wanted.release_keys, tell)
        if JoinStep.REGISTER in left:
            call = await registration(
                settings, key, hardware, config.genesis, config.provider, config.region, config.ask
            )
            why = f"Host {key.address} is ready to be registered."
            await desk.agreed(call, why, lambda: _is_registered(chain, key.address), wait=wanted.wait)
            if await chain.host(key.address) is None and not wanted.wait:
                tell.result({"host": key.address, "provider": config.provider, "status": "unregistered"})
                return True
            tell.text(f"Registered: host {key.address}, provider {config.provider}.")
            tell.step("registered", host=key.address, provider=config.provider)
        if wanted.start:
            if JoinStep.SERVICE in left:
                await asyncio.to_thread(_serve, service, settings, tell)
            record = await _online(port, key, settings, service, tell)
        else:
            tell.text("Start it with: gantry agent run")
            record = await chain.host(key.address)
        _tell_end(tell, config, key.address, record, service)
    return True


def _keep_release_keys(settings: AgentSettings, keys: tuple[str, ...], tell: StepOutput) -> None:
    if not keys:
        return
    with release_trust.only_updater(settings.state):
        release_trust.save(settings.state, release_trust.ReleaseTrust(keys))
    tell.text(f"Releases of the agent have to be signed by: {release_trust.keys_text(keys)}.")
    tell.step("release_keys", keys=list(keys))


def _checked(keys: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return parse_keys(keys) if keys else ()
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--release-key") from None


async def _check_only(settings: AgentSettings, provider: str | None, tell: StepOutput) -> bool:
    # A key of the moment: looking leaves nothing behind.
    key = key_of(settings) if (settings.state / HOST_KEY).exists() else Ed25519Signer(bytes(32))
    with contextlib.ExitStack() as stack:
        if not settings.state.is_dir():
            import tempfile  # noqa: PLC0415  (only here)
            from pathlib import Path  # noqa: PLC0415

            settings = replace(settings, state=Path(stack.enter_context(tempfile.TemporaryDirectory())))
        findings = check_machine(await survey_machine(settings, key, provider))
    good = _told(findings, tell)
    tell.text("", "This machine can be a host." if good else "This machine cannot be a host yet.")
    tell.result({"ready": good, "checks": [_plain(finding) for finding in findings]})
    return good


def set_up(settings: AgentSettings, *, known: bool) -> tuple[Ed25519Signer, hw.Hardware]:
    """The host's key and what it offers; made on first use. Beside a running agent they are only read."""
    kept = hw.load(settings.state / HARDWARE)
    if known and kept is not None and (settings.state / HOST_KEY).exists():
        return key_of(settings), kept
    with contextlib.closing(StateDir(settings.state)) as state:
        return state.host_key(), kept or find_hardware(settings, state)


def _looked_again(
    settings: AgentSettings, hardware: hw.Hardware, service: AgentService, *, sandboxed: bool
) -> hw.Hardware:
    """A host that is not registered yet offers what is here now, by what is given now."""
    now = probe_hardware(settings, sandboxed=sandboxed)
    if now == hardware:
        return hardware
    if service.running():
        service.stop()  # it holds the other hardware
    hw.save(settings.state / HARDWARE, now)
    return now


def _configuration(
    settings: AgentSettings, kept: configs.JoinConfig | None, provider: str, genesis: bytes, wanted: JoinOptions
) -> configs.JoinConfig:
    return configs.JoinConfig(
        url=settings.url,
        genesis=genesis,
        provider=provider,
        region=wanted.region or (kept.region if kept is not None else "local"),
        ask=wanted.ask(None if kept is None else kept.ask),
        bind=settings.bind,
        # A service does not have the variables of this shell.
        docker_host=settings.docker_host or os.environ.get("DOCKER_HOST"),
        runtime=settings.runtime,
        network=settings.network,
        simulate=settings.simulate,
        reserve=settings.reserve,
        registry_mirror=settings.registry_mirror,
        allow_registries=settings.allow_registries,
        image_quota_gib=settings.image_quota_gib,
        keep_gpus=settings.keep_gpus,
        share_gpus=settings.share_gpus,
        tier=settings.tier,
        gateways=settings.gateways,
    )


def _told(findings: tuple[CheckResult, ...], tell: StepOutput) -> bool:
    for finding in findings:
        tell.text(f"{_MARKS[finding.verdict]}  {finding.check}: {finding.found}")
        if finding.remedy:
            tell.text(f"      {finding.remedy}")
        tell.step("check", **_plain(finding))
    return not failed(findings)


def _plain(finding: CheckResult) -> dict[str, str]:
    return {
        "check": finding.check,
        "verdict": finding.verdict.value,
        "found": finding.found,
        "remedy": finding.remedy,
    }


async def _is_registered(chain: GantryChain, host: str) -> bool:
    return await chain.host(host) is not None


def _serve(service: AgentService, settings: AgentSettings, tell: StepOutput) -> None:
    by_hand = None if service.running() else read_beacon(settings.state)
    if by_hand is not None:
        raise OurError(
            f"An agent runs with this folder already (process {by_hand.pid}), and not as a service.",
            "Stop it, then run this again; its containers run on.",
        )
    service.install()
    if service.running():
        service.restart()
    else:
        service.start()
    tell.text(f"The agent runs, kept running by {service.kind}.")
    tell.step("service", kind=service.kind)


async def _online(
    port: ChainPort, key: Ed25519Signer, settings: AgentSettings, service: AgentService, tell: StepOutput
) -> HostRecord | None:
    """Wait until the host is online. Says what is in its way where that does not pass by itself."""
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
                beacon = read_beacon(settings.state)
                if clock.time() - began_s > UP_S and (beacon is None or not beacon.ready):
                    raise await _late("its agent is not up", UP_S, service)
    except TimeoutError:
        raise await _late("its agent is up, but was not heard", ONLINE_S, service) from None
    if not is_online(record):
        tell.text(f"Not online yet: {why_not_online(record)}.")
    return record


async def _late(why: str, after_s: float, service: AgentService) -> OurError:
    lines = await asyncio.to_thread(lambda: list(service.log(5, follow=False)))
    return OurError(
        f"The host is not online after {after_s:g} s: {why}. The end of its log:\n" + "\n".join(lines),
        "See gantry agent logs, then run this again.",
    )


def _tell_end(
    tell: StepOutput, config: configs.JoinConfig, host: str, record: HostRecord | None, service: AgentService
) -> None:
    status = record.status.tag if record is not None else "unregistered"
    tell.text(f"Host {host} is {status}. See it with: gantry agent status")
    tell.result(
        {
            "host": host,
            "provider": config.provider,
            "status": status,
            "service": service.kind if service.running() else None,
        }
    )
