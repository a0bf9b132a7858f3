"""Which final blocks an agent reads completely."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node_agent.chain.own_blocks import OwnBlocks
from offchain.adapters.keys.signer import from_uri
from offchain.ports import Call
from offchain.schema.chain_types.ids import task_key
from tests.support.fake_chain import FakeChain

HOST, STRANGER = from_uri("//Host", "ed25519"), from_uri("//Stranger")
TASK = 7


class CountingChain(FakeChain):
    """Notes the numbers of the blocks that are read completely."""

    def __init__(self):
        super().__init__()
        self.read = []

    async def block(self, number):
        self.read.append(number)
        return await super().block(number)

    async def block_ref(self, number):
        return (await super().block(number)).ref


class Followed:
    """The blocks that a host with task `TASK` has been given."""

    def __init__(self, chain):
        self.chain = chain
        self.tasks = {TASK}
        self.own = OwnBlocks(chain, HOST.address, lambda: self.tasks, ":memory:")
        self.seen = []
        self.blocks = self.own.blocks()

    async def follow(self):
        """Take the blocks up to the newest final one."""
        last = (await self.chain.finalized_head()).number
        async with asyncio.timeout(10):
            while not self.seen or self.seen[-1].ref.number < last:
                self.seen.append(await anext(self.blocks))

    async def reconnect(self):
        """End the subscription; the block that was taken last counts as not handled."""
        await self.blocks.aclose()
        self.blocks = self.own.blocks()


async def sign(chain, signer):
    nonce = await chain.next_nonce(signer.address)
    await chain.broadcast(await chain.sign(Call("System", "remark", {"remark": b""}), signer, nonce))


def change(chain, pallet, item, key):
    """Give a value another content."""
    values = chain.storage[pallet, item]
    values[(key,)] = [*values.get((key,), []), 1]


CHANGES = {
    "record": ("Hosts", "Hosts", HOST.address),
    "named as standby": ("Hosts", "StandbyNamings", HOST.address),
    "leases": ("Leases", "ByHost", HOST.address),
    "task": ("Tasks", "Tasks", task_key(TASK)),
}


async def test_blocks_of_others_are_not_read():
    chain = CountingChain()
    followed = Followed(chain)
    await followed.follow()
    for _ in range(5):
        await sign(chain, STRANGER)
        change(chain, "Hosts", "Hosts", STRANGER.address)
        change(chain, "Tasks", "Tasks", task_key(TASK + 1))
        block = await chain.produce()
        await followed.follow()
        assert (followed.seen[-1].ref, followed.seen[-1].timestamp_ms) == (block.ref, block.timestamp_ms)
        assert (followed.seen[-1].events, followed.seen[-1].inclusions) == ((), ())
    assert chain.read == [0]


@pytest.mark.parametrize("what", CHANGES)
async def test_a_change_of_an_own_record_is_read_with_all_blocks_since_the_last(what):
    chain = CountingChain()
    followed = Followed(chain)
    await followed.follow()
    await chain.produce(2)
    change(chain, *CHANGES[what])
    await chain.produce(2)
    await followed.follow()
    assert chain.read == [0, 1, 2, 3, 4]
    await chain.produce(2)
    await followed.follow()
    assert chain.read == [0, 1, 2, 3, 4]


async def test_an_own_extrinsic_is_read():
    chain = CountingChain()
    followed = Followed(chain)
    await followed.follow()
    await sign(chain, HOST)
    await chain.produce()
    await followed.follow()
    assert len(followed.seen[-1].inclusions) == 1


async def test_a_task_that_is_new_to_the_host_is_read():
    chain = CountingChain()
    followed = Followed(chain)
    await followed.follow()
    followed.tasks.add(TASK + 1)
    await chain.produce()
    await followed.follow()
    assert chain.read == [0, 1]


async def test_blocks_that_were_not_handled_are_read_again():
    chain = CountingChain()
    followed = Followed(chain)
    await followed.follow()
    await sign(chain, HOST)
    await chain.produce(3)
    assert (await anext(followed.blocks)).ref.number == 1
    await followed.reconnect()
    await followed.follow()
    assert [block.ref.number for block in followed.seen] == [0, 1, 2, 3]
    assert len(followed.seen[1].inclusions) == 1


@given(st.lists(st.sampled_from([*CHANGES, "own call", "other call", "block", "look"]), max_size=30))
def test_no_change_of_the_host_is_missed(steps):
    asyncio.run(_check(steps))


async def _check(steps):
    chain = CountingChain()
    followed = Followed(chain)
    await followed.follow()
    concerned, pending = {0}, False
    for step in [*steps, "block", "look"]:
        if step == "look":
            await followed.follow()
        elif step == "block":
            number = (await chain.produce()).ref.number
            if pending:
                concerned.add(number)
            pending = False
        elif step == "other call":
            await sign(chain, STRANGER)
        else:
            pending = True
            if step == "own call":
                await sign(chain, HOST)
            else:
                change(chain, *CHANGES[step])
    numbers = [block.ref.number for block in followed.seen]
    assert numbers == sorted(set(numbers))
    assert concerned <= set(chain.read)
    assert len(chain.read) == len(set(chain.read))
    inclusions = {i.extrinsic_hash for block in followed.seen for i in block.inclusions}
    own = [
        extrinsic.hash for made in chain._final for extrinsic in made.extrinsics if extrinsic.account == HOST.address
    ]
    assert inclusions.issuperset(own)
