"""A gateway for the benchmark of the way to hosts, which has every host and every account.

Arguments: its port, and its seed in hex. Prints a line of JSON with its address, then one each time that the number of
its hosts has changed; serves until its input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys

from way_host import GENESIS, allow

from offchain.adapters.keys.signer import Ed25519Signer
from offchain.gateway.service import GatewayServer, listen, public_address

LOOK_EVERY_S = 0.02


def say(**facts: object) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


async def main(port: int, seed: bytes) -> None:
    key = Ed25519Signer(seed)
    transport = await listen(key, f"127.0.0.1:{port}")
    gateway = GatewayServer(transport, genesis_hash=GENESIS, authorise=allow)
    serving = asyncio.create_task(gateway.serve())
    say(address=public_address(key, transport.addresses, None).text)
    ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    hosts = 0
    while not ended.done():
        if gateway.relay.load.hosts != hosts:
            hosts = gateway.relay.load.hosts
            say(hosts=hosts)
        await asyncio.wait({ended}, timeout=LOOK_EVERY_S)
    await gateway.close()
    await serving


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), bytes.fromhex(sys.argv[2])))
