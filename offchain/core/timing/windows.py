"""Windows of time for which an operator reserves whole hosts for some accounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offchain.core.values import Host


@dataclass(frozen=True, slots=True)
class Window:
    """From `from_ms` up to `until_ms` (chain time) hosts are for `accounts` alone.

    Those hosts that are in `hosts`, in one of `regions` and have a GPU of one of `models`; what is empty asks nothing.
    """

    name: str
    from_ms: int
    until_ms: int
    accounts: frozenset[str]
    hosts: frozenset[str] = frozenset()
    regions: frozenset[bytes] = frozenset()
    models: frozenset[bytes] = frozenset()

    def covers(self, host: Host) -> bool:
        """Whether the host is one of those."""
        return (
            (not self.hosts or host.id in self.hosts)
            and (not self.regions or host.region in self.regions)
            and (not self.models or any(device.spec.model in self.models for device in host.devices))
        )


class Windows:
    """All of them, by their place."""

    def __init__(self, windows: Sequence[Window] = ()) -> None:
        self._all = tuple(windows)

    def __len__(self) -> int:
        """How many, past ones among them."""
        return len(self._all)

    def ahead(self, now_ms: int) -> list[tuple[int, Window]]:
        """Those that are not over, with their places."""
        return [(place, window) for place, window in enumerate(self._all) if window.until_ms > now_ms]

    def open_to(self, account: str) -> int:
        """Those that an account may use, as bits."""
        if not self._all:
            return 0
        return sum(1 << place for place, window in enumerate(self._all) if account in window.accounts)

    def next_ms(self, now_ms: int) -> int | None:
        """When the next one is over, and its hosts are for all."""
        return min((window.until_ms for _, window in self.ahead(now_ms)), default=None)
