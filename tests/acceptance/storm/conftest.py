"""One network for all bad weather. Its folder has a short path, for sockets."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from storm_net import HOUR_MS, Sky, StormNet, sky_of

from offchain.local.places import Places


@pytest.fixture(scope="module")
def net() -> Iterator[StormNet]:
    if os.getuid() != 0:
        pytest.skip("an engine and disks of its own need root")
    with tempfile.TemporaryDirectory(prefix="gantry-s-") as folder:
        made = StormNet(Places(Path(folder)))
        try:
            made.start()
            made.add_host("ann")
            # This machine's clock is wrong from the first day.
            made.add_host("ben", off_ms=HOUR_MS)
            yield made
        except BaseException:
            sys.stderr.write(made.last_lines())
            raise
        finally:
            made.stop()


@pytest.fixture
async def sky(net: StormNet) -> AsyncIterator[Sky]:
    async with sky_of(net) as made:
        yield made
