"""Verification of a proof, from a genesis hash or a checkpoint to the state of a final block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offchain.core.proofs.checkpoint import Checkpoint
from offchain.core.proofs.grandpa import VoterSet, check_finality
from offchain.core.proofs.header import BlockHeader, decode_authorities, scheduled_change
from offchain.core.proofs.proof_file import AuditProof, GenesisPart, link_name
from offchain.core.proofs.trie import TrieProof
from offchain.errors import ProofRefused

AUTHORITIES_KEY: Final = bytes.fromhex("5f9cc45b7a00c5899361e1c6099678dc5e0621c4869aa60c02be9adcc98a0d1d")
"""Storage key of `Grandpa.Authorities`."""
_GENESIS: Final = "The genesis block"
_START: Final = "The start of the proof"


@dataclass(frozen=True, slots=True)
class VerifiedProof:
    """What a proof establishes: the block, and its state as far as the proof has it.

    `finalised_by`: the set whose votes finalise the block; `finalised`: the block that they voted for, or whose
    descendants; `signatures`: how many were checked. `checkpoint`: the newest authorities that the proof establishes.
    """

    header: BlockHeader
    finalised: BlockHeader
    finalised_by: VoterSet
    signatures: int
    state: TrieProof
    checkpoint: Checkpoint


def verify_proof(proof: AuditProof, genesis_hash: bytes, checkpoint: Checkpoint | None) -> VerifiedProof:
    """Verify everything but the values in the state. Raises ProofRefused, which names the part that failed.

    A proof with a genesis part is verified from there; a checkpoint must then agree with it. Otherwise the proof must
    start at the checkpoint.
    """
    known = _starting_point(proof, genesis_hash, checkpoint)
    signatures = 0
    for number, link in enumerate(proof.links):
        where = link_name(number, known.voters.set_id)
        if link.header.number <= known.block:
            raise ProofRefused(where, f"{link.header} is not after block {known.block}")
        check_finality(link.header, link.votes, known.voters, where)
        signatures += len(link.votes.precommits)
        authorities = scheduled_change(link.header, where)
        if authorities is None:
            raise ProofRefused(where, f"{link.header} does not change the authorities")
        voters = known.voters.next(authorities)
        known = Checkpoint(genesis_hash, link.header.number, link.header.hash, voters)
        _compare(known, checkpoint, where)
    if checkpoint is not None and checkpoint.voters.set_id > known.voters.set_id:
        raise ProofRefused(
            _START,
            f"it ends with authority set {known.voters.set_id}, and the checkpoint has set {checkpoint.voters.set_id}",
            "Give a checkpoint of an earlier set, or have the proof made for a newer block.",
        )
    _check_descendants(proof)
    check_finality(proof.finalised, proof.votes, known.voters, "The finality of the block")
    signatures += len(proof.votes.precommits)
    state = TrieProof(proof.header.state_root, proof.nodes, "The storage proof")
    return VerifiedProof(proof.header, proof.finalised, known.voters, signatures, state, known)


def genesis_authorities(genesis: GenesisPart) -> VoterSet:
    """Return the first authorities, which the state of block 0 contains. Raises ProofRefused."""
    state = TrieProof(genesis.header.state_root, genesis.nodes, _GENESIS)
    raw = state.read(AUTHORITIES_KEY)
    state.refuse_unused()
    if raw is None:
        raise ProofRefused(_GENESIS, "its state has no GRANDPA authorities")
    return VoterSet(0, decode_authorities(raw, _GENESIS))


def _starting_point(proof: AuditProof, genesis_hash: bytes, checkpoint: Checkpoint | None) -> Checkpoint:
    if checkpoint is not None and checkpoint.genesis_hash != genesis_hash:
        raise ProofRefused(
            "The checkpoint",
            f"it is for the chain with the genesis hash 0x{checkpoint.genesis_hash.hex()}",
            "Give the checkpoint of this chain, or correct --genesis.",
        )
    if proof.genesis is not None:
        header = proof.genesis.header
        if header.hash != genesis_hash or header.number != 0:
            raise ProofRefused(
                _GENESIS,
                f"its hash is 0x{header.hash.hex()}, not 0x{genesis_hash.hex()}",
                "The proof is for another chain, or --genesis is wrong.",
            )
        known = Checkpoint(genesis_hash, 0, header.hash, genesis_authorities(proof.genesis))
        _compare(known, checkpoint, _GENESIS)
    elif checkpoint is not None:
        known = checkpoint
    else:
        raise ProofRefused(
            _START, f"it starts at authority set {proof.first_set}, not at genesis", "Give a --checkpoint of that set."
        )
    if proof.first_set != known.voters.set_id:
        raise ProofRefused(
            _START,
            f"it starts at authority set {proof.first_set}, and set {known.voters.set_id} is known",
            "Give the checkpoint that the proof was made with.",
        )
    return known


def _compare(known: Checkpoint, checkpoint: Checkpoint | None, where: str) -> None:
    """Refuse a proof that establishes another set than the checkpoint has under its number."""
    if checkpoint is not None and checkpoint.voters.set_id == known.voters.set_id and checkpoint != known:
        raise ProofRefused(where, f"it leads to another authority set {known.voters.set_id} than the checkpoint has")


def _check_descendants(proof: AuditProof) -> None:
    before = proof.header
    for header in proof.descendants:
        if header.parent_hash != before.hash or header.number != before.number + 1:
            raise ProofRefused("The headers after the block", f"{header} is not the child of {before}")
        before = header
