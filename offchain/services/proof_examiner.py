"""Examination of a host's answer to a challenge: times by the chain, documents from the host, verification."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol, TypeAlias

from offchain.adapters.chain.challenge_blocks import AnswerTimes, BlocksPrunedError, answer_times
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.transport.port import TransportError
from offchain.core.challenge.verification import ExpectedOpening, expected_opening
from offchain.core.verifier.duties import Finding, FindingKind
from offchain.core.verifier.examination import examine_proof, late_answer
from offchain.ports import BlockRef
from offchain.schema.chain_types._generated_chain import ChallengeRecord, HostRecord
from offchain.schema.challenge.sizing import ChallengeTerms, terms_of
from offchain.schema.protocol.operations import ChallengePart

FETCH_S: Final = 10.0
"""Timeout for both documents of a host, 0.4 MB; it is asked again."""
SECOND_S: Final = 3.0
"""Time until they are requested over a second connection as well."""
MOST_KEPT: Final = 8
"""Computed openings that are kept for a host that is asked again."""


class ProofSource(Protocol):
    """A connection to a host, as far as its proofs are concerned."""

    async def challenge_document(self, challenge: int, part: ChallengePart) -> bytes:
        """Return a document of the answer to a challenge."""
        ...


OpenProofSource: TypeAlias = Callable[[HostRecord, str], AbstractAsyncContextManager[ProofSource]]
"""Opens a connection to the host with this record and address."""
ProofDocuments: TypeAlias = tuple[bytes, bytes]
"""Commitment and opening, as the host sent them."""


class ProofExaminer:
    """Examines answers for a committee. Verifications run in a thread, one at a time.

    What a right proof opens is computed while the documents are fetched. `dial`: a connection that may have been used
    before; `dial_apart`: a new one.
    """

    def __init__(self, chain: GantryChain, dial: OpenProofSource, dial_apart: OpenProofSource) -> None:
        self._chain = chain
        self._dial = dial
        self._dial_apart = dial_apart
        self._turn = asyncio.Lock()
        self._expected: dict[tuple[bytes, bytes], asyncio.Task[ExpectedOpening]] = {}

    async def examine(self, number: int, record: ChallengeRecord, head: BlockRef) -> Finding:
        """Return what is found about the answer in `record`, which is that of the best block `head`."""
        claim = record.claim
        model = claim.model.decode(errors="replace")
        terms = terms_of(model, claim.vram_mib, simulated=claim.simulated)
        if terms is None:
            return Finding(FindingKind.WRONG, f"the table of models lacks {model!r}, so no proof can be right")
        times = await self._times(number, record, terms, head)
        if isinstance(times, Finding):
            return times
        computing = self._expected_opening(record, terms, times.opening_seed)
        documents = await self._documents(number, record, head)
        if isinstance(documents, Finding):
            return documents
        expected = await asyncio.shield(computing)
        return await asyncio.to_thread(
            examine_proof, record, terms, times.elapsed_ms, times.opening_seed, documents, expected
        )

    def _expected_opening(
        self, record: ChallengeRecord, terms: ChallengeTerms, opening_seed: bytes
    ) -> asyncio.Task[ExpectedOpening]:
        """Start the computation of what a right proof opens, once."""
        assert record.ballot.seed is not None  # noqa: S101  (an answer that has times)
        key = record.ballot.seed, opening_seed
        known = self._expected.get(key)
        if known is None or (known.done() and (known.cancelled() or known.exception() is not None)):
            self._expected.pop(key, None)
            while len(self._expected) >= MOST_KEPT:
                del self._expected[next(iter(self._expected))]
            known = self._expected[key] = asyncio.create_task(self._compute(key[0], terms, opening_seed))
        return known

    async def _compute(self, seed: bytes, terms: ChallengeTerms, opening_seed: bytes) -> ExpectedOpening:
        async with self._turn:
            return await asyncio.to_thread(expected_opening, seed, terms.work, opening_seed)

    async def _times(
        self, number: int, record: ChallengeRecord, terms: ChallengeTerms, head: BlockRef
    ) -> AnswerTimes | Finding:
        """Return the times of an answer that is in time; else what is found."""
        try:
            times = await answer_times(self._chain.port, number, record, head)
        except BlocksPrunedError as error:
            return Finding(FindingKind.NOT_YET, str(error))
        if times is None:
            return Finding(FindingKind.NOT_YET, "the blocks that draw the opening are not there yet")
        return late_answer(terms, times.elapsed_ms) or times

    async def _documents(self, number: int, record: ChallengeRecord, head: BlockRef) -> ProofDocuments | Finding:
        """Return commitment and opening from the host; else what is found."""
        host = await self._chain.host(record.host, at=head.hash)
        if host is None:
            return Finding(FindingKind.NOT_SHOWN, "the host is no longer registered")
        try:
            return await fetch_documents(number, host, record.host, self._dial, self._dial_apart)
        except TimeoutError:
            return Finding(FindingKind.NOT_SHOWN, f"the host did not send its proof within {FETCH_S:g} s")
        except TransportError as error:
            return Finding(FindingKind.NOT_SHOWN, f"the host did not send its proof: {error}")


async def fetch_documents(
    number: int, host: HostRecord, address: str, dial: OpenProofSource, dial_apart: OpenProofSource
) -> ProofDocuments:
    """Return the documents about a challenge from its host.

    They are requested over a connection of their own as well if the first attempt fails, or has not ended after
    `SECOND_S`: a connection that was used before may lead to a process that is gone. Raises TimeoutError after
    `FETCH_S`, and TransportError if both attempts fail.
    """
    attempts = [asyncio.create_task(_fetch(number, dial(host, address)))]
    try:
        async with asyncio.timeout(FETCH_S):
            await asyncio.wait(attempts, timeout=SECOND_S)
            if not attempts[0].done() or attempts[0].exception() is not None:
                attempts.append(asyncio.create_task(_fetch(number, dial_apart(host, address))))
            return await _first_result(attempts)
    finally:
        for attempt in attempts:
            attempt.cancel()
        await asyncio.gather(*attempts, return_exceptions=True)


async def _fetch(number: int, opened: AbstractAsyncContextManager[ProofSource]) -> ProofDocuments:
    async with opened as source:
        commitment = await source.challenge_document(number, ChallengePart.COMMITMENT)
        return commitment, await source.challenge_document(number, ChallengePart.OPENING)


async def _first_result(attempts: list[asyncio.Task[ProofDocuments]]) -> ProofDocuments:
    """Return the first result; raise the error of the last attempt if all fail."""
    waiting = set(attempts)
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for attempt in done:
            if attempt.exception() is None:
                return attempt.result()
    return attempts[-1].result()
