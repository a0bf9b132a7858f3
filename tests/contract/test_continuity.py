"""A chain that was started anew with the same genesis block, on the in-memory chain and on a node."""

import asyncio
import shutil

import pytest

from offchain.adapters.chain.chain_identity import continued, require_continued
from offchain.adapters.chain.client import SubstrateChain
from offchain.devnet.release import binaries
from offchain.errors import BadReply, ChainBehind, Reorganised
from tests.support.development_node import DevelopmentNode
from tests.support.fake_chain import FakeChain
from tests.support.fast_chain import fast

BLOCKS = 4
PATIENCE = 60.0


class FakeNode:
    def __init__(self, _folder):
        self.chain = FakeChain()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def reach(self, number):
        """Return the first final head that has at least this number."""
        while (head := await self.chain.finalized_head()).number < number:
            await self.chain.produce()
        return head

    async def restart(self, *, wiped):
        if wiped:
            await self.chain.start_anew()


class RealNode:
    def __init__(self, folder):
        self.node = DevelopmentNode(binaries(), folder, patch=fast())
        self.chain = SubstrateChain(self.node.url, timeout=PATIENCE)

    async def __aenter__(self):
        await asyncio.to_thread(self.node.start)
        await self.chain.connect()
        return self

    async def __aexit__(self, *_):
        await self.chain.close()
        await asyncio.to_thread(self.node.stop)

    async def reach(self, number):
        async with asyncio.timeout(PATIENCE):
            async for head in self.chain.finalized():
                if head.number >= number:
                    return head
        raise AssertionError("the chain ended")

    async def restart(self, *, wiped):
        await asyncio.to_thread(self.node.stop)
        if wiped:
            shutil.rmtree(self.node.data)
        await asyncio.to_thread(self.node.start)


@pytest.mark.parametrize("kind", [FakeNode, RealNode], ids=["fake", "node"])
async def test_a_removed_database_is_proven_at_the_height_that_was_reached(kind, tmp_path):
    async with kind(tmp_path / "node") as node:
        genesis = await node.chain.genesis_hash()
        last = await node.reach(BLOCKS)
        await require_continued(node.chain, last, "worker.db")
        await node.restart(wiped=False)
        await node.reach(last.number)
        await require_continued(node.chain, last, "worker.db")
        await node.restart(wiped=True)
        assert await node.chain.genesis_hash() == genesis
        with pytest.raises(ChainBehind, match=rf"block {last.number} was processed before.*move worker\.db away"):
            await require_continued(node.chain, last, "worker.db")
        await node.reach(last.number)
        with pytest.raises(Reorganised, match=r"serves another chain.*move worker\.db away"):
            await require_continued(node.chain, last, "worker.db")


async def test_a_node_without_the_block_is_trusted():
    """One that was synced from a later block on."""

    class Pruned(FakeChain):
        async def block_ref(self, number):
            raise LookupError(f"the node does not have block {number}")

    chain = Pruned()
    await chain.produce(3)
    await require_continued(chain, await chain.finalized_head(), "worker.db")


@pytest.mark.parametrize("grouped", [False, True])
async def test_an_error_about_an_unknown_block_is_explained_by_the_chain_that_was_started_anew(grouped):
    chain = FakeChain()
    await chain.produce(3)
    last = await chain.finalized_head()
    unknown = BadReply("The chain node refused state_getStorage: UnknownBlock.")
    error = ExceptionGroup("work", [unknown]) if grouped else unknown
    with pytest.raises(type(error)):
        async with continued(chain, lambda: last, "worker.db"):
            raise error

    async def work():
        async with continued(chain, lambda: last, "worker.db"):
            await chain.start_anew()
            raise error

    with pytest.raises(ChainBehind):
        await work()
    await chain.produce(3)
    with pytest.raises(Reorganised):
        async with continued(chain, lambda: last, "worker.db"):
            raise AssertionError("it began on another chain")
