"""Tables and details of `gantry history` for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from offchain.cli.kit.output import details, say, table
from offchain.indexer.block_rows import unpack, with_bytes
from offchain.indexer.queries import TimedEvent
from offchain.indexer.rows import HostRow, LeaseRow, TaskRow
from offchain.ports import ChainEvent, DispatchFailure
from offchain.schema.manifest.values import format_amount
from offchain.services.event_text import event_text, phrase, state_phrase, time_text


def print_events(
    happened: Sequence[TimedEvent], leases: Sequence[LeaseRow], pairs: Sequence[tuple[str, object]]
) -> None:
    events_table(happened)
    say()
    _leases_table(leases)
    say()
    details(pairs)


def events_table(happened: Sequence[TimedEvent]) -> None:
    table(
        ("BLOCK", "TIME", "EVENT", ""),
        [
            (one.event.block, time_text(one.time_ms), f"{one.event.pallet}.{one.event.name}", _event_text(one))
            for one in happened
        ],
    )


def _event_text(happened: TimedEvent) -> str:
    row = happened.event
    event = ChainEvent(row.pallet, row.name, with_bytes(unpack(row.fields)), row.extrinsic)
    pallet, _, name = (row.failure or "").partition(".")
    return event_text(event, DispatchFailure(pallet, name, "") if row.failure else None)


def _leases_table(leases: Sequence[LeaseRow]) -> None:
    table(
        ("LEASE", "TASK", "HOST", "STATE", "WHY", "STARTED", "ENDED", "PAID"),
        [
            (
                one.lease,
                one.task,
                one.host,
                one.state,
                "" if one.reason is None else phrase(one.reason),
                "" if one.started_ms is None else time_text(one.started_ms),
                "" if one.ended_ms is None else time_text(one.ended_ms),
                format_amount(one.paid),
            )
            for one in leases
        ],
    )


def task_details(found: TaskRow) -> list[tuple[str, object]]:
    return [
        ("Task", found.task),
        ("State", state_phrase(found.state)),
        ("Kind", found.kind),
        ("Tenant", found.tenant),
        ("Submitted", f"{time_text(found.submitted_ms)}, block {found.submitted_block}"),
        ("Changed", f"{time_text(found.changed_ms)}, block {found.changed_block}"),
        ("Paid", f"{format_amount(found.paid)}, {format_amount(found.fee)} of it protocol fee"),
        ("Refunded", format_amount(found.refunded)),
    ]


def host_details(found: HostRow) -> list[tuple[str, object]]:
    return [
        ("Host", found.host),
        ("Provider", found.provider),
        ("Status", state_phrase(found.status)),
        ("Score", None if found.score_ppm is None else f"{found.score_ppm / 10_000:.2f} %"),
        ("Leases", found.leases),
        ("Earned", format_amount(found.earned)),
        ("Slashed", format_amount(found.slashed)),
        ("Registered", time_text(found.registered_ms)),
    ]
