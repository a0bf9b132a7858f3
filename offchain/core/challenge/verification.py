"""Verification of a proof on one processor core: the drawn rows and chains are computed again and compared."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from offchain.schema.challenge.fingerprint_tree import OpeningInvalidError, opened_value
from offchain.schema.challenge.generator import derived_words, fingerprints, matrix_rows
from offchain.schema.challenge.order import (
    ChallengeCommitment,
    ChallengeOpening,
    ChallengeWork,
    OpenedValue,
    drawn_numbers,
)
from offchain.schema.challenge.page_graph import chain_ends, page_graph

ROWS_AT_ONCE: Final = 512
"""Rows of B that are in memory at the same time."""


class ProofFault(StrEnum):
    """Why a proof is wrong. Stable: programs may branch on it."""

    WRONG_SEED = "wrong_seed"
    WRONG_WORK = "wrong_work"
    WRONG_DIGEST = "wrong_digest"
    WRONG_KIND = "wrong_kind"
    WRONG_DRAW = "wrong_draw"
    WRONG_PATH = "wrong_path"
    WRONG_ROW = "wrong_row"
    WRONG_CHAIN = "wrong_chain"
    MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class ProofVerdict:
    """Whether the proof is right; else the first fault and a sentence about it."""

    fault: ProofFault | None = None
    reason: str = ""

    @property
    def is_right(self) -> bool:
        return self.fault is None


def verify_commitment(
    commitment: ChallengeCommitment, seed: bytes, work: ChallengeWork, digest: bytes, *, is_simulated: bool
) -> ProofVerdict:
    """Compare the commitment with the challenge: its seed, the work of the claimed device and the digest of the answer.

    `is_simulated`: the device's record says so.
    """
    if commitment.digest() != digest:
        return ProofVerdict(ProofFault.WRONG_DIGEST, "the commitment is not the one whose SHA-256 is on the chain")
    if commitment.seed != seed:
        return ProofVerdict(ProofFault.WRONG_SEED, "the commitment is for another seed than that of the challenge")
    if commitment.work != bytes.fromhex(work.digest()):
        return ProofVerdict(ProofFault.WRONG_WORK, "the commitment is for other work than that of the claimed device")
    if commitment.measured.is_simulated != is_simulated:
        kinds = ("a real", "a simulated")
        text = f"{kinds[commitment.measured.is_simulated]} device computed the proof of {kinds[is_simulated]} one"
        return ProofVerdict(ProofFault.WRONG_KIND, text)
    return ProofVerdict()


@dataclass(frozen=True, slots=True)
class ExpectedOpening:
    """Fingerprints of the drawn rows and ends of the drawn chains, computed from the seed alone."""

    rows: tuple[int, ...]
    chains: tuple[int, ...]


def expected_opening(seed: bytes, work: ChallengeWork, seed_of_opening: bytes) -> ExpectedOpening:
    """Return what a right proof opens: the costly part of a verification, which needs nothing of the host."""
    rows = expected_rows(seed, work, drawn_numbers(seed_of_opening, "rows", work.rows))
    chains = expected_chains(seed, work, drawn_numbers(seed_of_opening, "chains", work.chains))
    return ExpectedOpening(tuple(rows), tuple(chains))


def verify_opening(
    commitment: ChallengeCommitment,
    work: ChallengeWork,
    opening: ChallengeOpening,
    seed_of_opening: bytes,
    expected: ExpectedOpening | None = None,
) -> ProofVerdict:
    """Verify the drawn rows and chains. The commitment is checked before, by :func:`verify_commitment`.

    `expected`: of the same seed, work and draw; None: it is computed.
    """
    parts = (
        ("rows", work.rows, commitment.rows_root, opening.rows),
        ("chains", work.chains, commitment.chains_root, opening.chains),
    )
    claimed = {}
    for name, total, root, shown in parts:
        drawn = drawn_numbers(seed_of_opening, name, total)
        if tuple(one.number for one in shown) != drawn:
            return ProofVerdict(ProofFault.WRONG_DRAW, f"the opening does not have the drawn {name} in their order")
        try:
            claimed[name] = [_value(root, total, one) for one in shown]
        except OpeningInvalidError as error:
            return ProofVerdict(ProofFault.WRONG_PATH, f"{name}: {error}")
    right = expected or expected_opening(commitment.seed, work, seed_of_opening)
    for shown_row, value, right_row in zip(opening.rows, claimed["rows"], right.rows, strict=True):
        if value != right_row:
            return ProofVerdict(ProofFault.WRONG_ROW, f"row {shown_row.number} of the products is wrong")
    for shown_chain, value, right_end in zip(opening.chains, claimed["chains"], right.chains, strict=True):
        if value != right_end:
            return ProofVerdict(ProofFault.WRONG_CHAIN, f"chain {shown_chain.number} of reads is wrong")
    return ProofVerdict()


def _value(root: bytes, total: int, shown: OpenedValue) -> int:
    return opened_value(root, total, shown.number, shown.leaf, shown.path)


def expected_rows(seed: bytes, work: ChallengeWork, numbers: tuple[int, ...]) -> list[int]:
    """Return the fingerprints of these rows of the products, computed from the seed."""
    size = work.dimension
    left = np.concatenate(
        [
            matrix_rows(derived_words(seed, f"a/{number // size}", 2), np.array([number % size], dtype=np.uint32), size)
            for number in numbers
        ]
    )
    key = derived_words(seed, "b", 2)
    product = np.zeros((len(numbers), size), dtype=np.float32)
    for first in range(0, size, ROWS_AT_ONCE):
        last = min(first + ROWS_AT_ONCE, size)
        product += left[:, first:last] @ matrix_rows(key, np.arange(first, last, dtype=np.uint32), size)
    return [int(one) for one in fingerprints(derived_words(seed, "row", 1)[0], product)]


def expected_chains(seed: bytes, work: ChallengeWork, numbers: tuple[int, ...]) -> list[int]:
    """Return the ends of these chains, with every page that they read computed from the seed."""
    graph = page_graph(seed, work.pages, work.page_words, work.layers)
    return [int(one) for one in chain_ends(graph, np.array(numbers, dtype=np.uint64), work.chain_reads)]
