"""Search by number, hash, address or digest: a fixed number of look-ups by key for any text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from sqlalchemy import ColumnElement, select

from offchain.adapters.keys import ss58
from offchain.errors import BadKey
from offchain.gateway.api import models
from offchain.gateway.api import parameters as ask
from offchain.gateway.api.answers import as_of
from offchain.gateway.api.parameters import BadParameter
from offchain.indexer.database import IndexDatabase
from offchain.indexer.matter_rows import ChallengeRow, DisputeRow, EvidenceRow
from offchain.indexer.rows import (
    AccountRow,
    BlockRow,
    EventRow,
    ExtrinsicRow,
    HostRow,
    LeaseRow,
    MentionRow,
    R,
    TaskRow,
)
from offchain.indexer.status import has_matters
from offchain.indexer.tables import columns

MOST_OF_KIND: Final = 20
"""Matches of one kind: many tasks may have the same manifest."""
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_EVENT: Final = re.compile(r"([0-9]{1,18})[.-]([0-9]{1,9})")
_HASH: Final = re.compile(r"(?:0x|sha256:)?([0-9a-f]{64})", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"[1-9A-HJ-NP-Za-km-z]{46,49}")
Matches = Iterator[models.SearchMatchResource]


class NothingToSearch(BadParameter):
    """The text is of no kind that can be searched."""

    def __init__(self, text: str) -> None:
        super().__init__(
            "q",
            f"{text} is not a number, hash, digest or address.",
            "Give a block, task, lease or challenge number, BLOCK.INDEX of an event or extrinsic, 64 hex digits of a "
            "hash or digest, or an address.",
        )


def search(db: IndexDatabase, asked: ask.SearchText) -> models.SearchAnswer:
    """Return what the text may name, blocks first. Raises NothingToSearch."""
    text = asked.q.strip()
    return models.SearchAnswer(as_of=as_of(db), data=list(_look(text)(db, text)))


def _look(text: str) -> Callable[[IndexDatabase, str], Matches]:
    for pattern, look in _KINDS:
        if pattern.fullmatch(text):
            return look
    raise NothingToSearch(text)


def _by_number(db: IndexDatabase, text: str) -> Matches:
    number = int(text)
    for block in _rows(db, BlockRow, columns(BlockRow).number == number):
        yield _block(block)
    for task in _rows(db, TaskRow, columns(TaskRow).task == number):
        yield _task(task)
    for lease in _rows(db, LeaseRow, columns(LeaseRow).lease == number):
        yield _lease(lease)
    if has_matters(db):
        for challenge in _rows(db, ChallengeRow, columns(ChallengeRow).challenge == number):
            yield _challenge(challenge)
        for dispute in _rows(db, DisputeRow, columns(DisputeRow).task == number):
            yield _dispute(dispute)


def _by_event(db: IndexDatabase, text: str) -> Matches:
    block, place = map(int, re.split(r"[.-]", text))
    extrinsic, event = columns(ExtrinsicRow), columns(EventRow)
    for found in _rows(db, ExtrinsicRow, extrinsic.block == block, extrinsic.place == place):
        yield _extrinsic(found)
    for row in _rows(db, EventRow, event.block == block, event.place == place):
        path = f"/v1/events?first_block={block}&last_block={block}"
        yield _match("event", f"{block}.{place}", path, f"{row.pallet}.{row.name}", block)


def _by_hash(db: IndexDatabase, text: str) -> Matches:
    found = _HASH.fullmatch(text)
    assert found is not None  # noqa: S101  (the kind was chosen by it)
    digits = found[1].lower()
    named = f"0x{digits}"
    for block in _rows(db, BlockRow, columns(BlockRow).hash == named):
        yield _block(block)
    for extrinsic in _rows(db, ExtrinsicRow, columns(ExtrinsicRow).hash == named):
        yield _extrinsic(extrinsic)
    for task in _rows(db, TaskRow, columns(TaskRow).manifest_digest == named):
        yield _task(task)
    for lease in _rows(db, LeaseRow, columns(LeaseRow).result_digest == named):
        yield _lease(lease)
    if has_matters(db):
        for challenge in _rows(db, ChallengeRow, columns(ChallengeRow).answer_digest == named):
            yield _challenge(challenge)
        with_evidence = select(columns(EvidenceRow).task).where(columns(EvidenceRow).digest == named)
        for dispute in _rows(db, DisputeRow, columns(DisputeRow).task.in_(with_evidence)):
            yield _dispute(dispute)
    yield from _account(db, ss58.encode(bytes.fromhex(digits)))


def _by_address(db: IndexDatabase, text: str) -> Matches:
    try:
        ss58.decode(text)
    except BadKey as error:
        raise BadParameter("q", error.message, error.hint) from None
    yield from _account(db, text)


def _account(db: IndexDatabase, address: str) -> Matches:
    """Yield a host, and the account if an event or a movement of coins is about it."""
    for host in _rows(db, HostRow, columns(HostRow).host == address):
        yield _match("host", address, f"/v1/hosts/{address}", host.status, None)
    # Mentions are removed with old events, movements are not.
    if any(
        (
            _rows(db, MentionRow, columns(MentionRow).subject == address, most=1),
            _rows(db, AccountRow, columns(AccountRow).account == address),
        )
    ):
        yield _match("account", address, f"/v1/accounts/{address}/movements", "", None)


_KINDS: Final = ((_NUMBER, _by_number), (_EVENT, _by_event), (_HASH, _by_hash), (_ADDRESS, _by_address))


def _rows(db: IndexDatabase, row_type: type[R], *conditions: ColumnElement[bool], most: int = MOST_OF_KIND) -> list[R]:
    """Return the newest rows first."""
    return db.rows(row_type, *conditions, newest=most)[::-1]


def _block(row: BlockRow) -> models.SearchMatchResource:
    return _match("block", str(row.number), f"/v1/blocks/{row.number}", row.hash, row.number)


def _extrinsic(row: ExtrinsicRow) -> models.SearchMatchResource:
    return _match("extrinsic", row.hash, f"/v1/extrinsics/{row.hash}", row.call or "", row.block)


def _task(row: TaskRow) -> models.SearchMatchResource:
    return _match("task", str(row.task), f"/v1/tasks/{row.task}", row.state, row.submitted_block)


def _lease(row: LeaseRow) -> models.SearchMatchResource:
    return _match("lease", str(row.lease), f"/v1/leases/{row.lease}", row.state, None)


def _challenge(row: ChallengeRow) -> models.SearchMatchResource:
    path = f"/v1/challenges/{row.challenge}"
    return _match("challenge", str(row.challenge), path, row.outcome or row.state, row.opened_block)


def _dispute(row: DisputeRow) -> models.SearchMatchResource:
    return _match("dispute", str(row.task), f"/v1/disputes/{row.task}", row.outcome or row.state, row.opened_block)


def _match(kind: models.SearchKind, id_: str, path: str, about: str, block: int | None) -> models.SearchMatchResource:
    return models.SearchMatchResource(kind=kind, id=id_, path=path, about=about, block=block)
