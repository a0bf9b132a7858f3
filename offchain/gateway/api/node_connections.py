"""The connections of the API to a node: one for short requests, one for the planner's thread."""

from __future__ import annotations

from collections.abc import Callable

from offchain.gateway.api.action import NodeParts
from offchain.gateway.api.call_plans import CallPlanner, UnsettledLeases
from offchain.gateway.api.chain_access import ChainAccess, SigningChain
from offchain.gateway.api.extrinsics import WalletExtrinsicsApi
from offchain.gateway.api.manifest_checks import ManifestChecks
from offchain.gateway.api.node_records import NodeRecordsApi
from offchain.gateway.api.planner import PlacementPlanner


class NodeConnections:
    """Opens connections when they are first needed. Use :meth:`close` at the end."""

    def __init__(self, open_chain: Callable[[], SigningChain], unsettled: UnsettledLeases) -> None:
        self._chain = open_chain()
        self._planner = PlacementPlanner(open_chain)
        access = ChainAccess(self._chain)
        self.parts = NodeParts(
            WalletExtrinsicsApi(access, CallPlanner(access, self._planner, unsettled)),
            ManifestChecks(access, self._planner),
            NodeRecordsApi(access),
        )

    async def close(self) -> None:
        """Close both connections."""
        await self._planner.close()
        await self._chain.close()
