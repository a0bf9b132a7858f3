"""Decisions about GPU challenges: verification of proofs, measured class, tier."""
