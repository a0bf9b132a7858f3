"""Detection of another agent that signs with this host's key, from final blocks. Pure.

Calls of a host are free, so each of them leaves an event with the host's account in its block (`FeeSkipped`). An
extrinsic that this process did not sign is *foreign*. A foreign extrinsic alone proves nothing: this agent may have
signed it before it was killed, and have lost its database. But every extrinsic of an agent is mortal. If one is
included more than `era_blocks` after a block with an extrinsic of this process, it was signed after the start of this
process, by another one. That is a proof. It needs no clock and no database, and holds for a node that lags behind.

To tell which of two agents came later, an agent delays its first heartbeat: any other agent sends one before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from offchain.ports import Block, ChainEvent

FREE = ("SkipFeelessPayment", "FeeSkipped", "origin")
PAID = ("TransactionPayment", "TransactionFeePaid", "who")
ALONE_AFTER_PERIODS = 3
"""Heartbeat periods without a foreign extrinsic after which the other agent counts as gone."""


@dataclass(frozen=True, slots=True)
class ForeignExtrinsic:
    """A final block with an extrinsic of the host's account that this process did not sign."""

    block: int
    timestamp_ms: int
    extrinsic: bytes


class IdentityWatch:
    """Observes the final blocks of one run of an agent.

    `signed_here`: whether this process signed the extrinsic with this hash. `inherited`: hashes of extrinsics that
    earlier processes with the same folder signed.
    """

    def __init__(
        self,
        account: str,
        era_blocks: int,
        signed_here: Callable[[bytes], bool],
        inherited: Collection[bytes] = (),
    ) -> None:
        self._account = account
        self._era_blocks = era_blocks
        self._signed_here = signed_here
        self._inherited = inherited
        self._lacks_containers = False
        self._anchor: int | None = None
        self._sent_heartbeat = False
        self._suspicion: ForeignExtrinsic | None = None
        self._proof: ForeignExtrinsic | None = None
        self._came_later = False

    def observe(self, block: Block) -> bool:
        """Observe a final block, in order; gaps are allowed.

        Return whether it holds the first proof, or the first one after the other agent was gone.
        """
        proven = self._proof is not None
        for extrinsic in self._ours_in(block):
            if self._signed_here(extrinsic):
                if self._anchor is None:
                    self._anchor = block.ref.number
            elif extrinsic not in self._inherited:
                self._take(ForeignExtrinsic(block.ref.number, block.timestamp_ms, extrinsic))
        return self._proof is not None and not proven

    def _take(self, foreign: ForeignExtrinsic) -> None:
        if not self._sent_heartbeat:
            self._came_later = True
        if self._anchor is not None and foreign.block > self._anchor + self._era_blocks:
            self._proof, self._suspicion = foreign, None
        else:
            self._suspicion = foreign

    def note_missing_containers(self) -> None:
        """Note that a started lease of the chain has no container on this engine: it may run on another machine."""
        self._lacks_containers = True

    def note_heartbeat(self) -> None:
        """Note that a heartbeat of this process is in a final block."""
        self._sent_heartbeat = True

    def at(self, block: int, timestamp_ms: int, period_ms: int) -> bool:
        """Forget observations that are too old at this final block. `period_ms`: heartbeat period of the chain.

        Return whether a proof was forgotten, because the other agent is gone.
        """
        limit_ms = ALONE_AFTER_PERIODS * period_ms
        seen = self._suspicion
        if (
            seen is not None
            and self._sent_heartbeat
            and timestamp_ms - seen.timestamp_ms > limit_ms
            and block > max(seen.block, self._anchor or 0) + self._era_blocks
        ):
            self._suspicion, self._came_later = None, False
        if self._proof is not None and timestamp_ms - self._proof.timestamp_ms > limit_ms:
            self._proof, self._came_later = None, False
            return True
        return False

    @property
    def proof(self) -> ForeignExtrinsic | None:
        """The last extrinsic that proves another agent; None without one, or if its agent is gone."""
        return self._proof

    @property
    def came_later(self) -> bool:
        """Whether the other agent was there before the first heartbeat of this process."""
        return self._came_later

    @property
    def is_suspected(self) -> bool:
        """Whether another agent may be serving this host's leases, so that none may be given up."""
        return self._suspicion is not None or (self._lacks_containers and not self._sent_heartbeat)

    @property
    def is_first_heartbeat(self) -> bool:
        """Whether this process has no heartbeat in a final block yet."""
        return not self._sent_heartbeat

    def _ours_in(self, block: Block) -> list[bytes]:
        hashes = {inclusion.index: inclusion.extrinsic_hash for inclusion in block.inclusions}
        places = {event.extrinsic for event in block.events if signer_of(event) == self._account}
        return [hashes[place] for place in sorted(place for place in places if place is not None) if place in hashes]


def signer_of(event: ChainEvent) -> str | None:
    """Return the account whose extrinsic was free or paid by this event; None for other events."""
    if (event.pallet, event.name) == PAID[:2]:
        who: Any = event.fields.get(PAID[2])
        return who if isinstance(who, str) else None
    if (event.pallet, event.name) != FREE[:2]:
        return None
    origin: Any = event.fields.get(FREE[2])
    for variant in ("system", "Signed"):
        origin = origin.get(variant) if isinstance(origin, dict) else None
    return origin if isinstance(origin, str) else None
