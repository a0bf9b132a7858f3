"""`gantry host`: registered hosts, with their prices and scores."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from typing import Any, Final

import click

from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, progress, say, table
from offchain.cli.kit.session import run, send
from offchain.cli.provider.host_appeal import appeal
from offchain.cli.provider.host_attest import attest
from offchain.cli.provider.host_filters import HostListFilter, filter_options
from offchain.cli.provider.host_trust import trust
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.chain_types.suspension import challenges_text
from offchain.schema.manifest.values import format_amount, parse_duration
from offchain.schema.value_text import counted
from offchain.services import provider_calls
from offchain.services.event_text import time_text
from offchain.services.host_views import HostView, read_host, read_hosts, score_text
from offchain.services.record_views import text_of


@click.group(epilog="A host is one machine; its address is that of its host key.")
def host() -> None:
    """List, show, challenge and attest hosts; reclaim resources of your own, and appeal verdicts against them.

    \b
    Examples:
      gantry host list
      gantry host show 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX
      gantry host trust 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX
    """


host.add_command(trust)
host.add_command(attest)
host.add_command(appeal)

_COLUMNS: Final = ("HOST", "STATUS", "REGION", "GPUS", "CORES", "MEMORY", "GPU/H", "SCORE", "LEASES")
_WIDE_COLUMNS: Final = ("CORE/H", "LATENCY", "SANDBOX")


@host.command("list")
@options.common()
@filter_options
@click.option(
    "--wide", is_flag=True, help="Also show the price of a core an hour, latency, and whether pods are sandboxed."
)
def list_(wide: bool, chosen: HostListFilter, common: options.CommonOptions) -> None:
    """List the registered hosts. GPU/H and CORE/H are the prices of a GPU and of a core an hour.

    \b
    Examples:
      gantry host list --online
      gantry host list --wide
      gantry host list --gpu a100 --free --max-price 1.5 --sort price
      gantry host list --gpu h100 --free-gpus 8 --attested --tier datacenter --min-score 0.9 --sort score
      gantry host list --json | jq .ask.gpu_per_hour
    """

    async def work() -> list[HostView]:
        async with common.connected() as chain:
            return await read_hosts(chain)

    found = sorted(filter(chosen.matches, run(work())), key=chosen.sort_key)
    if common.as_json:
        for view in found:
            emit(view.plain())
        return
    if not found:
        progress("No host matches." if chosen.restricts else "No host is registered.")
        return
    table((*_COLUMNS, *_WIDE_COLUMNS) if wide else _COLUMNS, [_row(view, wide=wide) for view in found])


@host.command()
@options.address
@options.common()
def show(address: str, common: options.CommonOptions) -> None:
    """Show one host: its capacity, what is free, and its prices.

    \b
    Example:
      gantry host show 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX
    """

    async def work() -> HostView:
        async with common.connected() as chain:
            return await read_host(chain, address)

    view = run(work())
    if common.as_json:
        emit(view.plain())
        return
    ask = view.ask
    details(
        [
            ("Host", view.id),
            ("Provider", view.provider),
            ("Status", _status_text(view)),
            ("Region", view.region),
            ("Tier", view.tier),
            ("Runs", ", ".join(name for name in view.capabilities if name != "sandboxed")),
            ("Isolation", _isolation_text(view)),
            (
                "Score",
                f"{score_text(view.score_ppm) or 'none yet'} after {counted(view.settled_leases, 'settled lease')}",
            ),
            ("Bond", format_amount(view.bond)),
            ("Leases now", view.live_leases),
            ("Challenges", challenges_text(answers=view.answers_challenges, challenged=view.challenged)),
            ("Reached at", text_of(view.endpoint).replace(",", ", ")),
            ("Network", _network_text(view)),
            ("Latency", f"{view.latency_ms} ms, as it measured it" if view.latency_ms else "not measured yet"),
            ("Cores", f"{view.free['cpu_milli'] / 1000:g} of {view.total['cpu_milli'] / 1000:g} free"),
            ("Memory", f"{view.free['memory_mib']} of {view.total['memory_mib']} MiB free"),
            ("Disk", f"{view.free['disk_gib']} of {view.total['disk_gib']} GiB free"),
            ("GPU an hour", format_amount(ask["gpu_per_hour"])),
            *((f"{price['model']} an hour", format_amount(price["per_hour"])) for price in ask["gpu"]),
            ("Core an hour", format_amount(ask["cpu_core_per_hour"])),
            ("GiB memory an hour", format_amount(ask["memory_gib_per_hour"])),
            ("GiB disk an hour", format_amount(ask["disk_gib_per_hour"])),
            ("By unit", ", ".join(f"{unit} {ask[f'{unit}_ppm'] / 1e6:g} times" for unit in ("second", "hour", "day"))),
        ]
    )
    for number, device in enumerate(view.devices):
        simulated = ", simulated" if device["simulated"] else ""
        free = "free" if device["milli_free"] == 1000 else f"{device['milli_free'] / 10:g} % free"
        whose = f", shared by pods of {device['shared_by']} alone" if device["shared_by"] else ""
        order = "" if device["healthy"] else ", out of order"
        what = f"{device['vendor']} {device['model']}, {device['vram_mib']} MiB"
        say(f"GPU {number}  {what}{simulated}, {free}{whose}{order}")
    for sentence in () if view.suspension is None else view.suspension.way_back:
        say(sentence)


@host.command()
@click.argument("lease", type=click.IntRange(0))
@options.common(account=True)
def reclaim(lease: int, common: options.CommonOptions) -> None:
    """Take the resources of a LEASE of your host back, with notice to its tenant. Services and rentals only.

    The tenant pays until the notice is over, and cannot extend the lease any more; then the chain ends it. Needs the
    account of the host's provider. gantry host show and gantry history host show the leases of a host.

    \b
    Examples:
      gantry host reclaim 117440512 --account //Bob
      gantry host reclaim 117440512 --account bob --json
    """
    signer = common.open_account()

    async def work() -> tuple[int, int]:
        async with common.connected() as chain:
            call = await provider_calls.reclaim(chain, lease, signer.address)
            included = await send(chain, call, signer)
            return int(included.event("Leases", "ReclaimNoticed").fields["reclaim_at"]), included.block.number

    reclaim_at, block = run(work())
    task, pod, _ = lease_parts(lease)
    if common.as_json:
        emit({"lease": lease, "task": task, "pod": pod, "reclaim_at": reclaim_at, "block": block})
        return
    say(f"The tenant of lease {lease} (pod {pod} of task {task}) has notice until {time_text(reclaim_at)} UTC.")
    say("The lease ends then and is paid until then; the agent stops the pod.")


@host.command()
@options.address
@click.option("--device", default=0, show_default=True, type=click.IntRange(0, 255), help="The number of the GPU.")
@click.option("--lease", type=click.IntRange(0), help="Your lease of the GPU. Needed while it is leased.")
@options.common(account=True)
def challenge(address: str, device: int, lease: int | None, common: options.CommonOptions) -> None:
    """Challenge a host to prove that a GPU is genuine. The account pays the verifiers.

    For verifiers and the host's provider; with --lease for the tenant of the GPU, who agrees that the pod loses the GPU
    until the host has answered.

    \b
    Examples:
      gantry host challenge 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX --account //Bob
      gantry host challenge 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX --lease 458752 --account //Eve
    """
    signer = common.open_account()

    async def work() -> dict[str, Any]:
        async with common.connected() as chain:
            call = calls.verification_open_challenge(host=address, device=device, lease=lease)
            opened = (await send(chain, call, signer)).event("Verification", "ChallengeOpened").fields
            return {name: opened[name] for name in ("challenge", "host", "device", "fee")}

    opened = run(work())
    if common.as_json:
        emit(opened)
        return
    fee = format_amount(opened["fee"])
    held = f"{fee} are held for its committees; the unused part is refunded."
    say(f"Challenge {opened['challenge']} of GPU {device} is open; {held}")


@host.command()
@options.common(json=False)
@click.option("--count", default=1, show_default=True, type=click.IntRange(1), help="How many hosts.")
@click.option("--attested", is_flag=True, help="Only hosts whose GPUs were all proven genuine by challenges.")
@click.option("--timeout", default="60s", show_default=True, metavar="TIME", help="How long to wait.")
def wait(count: int, attested: bool, timeout: str, common: options.CommonOptions) -> None:
    """Wait until hosts are online. Useful in scripts that start a network.

    \b
    Examples:
      gantry host wait --count 2 --timeout 90s
      gantry host wait --attested --timeout 5m
    """
    try:
        seconds = parse_duration(timeout) / 1000
    except ValueError as error:
        raise CliError(f"{error}.", "Write for example 90s or 2m.", code="usage") from None

    async def work() -> int:
        online = 0
        async with common.connected() as chain:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    async for head in chain.best():
                        hosts = await read_hosts(chain, head.hash)
                        online = sum(view.status == "Online" and (not attested or _is_attested(view)) for view in hosts)
                        if online >= count:
                            return online
        return online

    online = run(work())
    if online < count:
        raise CliError(
            f"online hosts{' with proven GPUs' if attested else ''} after {timeout}: {online} of {count}.",
            "gantry host list shows the status of each; an agent's log says why it is not online.",
            code="timeout",
        )


def _is_attested(view: HostView) -> bool:
    return bool(view.devices) and all(device["attested"] for device in view.devices)


def _status_text(view: HostView) -> str:
    if view.suspension is not None:
        return f"Suspended: {view.suspension.text}"
    status, _, until = view.status.rstrip(")").partition("(")
    return f"{status} until {time_text(int(until))}" if until.isdecimal() else status


def _gpus_text(view: HostView) -> str:
    """Return how many GPUs of each model a host has."""
    simulated = "simulated " if any(device["simulated"] for device in view.devices) else ""
    models = Counter(device["model"] for device in view.devices)
    return ", ".join(f"{count} {simulated}{model}" for model, count in models.items()) or "0"


def _network_text(view: HostView) -> str:
    down, up = view.network_mbps
    return f"class {down} Mbit/s to it, {up} from it" if down and up else "not measured yet"


def _isolation_text(view: HostView) -> str:
    if "sandboxed" in view.capabilities:
        return "pods run in a sandbox with a kernel of its own, as its provider says"
    return "pods use the machine's kernel"


def _row(view: HostView, *, wide: bool) -> tuple[object, ...]:
    shown = (
        view.id,
        "Suspended" if view.suspension is not None else _status_text(view),
        view.region or "-",
        _gpus_text(view),
        f"{view.total['cpu_milli'] / 1000:g}",
        f"{view.total['memory_mib']} MiB",
        format_amount(view.ask["gpu_per_hour"]),
        score_text(view.score_ppm) or "-",
        view.live_leases,
    )
    if not wide:
        return shown
    latency = f"{view.latency_ms} ms" if view.latency_ms else "-"
    sandbox = "yes" if "sandboxed" in view.capabilities else "-"
    return (*shown, format_amount(view.ask["cpu_core_per_hour"]), latency, sandbox)
