"""Examination of a host's answer to a challenge: times by the chain, documents from the host, verification."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from offchain.adapters.chain.challenge_blocks import AnswerTimes, BlocksPrunedError, answer_times
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.transport.port import TransportError
from offchain.core.verifier.duties import Finding, FindingKind
from offchain.core.verifier.examination import examine_proof, late_answer
from offchain.ports import BlockRef
from offchain.schema.chain_types._generated_chain import ChallengeRecord, HostRecord
from offchain.schema.challenge.sizing import ChallengeTerms, terms_of
from offchain.schema.protocol.operations import ChallengePart

FETCH_S: Final = 10.0
"""Timeout for both documents of a host, 0.4 MB; it is asked again."""


class ProofSource(Protocol):
    """A connection to a host, as far as its proofs are concerned."""

    async def challenge_document(self, challenge: int, part: ChallengePart) -> bytes:
        """Return a document of the answer to a challenge."""
        ...


OpenProofSource = Callable[[HostRecord, str], AbstractAsyncContextManager[ProofSource]]
"""Opens a connection to the host with this record and address."""


class ProofExaminer:
    """Examines answers for a committee. Verifications run in a thread, one at a time."""

    def __init__(self, chain: GantryChain, dial: OpenProofSource) -> None:
        self._chain = chain
        self._dial = dial
        self._turn = asyncio.Lock()

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
        documents = await self._documents(number, record, head)
        if isinstance(documents, Finding):
            return documents
        async with self._turn:
            return await asyncio.to_thread(
                examine_proof, record, terms, times.elapsed_ms, times.opening_seed, documents
            )

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

    async def _documents(self, number: int, record: ChallengeRecord, head: BlockRef) -> tuple[bytes, bytes] | Finding:
        """Return commitment and opening from the host; else what is found."""
        host = await self._chain.host(record.host, at=head.hash)
        if host is None:
            return Finding(FindingKind.NOT_SHOWN, "the host is no longer registered")
        try:
            async with asyncio.timeout(FETCH_S), self._dial(host, record.host) as source:
                commitment = await source.challenge_document(number, ChallengePart.COMMITMENT)
                return commitment, await source.challenge_document(number, ChallengePart.OPENING)
        except TimeoutError:
            return Finding(FindingKind.NOT_SHOWN, f"the host did not send its proof within {FETCH_S:g} s")
        except TransportError as error:
            return Finding(FindingKind.NOT_SHOWN, f"the host did not send its proof: {error}")
