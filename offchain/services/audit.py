"""Reads the books of the whole chain at one finalized block and audits them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from offchain.core.audit import Balance, Books, Claim, Hold, Reason, Report, audit
from offchain.link.ports import BlockRef, ChainPort
from offchain.services.records import variant

_REASONS = {
    ("Billing", "Escrow"): Reason.ESCROW,
    ("Hosts", "Bond"): Reason.HOST_BOND,
    ("Tasks", "SchedulerBond"): Reason.SCHEDULER_BOND,
    ("Tasks", "Deposit"): Reason.TASK_DEPOSIT,
}


async def audit_chain(chain: ChainPort) -> Report:
    """Audit the last finalized block."""
    return audit(await read_books(chain, await chain.finalized_head()))


async def read_books(chain: ChainPort, at: BlockRef) -> Books:
    """Every balance, hold, escrow, bond and deposit at one block."""
    accounts = await chain.query_map("System", "Account", at=at.hash)
    held = await chain.query_map("Balances", "Holds", at=at.hash)
    return Books(
        block=at.number,
        total_issuance=int(await chain.query("Balances", "TotalIssuance", at=at.hash) or 0),
        total_escrowed=int(await chain.query("Billing", "TotalEscrowed", at=at.hash) or 0),
        balances=[Balance(account, info["data"]["free"], info["data"]["reserved"]) for account, info in accounts],
        holds=[Hold(account, _reason(hold["id"]), hold["amount"]) for account, holds in held for hold in holds],
        claims=[*await _claims(chain, at)],
    )


async def _claims(chain: ChainPort, at: BlockRef) -> list[Claim]:
    claims: list[Claim] = []
    for lease, escrow in await chain.query_map("Billing", "Escrows", at=at.hash):
        if variant(escrow["state"]) == "Open":
            left = escrow["deposit"] - escrow["paid"]
            claims.append(Claim(escrow["tenant"], Reason.ESCROW, left, f"lease {lease}"))
    for host, record in await chain.query_map("Hosts", "Hosts", at=at.hash):
        claims.append(Claim(record["provider"], Reason.HOST_BOND, record["bond"], f"host {host}"))
    for account, bond in await chain.query_map("Tasks", "Schedulers", at=at.hash):
        claims.append(Claim(account, Reason.SCHEDULER_BOND, bond, f"scheduler {account}"))
    claims += _deposits(await chain.query_map("Tasks", "Tasks", at=at.hash))
    return [claim for claim in claims if claim.amount]


def _deposits(tasks: list[tuple[Any, Any]]) -> Iterator[Claim]:
    """A final task has given its deposit back, and says so."""
    for task, record in tasks:
        yield Claim(record["tenant"], Reason.TASK_DEPOSIT, record["deposit"], f"task {task}")


def _reason(identity: Any) -> Reason | None:
    if not isinstance(identity, dict):
        return None
    ((pallet, name),) = identity.items()
    return _REASONS.get((pallet, variant(name)))
