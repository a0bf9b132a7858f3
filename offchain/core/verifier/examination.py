"""Findings about an answer to a challenge: by its time, then by its proof."""

from __future__ import annotations

from offchain.core.challenge.verification import (
    ExpectedOpening,
    ProofFault,
    ProofVerdict,
    verify_commitment,
    verify_opening,
)
from offchain.core.verifier.duties import Finding, FindingKind
from offchain.schema.chain_types._generated_chain import ChallengeRecord
from offchain.schema.challenge.order import read_commitment, read_opening
from offchain.schema.challenge.sizing import ChallengeTerms
from offchain.schema.protocol.fields import WireError


def late_answer(terms: ChallengeTerms, elapsed_ms: int) -> Finding | None:
    """Return the finding about an answer that came too late; None for one in time.

    `elapsed_ms`: from the block with the seed to the block with the answer, by the chain's clock.
    """
    if elapsed_ms <= terms.deadline_ms:
        return None
    text = f"the answer came after {elapsed_ms} ms, and at most {terms.deadline_ms} ms are allowed"
    return Finding(FindingKind.WRONG, text)


def examine_proof(
    record: ChallengeRecord,
    terms: ChallengeTerms,
    elapsed_ms: int,
    seed_of_opening: bytes,
    documents: tuple[bytes, bytes],
    expected: ExpectedOpening | None = None,
) -> Finding:
    """Return the finding about an answer in time. `documents`: commitment and opening, as the host sent them.

    `expected`: of the challenge's seed and this draw; None: it is computed.
    """
    verdict = _verdict(record, terms, seed_of_opening, *documents, expected)
    if verdict.is_right:
        return Finding(FindingKind.RIGHT, f"the proof is right, {elapsed_ms} ms after the seed")
    if verdict.fault is ProofFault.WRONG_DRAW:
        # Right on another fork, perhaps: host and verifier need not have the same best block.
        return Finding(FindingKind.NOT_SHOWN, verdict.reason)
    return Finding(FindingKind.WRONG, verdict.reason)


def _verdict(
    record: ChallengeRecord,
    terms: ChallengeTerms,
    seed_of_opening: bytes,
    commitment: bytes,
    opening: bytes,
    expected: ExpectedOpening | None,
) -> ProofVerdict:
    assert record.answer is not None  # noqa: S101  (an answer has times)
    assert record.ballot.seed is not None  # noqa: S101
    try:
        promised = read_commitment(commitment)
        verdict = verify_commitment(
            promised, record.ballot.seed, terms.work, record.answer.digest, is_simulated=terms.is_simulated
        )
        if not verdict.is_right:
            return verdict
        return verify_opening(promised, terms.work, read_opening(opening), seed_of_opening, expected)
    except WireError as error:
        return ProofVerdict(ProofFault.MALFORMED, f"the proof is malformed: {error}")
