"""Verified proofs as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, Final

from offchain.adapters.chain.json_calls import json_value
from offchain.adapters.chain.storage_queries import StoredValue
from offchain.adapters.keys import ss58
from offchain.cli.kit.output import details, say, table
from offchain.core.bill_check import BillBasis, LeaseBillCheck
from offchain.core.proofs.subject import SubjectKind
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.manifest.values import format_amount
from offchain.schema.value_text import counted
from offchain.services.audit_facts import AccountFacts, AuditFacts, HostFacts
from offchain.services.audit_verifier import AuditResult
from offchain.services.event_text import time_text
from offchain.services.host_views import host_view, score_text
from offchain.services.record_views import task_view

_MOST_SHOWN: Final = 2_000
"""Characters of a stored value that are printed."""
_BASES = {
    BillBasis.RUNNING: "runs: owed up to this block",
    BillBasis.TIME: "time at the rate",
    BillBasis.PLACEMENT: "charge for an end before the start",
    BillBasis.NOTHING: "never started: nothing is owed",
    BillBasis.RECORD: "recorded amount; this state alone does not explain it (docs/audit.md)",
}


def audit_plain(result: AuditResult) -> dict[str, Any]:
    """Return a verified proof for --json. Amounts are base units, times Unix ms."""
    verified, facts = result.verified, result.facts
    return {
        "verified": True,
        "genesis_hash": verified.checkpoint.genesis_hash,
        "block": verified.header.number,
        "block_hash": verified.header.hash,
        "state_root": verified.header.state_root,
        "time_ms": facts.now_ms,
        "runtime": f"{gen.SPEC_NAME} {gen.SPEC_VERSION}",
        "finality": {
            "block": verified.finalised.number,
            "set_id": verified.finalised_by.set_id,
            "first_set": result.proof.first_set,
            "authorities": len(verified.finalised_by.authorities),
            "signatures": verified.signatures,
        },
        "subject": _subject_plain(facts),
        "tasks": [task_view(task, facts.hosts, facts.now_ms).plain() for task in facts.tasks],
        "bills": [_bill_plain(bill) for bill in facts.bills],
        "account": None if facts.account is None else _account_plain(facts.account),
        "host": None if facts.host is None else _host_plain(facts.host),
        "values": [_value_plain(value) for value in facts.storage],
    }


def print_audit(result: AuditResult) -> None:
    """Print a verified proof for people."""
    verified, facts = result.verified, result.facts
    start = "genesis" if result.proof.genesis is not None else f"the checkpoint of set {result.proof.first_set}"
    changes = counted(len(result.proof.links), "change")
    signatures = counted(verified.signatures, "signature")
    details(
        [
            ("Verified", f"block {verified.header.number}, 0x{verified.header.hash.hex()}"),
            (
                "Chain",
                f"genesis 0x{verified.checkpoint.genesis_hash.hex()}, runtime {gen.SPEC_NAME} {gen.SPEC_VERSION}",
            ),
            ("Time of the block", time_text(facts.now_ms)),
            (
                "Finality",
                f"authority set {verified.finalised_by.set_id}, {changes} of authorities after {start}, {signatures}",
            ),
        ]
    )
    _print_tasks(facts)
    if facts.bills:
        _print_bills(facts.bills)
    for lease in facts.missing_leases:
        say(f"Lease {lease} is not in this state: its task is pruned, has another lease since, or never had this one.")
    if facts.host is not None:
        _print_host(facts.host)
    if facts.account is not None:
        _print_account(facts.account)
    for value in facts.storage:
        _print_value(value)


def _print_tasks(facts: AuditFacts) -> None:
    if facts.subject.kind is SubjectKind.TASK and not facts.tasks:
        (number,) = facts.subject.numbers
        was = "it was pruned" if number < facts.next_task else f"it was never submitted: the next is {facts.next_task}"
        say()
        say(f"Task {number} is not in this state: {was}.")
    for task in facts.tasks:
        view = task_view(task, facts.hosts, facts.now_ms)
        say()
        details(
            [
                ("Task", view.id),
                ("Kind", view.kind),
                ("State", view.state_text),
                ("Tenant", view.tenant),
                ("Submitted", time_text(view.submitted_at)),
                ("Attempt", view.attempts + 1),
                ("Manifest digest", view.manifest_digest.hex()),
                ("Price limit", f"{format_amount(view.max_rate_per_hour)} an hour and pod"),
            ]
        )
        for lease in view.leases:
            ended = "not yet" if lease.ended_at is None else time_text(lease.ended_at)
            details(
                [
                    (f"  Lease {lease.id}", f"pod {lease.pod} on host {lease.host} of {lease.provider}"),
                    ("    State", lease.state_text),
                    ("    Started", lease.started_at and time_text(lease.started_at)),
                    ("    Ended", ended),
                    ("    Exit code", lease.exit_text),
                    ("    Result digest", lease.result_digest and lease.result_digest.hex()),
                ]
            )


def _print_bills(bills: tuple[LeaseBillCheck, ...]) -> None:
    say()
    say("Bills, computed again from the records")
    table(
        ("LEASE", "RATE/H", "UNIT", "BILLED MS", "OWED", "RECORDED", "PAID", "FEE", "REFUNDED", "BASIS"),
        [
            (
                bill.lease,
                format_amount(bill.rate_per_hour),
                bill.unit,
                "" if bill.billed_ms is None else bill.billed_ms,
                format_amount(bill.owed),
                format_amount(bill.recorded),
                format_amount(bill.paid),
                format_amount(bill.fee),
                "open" if bill.is_open else format_amount(bill.refunded),
                _BASES[bill.basis] if bill.agrees is not False else "DIFFERS FROM THE RULES",
            )
            for bill in bills
        ],
    )
    paid, fees = sum(bill.paid for bill in bills), sum(bill.fee for bill in bills)
    say(f"Paid in all: {format_amount(paid)} ({paid} base units), {format_amount(fees)} of it protocol fee.")


def _print_host(host: HostFacts) -> None:
    say()
    if host.record is None:
        say(f"No host {host.address} is registered in this state.")
        return
    view = host_view(host.address, host.record.encode(), None if host.score is None else host.score.encode())
    details(
        [
            ("Host", view.id),
            ("Provider", view.provider),
            ("Status", view.status),
            ("Bond", format_amount(view.bond)),
            ("GPUs", len(view.devices)),
            ("Score", score_text(view.score_ppm) or "none yet"),
            ("Leases", ", ".join(map(str, host.leases)) or "none"),
        ]
    )


def _print_account(account: AccountFacts) -> None:
    say()
    details(
        [
            ("Account", account.address),
            ("Free", f"{format_amount(account.balance.free)} ({account.balance.free} base units)"),
            ("Held", f"{format_amount(account.balance.held)} ({account.balance.held} base units)"),
            *((f"  {hold.reason or 'other'}", format_amount(hold.amount)) for hold in account.holds),
            ("Scheduler bond", account.scheduler_bond and format_amount(account.scheduler_bond)),
            ("Verifier bond", account.verifier_bond and format_amount(account.verifier_bond)),
        ]
    )


def _print_value(value: StoredValue) -> None:
    shown = _value_plain(value)
    say()
    details(
        [
            ("Item", f"{value.pallet}.{value.item}"),
            ("Keys", json.dumps(shown["keys"]) if value.keys else None),
            ("Value" if value.raw is not None else "Default", _shortened(json.dumps(shown["value"]))),
            ("Stored", "nothing" if value.raw is None else _shortened(f"{len(value.raw)} bytes, 0x{value.raw.hex()}")),
        ]
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}… (all with --json)"


def _value_plain(value: StoredValue) -> dict[str, Any]:
    return {
        "pallet": value.pallet,
        "item": value.item,
        "keys": json_value(value.keys),
        "storage_key": value.storage_key,
        "raw": value.raw,
        "value": json_value(value.value),
    }


def _subject_plain(facts: AuditFacts) -> dict[str, Any]:
    subject = facts.subject
    match subject.kind:
        case SubjectKind.TASK:
            return {
                "kind": "task",
                "task": subject.numbers[0],
                "exists": bool(facts.tasks),
                "next_task": facts.next_task,
            }
        case SubjectKind.LEASES:
            return {"kind": "leases", "leases": list(subject.numbers), "missing": list(facts.missing_leases)}
        case SubjectKind.STORAGE if subject.storage is not None:
            return {"kind": "storage", "pallet": subject.storage.pallet, "item": subject.storage.item}
    return {"kind": subject.kind.name.lower(), "address": ss58.encode(subject.key)}


def _bill_plain(bill: LeaseBillCheck) -> dict[str, Any]:
    return asdict(bill) | {"basis": bill.basis.value, "refunded": bill.refunded, "agrees": bill.agrees}


def _account_plain(account: AccountFacts) -> dict[str, Any]:
    return {
        "address": account.address,
        "free": account.balance.free,
        "held": account.balance.held,
        "holds": [
            {"reason": None if hold.reason is None else str(hold.reason), "amount": hold.amount}
            for hold in account.holds
        ],
        "scheduler_bond": account.scheduler_bond,
        "verifier_bond": account.verifier_bond,
    }


def _host_plain(host: HostFacts) -> dict[str, Any]:
    if host.record is None:
        return {"host": host.address, "registered": False}
    view = host_view(host.address, host.record.encode(), None if host.score is None else host.score.encode())
    return view.plain() | {"registered": True, "leases": list(host.leases)}
