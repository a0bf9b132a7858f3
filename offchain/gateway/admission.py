"""Who may use a gateway: hosts that the chain knows, and accounts that hold coins. Asked of the chain each time."""

from __future__ import annotations

from collections.abc import Callable

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.transport.port import refused
from offchain.errors import TheirError
from offchain.schema.chain_types._generated_chain import HostStatusRetired
from offchain.schema.protocol.messages import Code, Op, Request

_OF_HOSTS = frozenset({Op.SERVE, Op.TAKE, Op.PROBE})


class Admission:
    """By the chain's newest block. `is_behind`: whether the node's newest block is older than what was seen before."""

    def __init__(self, chain: GantryChain, is_behind: Callable[[], bool] = lambda: False) -> None:
        self._chain = chain
        self._is_behind = is_behind

    async def __call__(self, request: Request) -> None:
        """Raises `HostRefused` unless `request.account` may ask this of a gateway."""
        if self._is_behind():
            raise refused(
                Code.BUSY,
                "The gateway's chain node has lost blocks, or is not synced.",
                "Try again in a minute, or use another.",
            )
        try:
            if request.op in _OF_HOSTS:
                await self._check_host(request)
            elif request.op is Op.CARRY:
                await self._check_account(request.account)
            else:
                raise refused(
                    Code.UNSUPPORTED, f"A gateway does not answer {request.op.value}.", "Ask the host, through it."
                )
        except TheirError as error:
            if error.code in set(Code):
                raise
            raise refused(
                Code.BUSY, "The gateway cannot reach its chain node now.", "Try again in a minute, or use another."
            ) from None

    async def _check_host(self, request: Request) -> None:
        record = await self._chain.host(request.account)
        # The key that the chain has for a host is an ed25519 key; the same 32 bytes may be no other.
        if record is None or isinstance(record.status, HostStatusRetired) or request.crypto != "ed25519":
            raise refused(
                Code.NOT_A_HOST, f"{request.account} is no host on this chain.", "Register it: gantry agent join."
            )

    async def _check_account(self, account: str) -> None:
        balance = await self._chain.balance(account)
        if not balance.free + balance.held:
            raise refused(
                Code.NOT_FOUND,
                f"The account {account} does not exist on the chain: a gateway carries for accounts that hold coins.",
                "Send it a few coins, or sign with another account.",
            )
