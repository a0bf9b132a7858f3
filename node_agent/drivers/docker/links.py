"""Looks for links in the file system of a container that does not run, by the engine's archives."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from typing import Any, Final

from node_agent.drivers.docker.engine import CALL_TIMEOUT_S
from node_agent.drivers.docker.image_paths import PathRefused, check_targets, targets
from node_agent.drivers.port import ImageInvalid

_LINK: Final = 1 << 27
"""The bit of a mode, as Go has it, that says that a file is a symbolic link."""
_PIECE: Final = 1 << 12
_MEMBER: Final = 1 << 14
"""In so many bytes a link is described: its name and where it leads are 4096 bytes each at most."""
_OK: Final = 200
_MISSING: Final = 404
_SERVER_FAULT: Final = 500


def check_links(api: Any, container: str) -> dict[str, Any]:
    """Refuse a container of which a mount, the program or the working directory is led astray by a link. Blocks.

    That is into a protected folder. Returns what the engine says of the container. Raises :class:`ImageInvalid`.
    """
    inspection: dict[str, Any] = api.inspect_container(container)
    try:
        check_targets(targets(inspection), lambda path: _look(api, container, path))
    except PathRefused as error:
        raise ImageInvalid(f"the image cannot be used: {error}") from None
    return inspection


def _look(api: Any, container: str, path: str) -> str | None:
    """See :data:`node_agent.drivers.docker.image_paths.Look`. The engine follows no link at the end of the path."""
    response = _head(api, container, path)
    if response.status_code == _MISSING:
        return None
    if response.status_code >= _SERVER_FAULT and _head(api, container, "/").status_code == _OK:
        # Then it is this path alone: links in a circle, or a file with something below it.
        raise PathRefused(f"{path} leads nowhere")
    if response.status_code != _OK:
        # An answer to HEAD has no text; the same question by GET is refused with one.
        api.get_archive(container, path, chunk_size=_PIECE)[0].close()
        api._raise_for_status(response)  # noqa: SLF001
    stat = json.loads(base64.b64decode(response.headers["X-Docker-Container-Path-Stat"]))
    return _target(api, container, path) if int(stat["mode"]) & _LINK else ""


def _head(api: Any, container: str, path: str) -> Any:
    url = api._url("/containers/{0}/archive", container)  # noqa: SLF001
    return api.head(url, params={"path": path}, timeout=CALL_TIMEOUT_S)


def _target(api: Any, container: str, path: str) -> str:
    """Where a link leads, as it is written there. What the stat says of it is where it leads in the image alone."""
    stream, _ = api.get_archive(container, path, chunk_size=_PIECE)
    try:
        data = b""
        while len(data) < _MEMBER and (piece := next(stream, None)) is not None:
            data += piece
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            member = tar.next()
    except tarfile.TarError as error:
        raise PathRefused(f"the link {path} cannot be read: {error}") from None
    finally:
        stream.close()
    if member is None or not member.issym():
        raise PathRefused(f"the link {path} cannot be read")
    return str(member.linkname)
