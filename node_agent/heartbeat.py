"""Says on chain that this host is here, and where, whenever that is due."""

from __future__ import annotations

import logging
from collections.abc import Callable

from node_agent.background import Background
from node_agent.presence import Due, due
from node_agent.sender import Sender
from offchain.link.errors import BadReply, ChainUnreachable
from offchain.link.typed import GantryChain
from offchain.schema._generated_chain import calls
from offchain.schema.chain import Call
from offchain.schema.wire import endpoint_text

log = logging.getLogger(__name__)


class Heartbeat:
    """One host's presence. `addresses`: where it is to be found now."""

    def __init__(
        self,
        chain: GantryChain,
        host: str,
        sender: Sender,
        background: Background,
        addresses: Callable[[], tuple[str, ...]],
    ) -> None:
        self._chain = chain
        self._host = host
        self._sender = sender
        self._background = background
        self._addresses = addresses
        self._sending: set[Due] = set()
        self._registered: bool | None = None

    async def look(self) -> None:
        """Send what is due and not on its way yet; waits for the chain's answer to a look, not for what is sent."""
        try:
            record = await self._chain.host(self._host)
            if record is None:
                if self._registered is not False:
                    log.warning(
                        "host %s is not registered: register it with 'python -m node_agent register'", self._host
                    )
                self._registered = False
                return
            self._registered = True
            params = await self._chain.params("Hosts")
            now_ms = await self._chain.now_ms()
        except (ChainUnreachable, BadReply):
            return  # the watcher says so already
        endpoint = endpoint_text(self._addresses())
        for wanted in due(record, params.heartbeat_period_ms, endpoint, now_ms) - self._sending:
            call = calls.hosts_heartbeat() if wanted is Due.HEARTBEAT else calls.hosts_set_endpoint(endpoint=endpoint)
            self._sending.add(wanted)
            self._background.run(self._send(wanted, call))

    async def _send(self, wanted: Due, call: Call) -> None:
        try:
            await self._sender.send_again(f"presence/{wanted.value}", call)
        finally:
            self._sending.discard(wanted)
