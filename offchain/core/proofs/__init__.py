"""Verification of storage proofs against headers that GRANDPA has finalised: bytes in, facts or a refusal out."""
