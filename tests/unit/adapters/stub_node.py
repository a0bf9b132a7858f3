"""A node's RPC, as far as the adapter's way with connections needs one."""

import asyncio
import json
from contextlib import asynccontextmanager
from pathlib import Path

from websockets.asyncio.server import serve

from offchain.schema.chain_types import _generated_chain as made_for

METADATA = (Path(__file__).parents[3] / "chain/metadata/gantry.scale").read_bytes()
GENESIS = "0x" + "11" * 32
HASH = "0x" + "22" * 32
VERSION = {
    "specName": made_for.SPEC_NAME,
    "specVersion": made_for.SPEC_VERSION,
    "transactionVersion": made_for.TRANSACTION_VERSION,
}
"""That of the runtime whose metadata is committed."""


def header(number):
    return {
        "number": hex(number),
        "parentHash": HASH,
        "stateRoot": HASH,
        "extrinsicsRoot": HASH,
        "digest": {"logs": []},
    }


class Refusal(Exception):  # noqa: N818 - it is an answer
    """Becomes an error object: code, message, data."""


class StubNode:
    def __init__(self):
        self.genesis = GENESIS
        self.version = dict(VERSION)
        self.metadata = METADATA
        self.best = self.final = 7
        self.submitted = []
        self.refusal = None  # of an extrinsic
        self.refused = {}  # [method]: Refusal
        self.drop_after = None  # method: the connection is cut instead of answering it once
        self.heads = asyncio.Queue()
        self.connections = 0
        self.subscribed = asyncio.Queue()
        self._server = None
        self.port = 0

    @property
    def url(self):
        return f"ws://127.0.0.1:{self.port}"

    async def start(self):
        self._server = await serve(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self):
        self._server.close()
        await self._server.wait_closed()

    async def cut(self):
        """Cut all connections, and go on listening."""
        for connection in list(self._server.connections):
            connection.transport.abort()

    async def _serve(self, connection):
        self.connections += 1
        feeds = []
        try:
            async for text in connection:
                request = json.loads(text)
                method, params = request["method"], request["params"]
                if method == self.drop_after:
                    self.drop_after = None
                    self._note(method, params)
                    connection.transport.abort()
                    return
                reply = {"jsonrpc": "2.0", "id": request["id"]}
                try:
                    reply["result"] = self._answer(method, params)
                except Refusal as refusal:
                    code, message, data = refusal.args
                    reply["error"] = {"code": code, "message": message, "data": data}
                await connection.send(json.dumps(reply))
                if method == "chain_subscribeFinalizedHeads":
                    await self.subscribed.put(method)
                    feeds.append(asyncio.ensure_future(self._feed(connection)))
        finally:
            for feed in feeds:
                feed.cancel()

    async def _feed(self, connection):
        while True:
            number = await self.heads.get()
            params = {"subscription": "s1", "result": header(number)}
            await connection.send(json.dumps({"jsonrpc": "2.0", "method": "x", "params": params}))

    def _note(self, method, params):
        if method == "author_submitExtrinsic":
            self.submitted.append(params[0])

    def _answer(self, method, params):  # noqa: C901, PLR0911 - one line for each method
        self._note(method, params)
        if method in self.refused:
            raise self.refused[method]
        match method:
            case "chain_getBlockHash":
                return self.genesis
            case "state_getRuntimeVersion":
                return self.version
            case "state_getMetadata":
                return "0x" + self.metadata.hex()
            case "chain_subscribeFinalizedHeads":
                return "s1"
            case "chain_getFinalizedHead":
                return HASH
            case "chain_getHeader":
                return header(self.final if params else self.best)
            case "system_chain":
                return "Stub"
            case "author_submitExtrinsic":
                if self.refusal:
                    raise self.refusal
                return HASH
            case "system_accountNextIndex":
                return 3
            case "state_getStorage":
                raise Refusal(4003, "Client error: UnknownBlock: State already discarded for 0x12", None)
        raise Refusal(-32601, "Method not found", None)


@asynccontextmanager
async def stub_node():
    node = StubNode()
    await node.start()
    try:
        yield node
    finally:
        await node.stop()
