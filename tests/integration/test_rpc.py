"""What pages of a browser on this machine, and strangers, get from the RPC server of the local network."""

import aiohttp
import pytest

from tests.support.local_network import Net

CHAIN_NAME = {"id": 1, "jsonrpc": "2.0", "method": "system_chain", "params": []}
ROTATE_KEYS = CHAIN_NAME | {"method": "author_rotateKeys"}


async def asked(net: Net, call: dict[str, object], **headers: str) -> tuple[int, str]:
    """Send a call over HTTP; return status and body."""
    url = net.url.replace("ws://", "http://")
    async with aiohttp.ClientSession() as session, session.post(url, json=call, headers=headers) as answer:
        return answer.status, await answer.text()


@pytest.mark.parametrize("headers", [{}, {"Origin": "http://localhost:3000"}, {"Origin": "http://127.0.0.1"}], ids=str)
async def test_programs_and_pages_of_this_machine_are_answered(net: Net, headers: dict[str, str]) -> None:
    status, body = await asked(net, CHAIN_NAME, **headers)
    assert (status, "Gantry" in body) == (200, True), body


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Host": "evil.example:9944"}], ids=str)
async def test_a_page_that_resolves_its_name_to_this_machine_is_refused(net: Net, headers: dict[str, str]) -> None:
    status, body = await asked(net, CHAIN_NAME, **headers)
    assert (status, "Gantry" in body) == (403, False), body


async def test_a_page_of_another_origin_may_not_read_an_answer(net: Net) -> None:
    """Browsers ask first, and need the header. They do not ask for websockets, so only safe methods are served."""
    url = net.url.replace("ws://", "http://")
    for origin, allowed in (("http://evil.example", False), ("https://polkadot.js.org", True)):
        headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        async with aiohttp.ClientSession() as session, session.options(url, headers=headers) as answer:
            assert ("Access-Control-Allow-Origin" in answer.headers) is allowed, origin


async def test_methods_that_change_the_node_are_refused(net: Net) -> None:
    _, body = await asked(net, ROTATE_KEYS)
    assert "unsafe" in body
