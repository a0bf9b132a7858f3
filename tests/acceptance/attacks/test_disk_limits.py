"""A tenant that takes more disk than its lease has, in the ways by which nobody noticed before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.link_siege import the_host
from tests.support.local_network import TENANT

if TYPE_CHECKING:
    from tests.support.local_network import Net, Pods

pytestmark = [pytest.mark.docker, pytest.mark.network]

MANIFEST = Path(__file__).with_name("disk.yaml")
LIMIT = 1 << 30
MOST_OVER = 64 << 20
STEP = 32 << 20
INODES = LIMIT // (16 << 10) + 256
"""mkfs rounds their number up in each of its groups of blocks."""


async def test_no_way_of_writing_takes_more_disk_than_the_lease_has(net: Net, pods: Pods) -> None:
    done = await net.check("submit", MANIFEST, "--account", TENANT, "--wait", "--json")
    lines = [line.split() for line in done.json["result"].splitlines()]
    taken = {name: int(number) for name, number in lines}
    assert list(taken) == ["layer", "volume", "hosts", "nameless", "deep-layer-45", "deep-volume-45", "files"], taken
    assert 0 < taken.pop("files") <= INODES
    for way, size in taken.items():
        # Each gets nearly all that the lease has, so that it is known to work.
        assert LIMIT - 3 * STEP < size <= LIMIT + MOST_OVER, (way, taken)

    task = done.json["task"]

    async def gone() -> bool:
        return pods.gone(task)

    # What the tenant did to its own disk is a result, which is paid, and no fault of the host.
    await net.each_block(gone, f"the containers of task {task} to be removed")
    await net.assert_paid_once(task)
    _, host = await the_host(net)
    assert host.status.tag == "Online"
