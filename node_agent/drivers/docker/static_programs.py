"""Static programs of a few instructions as machine code, and images of them: neither compiler nor registry is needed.

The pod sandbox, the container that holds the network of a pod of several containers (docs/adr/0015), runs one that
sleeps for ever. So a pod's network does not depend on the tenant's images. The bytes, and so the digest, are always the
same.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import tarfile
from typing import Final

_MACHINES: Final = {"x86_64": 62, "aarch64": 183}
"""ELF machine numbers by the engine's names of architectures."""
_LOAD_AT: Final = 0x400000
_HEADERS: Final = 64 + 56
_INTERPRETER: Final = 3
"""Type of the program header that names the dynamic loader."""
_X86_64 = bytes.fromhex("b8220000000f05ebf7")
"""again: eax = 34 (pause); syscall; jump again"""
_AARCH64 = struct.pack("<7I", 0xD2800000, 0xD2800001, 0xD2800002, 0xD2800003, 0xD2800928, 0xD4000001, 0x17FFFFFA)
"""again: x0 = x1 = x2 = x3 = 0; x8 = 73 (ppoll of nothing, for ever); svc 0; branch again"""
_SANDBOX_CODE = {"x86_64": ("amd64", _X86_64), "aarch64": ("arm64", _AARCH64)}


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


def has_sandbox_image(architecture: str) -> bool:
    """Return whether there is a pod sandbox for this architecture, by the engine's name."""
    return architecture in _SANDBOX_CODE


def sandbox_program(architecture: str) -> bytes:
    return elf(architecture, _SANDBOX_CODE[architecture][1])


def sandbox_image(architecture: str) -> tuple[str, bytes]:
    """Return the id and the docker-archive of the pod sandbox's image."""
    return program_image(architecture, "hold", sandbox_program(architecture), role="holder", tag="gantry/holder:1")


def program_image(architecture: str, name: str, static: bytes, *, role: str, tag: str) -> tuple[str, bytes]:
    """Return the id and the docker-archive of an image of one static program at `/name`."""
    layer = _tar({name: (static, 0o755)})
    config = _json(
        {
            "architecture": _SANDBOX_CODE[architecture][0],
            "config": {"Entrypoint": [f"/{name}"], "Labels": {"gantry.role": role}},
            "created": "1970-01-01T00:00:00Z",
            "os": "linux",
            "rootfs": {"diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"], "type": "layers"},
        }
    )
    digest = hashlib.sha256(config).hexdigest()
    manifest = [{"Config": f"{digest}.json", "Layers": ["layer.tar"], "RepoTags": [tag]}]
    files = {f"{digest}.json": config, "layer.tar": layer, "manifest.json": _json(manifest)}
    return f"sha256:{digest}", _tar({path: (data, 0o644) for path, data in files.items()})


def _tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, (data, mode) in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
