"""A web server on loopback that keeps what is posted to it."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from aiohttp import web


@dataclass
class WebhookReceiver:
    """`status`: what it answers; `got`: headers and body of each request."""

    url: str = ""
    status: int = 200
    got: list[tuple[Mapping[str, str], bytes]] = field(default_factory=list)

    async def post(self, request: web.Request) -> web.Response:
        self.got.append((request.headers, await request.read()))
        return web.Response(status=self.status, headers={"Location": self.url + "/other"})


@contextlib.asynccontextmanager
async def receiving(answer: Callable[[web.Request], Awaitable[web.Response]]) -> AsyncIterator[str]:
    """Answer the requests of all methods and paths on a port of loopback; yields its address."""
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def webhook_receiver() -> AsyncIterator[WebhookReceiver]:
    made = WebhookReceiver()
    async with receiving(made.post) as made.url:
        yield made
