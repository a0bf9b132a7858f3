"""Which pages of other origins may read the API (CORS): none, unless the operator names them.

No cookie and no other credential that a browser adds by itself is used, so a page of another origin cannot act for a
user (CSRF): it would need the user's token, which it cannot read.
"""

from __future__ import annotations

from collections.abc import Collection
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from offchain.errors import OurError

_METHODS: Final = "GET, POST, DELETE"
_REQUEST_HEADERS: Final = "Authorization, Content-Type, If-None-Match, Last-Event-ID"
_ANSWER_HEADERS: Final = "ETag, Gantry-Block, Link, Retry-After"
_AGE_S: Final = 600


def checked_origin(text: str) -> str:
    """Return an origin as browsers send it. Raises OurError for other texts."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or text != f"{parts.scheme}://{parts.netloc}".lower() or "@" in parts.netloc:
        raise OurError(
            f"{text!r} is not an origin.", "Write it like https://console.example.org, without a path.", code="usage"
        )
    return text


class CorsPolicy:
    """`origins`: those whose pages may read answers."""

    def __init__(self, origins: Collection[str]) -> None:
        self._origins = frozenset(map(checked_origin, origins))

    async def add_headers(self, request: web.Request, answer: web.StreamResponse) -> None:
        """Add the headers of an answer to a page, before it is sent."""
        if not self._origins:
            return
        answer.headers.add("Vary", "Origin")
        if (origin := request.headers.get("Origin")) in self._origins:
            answer.headers["Access-Control-Allow-Origin"] = str(origin)
            answer.headers["Access-Control-Expose-Headers"] = _ANSWER_HEADERS

    def preflight(self, request: web.Request) -> web.Response | None:
        """Return the answer to a browser that asks before it sends a request; None for other requests."""
        asks = request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers
        if not asks or request.headers.get("Origin") not in self._origins:
            return None
        return web.Response(
            status=HTTPStatus.NO_CONTENT,
            headers={
                "Access-Control-Allow-Methods": _METHODS,
                "Access-Control-Allow-Headers": _REQUEST_HEADERS,
                "Access-Control-Max-Age": str(_AGE_S),
            },
        )
