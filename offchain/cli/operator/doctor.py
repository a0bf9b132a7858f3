"""gantry doctor: checks of this machine, and the audit of the chain."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from dataclasses import asdict, dataclass

import click

from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import from_uri
from offchain.cli.kit import accounts, network, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, say
from offchain.cli.kit.session import run
from offchain.core.conservation import AuditReport
from offchain.schema.manifest.values import format_amount
from offchain.schema.protocol.gateway import parse_gateway
from offchain.services.audit import audit_chain


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """A check of this machine. `hint`: what fixes it; empty if all is well."""

    check: str
    ok: bool
    found: str
    hint: str = ""


@click.command()
@click.option("--audit", "do_audit", is_flag=True, help="Sum every account, hold and fee against the total issuance.")
@click.option(
    "--mend-engine",
    "repair",
    is_flag=True,
    help="Let a Docker engine that does not start finish the removal of a network in which it was killed. Needs root.",
)
@options.common()
def doctor(do_audit: bool, repair: bool, common: options.CommonOptions) -> None:
    """Check this machine, and print the command that fixes what is missing.

    With --audit: read every account of the chain at one final block and check that no coin is missing or surplus:
    free and held coins add up to the total issuance, and every hold has an escrow, bond or deposit behind it.

    With --mend-engine: for an engine older than 23.0.5 that was killed while it removed a network, and has panicked at
    every start since (docs/runbook/engine.md). Its other networks, containers and images stay as they are.

    \b
    Examples:
      gantry doctor
      gantry doctor --audit --json
      sudo gantry doctor --mend-engine
    """
    if do_audit and repair:
        raise CliError("--audit and --mend-engine exclude each other.", "Give one of them.", code="usage")
    if repair:
        _repair_engine(as_json=common.as_json)
        return
    if do_audit:
        _audit(common)
        return
    # An installed package has no node; the engine of a host is checked by gantry agent join.
    local = [_engine(), _release()] if _is_clone() else []
    checks = [_python(), *local, _chain(common), *_gateways(common), _accounts()]
    for check in checks:
        if common.as_json:
            emit(asdict(check))
        else:
            say(f"{'ok     ' if check.ok else 'missing'}  {check.check}: {check.found}")
            if check.hint:
                say(f"         {check.hint}")
    if not all(check.ok for check in checks):
        raise click.exceptions.Exit(1)


def _is_clone() -> bool:
    """Return whether this program is run from a clone, whose scripts start local networks."""
    from offchain.devnet.paths import ROOT  # noqa: PLC0415  (only here)

    return (ROOT / "scripts" / "up").is_file()


def _python() -> DoctorCheck:
    return DoctorCheck("Python", sys.version_info >= (3, 11), f"{platform.python_version()} at {sys.executable}")


def _engine() -> DoctorCheck:
    from offchain.devnet import engine  # noqa: PLC0415  (only here)
    from offchain.devnet.paths import DevnetError, DevnetPaths  # noqa: PLC0415

    refused: DevnetError | None = None
    found = None
    try:
        own = f"unix://{DevnetPaths.here().sockets}/docker.sock"
        found = own if "DOCKER_HOST" not in os.environ and engine.answers(own) else engine.find()
    except DevnetError as error:
        refused = error
    if found is not None:
        return DoctorCheck("Docker engine", ok=True, found=f"answers at {found}")
    half = _half_removed()
    if half:
        found = f"was killed while it removed the network {', '.join(half)}, and can no longer start"
        return DoctorCheck("Docker engine", ok=False, found=found, hint="sudo gantry doctor --mend-engine")
    if refused is not None:
        return DoctorCheck("Docker engine", ok=False, found=refused.message, hint=refused.hint)
    if shutil.which("dockerd", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is not None:
        if os.getuid() == 0:
            return DoctorCheck("Docker engine", ok=True, found="installed; scripts/up starts a private one")
        return DoctorCheck(
            "Docker engine", ok=False, found="installed, but stopped", hint="sudo systemctl start docker"
        )
    return DoctorCheck("Docker engine", ok=False, found="not installed", hint="scripts/setup")


def _half_removed() -> list[str]:
    """Return the networks that keep this machine's own engine from starting, if this user may read its data."""
    from offchain.devnet import engine_store  # noqa: PLC0415  (only here)

    try:
        return engine_store.half_removed(engine_store.system_data())
    except OSError:
        return []


