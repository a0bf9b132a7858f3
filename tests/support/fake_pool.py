"""The transaction pool of a chain in memory: which extrinsics it refuses, and which ones a block takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from offchain.errors import SubmitRefusal, SubmitRefused
from offchain.ports import Call, SignedExtrinsic


class FakePool:
    """The pending extrinsics, and the rules that tests set."""

    def __init__(self) -> None:
        self.refusals: list[SubmitRefusal] = []
        """The next broadcasts are refused with these, in order."""
        self.refused = 0
        """Broadcasts that were refused."""
        self.unpayable: Callable[[Call, str], bool] = lambda _call, _account: False
        """Calls that the pool refuses, and that no block takes, as CANNOT_PAY."""
        self.least_tip = 0
        """Blocks include only extrinsics with at least this tip, and free calls."""
        self.free: Callable[[Call, str], bool] = lambda _call, _account: False
        """Calls without a fee, which a tip does not help."""
        self.pool_limit: int | None = None
        """Most extrinsics in the pool."""
        self._calls: dict[bytes, Call] = {}
        self._tips: dict[bytes, int] = {}
        self._pool: dict[bytes, SignedExtrinsic] = {}

    @property
    def pool(self) -> list[SignedExtrinsic]:
        return list(self._pool.values())

    def call_of(self, extrinsic: SignedExtrinsic) -> Call:
        return self._calls[extrinsic.hash]

    def forget_pool(self) -> None:
        """Lose all pending extrinsics, as a restarted node."""
        self._pool.clear()

    def _admit(self, extrinsic: SignedExtrinsic, nonces: Mapping[str, int], number: int) -> bool:
        """Add an extrinsic, in place of its rivals; return False where it is pending already. Raises SubmitRefused.

        `nonces`, `number`: the next nonces of all accounts in the best block, and its number.
        """
        if self.refusals:
            self.refused += 1
            raise SubmitRefused(self.refusals.pop(0))
        if extrinsic.hash in self._pool:
            return False
        refusal = self._refusal(extrinsic, nonces.get(extrinsic.account, 0), number)
        if refusal is not None:
            self.refused += 1
            raise SubmitRefused(refusal)
        for rival in self._rivals(extrinsic):
            del self._pool[rival.hash]
        self._pool[extrinsic.hash] = extrinsic
        return True

    def _take(self, nonces: dict[str, int], number: int, most: int | None) -> list[SignedExtrinsic]:
        """Remove what block `number` takes, and what no block can take any more; return the former, at most `most`.

        `nonces`: the next nonces of all accounts, which grow by what is taken.
        """
        taken: list[SignedExtrinsic] = []
        for extrinsic in sorted(self._pool.values(), key=lambda x: (x.account, x.nonce)):
            call = self._calls[extrinsic.hash]
            expected = nonces.get(extrinsic.account, 0)
            gone = extrinsic.nonce < expected or extrinsic.valid_until < number
            if gone or self.unpayable(call, extrinsic.account):
                del self._pool[extrinsic.hash]
            elif extrinsic.nonce == expected and (most is None or len(taken) < most) and self._pays_enough(extrinsic):
                taken.append(extrinsic)
                nonces[extrinsic.account] = expected + 1
                del self._pool[extrinsic.hash]
        return taken

    def _refusal(self, extrinsic: SignedExtrinsic, next_nonce: int, number: int) -> SubmitRefusal | None:
        if extrinsic.nonce < next_nonce:
            return SubmitRefusal.STALE_NONCE
        if extrinsic.valid_until <= number:
            return SubmitRefusal.EXPIRED
        if self.unpayable(self._calls[extrinsic.hash], extrinsic.account):
            return SubmitRefusal.CANNOT_PAY
        if extrinsic.nonce != next_nonce and self.free(self._calls[extrinsic.hash], extrinsic.account):
            return SubmitRefusal.FUTURE_NONCE
        return self._refusal_of_pool(extrinsic)

    def _refusal_of_pool(self, extrinsic: SignedExtrinsic) -> SubmitRefusal | None:
        """Why the pool refuses a valid extrinsic in its present state."""
        rivals = self._rivals(extrinsic)
        if rivals and not all(self._goes_before(extrinsic, rival) for rival in rivals):
            return SubmitRefusal.PRIORITY_TOO_LOW
        if self.pool_limit is not None and len(self._pool) - len(rivals) >= self.pool_limit:
            return SubmitRefusal.POOL_FULL
        return None

    def _rivals(self, extrinsic: SignedExtrinsic) -> list[SignedExtrinsic]:
        """Pending extrinsics with the same account and nonce."""
        return [x for x in self._pool.values() if (x.account, x.nonce) == (extrinsic.account, extrinsic.nonce)]

    def _goes_before(self, extrinsic: SignedExtrinsic, rival: SignedExtrinsic) -> bool:
        if any(self.free(self._calls[x.hash], x.account) for x in (extrinsic, rival)):
            return False
        return self._tips[extrinsic.hash] > self._tips[rival.hash]

    def _pays_enough(self, extrinsic: SignedExtrinsic) -> bool:
        free = self.free(self._calls[extrinsic.hash], extrinsic.account)
        return free or self._tips[extrinsic.hash] >= self.least_tip
