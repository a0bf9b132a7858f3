"""The files of the web console: read once at the start, so that no request can name another file."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Final

from aiohttp import web

from offchain.errors import OurError
from offchain.services.log import EventLog

FOLDER: Final = Path(__file__).resolve().parents[1] / "console"
"""The built assets in this package; a gateway without them serves the API alone."""
INDEX: Final = "index.html"
MOST_BYTES: Final = 32 << 20
_HASHED: Final = re.compile(r"^assets/.*[-.](?=[A-Za-z0-9_-]*[A-Z0-9_])[A-Za-z0-9_-]{8,}\.[a-z0-9]+$")
"""Files whose names change with their content."""
_TEXT: Final = ("text/", "application/javascript", "application/json", "image/svg+xml")
_SMALL: Final = 1_024
_TYPES: Final = MappingProxyType(
    {
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".css": "text/css",
        ".html": "text/html",
        ".json": "application/json",
        ".svg": "image/svg+xml",
        ".woff2": "font/woff2",
        ".wasm": "application/wasm",
        ".map": "application/json",
        ".webmanifest": "application/manifest+json",
    }
)
HEADERS: Final = MappingProxyType(
    {
        "Content-Security-Policy": "default-src 'self'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }
)


@dataclass(frozen=True, slots=True)
class ConsoleFile:
    """One file. `packed`: compressed with gzip; None where that saves nothing."""

    content: bytes
    packed: bytes | None
    content_type: str
    tag: str
    immutable: bool


class ConsoleFiles:
    """The files of a folder, by the path of their URL. Without index.html there are none."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._files = _read(folder) if (folder / INDEX).is_file() else {}

    def __bool__(self) -> bool:
        return bool(self._files)

    def answer(self, request: web.Request) -> web.Response | None:
        """Return the file that a GET of a path outside of the API names; None if there is none.

        A path that is no file's is one of the console's own pages if the client wants HTML and its last part has no
        dot: the console begins with it.
        """
        if request.method not in ("GET", "HEAD") or not self._files:
            return None
        path = request.path.removeprefix("/")
        found = self._files.get(path or INDEX)
        if found is None and _is_page(path, request.headers.get("Accept", "")):
            found = self._files[INDEX]
        return None if found is None else _sent(request, found)


def _is_page(path: str, accept: str) -> bool:
    odd = any(ord(letter) < 0x20 or letter in "\\\x7f" for letter in path)
    return "text/html" in accept and "." not in path.rpartition("/")[2] and ".." not in path.split("/") and not odd


def _sent(request: web.Request, file: ConsoleFile) -> web.Response:
    headers = {
        **HEADERS,
        "ETag": f'"{file.tag}"',
        "Cache-Control": "public, max-age=31536000, immutable" if file.immutable else "no-cache",
        "Vary": "Accept-Encoding",
    }
    if any(one.value in (file.tag, "*") for one in request.if_none_match or ()):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    charset = "utf-8" if file.content_type.startswith("text/") else None
    body = file.content
    if file.packed is not None and "gzip" in request.headers.get("Accept-Encoding", ""):
        body = file.packed
        headers["Content-Encoding"] = "gzip"
    return web.Response(body=body, content_type=file.content_type, charset=charset, headers=headers)


def _read(folder: Path) -> dict[str, ConsoleFile]:
    """Return the regular files below a folder; links are left out. Raises OurError for more than the limit."""
    found: dict[str, ConsoleFile] = {}
    total = 0
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or folder.resolve() not in path.resolve().parents:
            continue
        content = path.read_bytes()
        total += len(content)
        if total > MOST_BYTES:
            raise OurError(
                f"The console in {folder} is larger than {MOST_BYTES >> 20} MiB.",
                "Remove what does not belong to it.",
                code="gateway",
            )
        name = path.relative_to(folder).as_posix()
        found[name] = _file(name, content)
    EventLog("api").info("console", files=len(found), bytes=total)
    return found


def _file(name: str, content: bytes) -> ConsoleFile:
    suffix = Path(name).suffix
    content_type = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    packed = None
    if content_type.startswith(_TEXT) and len(content) >= _SMALL:
        packed = gzip.compress(content, mtime=0)
    tag = hashlib.sha256(content).hexdigest()[:32]
    return ConsoleFile(content, packed, content_type, tag, bool(_HASHED.match(name)))
