"""Settings of the agent's unit tests."""

import pytest

from node_agent.runtime import background


@pytest.fixture(autouse=True)
def no_pause_before_the_node_is_asked_again(monkeypatch):
    """Blocks of these tests come as fast as they are made: a pause of seconds would outlast them all."""
    monkeypatch.setattr(background, "RECONNECT_S", 0)
