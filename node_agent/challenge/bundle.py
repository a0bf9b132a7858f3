"""The challenge program as one file: a zip archive that `python3 FILE` runs in a container with numpy and cupy."""

from __future__ import annotations

import io
import zipfile
from importlib.resources import files
from typing import Final

PROGRAM: Final = "challenge.pyz"
_PARTS: Final = (
    ("node_agent.challenge", ("devices.py", "cupy_device.py", "host_probes.py", "kernels.cu", "program.py")),
    ("offchain.schema.challenge", ("fingerprint_tree.py", "generator.py", "order.py", "page_graph.py")),
    ("offchain.schema.protocol", ("fields.py",)),
)
_STAMP = (1980, 1, 1, 0, 0, 0)


def bundle() -> bytes:
    """Return the archive. The same sources give the same bytes."""
    content = {"__main__.py": files("node_agent.challenge").joinpath("__main__.py").read_bytes()}
    for package, names in _PARTS:
        folder = package.replace(".", "/")
        for depth in range(package.count(".") + 1):
            content["/".join([*package.split(".")[: depth + 1], "__init__.py"])] = b""
        content |= {f"{folder}/{name}": files(package).joinpath(name).read_bytes() for name in names}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(content.items()):
            archive.writestr(zipfile.ZipInfo(name, _STAMP), data, zipfile.ZIP_DEFLATED)
    return target.getvalue()
