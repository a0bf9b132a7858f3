"""Coins at stake in a challenge, with the parameters of production (docs/economics.md)."""

from __future__ import annotations

from typing import Final

BOND_GTY: Final = 1_000
"""Bond of a host for each device of a data centre."""
SLASHED_SHARE: Final = 0.1
"""Share of the bond that a host loses in a failed challenge (`Fault::FailedChallenge`)."""
FEE_GTY: Final = 1
"""Fee of an opener for each committee; a host that failed pays both back."""
COMMITTEES: Final = 2
"""Committees that have to find against a host."""
VERIFIER_BOND_GTY: Final = 100
COMMITTEE: Final = 5
"""Members of a committee."""


def failure_gty(bond_gty: float = BOND_GTY) -> float:
    """Return what a failed challenge costs the host."""
    return SLASHED_SHARE * bond_gty + COMMITTEES * FEE_GTY


def gty_per_pass(chance: float, bond_gty: float = BOND_GTY) -> float:
    """Return what a host loses on average until it passes once, with this chance each time.

    A host that failed is suspended and may try again; its bond has to be raised again for that.
    """
    return failure_gty(bond_gty) * (1 - chance) / chance
