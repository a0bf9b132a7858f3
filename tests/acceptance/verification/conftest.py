"""One chain for all scenarios of this folder."""

import asyncio
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from verification_client import PATIENCE, Client, NewestBlocks
from verification_network import Network, scenarios_of
from verification_roles import GENESIS, endowed

from offchain.devnet.release import binaries
from offchain.schema.chain_types._generated_chain import VerificationParams
from tests.support.development_node import DevelopmentNode, endow
from tests.support.fast_chain import fast


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def net(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Network]:
    """The chain; every selected scenario has begun, except those that run alone."""
    scenarios = scenarios_of(request.session.items)
    found = await asyncio.to_thread(binaries)
    coins = await asyncio.to_thread(endow, found, endowed(roles for _, roles in scenarios))
    node = DevelopmentNode(found, tmp_path_factory.mktemp("verification"), patch=fast({**GENESIS, **coins}))
    link = NewestBlocks(node.url, timeout=PATIENCE)
    client = Client(link)
    made: Network | None = None
    try:
        await asyncio.to_thread(node.start)
        await link.connect()
        params = VerificationParams.decode(await link.query("Verification", "Params"))
        made = Network(node, client, await link.genesis_hash(), params)
        client.start()
        await made.enter(scenarios)
        yield made
    except BaseException:
        sys.stderr.write(node.last_lines(40))
        raise
    finally:
        for run in made.runs.values() if made else ():
            run.cancel()
        await client.stop()
        await link.close()
        node.stop()
