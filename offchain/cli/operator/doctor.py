"""gantry doctor."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from dataclasses import dataclass

import click

from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import from_uri
from offchain.cli.kit import accounts, network, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, say
from offchain.cli.kit.session import connected, run
from offchain.core.audit import Report
from offchain.schema.manifest.values import format_amount
from offchain.schema.protocol.gateway import parse_gateway
from offchain.services.audit import audit_chain


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `remedy` is the command that mends it; empty where all is well."""

    what: str
    good: bool
    said: str
    remedy: str = ""


@click.command()
@click.option("--audit", "do_audit", is_flag=True, help="Sum every account, hold and fee against the total issuance.")
@click.option(
    "--mend-engine",
    "mend",
    is_flag=True,
    help="Let a Docker engine that does not start finish the removal of a network in which it was killed. Needs root.",
)
@options.url
@options.as_json
def doctor(do_audit: bool, mend: bool, url: str | None, as_json: bool) -> None:
    """Tell what is missing on this machine, and the command that mends it.

    With --audit: read every account of the chain at one final block and check that no coin is missing or too many:
    free and held coins add up to the total issuance, and every hold has an escrow, bond or deposit behind it.

    With --mend-engine: for an engine older than 23.0.5 that was killed at a bad moment and panics at every start since
    (docs/runbook/engine.md). Nothing is lost: its other networks, containers and images stay as they are.

    \b
    Examples:
      gantry doctor
      gantry doctor --audit --json
      sudo gantry doctor --mend-engine
    """
    if do_audit and mend:
        raise CliError("--audit and --mend-engine are two different things.", "Give one of them.", code="usage")
    if mend:
        _mend_engine(as_json=as_json)
        return
    if do_audit:
        _audit(url, as_json=as_json)
        return
    findings = [_python(), _engine(), _release(), _chain(url), *_gateways(url), _accounts()]
    for finding in findings:
        if as_json:
            emit({"check": finding.what, "ok": finding.good, "found": finding.said, "remedy": finding.remedy})
        else:
            say(f"{'ok     ' if finding.good else 'missing'}  {finding.what}: {finding.said}")
            if finding.remedy:
                say(f"         {finding.remedy}")
    if not all(finding.good for finding in findings):
        raise click.exceptions.Exit(1)


def _python() -> Finding:
    return Finding("Python", sys.version_info >= (3, 11), f"{platform.python_version()} at {sys.executable}")


