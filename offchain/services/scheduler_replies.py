"""Decisions of schedulers about a task: fetched by HTTP, or from files on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from offchain.adapters.http_bodies import BodyTooLong, read_body
from offchain.errors import GantryError
from offchain.schema.protocol.decisions import MAX_ANSWER_BYTES, PATH, DecisionReport, parse
from offchain.schema.protocol.fields import WireError
from offchain.services.decision_reader import read

if TYPE_CHECKING:
    import aiohttp

_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class SchedulerReply:
    """The answer of a scheduler. `answer` is None if there is none, for this `reason`."""

    source: str
    answer: DecisionReport | None
    reason: str | None = None


def reserved_start(replies: Sequence[SchedulerReply]) -> int | None:
    """Return the earliest of the latest starts that schedulers have reserved."""
    standing = [one.answer.now for one in replies if one.answer is not None and one.answer.now is not None]
    return min((now.starts_by_ms for now in standing if now.starts_by_ms is not None), default=None)


async def ask_schedulers(sources: Sequence[str], task: int) -> tuple[SchedulerReply, ...]:
    """Ask schedulers about a task: URLs, or paths of folders or files with decisions."""
    if not any(is_url(source) for source in sources):
        return tuple(_from_file(source, task) for source in sources)
    import aiohttp  # noqa: PLC0415  (slow to load, and only where a scheduler is asked)

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_SECONDS)) as web:
        return tuple(await asyncio.gather(*(_ask_one(web, source, task) for source in sources)))


async def _ask_one(web: aiohttp.ClientSession, source: str, task: int) -> SchedulerReply:
    if not is_url(source):
        return _from_file(source, task)
    import aiohttp  # noqa: PLC0415  (as above)

    try:
        answer = parse(await _fetched(web, source.rstrip("/") + PATH.format(task=task)))
    except TimeoutError:
        return SchedulerReply(source, None, f"no answer within {_SECONDS:g} seconds")
    except WireError as error:
        return SchedulerReply(source, None, f"not the answer of a scheduler: {error}")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return SchedulerReply(source, None, f"unreachable: {error}")
    return (
        SchedulerReply(source, answer)
        if answer.task == task
        else SchedulerReply(source, None, "the answer is about another task")
    )


async def _fetched(web: aiohttp.ClientSession, url: str) -> bytes:
    async with web.get(url, allow_redirects=False) as answer:
        if answer.status not in (200, 404):
            raise WireError(f"status {answer.status}")
        try:
            return await read_body(answer, MAX_ANSWER_BYTES)
        except BodyTooLong:
            raise WireError(f"longer than {MAX_ANSWER_BYTES} bytes") from None


def _from_file(source: str, task: int) -> SchedulerReply:
    try:
        return SchedulerReply(source, read(Path(source), task))
    except GantryError as error:
        return SchedulerReply(source, None, f"{error.message} {error.hint}")


def is_url(source: str) -> bool:
    """Return whether a scheduler is named by its URL, and not by a path."""
    return urlsplit(source).scheme in ("http", "https")
