"""Settings and fixtures of the agent's unit tests."""

import pytest
from agent_world import HELLO, World

from node_agent.runtime import background


@pytest.fixture(autouse=True)
def no_pause_before_the_node_is_asked_again(monkeypatch):
    """Blocks of these tests come as fast as they are made: a pause of seconds would outlast them all."""
    monkeypatch.setattr(background, "RECONNECT_S", 0)


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path / "agent", lambda _spec, _container: made.program)
    made.program = HELLO
    return made
