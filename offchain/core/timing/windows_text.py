"""The file that reserves windows of time: YAML text into windows, with every problem told by line, field and remedy."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TypeVar

from offchain.core.timing.windows import Window
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.types import ManifestError
from offchain.schema.manifest.yaml_section import section

T = TypeVar("T")

_KEYS: Final = ("from", "until", "accounts", "hosts", "regions", "models")
_WHOLE: Final = "A window reserves whole hosts; name fewer of them"
_REFUSED: Final = {"gpus": _WHOLE, "cpus": _WHOLE, "memory": _WHOLE}
_TIME: Final = "Write a time of day with its zone: 2026-12-01T08:00:00Z or 2026-12-01T09:00:00+01:00"
_EXAMPLE: Final = "examples/reservations.yaml"
_WHERE: Final = "Name hosts, regions or GPU models; all that is given must hold"


class WindowsError(ManifestError):
    """The file cannot be used. Carries every problem found, in the order of their lines."""


def parse_windows(text: str, *, source: str = "reservations") -> tuple[Window, ...]:
    """The windows that a file defines. Raises WindowsError with every problem; `source` names the file in messages."""
    reader = Reader()
    found = section(text, "reservations", _EXAMPLE, reader)
    windows = [_window(name, field, reader) for name, field in found.items()]
    if reader.problems:
        raise WindowsError(source, reader.problems)
    return tuple(window for window in windows if window is not None)


def _window(name: str, field: Field, reader: Reader) -> Window | None:
    before = len(reader.problems)
    entries = reader.mapping(field, _KEYS, _REFUSED)
    for key, remedy in (("from", _TIME), ("until", _TIME), ("accounts", "Name who may use it: accounts: [5Grw…]")):
        if key not in entries and len(reader.problems) == before:
            reader.problem(field, f'"{key}" is missing', remedy)
    if not entries.keys() & {"hosts", "regions", "models"} and len(reader.problems) == before:
        reader.problem(field, "it does not say which hosts", _WHERE)
    from_ms, until_ms = (_time(entries.get(key), reader) for key in ("from", "until"))
    if from_ms is not None and until_ms is not None and until_ms <= from_ms:
        reader.problem(entries["until"], "it ends before it begins", "Write a later time, or an earlier one for from")
    accounts = _names(entries.get("accounts"), str, reader)
    hosts = _names(entries.get("hosts"), str, reader)
    regions, models = (_names(entries.get(key), str.encode, reader) for key in ("regions", "models"))
    if from_ms is None or until_ms is None or len(reader.problems) > before:
        return None
    return Window(name, from_ms, until_ms, accounts, hosts, regions, models)


def _time(field: Field | None, reader: Reader) -> int | None:
    def parse(text: str) -> int:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(f'"{text}" is not a time') from None
        if moment.tzinfo is None:
            raise ValueError(f'"{text}" does not say in which zone')
        return int(moment.astimezone(UTC).timestamp() * 1000)

    return None if field is None else reader.parsed(field, parse, _TIME)


def _names(field: Field | None, of: Callable[[str], T], reader: Reader) -> frozenset[T]:
    if field is None:
        return frozenset()
    before = len(reader.problems)
    items = reader.sequence(field)
    if not items and len(reader.problems) == before:
        reader.problem(field, "the list is empty", "Write a name into it, or remove the key")
    return frozenset(of(text) for item in items if (text := reader.text(item, max_bytes=64)) is not None)
