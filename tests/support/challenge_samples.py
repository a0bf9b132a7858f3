"""Small challenges: their work, an honest proof, and the openings of a proof with any values."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from node_agent.challenge.devices import SimulatedDevice
from offchain.core.challenge.verification import ProofVerdict, verify_commitment, verify_opening
from offchain.schema.challenge.fingerprint_tree import FingerprintTree
from offchain.schema.challenge.order import (
    VERSION,
    ChallengeCommitment,
    ChallengeOpening,
    ChallengeWork,
    MeasuredClass,
    OpenedValue,
    drawn_numbers,
    opening_seed,
)

SEED = bytes(range(32))
WORK = ChallengeWork(64, 32, 64, 256, 3, 2048, 4)
MEASURED = MeasuredClass(1, 1, 0, is_simulated=True)


def no_limit() -> None:
    pass


@dataclass(frozen=True)
class Proof:
    """The values of a proof, honest or not, for a work and a seed."""

    rows: NDArray[np.uint64]
    chains: NDArray[np.uint64]
    work: ChallengeWork = WORK
    seed: bytes = SEED

    @property
    def trees(self) -> tuple[FingerprintTree, FingerprintTree]:
        return FingerprintTree(self.rows.tobytes()), FingerprintTree(self.chains.tobytes())

    def commitment(self) -> ChallengeCommitment:
        rows, chains = self.trees
        return ChallengeCommitment(
            VERSION, self.seed, bytes.fromhex(self.work.digest()), rows.root, chains.root, MEASURED
        )

    def opening(self, seed: bytes) -> ChallengeOpening:
        shown = []
        for name, tree, total in zip(("rows", "chains"), self.trees, (self.work.rows, self.work.chains), strict=True):
            numbers = drawn_numbers(seed, name, total)
            shown.append(tuple(OpenedValue(one, tree.leaf_of(one), tree.path_of(one)) for one in numbers))
        return ChallengeOpening(*shown)

    def verdict(self, randomness: bytes = b"later") -> ProofVerdict:
        """The verdict of a verifier for `WORK` and `SEED`."""
        commitment = self.commitment()
        first = verify_commitment(commitment, SEED, WORK, commitment.digest(), is_simulated=True)
        if not first.is_right:
            return first
        seed = opening_seed(SEED, commitment.digest(), randomness)
        return verify_opening(commitment, WORK, self.opening(seed), seed)


def honest(work: ChallengeWork = WORK, seed: bytes = SEED) -> Proof:
    device = SimulatedDevice()
    return Proof(device.row_fingerprints(seed, work, no_limit), device.chain_ends(seed, work, no_limit)[0], work, seed)


def partial(proof: Proof, part: str, share: float, seed: int) -> Proof:
    """The proof of a host that computed a share of the rows or chains; all others are guesses."""
    draw = np.random.default_rng(seed)
    values: NDArray[np.uint64] = getattr(proof, part).copy()
    wrong = draw.permutation(len(values))[round(share * len(values)) :]
    values[wrong] = draw.integers(0, 1 << 63, len(wrong), dtype=np.uint64)
    return replace(proof, **{part: values})
