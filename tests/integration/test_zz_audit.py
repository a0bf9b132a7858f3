"""After all that: every coin is where the records say. Runs last by its name."""

from __future__ import annotations

from local_network import Net


async def test_every_coin_is_accounted_for(net: Net):
    done = await net.gantry("doctor", "--audit", "--json")
    assert done.code == 0, done.said
