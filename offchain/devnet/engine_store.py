"""Repair of the network database of a Docker engine that was killed while it removed a network.

Engines before 23.0.5 store a network once more, without its addresses, just before they delete it. If it is killed in
that moment, such an engine panics at every later start ("index out of range", in libnetwork's reservePools), because it
looks for the addresses of the network (moby issue 45057). The record is marked as being removed. If it is also marked
as one that only holds a configuration, the engine does not look for addresses, and removes it at its next start. The
mark has the length of what it replaces, so that nothing else in the file moves.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SYSTEM_DATA = Path("/var/lib/docker")
"""The data folder of a machine's own engine, unless its configuration names another one."""
_CONFIGURATION = Path("/etc/docker/daemon.json")
_STORE = Path("network") / "files" / "local-kv.db"
_BEGIN = b'{"addrSpace":'
"""The beginning of a network's record: JSON with sorted keys."""
_PLAIN, _MARKED = b'"configOnly":false', b'"configOnly":true '
_LONGEST_RECORD = 1 << 20


def system_data(configuration: Path = _CONFIGURATION) -> Path:
    """Return the data folder of this machine's own engine."""
    try:
        named = json.loads(configuration.read_text(encoding="utf-8"))["data-root"]
    except (OSError, ValueError, KeyError, TypeError):
        return SYSTEM_DATA
    return Path(named) if isinstance(named, str) else SYSTEM_DATA


def half_removed(data_root: Path) -> list[str]:
    """Return the networks that keep the engine with this data from starting. Raises OSError if it is unreadable.

    The engine must not be running.
    """
    try:
        data = (data_root / _STORE).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted({str(record.get("name")) for _, record in _broken(data)})


def repair(data_root: Path) -> list[str]:
    """Let the engine with this data complete the removal of networks, and return their names.

    Does nothing while an engine uses the data. Raises OSError if the file cannot be read or written.
    """
    try:
        file = (data_root / _STORE).open("r+b")
    except (FileNotFoundError, NotADirectoryError):
        return []
    with file:
        try:
            # The engine holds this lock for as long as it runs.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return []
        data = file.read()
        names = set()
        for place, record in _broken(data):
            file.seek(data.index(_PLAIN, place))
            file.write(_MARKED)
            names.add(str(record.get("name")))
    return sorted(names)


def _broken(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the offset and content of such records, also of old versions in free pages of the file."""
    decoder = json.JSONDecoder()
    place = data.find(_BEGIN)
    while place >= 0:
        try:
            # One character for each byte: the places stay the same, and whatever follows the record can be read.
            record, _ = decoder.raw_decode(data[place : place + _LONGEST_RECORD].decode("latin-1"))
        except ValueError:
            record = {}
        if _keeps_from_starting(record):
            yield place, record
        place = data.find(_BEGIN, place + 1)


def _keeps_from_starting(record: dict[str, Any]) -> bool:
    if not record.get("inDelete") or record.get("configOnly") is not False:
        return False
    return any(f"ipamV{n}Config" in record and f"ipamV{n}Info" not in record for n in (4, 6))
