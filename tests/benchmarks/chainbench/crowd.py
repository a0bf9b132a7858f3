"""Accounts that act on the chain: their nonces, what they send, and whether it is included."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from chainbench import signing
from chainbench.node import Node, NodeError
from chainbench.signing import Account, Order
from offchain.devnet.node_rpc import RpcRefusedError
from offchain.schema.chain_types.values import Call

_POLL_SECONDS = 0.1
_POOL_BEHIND_SECONDS = 10.0
_KEYS_AT_ONCE = 1000


class Crowd:
    """Hands out nonces and waits until the best block has used them."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._next: dict[Account, int] = {}
        self._keys: dict[Account, str] = {}
        self._submitted: dict[Account, int] = {}
        self._entry = node.runtime.entry("System", "Account")

    def order(self, account: Account, call: Call | bytes) -> Order:
        """The account's next extrinsic."""
        nonce = self._next.get(account, 0)
        self._next[account] = nonce + 1
        return Order(account, nonce, call if isinstance(call, bytes) else self.node.runtime.encode_call(call))

    def submit(self, orders: Sequence[Order]) -> None:
        """Sign and send, one after another."""
        for order, extrinsic in zip(orders, signing.sign_all(self.node, orders), strict=True):
            self._hand_over("0x" + extrinsic.hex())
            self._submitted[order.account] = order.nonce + 1

    def _hand_over(self, extrinsic: str) -> None:
        """To the pool, which may judge by the block before the newest for a moment yet."""
        limit = time.monotonic() + _POOL_BEHIND_SECONDS
        while True:
            try:
                self.node.rpc.call("author_submitExtrinsic", extrinsic)
            except RpcRefusedError:
                if time.monotonic() > limit:
                    raise
                time.sleep(_POLL_SECONDS)
            else:
                return

    def used(self, accounts: Iterable[Account]) -> dict[Account, int]:
        """How many extrinsics of each account the best chain holds."""
        wanted = list(accounts)
        found = dict.fromkeys(wanted, 0)
        for start in range(0, len(wanted), _KEYS_AT_ONCE):
            part = {self._key(account): account for account in wanted[start : start + _KEYS_AT_ONCE]}
            for key, value in self.node.rpc.call("state_queryStorageAt", list(part))[0]["changes"]:
                if value is not None:
                    found[part[key]] = int.from_bytes(bytes.fromhex(value[2:10]), "little")
        return found

    def _key(self, account: Account) -> str:
        if account not in self._keys:
            address = account.signer.address
            self._keys[account] = "0x" + self.node.runtime.storage_key(self._entry, [address]).hex()
        return self._keys[account]

    def wait(self, seconds: float = 120.0) -> None:
        """Until everything that was submitted is included. Raises NodeError where for `seconds` nothing more is."""
        limit, included = time.monotonic() + seconds, -1
        while time.monotonic() < limit:
            used = self.used(self._submitted)
            if all(used[account] >= nonce for account, nonce in self._submitted.items()):
                return
            if sum(used.values()) != included:
                limit, included = time.monotonic() + seconds, sum(used.values())
            time.sleep(_POLL_SECONDS)
        late = {a.name: (used[a], n) for a, n in self._submitted.items() if used[a] < n}
        raise NodeError(f"nothing included for {seconds} s (account: used, sent): {dict(list(late.items())[:5])}")

    def act(self, calls: Iterable[tuple[Account, Call | bytes]], at_once: int = 2000) -> None:
        """Each account makes its call; wait until all are included."""
        self.run([self.order(account, call) for account, call in calls], at_once)

    def run(self, orders: Sequence[Order], at_once: int = 2000) -> None:
        """Submit in parts that the pool takes, and wait for each."""
        for start in range(0, len(orders), at_once):
            self.submit(orders[start : start + at_once])
            self.wait()
