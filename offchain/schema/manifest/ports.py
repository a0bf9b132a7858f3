"""Reading the TCP ports a service listens on. They are told to tenants; none is opened to anybody else."""

from __future__ import annotations

import re

from offchain.schema.manifest import keys
from offchain.schema.manifest.nodes import Field, Reader

MAX_PORTS = 32
_PORT = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?(?:/(\w+))?", re.ASCII)
_REMEDY = "Write the port inside the container: 8080, or 8000-8003"
_TCP = "Remove it; only TCP is forwarded"


def read_ports(expose: Field | None, ports: Field | None, reader: Reader) -> tuple[int, ...]:
    """The ports under `expose` and `ports`, each once, in the order of the file."""
    found: list[int] = []
    for item in reader.sequence(expose) if expose is not None else []:
        found += _span(item, reader)
    for item in reader.sequence(ports) if ports is not None else []:
        found += _long(item, reader) if item.kind == "map" else _short(item, reader)
    several = tuple(dict.fromkeys(found))
    field = ports or expose
    if len(several) > MAX_PORTS and field is not None:
        reader.problem(field, f"{len(several)} ports are too many", f"Keep it to {MAX_PORTS}; all can be forwarded")
        return ()
    return several


def _short(item: Field, reader: Reader) -> list[int]:
    text = reader.text(item)
    if text is None:
        return []
    published, colon, inside = text.rpartition(":")
    if colon:
        local = published.rpartition(":")[2]
        command = f"gantry forward TASK {local}:{inside.partition('/')[0]}" if local else "gantry forward"
        reader.problem(
            item,
            f'"{text}" publishes a port of the host',
            f'Write "{inside}"; {command} opens it on your own machine',
        )
        return []
    return _span(item, reader)


def _long(item: Field, reader: Reader) -> list[int]:
    entries = reader.mapping(item, keys.PORT, keys.PORT_REFUSED)
    if "protocol" in entries and reader.choice(entries["protocol"], {"tcp": None, "udp": _TCP}) is None:
        return []
    if "target" not in entries:
        reader.problem(item, "target is missing", "Add target: 8080, the port inside the container")
        return []
    target = reader.integer(entries["target"], 1, 65535)
    return [target] if target is not None else []


def _span(item: Field, reader: Reader) -> list[int]:
    text = reader.text(item)
    match = _PORT.fullmatch(text) if text is not None else None
    if text is None or match is None:
        if text is not None:
            reader.problem(item, f'"{text}" is not a port', _REMEDY)
        return []
    first = int(match[1])
    last = int(match[2] or first)
    if match[3] not in (None, "tcp"):
        reader.problem(item, f'"{match[3]}" is not supported', _TCP)
    elif not 1 <= first <= last <= 65535:
        reader.problem(item, f'"{text}" is out of range', _REMEDY)
    elif last - first >= MAX_PORTS:
        reader.problem(item, f"{last - first + 1} ports are too many", f"Keep it to {MAX_PORTS}; all can be forwarded")
    else:
        return list(range(first, last + 1))
    return []
