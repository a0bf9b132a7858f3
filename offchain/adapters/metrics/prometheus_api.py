"""Client of the HTTP API of Prometheus: its alerts, and instant queries that this program makes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from offchain.adapters.http_bodies import BodyTooLong, read_body
from offchain.errors import OurError, TheirError

TIMEOUT_S: Final = 5.0
MOST_BYTES: Final = 4 << 20
"""Of an answer: some 10,000 alerts."""


class PrometheusAway(TheirError):  # noqa: N818
    """Prometheus does not answer, or with something else than it should."""

    code = "monitoring_away"


@dataclass(frozen=True, slots=True)
class PrometheusSample:
    """A value of an instant query, with its labels."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class PrometheusSeries:
    """The values of a range query of one series: Unix seconds and values."""

    labels: Mapping[str, str]
    values: tuple[tuple[float, float], ...]


class PrometheusApi:
    """Asks one Prometheus. Use :meth:`close` at the end."""

    def __init__(self, url: str) -> None:
        self._url = checked_prometheus_url(url)
        self._session: aiohttp.ClientSession | None = None

    async def alerts(self) -> list[dict[str, Any]]:
        """Return the pending and firing alerts as Prometheus has them. Raises PrometheusAway."""
        found = (await self._ask("/api/v1/alerts", {})).get("alerts")
        if not isinstance(found, list):
            raise _strange()
        return found

    async def query(self, expression: str) -> list[PrometheusSample]:
        """Return the present values of an expression that gives a vector. Raises PrometheusAway."""
        found = (await self._ask("/api/v1/query", {"query": expression})).get("result")
        try:
            return [PrometheusSample(dict(one["metric"]), float(one["value"][1])) for one in found or ()]
        except (TypeError, KeyError, ValueError, IndexError):
            raise _strange() from None

    async def query_range(self, expression: str, start_s: int, end_s: int, step_s: int) -> list[PrometheusSeries]:
        """Return the values of an expression at each step from start to end, Unix seconds. Raises PrometheusAway."""
        query = {"query": expression, "start": str(start_s), "end": str(end_s), "step": str(step_s)}
        found = (await self._ask("/api/v1/query_range", query)).get("result")
        try:
            return [
                PrometheusSeries(dict(one["metric"]), tuple((float(at), float(value)) for at, value in one["values"]))
                for one in found or ()
            ]
        except (TypeError, KeyError, ValueError):
            raise _strange() from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _ask(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
            self._session = aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False)
        try:
            async with self._session.get(self._url + path, params=query, allow_redirects=False) as answer:
                body = await read_body(answer, MOST_BYTES) if answer.status == 200 else b""
        except (aiohttp.ClientError, OSError) as error:
            raise PrometheusAway(
                f"Prometheus does not answer: {type(error).__name__}.", "Is it running? The page asks again."
            ) from None
        except BodyTooLong:
            raise PrometheusAway(
                f"Prometheus answered more than {MOST_BYTES >> 20} MiB.", "Are there so many alerts?"
            ) from None
        try:
            data = json.loads(body)["data"]
        except (ValueError, TypeError, KeyError):
            raise _strange() from None
        if not isinstance(data, dict):
            raise _strange()
        return data


def checked_prometheus_url(text: str) -> str:
    """Return the URL of a Prometheus without a slash at its end. Raises OurError."""
    try:
        parts = urlsplit(text)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or parts.query or parts.fragment or parts.username is not None:
        raise OurError(
            f"{text[:200]!r} is not the URL of a Prometheus.", "Write it like http://127.0.0.1:9090.", code="usage"
        )
    return text.rstrip("/")


def _strange() -> PrometheusAway:
    return PrometheusAway("Prometheus answered something else than its API does.", "Is the URL that of Prometheus?")
