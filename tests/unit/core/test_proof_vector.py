"""The proof that a real node gave once (tests/support/changed_authorities.py): it stays valid with every release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from offchain.core.proofs.proof_file import MAGIC, decode_proof
from offchain.core.proofs.verification import VerifiedProof, verify_proof
from offchain.errors import ProofRefused

VECTORS = Path(__file__).parents[2] / "vectors"
FACTS = json.loads((VECTORS / "proof.json").read_text(encoding="utf-8"))
FILE = (VECTORS / "proof.bin").read_bytes()
AFTER_SUBJECT = len(MAGIC) + 2 + 33


def read_all(data: bytes) -> tuple[VerifiedProof, dict[str, str | None]]:
    """Verify a proof and read all keys that the recorded one is for."""
    found = verify_proof(decode_proof(data), bytes.fromhex(FACTS["genesis_hash"]), None)
    values = {key: found.state.read(bytes.fromhex(key)) for key in FACTS["values"]}
    found.state.refuse_unused()
    return found, {key: None if value is None else value.hex() for key, value in values.items()}


def test_a_recorded_proof_leads_from_genesis_to_its_values():
    found, values = read_all(FILE)
    assert (found.header.number, found.header.hash.hex()) == (FACTS["block"], FACTS["block_hash"])
    assert found.finalised_by.set_id == FACTS["set_id"] > 0
    assert values == FACTS["values"]
    assert None in values.values()


def test_a_recorded_proof_with_a_changed_byte_is_refused():
    # The subject is read by the facts, which choose the keys.
    for place in range(AFTER_SUBJECT, len(FILE), 3):
        changed = bytearray(FILE)
        changed[place] ^= 0x10
        with pytest.raises(ProofRefused):
            read_all(bytes(changed))
