"""What handlers of the host link have done in the agent's own loop, where pods, leases and the database are kept.

Handlers run in the loop of the link. Few of their steps change what the agent keeps; these are bound to the agent's
loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from node_agent.handlers.receipt_requests import ReceiptSource
from node_agent.handlers.snapshot_requests import SnapshotDriver
from node_agent.runtime.loop_thread import bound_to
from offchain.schema.protocol.receipt import Countersignature, SignedReceipt
from offchain.schema.protocol.snapshots import Snapshot


class BoundSnapshots:
    """A driver whose snapshots are taken and removed in `loop`; archives are read in the loop of the caller."""

    def __init__(self, loop: asyncio.AbstractEventLoop, driver: SnapshotDriver) -> None:
        self._loop = loop
        self._driver = driver

    async def snapshot(self, lease: int, name: str, most_mib: int) -> Snapshot:
        """See :class:`node_agent.drivers.port.Driver`."""
        return await bound_to(self._loop, self._driver.snapshot)(lease, name, most_mib)

    async def snapshots(self, lease: int) -> tuple[Snapshot, ...]:
        """See :class:`node_agent.drivers.port.Driver`."""
        return await bound_to(self._loop, self._driver.snapshots)(lease)

    async def remove_snapshot(self, lease: int, name: str) -> None:
        """See :class:`node_agent.drivers.port.Driver`."""
        await bound_to(self._loop, self._driver.remove_snapshot)(lease, name)

    def archive(self, lease: int, name: str) -> AsyncGenerator[bytes, None]:
        """See :class:`node_agent.drivers.port.Driver`."""
        return self._driver.archive(lease, name)


class BoundReceipts:
    """A meter whose receipts are written and found in `loop`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, meter: ReceiptSource) -> None:
        self._loop = loop
        self._meter = meter

    async def newest(self, number: int) -> SignedReceipt | None:
        """See :class:`node_agent.metering.meter.Meter`."""
        return await bound_to(self._loop, self._meter.newest)(number)

    async def find(self, number: int, digest: bytes) -> SignedReceipt | None:
        """See :class:`node_agent.metering.meter.Meter`."""
        return await bound_to(self._loop, self._meter.find)(number, digest)

    async def countersign(self, number: int, digest: bytes, given: Countersignature) -> bool:
        """See :class:`node_agent.metering.meter.Meter`."""
        return await bound_to(self._loop, self._meter.countersign)(number, digest, given)
