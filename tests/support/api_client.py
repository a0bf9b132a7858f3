"""A client of the HTTP API for tests."""

import asyncio
import json


class Api:
    """A client of a server of an index that grows."""

    def __init__(self, url, session, index=None, history=None, server=None):
        self.url, self.session, self.index, self.history, self.server = url, session, index, history, server

    def grow(self, blocks):
        """Write more blocks, and return their last number."""
        made = list(self.history.blocks(blocks))
        self.index.add(made)
        return made[-1].ref.number

    async def get(self, path, status=200, **options):
        async with self.session.get(self.url + path, **options) as answer:
            text = await answer.text()
            assert answer.status == status, text
            return json.loads(text) if text else None

    async def all(self, path):
        """Return the entries of all pages."""
        found, after = [], ""
        while True:
            page = await self.get(path + after)
            found += page["data"]
            if page["next"] is None:
                return found
            after = f"{'&' if '?' in path else '?'}after={page['next']}"

    async def stream(self, path="/v1/events/stream", **options):
        """Open a stream of events; it has begun."""
        answer = await self.session.get(self.url + path, **options)
        assert answer.status == 200, await answer.text()
        assert await answer.content.readline() == b": connected\n"
        return answer


async def received(answer, wanted):
    """Return this number of events of a stream, and close it."""
    found = []
    async with asyncio.timeout(20), answer:
        async for line in answer.content:
            if line.startswith(b"data: "):
                found.append(json.loads(line[6:]))
                if len(found) == wanted:
                    return found
    raise AssertionError(f"the stream ended after {len(found)} events")
