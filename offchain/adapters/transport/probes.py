"""Answers of a host server to the requests that anybody may make: ping, and probes of the connection's speed."""

from __future__ import annotations

import asyncio
from typing import Final

from offchain.adapters.transport.port import refused
from offchain.adapters.transport.session import BULK_WINDOW, Session
from offchain.schema.protocol.messages import Answer, Code, Control, Request
from offchain.schema.protocol.operations import PingArgs, ProbeArgs

PROBE_EVERY_S: Final = 10.0
PROBES_AT_ONCE: Final = 4
"""A small and a large probe each way; after them one in PROBE_EVERY_S."""


async def answer_ping(request: Request, session: Session) -> None:
    assert isinstance(request.args, PingArgs)  # noqa: S101  (decoded by its op)
    session.accept()


class ProbeHandler:
    """Sends or receives the bytes of a probe. Limits the probes of each account."""

    def __init__(self) -> None:
        self._probed: dict[str, list[float]] = {}

    async def __call__(self, request: Request, session: Session) -> None:
        assert isinstance(request.args, ProbeArgs)  # noqa: S101  (decoded by its op)
        self._count(request.account)
        if not request.args.up:
            session.accept(Answer(size=request.args.size))
            await session.write(bytes(request.args.size))
            return
        session.accept(window=BULK_WINDOW)
        missing = request.args.size
        while missing >= 0 and (piece := await session.read_main()) is not None:
            missing -= len(piece)
        if missing:
            raise refused(Code.BAD_REQUEST, f"The probe is not of {request.args.size} bytes.", "Send what you said.")
        await session.say(Control(done=True))

    def _count(self, account: str) -> None:
        now_s = asyncio.get_running_loop().time()
        since_s = now_s - PROBE_EVERY_S * PROBES_AT_ONCE
        recent = {who: [at for at in times if at > since_s] for who, times in self._probed.items()}
        self._probed = {who: times for who, times in recent.items() if times}
        mine = self._probed.setdefault(account, [])
        if len(mine) >= PROBES_AT_ONCE:
            raise refused(
                Code.BUSY,
                f"{PROBES_AT_ONCE} probes in {PROBE_EVERY_S * PROBES_AT_ONCE:g} s are enough.",
                "Wait a little.",
            )
        mine.append(now_s)
