"""The container that holds the network of a pod of several containers (docs/adr/0015).

Its image is made here: one program of a few instructions that sleeps for ever. So a pod's network does not depend on
what the tenant's images hold, and no registry is asked for it. The bytes are the same every time, and so is the digest.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import tarfile

from node_agent.drivers.docker.static_program import elf

_X86_64 = bytes.fromhex("b8220000000f05ebf7")
"""again: eax = 34 (pause); syscall; jump again"""
_AARCH64 = struct.pack("<7I", 0xD2800000, 0xD2800001, 0xD2800002, 0xD2800003, 0xD2800928, 0xD4000001, 0x17FFFFFA)
"""again: x0 = x1 = x2 = x3 = 0; x8 = 73 (ppoll of nothing, for ever); svc 0; branch again"""
_MACHINES = {"x86_64": ("amd64", _X86_64), "aarch64": ("arm64", _AARCH64)}


def supports(architecture: str) -> bool:
    """Whether there is a holder for engines of this architecture, as they name it."""
    return architecture in _MACHINES


def program(architecture: str) -> bytes:
    """The program as a static ELF file."""
    return elf(architecture, _MACHINES[architecture][1])


def image(architecture: str) -> tuple[str, bytes]:
    """The image's id, and the image as a docker-archive."""
    return program_image(architecture, "hold", program(architecture), role="holder", tag="gantry/holder:1")


def program_image(architecture: str, name: str, static: bytes, *, role: str, tag: str) -> tuple[str, bytes]:
    """Return the id and the docker-archive of an image of one static program, which lies at `/name`."""
    layer = _tar({name: (static, 0o755)})
    config = _json(
        {
            "architecture": _MACHINES[architecture][0],
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
