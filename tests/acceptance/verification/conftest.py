"""One chain for all stories of this folder."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from verification_cast import GENESIS
from verification_client import PATIENCE, Client
from verification_node import Node
from verification_world import World

from offchain.link.substrate import SubstrateChain
from offchain.schema._generated_chain import VerificationParams


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """Every story that is to be tested has begun."""
    stories = [item.function.story for item in request.session.items if hasattr(item.function, "story")]  # type: ignore[attr-defined]
    node = await asyncio.to_thread(Node, tmp_path_factory.mktemp("verification"), GENESIS)
    node.start()
    link = SubstrateChain(node.url, timeout=PATIENCE)
    client = Client(link, after=0)
    found: World | None = None
    try:
        await link.connect()
        params = VerificationParams.decode(await link.query("Verification", "Params"))
        found = World(node, client, await link.genesis_hash(), params)
        client.start()
        await found.enter(stories)
        yield found
    except BaseException:
        sys.stderr.write(node.child.last_lines(40))
        raise
    finally:
        for told in found.stories.values() if found else ():
            told.cancel()
        await client.stop()
        await link.close()
        node.stop()
