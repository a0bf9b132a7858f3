"""The tests of this folder share a local network."""

from pathlib import Path

import pytest

from offchain.devnet.paths import ROOT
from tests.support.local_network import Net
from tests.support.network_fixtures import net, pods, state

__all__ = ["net", "pods", "state"]

HERE = Path(__file__).parent
_SETTLED = pytest.StashKey[int]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.network)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture
async def settled(net: Net, request: pytest.FixtureRequest) -> int:
    """A task of three steps that is settled: the same one for all tests that only look at it."""
    stash = request.session.stash
    if _SETTLED not in stash:
        task = await net.submit(steps=3)
        await net.until(task, {"Settled"})
        stash[_SETTLED] = task
    return stash[_SETTLED]
