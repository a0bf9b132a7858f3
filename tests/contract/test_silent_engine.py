"""Pulls of an engine that goes silent in the middle of one."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from node_agent.images import docker_engine
from node_agent.images.docker_engine import DockerImages
from node_agent.images.ports import PullRefused
from node_agent.images.registries import RegistryRules, parse_allowed
from node_agent.images.registry_client import RegistryClient


@asynccontextmanager
async def silent_engine(socket, allowed):
    """Give the images of an engine that begins each pull and says nothing more, and an event of the beginning."""
    begun = asyncio.Event()

    async def answer(request):
        if request.path == "/version":
            return web.json_response({"ApiVersion": "1.41"})
        return web.json_response({"DockerRootDir": "/"})

    async def pull(request):
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"status": "Pulling from an engine that goes silent"}\r\n')
        begun.set()
        await asyncio.Event().wait()
        return response

    application = web.Application()
    application.add_routes([web.post("/v1.41/images/create", pull), web.get("/{path:.*}", answer)])
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.UnixSite(runner, str(socket)).start()
    images = DockerImages(f"unix://{socket}", RegistryClient(RegistryRules(frozenset({parse_allowed(allowed)}))))
    try:
        yield images, begun
    finally:
        await images.close()
        await runner.cleanup()


pytestmark = [pytest.mark.docker, pytest.mark.parametrize("registries", ["docker"], indirect=True)]


async def test_a_pull_without_a_message_for_too_long_is_abandoned(registries, tmp_path, monkeypatch):
    monkeypatch.setattr(docker_engine, "SILENCE_S", 0.5)
    image = registries.publish()
    async with (
        asyncio.timeout(60),
        silent_engine(tmp_path / "sock", f"http://{registries.origin.address}") as (images, _),
    ):
        with pytest.raises(PullRefused, match="the engine went silent"):
            await images.pull(image.reference, lambda *_: True, lambda *_: None)


async def test_a_pull_of_a_silent_engine_ends_when_the_agent_does(registries, tmp_path):
    image = registries.publish()
    address = f"http://{registries.origin.address}"
    async with asyncio.timeout(60), silent_engine(tmp_path / "sock", address) as (images, begun):
        pulling = asyncio.create_task(images.pull(image.reference, lambda *_: True, lambda *_: None))
        await begun.wait()
        await images.close()
        with pytest.raises(PullRefused, match="the agent is stopping"):
            await pulling
