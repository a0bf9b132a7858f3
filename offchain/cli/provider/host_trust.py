"""`gantry host trust`: a host's score with the evidence behind it."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import click

from offchain.cli.kit import network, options
from offchain.cli.kit.output import details, emit, progress, say, table
from offchain.cli.kit.session import run
from offchain.indexer import queries
from offchain.indexer.database import IndexFault
from offchain.schema.manifest.values import format_amount
from offchain.schema.value_text import counted
from offchain.services.event_text import phrase, state_phrase, time_text
from offchain.services.host_trust import (
    MOST_LEASES,
    WHOLE_EVIDENCE,
    HostTrustView,
    TrustedDevice,
    TrustHistory,
    read_host_trust,
    read_trust_history,
)
from offchain.services.host_views import score_text

_PARTS: Final = {
    "completed": "leases that it completed, or gave up",
    "verified": "challenges, compared results, disputes",
    "uptime": "time without an outage during leases",
    "start_latency": "starts of pods in time",
    "rating": "ratings by tenants of settled leases",
}
_SHOWN: Final = 10
"""Newest rows of a table."""


@click.command()
@options.address
@options.index
@options.common()
def trust(address: str, index: str | None, common: options.CommonOptions) -> None:
    """Show what is known for and against a host: its score, and the evidence behind it.

    Score, bond and state of its challenges are read from the chain; challenges, disputes, ratings and penalties of the
    past from the index, where there is one (gantry worker indexer).

    \b
    Examples:
      gantry host trust 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX
      gantry host trust 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX --json | jq .history.challenges
    """
    history = _history(address, index)

    async def work() -> HostTrustView:
        async with common.connected() as chain:
            return await read_host_trust(chain, address, history, (await chain.finalized_head()).hash)

    view = run(work())
    if common.as_json:
        emit(view.plain())
        return
    _print(view)
    if view.history is None:
        progress("No index was read, so past challenges, disputes and ratings are not shown: gantry worker indexer.")


def _history(host: str, index: str | None) -> TrustHistory | None:
    """Return what the index knows; None where none is named and none is there."""
    try:
        db = queries.open_for_reading(network.choose_index(index))
    except IndexFault:
        if index is not None:
            raise
        return None
    with contextlib.closing(db), db.snapshot():
        return read_trust_history(db, host)


def _print(view: HostTrustView) -> None:
    score = score_text(view.score_ppm)
    details(
        [
            ("Host", view.host),
            ("Provider", view.provider),
            ("Status", state_phrase(view.status)),
            ("Class", view.tier),
            ("Score", f"{score or 'none yet'} after {counted(view.settled_leases, 'settled lease')}"),
            ("Uptime", _uptime(view)),
            ("Bond", f"{format_amount(view.bond)} of {format_amount(view.bond_required)}"),
            ("Faults", f"{view.provider_faults / WHOLE_EVIDENCE:g} held against its provider"),
            ("Challenges", _challenges(view)),
            ("Last by verifiers", _time(view.last_challenge_by_verifier_ms, "never")),
            ("Last missed", _time(view.last_missed_ms, "none that counts")),
            ("Valid results", f"{view.valid_results} in a row; the more, the more rarely its jobs are audited"),
        ]
    )
    for device in view.devices:
        say(_gpu_line(device))
    if view.evidence:
        say()
        parts = [
            (
                part.part,
                f"{part.ppm / WHOLE_EVIDENCE:.2f}",
                _weight(part.positive),
                _weight(part.negative),
                _PARTS[part.part],
            )
            for part in view.evidence
        ]
        table(("EVIDENCE", "SCORE", "FOR", "AGAINST", "FROM"), parts)
    if view.history is not None:
        _print_history(view.history)


def _print_history(history: TrustHistory) -> None:
    outcomes = Counter(one.outcome or "open" for one in history.challenges)
    say()
    say(f"Challenges: {_counts((phrase(name), n) for name, n in outcomes.items())}.")
    _rows(
        ("CHALLENGE", "GPU", "OPENED", "CLOSED", "OUTCOME"),
        [
            (one.challenge, one.device, _time(one.opened_ms), _time(one.closed_ms), phrase(one.outcome or "open"))
            for one in history.challenges
        ],
    )
    say(f"Compared results that agreed: {counted(history.compared, 'task')}.")
    say(f"Disputes: {len(history.disputes) or 'none'}.")
    _rows(
        ("TASK", "OPENED", "OUTCOME", "EVIDENCE OF ITS PROVIDER"),
        [
            (one.task, _time(one.opened_ms), phrase(one.outcome or "open"), _response(one.response_ms))
            for one in history.disputes
        ],
    )
    say(f"Ratings: {len(history.ratings) or 'none'}.")
    _rows(
        ("LEASE", "STARS", "TIME", "FEE", "WEIGHT"),
        [
            (one.lease, one.stars, _time(one.time_ms), format_amount(one.fee), _weight(one.weight))
            for one in history.ratings
        ],
    )
    say(f"Penalties: {len(history.penalties) or 'none'}.")
    _rows(
        ("TIME", "REASON", "AMOUNT"),
        [(_time(one.time_ms), phrase(one.reason), format_amount(one.amount)) for one in history.penalties],
    )
    older = f", from block {history.events_from_block} on" if history.events_from_block else ""
    say(f"By the index up to block {history.up_to_block}{older}, for the newest {MOST_LEASES} leases.")


def _rows(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print the newest rows of a list."""
    if rows:
        table(header, rows[-_SHOWN:])


def _counts(found: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{number} {name}" for name, number in found) or "none"


def _uptime(view: HostTrustView) -> str:
    if not view.uptime_promised_ms:
        return "no lease with it yet"
    return f"{100 * view.uptime_met_ms / view.uptime_promised_ms:.2f} % of the time of its leases"


def _challenges(view: HostTrustView) -> str:
    if not view.answers_challenges:
        return "not answered, so nobody can challenge the host"
    return "answered" if view.open_challenge is None else f"answered; challenge {view.open_challenge} is open"


def _gpu_line(device: TrustedDevice) -> str:
    proven = "proven by a challenge" if device.attested else "not proven"
    marks = "".join([", simulated" if device.simulated else "", "" if device.healthy else ", out of order"])
    return f"GPU {device.index}  {device.model}, {device.vram_mib} MiB{marks}: {proven}"


def _time(moment_ms: int | None, never: str = "-") -> str:
    return never if moment_ms is None else time_text(moment_ms)


def _response(wait_ms: int | None) -> str:
    return "none" if wait_ms is None else f"after {wait_ms / 60_000:.1f} min"


def _weight(millionths: int) -> str:
    return f"{millionths / WHOLE_EVIDENCE:.2f}"
