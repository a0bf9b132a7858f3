"""Windows of time for which an operator reserves whole hosts for some accounts, and the YAML file that defines them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeVar

from offchain.core.values import Host
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.types import ManifestError
from offchain.schema.manifest.yaml_section import section

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReservationWindow:
    """Hosts are for `accounts` alone in the interval [from_ms, until_ms) of chain time.

    A host belongs to the window if it is in `hosts`, in one of `regions` and has a GPU of one of `models`; an empty set
    does not restrict.
    """

    name: str
    from_ms: int
    until_ms: int
    accounts: frozenset[str]
    hosts: frozenset[str] = frozenset()
    regions: frozenset[bytes] = frozenset()
    models: frozenset[bytes] = frozenset()

    def covers(self, host: Host) -> bool:
        return (
            (not self.hosts or host.id in self.hosts)
            and (not self.regions or host.region in self.regions)
            and (not self.models or any(device.spec.model in self.models for device in host.devices))
        )


class ReservationWindows:
    """All windows, by index."""

    def __init__(self, windows: Sequence[ReservationWindow] = ()) -> None:
        self._all = tuple(windows)

    def ahead(self, now_ms: int) -> list[tuple[int, ReservationWindow]]:
        """Return the windows that are not over, with their indices."""
        return [(index, window) for index, window in enumerate(self._all) if window.until_ms > now_ms]

    def open_to(self, account: str) -> int:
        """Return the windows that an account may use, as bits."""
        return sum(1 << index for index, window in enumerate(self._all) if account in window.accounts)

    def next_ms(self, now_ms: int) -> int | None:
        """Return when the next window ends."""
        return min((window.until_ms for _, window in self.ahead(now_ms)), default=None)


_KEYS: Final = ("from", "until", "accounts", "hosts", "regions", "models")
_WHOLE_HINT: Final = "A window reserves whole hosts; name fewer of them"
_REFUSED: Final = {"gpus": _WHOLE_HINT, "cpus": _WHOLE_HINT, "memory": _WHOLE_HINT}
_TIME_HINT: Final = "Write a time of day with its zone: 2026-12-01T08:00:00Z or 2026-12-01T09:00:00+01:00"
_EXAMPLE: Final = "examples/reservations.yaml"
_HOSTS_HINT: Final = "Name hosts, regions or GPU models; all that is given must hold"
_ACCOUNTS_HINT: Final = "Name who may use it: accounts: [5Grw…]"


class WindowFileError(ManifestError):
    """The file with reservation windows is invalid. Carries all problems in the order of their lines."""


def parse_windows(text: str, *, source: str = "reservations") -> tuple[ReservationWindow, ...]:
    """Parse the YAML file that defines reservation windows. `source` names the file in messages.

    Raises WindowFileError with every problem: line, field and hint.
    """
    reader = Reader()
    found = section(text, "reservations", _EXAMPLE, reader)
    windows = [_window(name, field, reader) for name, field in found.items()]
    if reader.problems:
        raise WindowFileError(source, reader.problems)
    return tuple(window for window in windows if window is not None)


def _window(name: str, field: Field, reader: Reader) -> ReservationWindow | None:
    before = len(reader.problems)
    entries = reader.mapping(field, _KEYS, _REFUSED)
    for key, hint in (("from", _TIME_HINT), ("until", _TIME_HINT), ("accounts", _ACCOUNTS_HINT)):
        if key not in entries and len(reader.problems) == before:
            reader.problem(field, f'"{key}" is missing', hint)
    if not entries.keys() & {"hosts", "regions", "models"} and len(reader.problems) == before:
        reader.problem(field, "it does not say which hosts", _HOSTS_HINT)
    from_ms, until_ms = (_time(entries.get(key), reader) for key in ("from", "until"))
    if from_ms is not None and until_ms is not None and until_ms <= from_ms:
        reader.problem(entries["until"], "it ends before it begins", "Write a later time, or an earlier one for from")
    accounts = _names(entries.get("accounts"), str, reader)
    hosts = _names(entries.get("hosts"), str, reader)
    regions, models = (_names(entries.get(key), str.encode, reader) for key in ("regions", "models"))
    if from_ms is None or until_ms is None or len(reader.problems) > before:
        return None
    return ReservationWindow(name, from_ms, until_ms, accounts, hosts, regions, models)


def _time(field: Field | None, reader: Reader) -> int | None:
    def parse(text: str) -> int:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(f'"{text}" is not a time') from None
        if moment.tzinfo is None:
            raise ValueError(f'"{text}" does not say in which zone')
        return int(moment.astimezone(UTC).timestamp() * 1000)

    return None if field is None else reader.parsed(field, parse, _TIME_HINT)


def _names(field: Field | None, convert: Callable[[str], T], reader: Reader) -> frozenset[T]:
    if field is None:
        return frozenset()
    before = len(reader.problems)
    items = reader.sequence(field)
    if not items and len(reader.problems) == before:
        reader.problem(field, "the list is empty", "Write a name into it, or remove the key")
    return frozenset(convert(text) for item in items if (text := reader.text(item, max_bytes=64)) is not None)
