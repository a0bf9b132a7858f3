"""A server of the API over an index of made blocks and a chain in memory."""

import contextlib
import json

import aiohttp

from offchain.gateway.api import actions
from offchain.gateway.api.server import ApiServer, ApiSettings
from tests.support.chain_records import hosts_params, tasks_params
from tests.support.history_blocks import History
from tests.support.index_rig import opened
from tests.support.signing_chain import FakeSigningChain


class NodeApi:
    """A client of a server with a node."""

    def __init__(self, url, session, chain):
        self.url, self.session, self.chain = url, session, chain

    async def ask(self, method, path, status=200, *, body=None, **options):
        async with self.session.request(method, self.url + path, json=body, **options) as answer:
            text = await answer.text()
            assert answer.status == status, text
            return json.loads(text) if text else None

    async def build(self, account, status=200, /, **call):
        return await self.ask("POST", "/v1/extrinsics/build", status, body={"account": account, "call": call})

    async def submit(self, built, signer, status=202, **changes):
        payload = bytes.fromhex(built["signing_payload_hex"][2:])
        body = {
            "account": signer.address,
            "call_hex": built["call_hex"],
            "payload": built["payload"],
            "signature": f"0x{signer.sign(payload).hex()}",
        }
        return await self.ask("POST", "/v1/extrinsics", status, body=body | changes)


@contextlib.asynccontextmanager
async def node_api(tmp_path, monkeypatch, open_chain=None, writes_per_s=1000.0, open_proofs=None, **settings):
    """Serve an index, and a chain in memory or another one; yield a client."""
    monkeypatch.setattr(actions, "_WRITES_PER_S", writes_per_s)
    address = str(tmp_path / "index.db")
    db, index = opened(address)
    index.add(list(History(5).blocks(3)))
    chain = None
    if open_chain is None:
        chain = FakeSigningChain()
        chain.storage["Hosts", "Params"][()] = hosts_params()
        chain.storage["Tasks", "Params"][()] = tasks_params()
        await chain.produce(2)
    server = ApiServer(
        ApiSettings(
            **{"host": "127.0.0.1", "port": 0, "index": address, "requests_per_s": 1000, "console": tmp_path / "none"}
            | settings
        ),
        open_chain or (lambda: chain),
        open_proofs=open_proofs,
    )
    async with server.listening() as url, aiohttp.ClientSession() as session:
        yield NodeApi(url, session, chain)
    db.close()
