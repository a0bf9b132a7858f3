"""gantry task usage: usage of pods, by receipts that their hosts signed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.host_connection import lease_of, open_lease_host
from offchain.cli.kit.output import details, emit, say
from offchain.cli.kit.session import run
from offchain.ports import ChainPort, Signer
from offchain.schema.manifest.values import format_amount
from offchain.schema.protocol.receipt import Receipt
from offchain.services import receipts
from offchain.services.event_text import time_text
from offchain.services.receipts import CheckedReceipt
from offchain.services.record_views import LeaseView, TaskView, read_task

_GIB_H_IN_MIB_S = 1024 * 3600
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


@dataclass(frozen=True, slots=True)
class _Pod:
    """A pod's receipt. `agreed_by`: the account that signed it for the tenant, if any."""

    number: int
    checked: CheckedReceipt
    agreed_by: str | None

    def plain(self) -> dict[str, Any]:
        signed = self.checked.signed
        return {
            "pod": self.number,
            **signed.plain(),
            "problems": list(self.checked.problems),
            "countersigned_by": self.agreed_by,
        }


@click.command()
@click.argument("number", type=options.TASK)
@click.option("--pod", type=click.IntRange(0), help="Only this pod.  [default: all]")
@click.option("--countersign", is_flag=True, help="Sign the receipts that match the chain, for their hosts.")
@options.gateway
@options.common(account=True)
def usage(number: int, pod: int | None, countersign: bool, common: options.CommonOptions) -> None:
    """Show what the pods of a task used and what it costs, by receipts that their hosts signed.

    Each receipt is compared with the chain: rate, billed time, amount, and the highest possible usage. --countersign
    signs the receipts that match. Keep the --json output of one that does not: its digest is evidence in a dispute.

    \b
    Examples:
      gantry task usage 7 --account //Charlie
      gantry task usage 7 --countersign --json --account //Charlie
    """
    signer = common.open_account()
    pods = run(_ask(common, number, pod, signer, countersign=countersign))
    if common.as_json:
        emit({"task": number, "pods": [one.plain() for one in pods]})
    else:
        for place, one in enumerate(pods):
            if place:
                say()
            details(list(_lines(one)))
    wrong = [one for one in pods if one.checked.problems]
    if wrong and countersign:
        raise CliError(
            f"{_named(wrong)} of task {number} not countersigned: {wrong[0].checked.problems[0]}",
            "Ask again in a minute. If the problem remains, keep the --json output: it is evidence in a dispute.",
            code="receipt_wrong",
        )


async def _ask(
    common: options.CommonOptions, number: int, pod: int | None, signer: Signer, *, countersign: bool
) -> list[_Pod]:
    async with common.connected() as chain:
        view = await read_task(chain, number)
        wanted = [lease_of(view, pod)] if pod is not None else list(_placed(view))
        return [await _of(chain, lease, signer, countersign=countersign) for lease in wanted]


def _placed(view: TaskView) -> tuple[LeaseView, ...]:
    if not view.leases:
        lease_of(view, 0)  # raises an error about the task's state
    return view.leases


async def _of(chain: ChainPort, view: LeaseView, signer: Signer, *, countersign: bool) -> _Pod:
    typed = GantryChain(chain)
    lease = await typed.lease(view.id)
    if lease is None:
        raise CliError(
            f"pod {view.pod} has just moved to another host.", "Ask again in a few seconds.", code="no_lease"
        )
    async with open_lease_host(chain, view, signer) as client:
        checked = await receipts.fetch_checked(client, typed, lease)
        sign = countersign and not checked.problems
        if sign:
            await receipts.countersign(client, checked, signer)
        return _Pod(view.pod, checked, signer.address if sign else checked.agreed_by)


def _lines(pod: _Pod) -> Iterator[tuple[str, object]]:
    receipt, checked = pod.checked.signed.receipt, pod.checked
    totals, bill = receipt.totals, receipt.bill
    yield "pod", f"{pod.number} (lease {receipt.lease}) on {receipt.host}"
    yield "receipt", f"{receipt.seq}{', the last' if receipt.final else ''}, up to {time_text(receipt.until_ms)}"
    yield "ran", f"{_time(totals.wall_ms)}{_blind(totals.unmetered_ms)}"
    yield "cpu", f"{totals.cpu_ms / 1000:.1f} s"
    yield "memory", f"{totals.memory_mib_s / _GIB_H_IN_MIB_S:.4f} GiB h, at most {totals.memory_peak_mib} MiB"
    if totals.gpu_ms is not None or totals.gpu_memory_mib_s is not None:
        yield "gpu", _gpu(receipt)
    yield "network", f"{_size(totals.received_bytes)} in, {_size(totals.sent_bytes)} out"
    yield "disk", f"{totals.disk_mib_s / _GIB_H_IN_MIB_S:.4f} GiB h, at most {totals.disk_peak_mib} MiB"
    yield "rate", f"{format_amount(bill.rate_per_hour)} an hour, by the {bill.unit.value.lower()}"
    yield "billed", f"{_time(bill.billed_ms)}: {format_amount(bill.owed)} owed in all"
    yield "digest", receipt.digest.hex()
    yield "signed by", _signed_by(pod, receipt.tenant)
    for problem in checked.problems:
        yield "wrong", problem


def _signed_by(pod: _Pod, tenant: str) -> str:
    if pod.agreed_by is None:
        return "host"
    return "host and tenant" if pod.agreed_by == tenant else f"host and, for the tenant, {pod.agreed_by}"


def _gpu(receipt: Receipt) -> str:
    totals = receipt.totals
    parts = []
    if totals.gpu_ms is not None:
        parts.append(f"{_time(totals.gpu_ms)} at work")
    if totals.gpu_memory_mib_s is not None and totals.gpu_memory_peak_mib is not None:
        parts.append(
            f"{totals.gpu_memory_mib_s / _GIB_H_IN_MIB_S:.4f} GiB h of its memory, "
            f"at most {totals.gpu_memory_peak_mib} MiB"
        )
    return ", ".join(parts)


def _blind(unmetered_ms: int) -> str:
    return f" ({_time(unmetered_ms)} of it without memory, GPU and disk readings)" if unmetered_ms else ""


def _time(ms: int) -> str:
    hours, rest = divmod(ms / 1000, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{int(hours)}:{int(minutes):02d}:{seconds:04.1f}" if ms >= 60_000 else f"{ms / 1000:.1f} s"


def _size(count: int) -> str:
    value, unit = float(count), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{count} B"


def _named(pods: list[_Pod]) -> str:
    numbers = ", ".join(str(one.number) for one in pods)
    return f"the receipt of pod {numbers}" if len(pods) == 1 else f"the receipts of pods {numbers}"
