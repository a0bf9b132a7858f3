"""An API server on loopback over an index of made blocks, with a client."""

import contextlib

import aiohttp

from offchain.gateway.api.server import ApiServer, ApiSettings
from tests.support.api_client import Api
from tests.support.history_blocks import History
from tests.support.index_rig import opened


@contextlib.asynccontextmanager
async def history_api(address, blocks, documentation=(), **settings):
    """Yield a client of a server of the index at `address`, which gets this many blocks of `History(5)`.

    `documentation`: items that the index documents. `settings`: fields of `ApiSettings`. `db` of the client: the index.
    """
    db, index = opened(address)
    made = History(5)
    if documentation:
        index.document(documentation)
    index.add(list(made.blocks(blocks)))
    server = ApiServer(ApiSettings(host="127.0.0.1", port=0, index=address, **settings))
    async with server.listening() as url, aiohttp.ClientSession() as session:
        client = Api(url, session, index, made)
        client.db = db
        yield client
    db.close()
