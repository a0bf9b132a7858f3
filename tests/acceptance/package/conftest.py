"""A local network for the tests of the package."""

from tests.support.network_fixtures import net, state

__all__ = ["net", "state"]
