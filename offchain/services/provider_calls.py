"""Calls of a provider for its host, for the command line and the HTTP API.

Every function checks before it returns, and raises CheckFailed if the chain would refuse the call. Amounts are base
units.
"""

from __future__ import annotations

from collections.abc import Collection

from offchain.adapters.chain.typed import GantryChain
from offchain.errors import CheckFailed
from offchain.ports import Call, ChainPort
from offchain.schema.chain_types._generated_chain import Ask, HostRecord, HostStatusRetiring, TaskKind, calls
from offchain.schema.manifest.values import format_amount
from offchain.schema.value_text import counted, duration_text
from offchain.services.earnings import LeaseEarnings, lease_earnings, leases_of, payouts, terms_of
from offchain.services.event_text import time_text


async def own_host(chain: ChainPort, host: str, account: str) -> HostRecord:
    """Return the record of a host of this provider. Raises CheckFailed for another provider's host."""
    return (await own_hosts(chain, [host], account))[host]


async def own_hosts(chain: ChainPort, hosts: Collection[str], account: str) -> dict[str, HostRecord]:
    """Return the records of hosts of this provider. Raises CheckFailed for the first that is not one of its hosts."""
    found = await GantryChain(chain).hosts_named(hosts)
    for host in hosts:
        if host not in found:
            raise CheckFailed(
                f"no host {host} is registered.", "gantry host list shows all hosts.", code="no_such_host"
            )
        if found[host].provider != account:
            raise CheckFailed(
                f"host {host} belongs to {found[host].provider}, not to {account}.",
                "Use the account of the provider that registered it.",
                code="not_yours",
            )
    return found


def drain(host: str, record: HostRecord) -> Call:
    """Take no new leases."""
    _require_status(host, record, "Online", "an online host can be drained")
    return calls.hosts_drain(host=host)


def undrain(host: str, record: HostRecord) -> Call:
    """Take new leases again."""
    _require_status(host, record, "Draining", "a draining host can take leases again")
    return calls.hosts_undrain(host=host)


async def reclaim(chain: ChainPort, lease: int, account: str) -> Call:
    """Give the tenant of a service or rental notice that the provider takes the resources of a lease back."""
    found = await GantryChain(chain).lease(lease)
    if found is None:
        raise CheckFailed(
            f"the chain has no lease {lease}.",
            "The page of its host, and GET /v1/leases, list all.",
            code="no_such_lease",
        )
    record = found.record
    await own_host(chain, record.host, account)
    if found.task.spec.kind is TaskKind.JOB:
        raise CheckFailed(
            f"lease {lease} belongs to a job, which ends by itself.",
            "Drain the host to take no new ones.",
            code="is_a_job",
        )
    if record.ended_at is not None:
        raise CheckFailed(f"lease {lease} has ended.", "There is nothing to take back.", code="final")
    if record.reclaim_at is not None:
        raise CheckFailed(
            f"the tenant of lease {lease} has notice until {time_text(record.reclaim_at)} UTC.",
            "The chain ends the lease then.",
            code="no_change",
        )
    return calls.leases_reclaim(lease=lease)


def set_ask(host: str, record: HostRecord, ask: Ask) -> Call:
    """Change the prices of a host; open leases keep theirs."""
    if ask == record.ask:
        raise CheckFailed("the host has these prices already.", "Change one of them.", code="no_change")
    return calls.hosts_set_ask(host=host, ask=ask)


def top_up_bond(host: str, record: HostRecord, amount: int | None) -> Call:
    """Add to the bond of a host. `amount`: None for what the bond lacks."""
    added = max(0, record.bond_required - record.bond) if amount is None else amount
    if not added:
        raise CheckFailed(
            f"the bond of {format_amount(record.bond)} is complete.", "Name an amount to add more.", code="no_change"
        )
    return calls.hosts_top_up_bond(host=host, amount=added)


def retire(host: str, record: HostRecord) -> Call:
    """Retire a host that has no leases left."""
    if record.status.tag in ("Retiring", "Retired"):
        raise CheckFailed(f"the host is {record.status.tag}.", "There is nothing to do.", code="no_change")
    if record.live_leases:
        raise CheckFailed(
            f"the host has {counted(record.live_leases, 'live lease')}.",
            "Drain it, and wait until they have ended.",
            code="has_leases",
        )
    return calls.hosts_retire(host=host)


async def withdraw_bond(chain: ChainPort, host: str, record: HostRecord) -> Call:
    """Withdraw the bond of a retired host."""
    if not isinstance(record.status, HostStatusRetiring):
        raise CheckFailed(
            f"The host is {record.status.tag}; its bond is held.",
            "Drain and retire it first: gantry agent leave.",
            code="wrong_status",
        )
    left_ms = record.status.value - await GantryChain(chain).now_ms()
    if left_ms > 0:
        raise CheckFailed(
            f"The bond of {format_amount(record.bond)} is held for another {duration_text(left_ms // 1000 * 1000)}.",
            "Withdraw it then.",
            code="too_early",
        )
    return calls.hosts_withdraw_bond(host=host)


async def claim(chain: ChainPort, host: str, unsettled: Collection[int] = ()) -> tuple[Call, tuple[LeaseEarnings, ...]]:
    """Settle what is payable to the provider of a host, as much as fits in a call; return it with the leases it pays.

    `unsettled`: leases of the host that hold nothing of it any more, but may not be paid, as those of reported jobs.
    Any account may make this call.
    """
    typed = GantryChain(chain)
    at = (await chain.best_head()).hash
    record = await typed.host(host, at)
    if record is None:
        raise CheckFailed(f"no host {host} is registered.", "gantry host list shows all hosts.", code="no_such_host")
    leases = await leases_of(typed, host, unsettled, at)
    due = lease_earnings(leases, await terms_of(typed, record, await typed.now_ms(at), at))
    found = next(payouts([one for one in due if one.payable]), None)
    if found is None:
        owed = sum(one.owed for one in due)
        reasons = "; ".join(sorted({one.why_not for one in due if one.why_not}))
        raise CheckFailed(
            f"{format_amount(owed)} is owed, but not payable yet: {reasons}." if owed else "nothing is owed now.",
            "The network's settlers pay it by themselves when it is due.",
            code="nothing_payable",
        )
    return found


def _require_status(host: str, record: HostRecord, status: str, rule: str) -> None:
    if record.status.tag != status:
        raise CheckFailed(
            f"Host {host} is {record.status.tag}; only {rule}.", "See gantry agent status.", code="wrong_status"
        )
