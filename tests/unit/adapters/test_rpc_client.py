"""The JSON-RPC client: pairing of replies and notifications, and connections that end."""

import asyncio
import json
from contextlib import aclosing, asynccontextmanager

import pytest
from websockets.asyncio.server import serve

from offchain.adapters.chain.rpc import RpcClient, RpcConnectionLost, RpcRefused, node_addresses
from offchain.errors import BadValue, ChainUnreachable


@asynccontextmanager
async def client(answer, patience_s=5.0):
    """A client of a server whose connections are served by `answer(connection)`."""
    async with serve(answer, "127.0.0.1", 0) as server:
        rpc = RpcClient(f"ws://localhost:{server.sockets[0].getsockname()[1]}", patience_s)
        try:
            yield rpc
        finally:
            await rpc.close()


def reply(request, result):
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result})


def notification(subscription, result):
    return json.dumps({"jsonrpc": "2.0", "method": "x", "params": {"subscription": subscription, "result": result}})


async def test_replies_in_another_order_reach_their_requests():
    async def answer(connection):
        requests = [json.loads(await connection.recv()) for _ in range(3)]
        for request in reversed(requests):
            await connection.send(reply(request, request["params"][0]))
        await connection.wait_closed()

    async with client(answer) as rpc:
        assert await asyncio.gather(*(rpc.call("echo", [n]) for n in range(3))) == [0, 1, 2]
        assert rpc.generation == 1


async def test_an_error_keeps_its_code_and_data():
    async def answer(connection):
        request = json.loads(await connection.recv())
        error = {"code": 1010, "message": "Invalid Transaction", "data": "stale"}
        await connection.send(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}))
        await connection.wait_closed()

    async with client(answer) as rpc:
        with pytest.raises(RpcRefused) as refused:
            await rpc.call("author_submitExtrinsic", ["0x"])
        assert (refused.value.code, refused.value.data, refused.value.again) == (1010, "stale", False)


async def test_notifications_right_behind_the_reply_are_delivered_and_the_end_unsubscribes():
    left = asyncio.get_running_loop().create_future()

    async def answer(connection):
        request = json.loads(await connection.recv())
        await connection.send(reply(request, "s1"))
        for number in range(3):
            await connection.send(notification("s1", number))
            await connection.send(notification("other", "not for us"))
        left.set_result(json.loads(await connection.recv()))
        await connection.wait_closed()

    async with client(answer) as rpc:
        async with aclosing(rpc.subscribe("sub", "unsub")) as found:
            assert [await anext(found) for _ in range(3)] == [0, 1, 2]
        unsubscribed = await left
        assert (unsubscribed["method"], unsubscribed["params"]) == ("unsub", ["s1"])


async def test_a_subscription_ends_with_its_connection():
    async def answer(connection):
        await connection.send(reply(json.loads(await connection.recv()), "s1"))
        await connection.send(notification("s1", 1))

    async with client(answer) as rpc, aclosing(rpc.subscribe("sub", "unsub")) as found:
        assert await anext(found) == 1
        with pytest.raises(RpcConnectionLost):
            await anext(found)


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"method": "x"}', "\N{SNOWMAN}"])
async def test_after_a_message_that_is_no_json_rpc_the_request_is_sent_over_a_new_connection(text):
    first = [text]

    async def answer(connection):
        request = json.loads(await connection.recv())
        await connection.send(first.pop() if first else reply(request, "ok"))
        await connection.wait_closed()

    async with client(answer) as rpc:
        assert await rpc.call("anything", []) == "ok"
        assert rpc.generation == 2


async def test_a_node_that_does_not_answer_is_unreachable_after_the_timeout():
    async def answer(connection):
        await connection.wait_closed()

    async with client(answer, patience_s=0.2) as rpc:
        with pytest.raises(ChainUnreachable, match="no answer in time"):
            await rpc.call("anything", [])


@asynccontextmanager
async def named_server(name):
    """A server that answers each request with its name."""

    async def answer(connection):
        async for text in connection:
            await connection.send(reply(json.loads(text), name))

    async with serve(answer, "127.0.0.1", 0) as server:
        yield server, f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_the_next_node_is_used_while_one_is_away():
    async with named_server("first") as (first, here), named_server("second") as (_, there):
        rpc = RpcClient(f"{here}, {there}", 5.0)
        assert await rpc.call("system_name", []) == "first"
        first.close()
        await first.wait_closed()
        assert await rpc.call("system_name", []) == "second"
        assert rpc.generation == 2
        await rpc.close()


async def test_a_node_that_does_not_answer_is_left_for_the_next():
    async def silent(connection):
        await connection.wait_closed()

    async with serve(silent, "127.0.0.1", 0) as server, named_server("second") as (_, there):
        rpc = RpcClient(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]},{there}", 0.2)
        with pytest.raises(ChainUnreachable):
            await rpc.call("system_name", [])
        assert await rpc.call("system_name", []) == "second"
        await rpc.close()


async def test_the_reason_names_each_node_that_is_away():
    async with named_server("first") as (first, here), named_server("second") as (second, there):
        for server in (first, second):
            server.close()
            await server.wait_closed()
        with pytest.raises(ChainUnreachable) as unreachable:
            await RpcClient(f"{here},{there}", 0.2).call("system_name", [])
        assert f"{here}: nothing listens there; {there}: nothing listens there" in str(unreachable.value)


@pytest.mark.parametrize("text", ["", "ws://a,", "http://a", "ws://a,not a url", "ws://a:0"])
def test_each_of_several_addresses_is_checked(text):
    with pytest.raises(BadValue):
        node_addresses(text)
