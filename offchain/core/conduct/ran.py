"""Which hosts ran a manifest lately. Bounded: of more manifests, or more hosts of one, the latest are remembered.

Hosts do not tell which images they have. Who ran a manifest has pulled its images, and keeps them until it needs the
disk: so it is a guess, which costs a pull where it is wrong.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import Final

MOST_MANIFESTS: Final = 256
MOST_HOSTS: Final = 16
"""Of each."""


class Ran:
    """Follows leases as their pods start."""

    def __init__(self) -> None:
        self._hosts: OrderedDict[bytes, OrderedDict[str, None]] = OrderedDict()

    def hosts(self, manifest: bytes) -> Collection[str]:
        """Who ran it lately."""
        return self._hosts.get(manifest, {}).keys()

    def __contains__(self, manifest: bytes) -> bool:
        """Whether anybody did."""
        return manifest in self._hosts

    def saw(self, manifest: bytes, host: str) -> frozenset[str]:
        """A pod of it runs there; gives the hosts for which something has changed."""
        known = self._hosts.setdefault(manifest, OrderedDict())
        self._hosts.move_to_end(manifest)
        changed = set() if host in known else {host}
        known[host] = None
        known.move_to_end(host)
        if len(known) > MOST_HOSTS:
            changed.add(known.popitem(last=False)[0])
        if len(self._hosts) > MOST_MANIFESTS:
            changed |= self._hosts.popitem(last=False)[1].keys()
        return frozenset(changed)
