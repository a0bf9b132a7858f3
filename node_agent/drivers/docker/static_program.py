"""Static programs of a few instructions, written as machine code: no compiler is needed to build the agent."""

from __future__ import annotations

import struct
from typing import Final

_MACHINES: Final = {"x86_64": 62, "aarch64": 183}
"""ELF's numbers of the architectures, by the engine's names of them."""
_LOAD_AT: Final = 0x400000
_HEADERS: Final = 64 + 56
_INTERPRETER: Final = 3
"""The type of the program header that names the dynamic loader."""


def elf(architecture: str, code: bytes) -> bytes:
    """Return an ELF file whose only segment is this position-independent machine code, started at its first byte."""
    size = _HEADERS + len(code)
    ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    machine = _MACHINES[architecture]
    header = struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, _LOAD_AT + _HEADERS, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, _LOAD_AT, _LOAD_AT, size, size, 0x1000)
    return ident + header + segment + code


def is_static(data: bytes) -> bool:
    """Return whether a 64-bit ELF file of this machine's byte order needs no other file to run."""
    if data[:5] != b"\x7fELF\x02" or len(data) < _HEADERS:
        return False
    (start,), (size, count) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<HH", data, 54)
    if size < 4 or start + size * count > len(data):
        return False
    return all(struct.unpack_from("<I", data, start + size * number)[0] != _INTERPRETER for number in range(count))
