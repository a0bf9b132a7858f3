"""The connections of the API to a node: for short requests, for the planner's thread, and for states and proofs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from offchain.adapters.chain.proof_chain import ProofChain
from offchain.gateway.api.action import NodeParts
from offchain.gateway.api.call_plans import CallPlanner, UnsettledLeases
from offchain.gateway.api.chain_access import ChainAccess, SigningChain
from offchain.gateway.api.extrinsics import WalletExtrinsicsApi
from offchain.gateway.api.manifest_checks import ManifestChecks
from offchain.gateway.api.node_records import NodeRecordsApi
from offchain.gateway.api.planner import PlacementPlanner
from offchain.gateway.api.state import StateApi
from offchain.gateway.api.task_placement import TaskPlacementApi


class NodeConnections:
    """Opens connections when they are first needed. Use :meth:`close` at the end.

    `schedulers`: URLs of schedulers that are asked for their decisions.
    """

    def __init__(
        self,
        open_chain: Callable[[], SigningChain],
        unsettled: UnsettledLeases,
        schedulers: Sequence[str] = (),
        open_proofs: Callable[[], ProofChain] | None = None,
    ) -> None:
        self._chain = open_chain()
        self._planner = PlacementPlanner(open_chain)
        self._state = None if open_proofs is None else StateApi(open_proofs)
        access = ChainAccess(self._chain)
        self.parts = NodeParts(
            WalletExtrinsicsApi(access, CallPlanner(access, self._planner, unsettled)),
            ManifestChecks(access, self._planner),
            NodeRecordsApi(access),
            TaskPlacementApi(access, self._planner, schedulers),
            self._state,
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._planner.close()
        if self._state is not None:
            await self._state.close()
        await self._chain.close()