def _engine() -> Finding:
    from offchain.devnet import engine  # noqa: PLC0415  (only here)
    from offchain.devnet.paths import LocalError, Places  # noqa: PLC0415

    refused: LocalError | None = None
    found = None
    try:
        own = f"unix://{Places.here().sockets}/docker.sock"
        found = own if "DOCKER_HOST" not in os.environ and engine.answers(own) else engine.find()
    except LocalError as error:
        refused = error
    if found is not None:
        return Finding("Docker engine", good=True, said=f"answers at {found}")
    half = _half_removed()
    if half:
        said = f"was killed while it removed the network {', '.join(half)}, and cannot start since"
        return Finding("Docker engine", good=False, said=said, remedy="sudo gantry doctor --mend-engine")
    if refused is not None:
        return Finding("Docker engine", good=False, said=refused.message, remedy=refused.remedy)
    if shutil.which("dockerd", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is not None:
        if os.getuid() == 0:
            return Finding("Docker engine", good=True, said="installed; scripts/up starts a private one")
        return Finding("Docker engine", good=False, said="installed, but stopped", remedy="sudo systemctl start docker")
    return Finding("Docker engine", good=False, said="not installed", remedy="scripts/setup")


def _half_removed() -> list[str]:
    """Networks that keep this machine's own engine from starting, as far as this user may look."""
    from offchain.devnet import engine_store  # noqa: PLC0415  (only here)

    try:
        return engine_store.half_removed(engine_store.system_data())
    except OSError:
        return []


def _mend_engine(*, as_json: bool) -> None:
    from offchain.devnet import engine_store  # noqa: PLC0415  (only here)

    folder = engine_store.system_data()
    try:
        networks = engine_store.mend(folder)
    except OSError as error:
        raise CliError(
            f"the engine's data in {folder} cannot be mended: {error.strerror}.", "Run this with sudo.", code="denied"
        ) from None
    if as_json:
        emit({"data_root": str(folder), "networks": networks})
    elif networks:
        say(f"The engine will end what it was doing when it was killed: removing {', '.join(networks)}.")
        say("Start it: sudo systemctl reset-failed docker; sudo systemctl start docker")
    else:
        say(f"No network in {folder} keeps an engine from starting, or one runs with it.")
        say("What else it may be, its log says: sudo journalctl -u docker -n 50")


def _release() -> Finding:
    from offchain.devnet.paths import LocalError  # noqa: PLC0415  (only here)
    from offchain.devnet.release import binaries  # noqa: PLC0415

    try:
        return Finding("Node", good=True, said=str(binaries().node))
    except LocalError as error:
        return Finding("Node", good=False, said=error.message, remedy=error.remedy)


def _chain(url: str | None) -> Finding:
    chosen = network.choose(url)

    async def work() -> str:
        async with connected(url) as chain:
            head = await chain.finalized_head()
            genesis = await chain.genesis_hash()
            return f"{chosen.url}, final block {head.number}, genesis 0x{genesis.hex()}"

    try:
        return Finding("Chain", good=True, said=run(work()))
    except Exception as error:
        message = getattr(error, "message", None)
        if not isinstance(message, str):
            raise
        return Finding("Chain", good=False, said=message, remedy=str(getattr(error, "remedy", "")))


def _gateways(url: str | None) -> list[Finding]:
    """Whether those that this user knows answer. None known is well: hosts name theirs on the chain."""
    try:
        known = network.known_gateways()
    except CliError as error:
        return [Finding("Gateway", good=False, said=error.message, remedy=error.remedy)]
    return [_gateway(url, address) for address in known]


def _gateway(url: str | None, address: str) -> Finding:
    from offchain.adapters.transport.gateway_registration import resolve_gateway  # noqa: PLC0415  (the transport is slow to load)
    from offchain.adapters.transport.routing import open_direct  # noqa: PLC0415

    async def work() -> float:
        async with connected(url) as chain:
            genesis = await chain.genesis_hash()
        gateway = parse_gateway(address)
        # Who asks does not matter: anybody may.
        caller = from_uri("//doctor", "ed25519")
        async with open_direct(
            ss58.decode(gateway.account), await resolve_gateway(gateway), genesis_hash=genesis, signer=caller
        ) as client:
            await client.ping()
            began_s = time.perf_counter()
            await client.ping()
            return (time.perf_counter() - began_s) * 1000

    try:
        return Finding("Gateway", good=True, said=f"{address} answers in {run(work()):.1f} ms")
    except Exception as error:
        message = getattr(error, "message", None)
        if not isinstance(message, str):
            raise
        remedy = "Check that it runs and that UDP and TCP get through, or name another: GANTRY_GATEWAY."
        return Finding("Gateway", good=False, said=f"{address}: {message}", remedy=remedy)


def _accounts() -> Finding:
    found = accounts.stored()
    if found:
        return Finding("Accounts", good=True, said=", ".join(stored.name for stored in found))
    return Finding("Accounts", good=True, said="none kept here; a local network knows //Alice to //Ferdie")


def _audit(url: str | None, *, as_json: bool) -> None:
    async def work() -> Report:
        async with connected(url) as chain:
            return await audit_chain(chain)

    report = run(work())
    if as_json:
        emit(
            {
                "sound": report.sound,
                "block": report.block,
                "accounts": report.accounts,
                "total_issuance": report.total_issuance,
                "total_free": report.total_free,
                "total_held": report.total_reserved,
                "held": {str(reason): amount for reason, amount in report.held.items()},
                "differences": [str(difference) for difference in report.differences],
            }
        )
    else:
        details(
            [
                ("Final block", report.block),
                ("Accounts", report.accounts),
                ("Total issuance", f"{format_amount(report.total_issuance)} ({report.total_issuance} base units)"),
                ("Free", format_amount(report.total_free)),
                ("Held", format_amount(report.total_reserved)),
                *((f"  {reason}", format_amount(amount)) for reason, amount in report.held.items()),
            ]
        )
    if report.sound:
        if not as_json:
            say("Every coin is accounted for.")
        return
    if as_json:
        raise click.exceptions.Exit(1)
    raise CliError(
        "the books do not balance: " + "; ".join(str(difference) for difference in report.differences) + ".",
        "This is a bug in the chain: report it with the output of gantry doctor --audit --json.",
        code="unsound",
    )
