"""A gateway's key, address and port."""

import os
import stat

import pytest

from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.transport.websocket import WsTransport
from offchain.errors import BadKey, OurError
from offchain.gateway.service import KEY, gateway_address, listen, own_key, public_address


def test_its_key_is_made_once_and_nobody_else_may_read_it(tmp_path):
    folder = tmp_path / "gateway"
    key = own_key(folder)
    assert own_key(folder).public_key == key.public_key
    assert stat.S_IMODE((folder / KEY).stat().st_mode) == 0o600
    (folder / KEY).chmod(0o644)
    with pytest.raises(BadKey, match="chmod 600"):
        own_key(folder)


def test_its_address_is_known_before_it_runs(tmp_path):
    key = own_key(tmp_path)
    assert gateway_address(tmp_path, "0.0.0.0:4435", "gw.example.org:443").text == f"{key.address}@gw.example.org:443"
    assert gateway_address(tmp_path, "192.0.2.1:4435", None).text == f"{key.address}@192.0.2.1:4435"
    for bind in ("0.0.0.0:4435", "[::]:4435", "127.0.0.1:0"):
        with pytest.raises(OurError, match="--public"):
            gateway_address(tmp_path, bind, None)
    with pytest.raises(OurError, match="--public nonsense"):
        public_address(key, (), "nonsense")


async def test_it_listens_on_one_port_for_tcp_and_udp_or_reports_an_error():
    key = Ed25519Signer(os.urandom(32))
    taken = await WsTransport.bind(os.urandom(32))
    with pytest.raises(OurError, match="--bind"):
        await listen(key, f"127.0.0.1:{taken.port}")
    await taken.close()
    transport = await listen(key, "127.0.0.1:0")
    quic, websocket = transport.addresses
    assert websocket == f"wss://{quic}"
    await transport.close()
