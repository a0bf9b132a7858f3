"""Verification of a proof file: the chain of trust, then the facts, read from what is proven. Needs no network."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from offchain.adapters.chain.proven_storage import ProvenStorage
from offchain.adapters.chain.runtime import ChainRuntime
from offchain.core.proofs.checkpoint import Checkpoint
from offchain.core.proofs.proof_file import AuditProof, decode_proof
from offchain.core.proofs.verification import VerifiedProof, verify_proof
from offchain.errors import BadReply, ProofRefused
from offchain.ports import BlockRef
from offchain.schema.chain_types import _generated_chain as gen
from offchain.services.audit_facts import AuditFacts, read_facts


@dataclass(frozen=True, slots=True)
class AuditResult:
    """A verified proof with its facts."""

    proof: AuditProof
    verified: VerifiedProof
    facts: AuditFacts


async def verify_file(data: bytes, genesis_hash: bytes, checkpoint: Checkpoint | None = None) -> AuditResult:
    """Return what the bytes of a proof file prove. Raises ProofRefused."""
    proof = decode_proof(data)
    verified = verify_proof(proof, genesis_hash, checkpoint)
    runtime = _runtime(proof.metadata)
    block = BlockRef(verified.header.number, verified.header.hash)
    storage = ProvenStorage(runtime, block, verified.state.read)
    try:
        facts = await read_facts(storage, runtime, proof.subject, block.hash, genesis_hash)
    except BadReply as error:
        raise ProofRefused("The storage proof", f"a value cannot be read: {error.message}") from None
    verified.state.refuse_unused()
    return AuditResult(proof, verified, facts)


def _runtime(metadata: bytes) -> ChainRuntime:
    """Return the codec of the metadata in a proof, which must be those that the types of this program are made from."""
    digest = sha256(metadata).hexdigest()
    if digest != gen.METADATA_SHA256:
        raise ProofRefused(
            "The metadata",
            f"its SHA-256 is {digest}, and this program knows {gen.METADATA_SHA256}",
            f"Use the Gantry release that belongs to the runtime of the proof; this one reads {gen.SPEC_NAME} "
            f"{gen.SPEC_VERSION}.",
        )
    return ChainRuntime(metadata, gen.SPEC_NAME, gen.SPEC_VERSION, gen.TRANSACTION_VERSION)
