"""Retries of refused extrinsics and tips of unpopular ones, as tables over blocks. Pure."""

from __future__ import annotations

from offchain.errors import SubmitRefusal

STALLED_AFTER_BLOCKS = 8
"""Final blocks without an extrinsic that a node has, after which others are assumed to be preferred."""
_TIPS = (1_000_000, 1_000_000_000, 10_000_000_000)
# refusal -> (pauses in blocks, the last one repeated; most attempts; reason that is given after them)
_TABLE: dict[SubmitRefusal, tuple[tuple[int, ...], int, str]] = {
    SubmitRefusal.STALE_NONCE: ((0, 1), 12, "its number was taken by another program again and again"),
    SubmitRefusal.FUTURE_NONCE: ((0, 1), 12, "an earlier extrinsic of the account stays missing"),
    SubmitRefusal.PRIORITY_TOO_LOW: ((1,), 12, "its number was taken by another program again and again"),
    # The call is not to blame: an hour and more of blocks of two seconds.
    SubmitRefusal.POOL_FULL: ((1, 2, 4, 8), 300, "the node's queue stays full"),
    SubmitRefusal.BANNED: ((1, 2, 4), 12, "the node refuses to take it"),
    SubmitRefusal.EXPIRED: ((1,), 12, "no block took it in time, again and again"),
    SubmitRefusal.CANNOT_PAY: ((1, 2, 4), 4, "the account cannot pay for it, or the free call is not due"),
    SubmitRefusal.INVALID: ((1, 2), 3, "it is not valid in the state of the chain"),
    SubmitRefusal.BAD_PROOF: ((1,), 2, "its signature is not accepted"),
}

REFUSALS_OF_A_FORK = frozenset({SubmitRefusal.BAD_PROOF, SubmitRefusal.EXPIRED, SubmitRefusal.CANNOT_PAY})
"""What a node may report of an extrinsic that is merely early.

A node checks an extrinsic on the best block and on each fork that is not final, and reports one of the refusals. On a
fork that branched off before the extrinsic's birth block the signature is not valid, and a lease may not exist there.
"""


def retry_after(refusal: SubmitRefusal, attempts: int) -> int | None:
    """Blocks to wait before the next attempt, after the `attempts`-th (from 1) was refused; None: give up."""
    pauses, limit, _ = _TABLE[refusal]
    return pauses[min(attempts, len(pauses)) - 1] if attempts < limit else None


def give_up_reason(refusal: SubmitRefusal) -> str:
    """The reason shown to people once :func:`retry_after` is None."""
    return _TABLE[refusal][2]


def retry_reason(refusal: SubmitRefusal) -> str:
    """The text shown to people about a call that was refused and is tried again."""
    return f"refused: {refusal.value.replace('_', ' ')}"


def next_tip(tip: int, waited_blocks: int) -> int | None:
    """The tip, in base units, of a replacement with the same nonce; None where none is due.

    `tip`: of the extrinsic that waits; `waited_blocks`: final blocks since it was signed. The largest tip is 0.01 GTY,
    a few times the fee of a small call: a larger one would not help against blocks full of calls of the same kind.
    """
    if waited_blocks < STALLED_AFTER_BLOCKS:
        return None
    return next((larger for larger in _TIPS if larger > tip), None)


class UnpaidPause:
    """The pause of an account that cannot pay fees: one call is tried after 1, 2, 4 … blocks, at most 32."""

    _LONGEST_BLOCKS = 32

    def __init__(self) -> None:
        self._pause = 0
        self._until = 0

    def holds(self, block: int) -> bool:
        """Whether nothing is to be sent at this block."""
        return bool(self._pause) and block < self._until

    def refused(self, block: int) -> bool:
        """Note that a call could not be paid; return whether that is new."""
        is_new = not self._pause
        self._pause = min(2 * self._pause or 1, self._LONGEST_BLOCKS)
        self._until = block + self._pause
        return is_new

    def end(self) -> bool:
        """Note that a call could be paid; return whether the account was paused."""
        was_paused, self._pause = bool(self._pause), 0
        return was_paused
