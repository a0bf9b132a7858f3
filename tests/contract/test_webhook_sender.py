"""Connections of the notifier to the receivers of webhooks: which it makes, and why it failed."""

import asyncio
import socket

import pytest
from aiohttp.abc import AbstractResolver

from offchain.services.notifications.sending import NotDelivered, WebhookSender
from tests.support.webhook_receiver import webhook_receiver


@pytest.fixture
async def receiver():
    async with webhook_receiver() as made:
        yield made


class OneAddress(AbstractResolver):
    """Says that each name has this address."""

    def __init__(self, address):
        self.address = address

    async def resolve(self, host, port=0, family=0):  # noqa: ARG002  (aiohttp's signature)
        return [{"hostname": host, "host": self.address, "port": port, "family": 2, "proto": 0, "flags": 0}]

    async def close(self):
        pass


async def test_private_addresses_are_not_connected_to(receiver):
    port = receiver.url.rpartition(":")[2]
    for url in (receiver.url, f"http://hooks.example.org:{port}/", f"http://[::ffff:127.0.0.1]:{port}/"):
        async with WebhookSender(resolver=lambda: OneAddress("127.0.0.1")) as hooks:
            with pytest.raises(NotDelivered, match="the host has no public address"):
                await hooks.send(url, "key", "id", "{}")
    assert receiver.got == []


async def test_a_failure_names_its_cause():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and does not listen
        port = bound.getsockname()[1]
        async with WebhookSender(public_only=False) as hooks:
            with pytest.raises(NotDelivered, match="the receiver cannot be connected to"):
                await hooks.send(f"http://127.0.0.1:{port}/", "key", "id", "{}")


async def test_a_server_without_tls_is_named_as_the_cause(receiver):
    async with WebhookSender(public_only=False) as hooks:
        with pytest.raises(NotDelivered, match="TLS failed"):
            await hooks.send(receiver.url.replace("http:", "https:"), "key", "id", "{}")


async def test_a_receiver_that_does_not_answer_is_left():
    left = asyncio.Event()

    async def silent(reader, writer):
        assert await reader.readline()
        while await reader.readline():
            pass
        writer.close()
        left.set()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with WebhookSender(public_only=False, timeout_s=0.2) as hooks:
        with pytest.raises(NotDelivered, match=r"the receiver did not answer within 0\.2 s"):
            await hooks.send(url, "key", "id", "{}")
    await left.wait()
    server.close()
