"""Admission to a gateway: of hosts that the chain knows, and of accounts that hold coins.

Each request asks the chain.
"""

from __future__ import annotations

from collections.abc import Callable

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.transport.port import refused
from offchain.errors import TheirError
from offchain.schema.chain_types._generated_chain import HostStatusRetired
from offchain.schema.protocol.messages import Code, Op, Request

_OF_HOSTS = frozenset({Op.SERVE, Op.TAKE, Op.PROBE})


class GatewayAdmission:
    """Decides by the chain's newest block.

    `is_behind`: returns whether the node has lost blocks that were seen before.
    """

    def __init__(self, chain: GantryChain, is_behind: Callable[[], bool] = lambda: False) -> None:
        self._chain = chain
        self._is_behind = is_behind

    async def __call__(self, request: Request) -> None:
        """Raise `HostRefused` if `request.account`, or whom it acts for, may not make this request to a gateway."""
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
                await self._check_account(request.tenant)
            else:
                raise refused(
                    Code.UNSUPPORTED, f"A gateway does not support {request.op.value}.", "Ask the host, through it."
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
                Code.NOT_A_HOST, f"{request.account} is not a host on this chain.", "Register it: gantry agent join."
            )

    async def _check_account(self, account: str) -> None:
        balance = await self._chain.balance(account)
        if not balance.free + balance.held:
            raise refused(
                Code.NOT_FOUND,
                f"The account {account} does not exist on the chain: a gateway relays for accounts that hold coins.",
                "Send it a few coins, or sign with another account.",
            )
