"""Visits to peers, by a stand-in of the way to them."""

import contextlib

import pytest

from node_agent.netprobe import LARGE_BYTES, SMALL_BYTES, Prober
from offchain.link.fake import FakeChain
from offchain.link.keys import from_uri
from offchain.link.p2p import HostUnreachable
from offchain.link.typed import GantryChain
from offchain.schema import _generated_chain as gen
from tests.chain_records import host_record

ME, *PEERS = (from_uri(f"//Host{number}", "ed25519").address for number in range(5))


class Ways:
    """Peers by endpoint: how fast each is in Mbit/s; 0: it refuses probes; None: it is away."""

    def __init__(self, speeds):
        self.speeds = speeds
        self.visited = []

    @contextlib.asynccontextmanager
    async def open(self, key, endpoint):
        assert len(key) == 32
        name = endpoint.decode()
        self.visited.append(name)
        yield Visit(self.speeds[name])


class Visit:
    def __init__(self, mbps):
        self.mbps = mbps

    async def ping(self):
        if self.mbps is None:
            raise HostUnreachable("away")

    async def probe(self, size):
        if not self.mbps:
            raise HostUnreachable("refused")
        return 0.01 + size * 8 / self.mbps / 1e6


@pytest.fixture
def chain():
    made = FakeChain()
    statuses = [gen.HostStatusOnline(), gen.HostStatusOnline(), gen.HostStatusOnline(), gen.HostStatusOffline()]
    for number, (peer, status) in enumerate(zip(PEERS, statuses, strict=True)):
        record = host_record("5P", status=status, endpoint=f"p{number}".encode())
        made.storage["Hosts", "Hosts"][(peer,)] = record.encode()
    made.storage["Hosts", "Hosts"][(ME,)] = host_record("5P", endpoint=b"me").encode()
    return GantryChain(made)


async def test_peers_that_are_online_are_measured(chain):
    ways = Ways({"p0": 100, "p1": 1000, "p2": 600})
    prober = Prober(ways.open, now_ms=lambda: 5, between_s=0)
    assert prober.facts() == {}
    await prober.round(chain, ME)
    assert sorted(ways.visited) == ["p0", "p1", "p2"]
    facts = prober.facts()
    assert (facts["peers"], facts["mbps_down"], facts["class_mbps"]) == (3, 600.0, 500)
    assert "600 Mbit/s from peers" in facts["summary"]
    sizes = {transfer.size for samples in prober.book.samples.values() for transfer in samples[0].transfers}
    assert sizes == {SMALL_BYTES, LARGE_BYTES}


async def test_peers_that_are_away_or_refuse_are_no_reason_to_stop(chain):
    ways = Ways({"p0": None, "p1": 0, "p2": 600})
    prober = Prober(ways.open, now_ms=lambda: 5, between_s=0)
    await prober.round(chain, ME)
    facts = prober.facts()
    assert (facts["peers"], facts["mbps_down"], facts["class_mbps"]) == (2, None, 0)
    assert "not known yet" in facts["summary"]
