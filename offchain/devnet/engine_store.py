"""What a Docker engine remembers of its networks, where it was killed while it removed one.

Engines before 23.0.5 write a network down once more, without its addresses, just before they forget it. Killed in that
moment, such an engine panics at every later start ("index out of range", in libnetwork's reservePools), for it looks
for the addresses of a network that was all but removed (moby issue 45057). The record says of itself that it is being
removed. Marked as one that only holds a configuration, it has no addresses to be looked for, and the engine removes it
by itself when it starts. The mark is as long as what it replaces, so nothing else in the file moves.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SYSTEM_DATA = Path("/var/lib/docker")
"""Where a machine's own engine keeps its data, unless its configuration says otherwise."""
_CONFIGURATION = Path("/etc/docker/daemon.json")
_STORE = Path("network") / "files" / "local-kv.db"
_BEGIN = b'{"addrSpace":'
"""A network's record is JSON with its keys in order; this one is the first."""
_PLAIN, _MARKED = b'"configOnly":false', b'"configOnly":true '
_LONGEST_RECORD = 1 << 20


def system_data(configuration: Path = _CONFIGURATION) -> Path:
    """Where this machine's own engine keeps its data."""
    try:
        named = json.loads(configuration.read_text(encoding="utf-8"))["data-root"]
    except (OSError, ValueError, KeyError, TypeError):
        return SYSTEM_DATA
    return Path(named) if isinstance(named, str) else SYSTEM_DATA


def half_removed(data_root: Path) -> list[str]:
    """The names of networks that keep the engine with this data from starting. Raises OSError where it is unreadable.

    To be asked while the engine does not run.
    """
    try:
        data = (data_root / _STORE).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted({str(record.get("name")) for _, record in _broken(data)})


def mend(data_root: Path) -> list[str]:
    """Let the engine with this data finish what it was removing when it was killed; gives the networks' names.

    Does nothing where an engine runs with it. Raises OSError where the file cannot be read or written.
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
    """Where such records begin in the file, and what they say. Also old versions of them in pages that are free."""
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
