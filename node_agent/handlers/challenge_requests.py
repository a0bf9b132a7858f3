"""Requests of committees for the documents of a host's answer to a challenge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from node_agent.runtime.loop_thread import bound_to
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.transport.host_server import Handler
from offchain.adapters.transport.port import refused
from offchain.adapters.transport.session import Session
from offchain.errors import TheirError
from offchain.schema.chain_types._generated_chain import storage
from offchain.schema.protocol.messages import Answer, Code, Op, Request
from offchain.schema.protocol.operations import ChallengeArgs, ChallengePart

AT_ONCE: Final = 4
"""Maximum of concurrent transfers, each of at most 1 MiB."""


async def check_committee(chain: GantryChain, host: str, request: Request) -> None:
    """Refuse the request unless its account is a member of the present committee of a challenge of this host."""
    assert isinstance(request.args, ChallengeArgs)  # noqa: S101  (decoded by its op)
    number = request.args.challenge
    try:
        record = await chain.read(storage.verification_challenges, number)
    except TheirError:
        raise refused(Code.BUSY, "The host cannot reach its chain node now.", "Try again in a minute.") from None
    if record is None or record.host != host:
        raise refused(
            Code.NOT_FOUND, f"Challenge {number} is not an open one of this host.", "Look it up on the chain."
        )
    if all(seat.who != request.account for seat in record.ballot.seats):
        raise refused(
            Code.NOT_ON_COMMITTEE,
            f"{request.account} is not on the committee of challenge {number}.",
            "Sign with the account of a member.",
        )


class ChallengeRequests:
    """Handler of :data:`Op.CHALLENGE`, after :func:`check_committee`.

    `loop`: the agent's; `document` returns a stored document there, None if there is none yet.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        document: Callable[[int, ChallengePart], Coroutine[Any, Any, bytes | None]],
    ) -> None:
        self._document = bound_to(loop, document)
        self._transfers = 0

    def handlers(self) -> Mapping[Op, Handler]:
        return {Op.CHALLENGE: self.challenge}

    async def challenge(self, request: Request, session: Session) -> None:
        """Send a document of the answer."""
        args = request.args
        assert isinstance(args, ChallengeArgs)  # noqa: S101  (decoded by its op)
        if self._transfers >= AT_ONCE:
            raise refused(Code.BUSY, f"{AT_ONCE} proofs are being fetched here.", "Try again in some seconds.")
        self._transfers += 1
        try:
            body = await self._document(args.challenge, args.part)
            if body is None:
                raise refused(
                    Code.NOT_READY,
                    f"The {args.part} of challenge {args.challenge} is not there yet.",
                    "Ask again after some blocks.",
                )
            session.accept(Answer(size=len(body)))
            await session.write(body)
        finally:
            self._transfers -= 1
