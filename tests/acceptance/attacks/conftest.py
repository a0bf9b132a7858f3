"""The attacks share a local network. Each leaves the network as it found it: the host online, every process alive."""

from tests.support.network_fixtures import net, pods, state

__all__ = ["net", "pods", "state"]
