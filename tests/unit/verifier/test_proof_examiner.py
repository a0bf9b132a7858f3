"""Documents of a proof: requested over a second connection where the first fails or hangs; openings computed beside."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from offchain.adapters.transport.port import HostUnreachable
from offchain.core.challenge.verification import ProofFault, expected_opening, verify_opening
from offchain.schema.challenge.order import opening_seed
from offchain.schema.protocol.operations import ChallengePart
from offchain.services import proof_examiner
from offchain.services.proof_examiner import OpenProofSource, fetch_documents
from tests.support.chain_records import host_record
from tests.support.challenge_samples import SEED, WORK, honest

HOST = host_record("5Provider")
GOOD = (b"commitment", b"opening")


class Source:
    """A host that answers each request by `answer`."""

    def __init__(self, answer: Callable[[ChallengePart], Awaitable[bytes]]) -> None:
        self._answer = answer
        self.opened = self.closed = 0

    async def challenge_document(self, challenge: int, part: ChallengePart) -> bytes:
        assert challenge == 7
        return await self._answer(part)

    @property
    def dial(self) -> OpenProofSource:
        @contextlib.asynccontextmanager
        async def dialled(_record: object, _address: str) -> AsyncIterator[Source]:
            self.opened += 1
            try:
                yield self
            finally:
                self.closed += 1

        return dialled


async def good(part: ChallengePart) -> bytes:
    return GOOD[part is ChallengePart.OPENING]


async def hangs(_part: ChallengePart) -> bytes:
    await asyncio.Event().wait()
    raise AssertionError


async def fails(_part: ChallengePart) -> bytes:
    raise HostUnreachable("the connection is lost")


@pytest.fixture(autouse=True)
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof_examiner, "SECOND_S", 0.02)
    monkeypatch.setattr(proof_examiner, "FETCH_S", 0.2)


async def fetched(first: Source, second: Source) -> tuple[bytes, bytes]:
    try:
        return await fetch_documents(7, HOST, "5Host", first.dial, second.dial)
    finally:
        assert (first.opened, second.opened) == (first.closed, second.closed), "no connection is left open"


async def test_one_connection_is_enough_where_the_host_answers() -> None:
    second = Source(good)
    assert await fetched(Source(good), second) == GOOD
    assert second.opened == 0


@pytest.mark.parametrize("broken", [hangs, fails])
async def test_a_new_connection_is_tried_where_the_first_fails_or_hangs(
    broken: Callable[[ChallengePart], Awaitable[bytes]],
) -> None:
    assert await fetched(Source(broken), Source(good)) == GOOD


async def test_a_slow_first_answer_counts_where_the_second_fails() -> None:
    has_failed = asyncio.Event()

    async def fails_later(part: ChallengePart) -> bytes:
        has_failed.set()
        return await fails(part)

    async def answers_then(part: ChallengePart) -> bytes:
        await has_failed.wait()
        return await good(part)

    assert await fetched(Source(answers_then), Source(fails_later)) == GOOD


async def test_the_error_is_raised_where_both_fail_and_the_time_where_both_hang() -> None:
    with pytest.raises(HostUnreachable, match="the connection is lost"):
        await fetched(Source(fails), Source(fails))
    with pytest.raises(TimeoutError):
        await fetched(Source(hangs), Source(hangs))


def test_an_opening_is_compared_with_what_was_computed_before_it_came() -> None:
    proof = honest()
    commitment = proof.commitment()
    seed = opening_seed(SEED, commitment.digest(), b"later")
    expected, opening = expected_opening(SEED, WORK, seed), proof.opening(seed)
    assert verify_opening(commitment, WORK, opening, seed, expected).is_right
    other = expected_opening(bytes(32), WORK, seed)
    assert verify_opening(commitment, WORK, opening, seed, other).fault is ProofFault.WRONG_ROW
