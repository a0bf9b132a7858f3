"""Accidents of a machine, on real processes: cut off, hung, full, flooded, its clock wrong. docs/resilience.md lists them.

In all of them the settler's clock is an hour behind the chain's, and that of the host "ben" an hour ahead.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

import pytest
from storm_net import HOUR_MS, TENANT, HostOfNet, Sky, StormNet, first_lease

from offchain.schema._generated_chain import calls

pytestmark = pytest.mark.docker
RESULT_BYTES = 16 << 20
FLOOD_S = 8
FLOOD = f"timeout {FLOOD_S} yes $(printf %0200d 0); echo the end of the flood"
MOST_LOG_BYTES = (32 << 20) + 4096
ENGINE_LOG_BYTES = 2 * (100 << 20)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """The process hangs meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def digest(text: str) -> bytes:
    return sha256(text.encode()).digest()


async def settled_with(sky: Sky, task: int, text: str, exit_code: int = 0) -> None:
    """The task is settled, its last lease was paid for this result."""
    await sky.until_state(task, "Settled")
    lease = (await sky.lease(task)).record
    assert lease.result is not None
    assert (lease.result.exit_code, bytes(lease.result.digest)) == (exit_code, digest(text))
    assert lease.escrow.paid > 0
    assert not lease.escrow.open


async def test_a_host_that_was_cut_off_stops_its_old_pods_before_it_says_anything(net: StormNet, sky: Sky):
    ann, ben = net.hosts["ann"], net.hosts["ben"]
    await sky.online(ann)
    await sky.online(ben)
    before = (await sky.chain.link.best_head()).number
    runs_on = await sky.job(ann, "sleep 600")
    ends_meanwhile = await sky.job(ann, "sleep 6; echo done")
    for task in (runs_on, ends_meanwhile):
        await sky.until_state(task, "Running")
    ann.cable.cut()
    for task in (runs_on, ends_meanwhile):
        await sky.until_state(task, "Queued")
        assert (await sky.record(ann)).status.tag == "Offline"
        await sky.assign(task, ben)
    await settled_with(sky, ends_meanwhile, "done\n")
    await sky.until_state(runs_on, "Running")
    # Nobody could tell the old host: its pod runs on, beside the one that took its place.
    (old,) = sky.containers(runs_on, ann)
    assert old["State"] == "running"
    assert sky.containers(runs_on, ben)
    (over,) = sky.containers(ends_meanwhile, ann)
    assert over["State"] == "exited"

    ann.cable.mend()
    for task in (runs_on, ends_meanwhile):
        await sky.gone(task, ann)
    assert await sky.state(runs_on) == "Running"
    assert sky.containers(runs_on, ben)
    await sky.online(ann)
    # Of the result that came too late the chain heard nothing, and nothing is left to be sent.
    said = [event.name for event in await sky.events(ends_meanwhile, before)]
    assert said.count("PodReported") == 1
    assert f"lease {first_lease(ends_meanwhile)}: its report result is not sent" in ann.log()
    assert net.unsent(ann) == []
    await sky.chain.do(TENANT, calls.tasks_cancel(task=runs_on))
    await sky.gone(runs_on, ben)
