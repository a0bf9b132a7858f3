"""`agent register --wait-for included`: it ends with the newest block that has the host, final or not."""

import asyncio

from offchain.cli.provider.signing import wait_until
from tests.support.fake_chain import FakeChain


async def test_the_wait_ends_with_a_block_that_is_not_final():
    chain = FakeChain()
    registered = False
    asked = asyncio.Event()

    async def there() -> bool:
        asked.set()
        return registered

    waiting = asyncio.create_task(wait_until(chain.best(), there))
    async with asyncio.timeout(60):
        await asked.wait()
    await asyncio.sleep(0)
    assert not waiting.done()
    registered = True
    await chain.produce(finalize=False)
    async with asyncio.timeout(60):
        await waiting
    assert (await chain.finalized_head()).number == 0
