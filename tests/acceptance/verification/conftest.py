"""One chain for all stories of this folder."""

import asyncio
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from verification_cast import GENESIS, endowed
from verification_client import PATIENCE, Client, NewestBlocks
from verification_world import World, stories_of

from offchain.devnet.release import binaries
from offchain.schema.chain_types._generated_chain import VerificationParams
from tests.support.development_node import DevelopmentNode, endow
from tests.support.fast_chain import fast


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """Every story that is to be tested has begun, but those that are told alone."""
    stories = stories_of(request.session.items)
    found = await asyncio.to_thread(binaries)
    coins = await asyncio.to_thread(endow, found, endowed(cast for _, cast in stories))
    node = DevelopmentNode(found, tmp_path_factory.mktemp("verification"), patch=fast({**GENESIS, **coins}))
    link = NewestBlocks(node.url, timeout=PATIENCE)
    client = Client(link)
    made: World | None = None
    try:
        await asyncio.to_thread(node.start)
        await link.connect()
        params = VerificationParams.decode(await link.query("Verification", "Params"))
        made = World(node, client, await link.genesis_hash(), params)
        client.start()
        await made.enter(stories)
        yield made
    except BaseException:
        sys.stderr.write(node.last_lines(40))
        raise
    finally:
        for told in made.told.values() if made else ():
            told.cancel()
        await client.stop()
        await link.close()
        node.stop()
