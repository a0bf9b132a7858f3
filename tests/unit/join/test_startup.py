"""How the agent's parts end together."""

import asyncio

import pytest

from node_agent.install.releases import Releases
from node_agent.runtime.startup import _confirm, _serve
from offchain.clock import unix_ms
from offchain.errors import OurError

NEW = "a" * 64


async def forever():
    await asyncio.Event().wait()


async def nothing():
    pass


async def fails():
    raise OurError("Broken.", "Mend it.")


async def test_the_failure_of_an_agent_is_raised_unchanged():
    with pytest.raises(OurError, match="Broken"):
        await _serve(fails(), nothing(), forever())
    with pytest.raises(OurError, match="Broken"):
        await _serve(fails(), forever(), forever())


async def test_an_agent_that_ends_ends_all():
    await _serve(nothing(), forever(), forever())
    await _serve(nothing(), nothing(), nothing())


async def test_a_trial_that_fails_ends_the_agent(tmp_path):
    releases = Releases(tmp_path)
    releases.begin_trial(NEW, unix_ms())
    with pytest.raises(OurError, match="did not become ready"):
        await _serve(forever(), _confirm(releases, NEW, asyncio.Event()), forever())


async def test_a_trial_ends_when_the_agent_is_ready(tmp_path):
    releases = Releases(tmp_path)
    releases.begin_trial(NEW, unix_ms() + 60_000)
    ready = asyncio.Event()
    ready.set()
    await _confirm(releases, NEW, ready)
    assert (releases.current(), releases.trial()) == (NEW, None)


async def test_a_release_that_is_not_on_trial_has_no_limit(tmp_path):
    await _confirm(Releases(tmp_path), NEW, asyncio.Event())
