"""Decisions of a verifier: its duties in committees of challenges, and which hosts it challenges."""
