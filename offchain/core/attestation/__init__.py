"""Verification of attestation documents. Pure: time and roots of trust are arguments, and nothing is fetched."""
