"""When the chain refuses an extrinsic: again, when, or never; when it leaves one lying: what to add. Pure tables."""

from __future__ import annotations

from dataclasses import dataclass

from offchain.errors import SubmitRefusal


@dataclass(frozen=True, slots=True)
class Retry:
    """Sign anew and send again after this many final blocks; 0 is at once."""

    after_blocks: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The call is not tried again. `reason` is for people."""

    reason: str


Verdict = Retry | GiveUp

# refusal -> (pauses in blocks, the last one repeated; how often in all; what is said after that)
_TABLE: dict[SubmitRefusal, tuple[tuple[int, ...], int, str]] = {
    SubmitRefusal.STALE_NONCE: ((0, 1), 12, "its number was taken by another program again and again"),
    SubmitRefusal.FUTURE_NONCE: ((0, 1), 12, "an earlier extrinsic of the account stays missing"),
    SubmitRefusal.PRIORITY_TOO_LOW: ((1,), 12, "its number was taken by another program again and again"),
    # The call is not to blame: an hour and more of blocks of two seconds.
    SubmitRefusal.POOL_FULL: ((1, 2, 4, 8), 300, "the node's queue stays full"),
    SubmitRefusal.BANNED: ((1, 2, 4), 12, "the node refuses to take it"),
    SubmitRefusal.EXPIRED: ((0,), 12, "no block took it in time, again and again"),
    SubmitRefusal.CANNOT_PAY: ((1, 2, 4), 4, "the account cannot pay for it, or the free call is not due"),
    SubmitRefusal.INVALID: ((1, 2), 3, "it is not valid in the state of the chain"),
    SubmitRefusal.BAD_PROOF: ((1,), 2, "its signature is not accepted"),
}


def decide(refusal: SubmitRefusal, attempts: int) -> Verdict:
    """What to do after the `attempts`-th try (from 1) ended with this refusal."""
    pauses, limit, reason = _TABLE[refusal]
    if attempts >= limit:
        return GiveUp(reason)
    return Retry(pauses[min(attempts, len(pauses)) - 1])


def said(refusal: SubmitRefusal) -> str:
    """What people are told of a call that was refused and is tried again."""
    return f"refused: {refusal.value.replace('_', ' ')}"


STALLED_AFTER_BLOCKS = 8
"""So many final blocks without an extrinsic that a node has: others go before it."""
_TIPS = (1_000_000, 1_000_000_000, 10_000_000_000)


def next_tip(tip: int, waited_blocks: int) -> int | None:
    """The tip, in base units, for one more extrinsic with the same number; None where it is not the time for it.

    `tip`: what the one that waits gives; `waited_blocks`: for how many final blocks. The largest is 0.01 GTY, a few
    times the fee of a small call: more would not bring a block sooner that is full of the same.
    """
    if waited_blocks < STALLED_AFTER_BLOCKS:
        return None
    return next((larger for larger in _TIPS if larger > tip), None)
