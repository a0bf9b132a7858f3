"""What the operator of a scheduler configures: queues, and times for which hosts are reserved for some accounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar, Final, TypeVar

from pydantic import Field

from offchain.core.scheduler.queue_definitions import EQUAL_SHARES, QueueTree
from offchain.core.values import Host
from offchain.schema.manifest.section import Bytes, Entries, Items, Notation, Section, validate
from offchain.schema.manifest.types import ManifestError
from offchain.schema.manifest.yaml_reader import OPERATOR_MAX, Problems, read_yaml

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


_WHOLE: Final = "A window reserves whole hosts; name fewer of them"
_TIME: Final = "Write a time of day with its zone: 2026-12-01T08:00:00Z or 2026-12-01T09:00:00+01:00"
_EXAMPLE: Final = "examples/reservations.yaml"
_WHERE: Final = "Name hosts, regions or GPU models; all that is given must hold"


class WindowFileError(ManifestError):
    """The file cannot be used. `problems` has every error found, in the order of their lines."""


def parse_windows(text: str, *, source: str = "reservations") -> tuple[ReservationWindow, ...]:
    """Return the windows that a file defines. Raise WindowFileError with every problem; `source` names the file."""
    problems = Problems()
    root = read_yaml(text, problems, _EXAMPLE, bound=OPERATOR_MAX)
    file = validate(ReservationsFile, root, problems) if root is not None else None
    if file is None or problems.found:
        raise WindowFileError(source, problems.found)
    return tuple(section.window(name) for name, section in file.reservations.items())


def _time_ms(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f'"{text}" is not a time') from None
    if moment.tzinfo is None:
        raise ValueError(f'"{text}" does not say in which zone')
    return int(moment.timestamp() * 1000)


Names = Annotated[tuple[Annotated[str, Bytes(64)], ...], Items()]


class WindowSection(Section):
    unsupported: ClassVar = {"gpus": _WHOLE, "cpus": _WHOLE, "memory": _WHOLE}
    from_ms: Annotated[int, Notation(_time_ms, _TIME)] = Field(default=0, alias="from")
    until: Annotated[int, Notation(_time_ms, _TIME)] = 0
    accounts: Names = ()
    hosts: Names = ()
    regions: Names = ()
    models: Names = ()

    def check(self, problems: Problems) -> None:
        for key in ("accounts", "hosts", "regions", "models"):
            if key in self.written and not getattr(self, key) and not problems.has(self.place(key)):
                problems.add(self.place(key), "the list is empty", "Write a name into it, or remove the key")
        if problems.has(self.place()):
            return
        for key, hint in (("from", _TIME), ("until", _TIME), ("accounts", "Name who may use it: accounts: [5Grw…]")):
            if key not in self.written:
                problems.add(self.place(), f'"{key}" is missing', hint)
                return
        if not {"hosts", "regions", "models"} & set(self.written):
            problems.add(self.place(), "it does not say which hosts", _WHERE)
        if self.until <= self.from_ms:
            hint = "Write a later time, or an earlier one for from"
            problems.add(self.place("until"), "it ends before it begins", hint)

    def window(self, name: str) -> ReservationWindow:
        regions, models = (frozenset(text.encode() for text in names) for names in (self.regions, self.models))
        return ReservationWindow(
            name, self.from_ms, self.until, frozenset(self.accounts), frozenset(self.hosts), regions, models
        )


class ReservationsFile(Section):
    required: ClassVar = {"reservations": f"Start from {_EXAMPLE}"}
    reservations: Annotated[dict[str, WindowSection], Entries] = {}  # noqa: RUF012


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """`queues`: by default all accounts have equal shares.

    `windows`: times for which hosts are reserved for some accounts.
    """

    queues: QueueTree = EQUAL_SHARES
    windows: tuple[ReservationWindow, ...] = ()