def _repair_engine(*, as_json: bool) -> None:
    from offchain.devnet import engine_store  # noqa: PLC0415  (only here)

    folder = engine_store.system_data()
    try:
        networks = engine_store.repair(folder)
    except OSError as error:
        raise CliError(
            f"the engine's data in {folder} cannot be repaired: {error.strerror}.", "Run this with sudo.", code="denied"
        ) from None
    if as_json:
        emit({"data_root": str(folder), "networks": networks})
    elif networks:
        say(f"The engine will complete what it was doing when it was killed: removing {', '.join(networks)}.")
        say("Start it: sudo systemctl reset-failed docker; sudo systemctl start docker")
    else:
        say(f"No network in {folder} keeps an engine from starting, or an engine is running.")
        say("For other causes, see its log: sudo journalctl -u docker -n 50")


def _release() -> DoctorCheck:
    from offchain.devnet.paths import DevnetError  # noqa: PLC0415  (only here)
    from offchain.devnet.release import binaries  # noqa: PLC0415

    try:
        return DoctorCheck("Node", ok=True, found=str(binaries().node))
    except DevnetError as error:
        return DoctorCheck("Node", ok=False, found=error.message, hint=error.hint)


def _chain(common: options.CommonOptions) -> DoctorCheck:
    chosen = network.choose_node(common.url)

    async def work() -> str:
        async with common.connected() as chain:
            head = await chain.finalized_head()
            genesis = await chain.genesis_hash()
            return f"{chosen.url}, final block {head.number}, genesis 0x{genesis.hex()}"

    try:
        return DoctorCheck("Chain", ok=True, found=run(work()))
    except Exception as error:
        message = getattr(error, "message", None)
        if not isinstance(message, str):
            raise
        return DoctorCheck("Chain", ok=False, found=message, hint=str(getattr(error, "hint", "")))


def _gateways(common: options.CommonOptions) -> list[DoctorCheck]:
    """Check whether the known gateways answer. None known is fine: hosts name theirs on the chain."""
    try:
        known = network.known_gateways()
    except CliError as error:
        return [DoctorCheck("Gateway", ok=False, found=error.message, hint=error.hint)]
    return [_gateway(common, address) for address in known]


def _gateway(common: options.CommonOptions, address: str) -> DoctorCheck:
    from offchain.adapters.transport.gateway_registration import resolve_gateway  # noqa: PLC0415
    from offchain.adapters.transport.routing import open_direct  # noqa: PLC0415

    async def work() -> float:
        async with common.connected() as chain:
            genesis = await chain.genesis_hash()
        gateway = parse_gateway(address)
        # Any account may ask.
        caller = from_uri("//doctor", "ed25519")
        async with open_direct(
            ss58.decode(gateway.account), await resolve_gateway(gateway), genesis_hash=genesis, signer=caller
        ) as client:
            await client.ping()
            began_s = time.perf_counter()
            await client.ping()
            return (time.perf_counter() - began_s) * 1000

    try:
        return DoctorCheck("Gateway", ok=True, found=f"{address} answers in {run(work()):.1f} ms")
    except Exception as error:
        message = getattr(error, "message", None)
        if not isinstance(message, str):
            raise
        hint = "Check that it runs and that UDP and TCP get through, or name another: GANTRY_GATEWAY."
        return DoctorCheck("Gateway", ok=False, found=f"{address}: {message}", hint=hint)


def _accounts() -> DoctorCheck:
    found = accounts.list_accounts()
    if found:
        return DoctorCheck("Accounts", ok=True, found=", ".join(stored.name for stored in found))
    return DoctorCheck("Accounts", ok=True, found="none kept here; a local network knows //Alice to //Ferdie")


def _audit(common: options.CommonOptions) -> None:
    async def work() -> AuditReport:
        async with common.connected() as chain:
            return await audit_chain(chain)

    report = run(work())
    if common.as_json:
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
        if not common.as_json:
            say("Every coin is accounted for.")
        return
    if common.as_json:
        raise click.exceptions.Exit(1)
    raise CliError(
        "the books do not balance: " + "; ".join(str(difference) for difference in report.differences) + ".",
        "This is a bug in the chain: report it with the output of gantry doctor --audit --json.",
        code="unsound",
    )
