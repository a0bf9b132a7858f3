"""Asks schedulers what they decided about a task and why: those that answer by HTTP, and files on this machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from offchain.cli.kit import network as networks
from offchain.errors import GantryError
from offchain.schema.protocol.decisions import MAX_ANSWER_BYTES, PATH, DecisionReport, parse
from offchain.schema.protocol.fields import WireError
from offchain.services.decision_reader import read

if TYPE_CHECKING:  # slow to load, and only where a scheduler is asked
    import aiohttp

VARIABLE: Final = "GANTRY_SCHEDULER"
_SECONDS: Final = 5.0
_CHUNK: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Heard:
    """What one scheduler said. `told` None: it did not answer, for this `reason`."""

    source: str
    told: DecisionReport | None
    reason: str | None = None


def choose(given: Sequence[str], url: str | None) -> tuple[str, ...]:
    """Whom to ask: those given, else those of GANTRY_SCHEDULER, else those of the local network, if it is asked."""
    named = tuple(given) or tuple(os.environ.get(VARIABLE, "").split())
    return tuple(dict.fromkeys(named or networks.choose(url).schedulers))


async def ask(sources: Sequence[str], task: int) -> tuple[Heard, ...]:
    """What these say of a task: URLs, or the paths of folders or files with decisions."""
    if not any(_is_url(source) for source in sources):
        return tuple(_from_file(source, task) for source in sources)
    import aiohttp  # noqa: PLC0415  (slow to load, and only where a scheduler is asked)

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_SECONDS)) as web:
        return tuple(await asyncio.gather(*(_heard(web, source, task) for source in sources)))


async def _heard(web: aiohttp.ClientSession, source: str, task: int) -> Heard:
    if not _is_url(source):
        return _from_file(source, task)
    try:
        told = parse(await _fetched(web, source.rstrip("/") + PATH.format(task=task)))
    except TimeoutError:
        return Heard(source, None, f"no answer within {_SECONDS:g} seconds")
    except WireError as error:
        return Heard(source, None, f"its answer is none of a scheduler: {error}")
    except (OSError, ValueError) as error:
        return Heard(source, None, f"it cannot be reached: {error}")
    return Heard(source, told) if told.task == task else Heard(source, None, "it answers for another task")


async def _fetched(web: aiohttp.ClientSession, url: str) -> bytes:
    async with web.get(url, allow_redirects=False) as answer:
        if answer.status not in (200, 404):
            raise WireError(f"status {answer.status}")
        data = bytearray()
        async for chunk in answer.content.iter_chunked(_CHUNK):
            data += chunk
            if len(data) > MAX_ANSWER_BYTES:
                raise WireError(f"longer than {MAX_ANSWER_BYTES} bytes")
        return bytes(data)


def _from_file(source: str, task: int) -> Heard:
    try:
        return Heard(source, read(Path(source), task))
    except GantryError as error:
        return Heard(source, None, f"{error.message} {error.remedy}")


def _is_url(source: str) -> bool:
    return urlsplit(source).scheme in ("http", "https")
