"""Visits to gateways and peers by a stand-in of the way to them, and what the chain is told."""

import contextlib

import pytest

from node_agent.telemetry.network_probe import LARGE_BYTES, SMALL_BYTES, NetworkProber
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.transport.port import HostUnreachable
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.protocol.gateway import GatewayAddress
from tests.support.chain_records import host_record
from tests.support.fake_chain import FakeChain

ME, *PEERS = (from_uri(f"//Host{number}", "ed25519").address for number in range(5))
GATEWAY = GatewayAddress(from_uri("//Gateway", "ed25519").address, "127.0.0.1", 9)
PERIOD_MS = 60_000
PARAMS = gen.HostsParams(
    *(10, 20, 30, PERIOD_MS, 3 * PERIOD_MS, 1, 1),
    allow_simulated=True,
    verification_required=False,
    halt_after_ms=PERIOD_MS,
    free_weight_us=5_000,
)


class Ways:
    """Peers by the last digit of their port: how fast each is in Mbit/s; 0: it refuses probes; None: it is away."""

    def __init__(self, speeds):
        self.speeds = speeds
        self.visited = []

    @contextlib.asynccontextmanager
    async def open(self, key, addresses):
        assert len(key) == 32
        assert not any("@" in address for address in addresses)
        name = addresses[0][-1]
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

    async def probe_up(self, size):
        return await self.probe(size * 4)


class Host:
    """The agent, as far as the prober needs it. The chain takes what it is told."""

    def __init__(self):
        self.port = FakeChain()
        self.chain, self.host, self.sent = GantryChain(self.port), ME, []
        self.port.storage["Hosts", "Params"][()] = PARAMS.encode()
        statuses = [gen.HostStatusOnline(), gen.HostStatusOnline(), gen.HostStatusOnline(), gen.HostStatusOffline()]
        for number, (peer, status) in enumerate(zip(PEERS, statuses, strict=True)):
            endpoint = f"192.0.2.1:{number + 1},{GATEWAY.text}".encode()
            self.put(peer, host_record("5P", status=status, endpoint=endpoint))
        self.put(ME, host_record("5P", endpoint=b"me", last_heartbeat=1))

    def put(self, host, record):
        self.port.storage["Hosts", "Hosts"][(host,)] = record.encode()

    async def send(self, key, call):
        assert key == "network"
        self.sent.append((call.args["down_mbps"], call.args["up_mbps"], call.args["latency_ms"]))
        return True


def prober(ways, *gateways):
    return NetworkProber(ways.open, gateways, now_ms=lambda: 5)


def gateway_only(mbps):
    """All peers are away."""
    return Ways({"1": None, "2": None, "3": None, "9": mbps})


@pytest.fixture
def host():
    return Host()


async def test_peers_that_are_online_are_measured(host):
    ways = Ways({"1": 100, "2": 1000, "3": 600})
    made = prober(ways)
    assert made.facts() == {}
    await made.round(host)
    assert sorted(ways.visited) == ["1", "2", "3"]
    facts = made.facts()
    assert (facts["peers"], facts["mbps_down"], facts["class_mbps"], facts["class_up_mbps"]) == (3, 600.0, 500, 100)
    assert "600 Mbit/s from them, 150 Mbit/s to them" in facts["summary"]
    sizes = {transfer.size for samples in made.book.samples.values() for transfer in samples[0].transfers_up}
    assert sizes == {SMALL_BYTES, LARGE_BYTES}


async def test_peers_that_are_away_or_refuse_are_no_reason_to_stop(host):
    ways = Ways({"1": None, "2": 0, "3": 600, "9": None})
    made = prober(ways, GATEWAY)
    await made.round(host)
    facts = made.facts()
    assert (facts["peers"], facts["gateways"], facts["mbps_down"], facts["class_mbps"]) == (2, 0, None, 0)
    assert "not known yet" in facts["summary"]
    await made.report(host)
    assert host.sent == []


async def test_the_chain_is_told_the_classes_once_the_gateway_was_visited(host):
    made = prober(gateway_only(2000), GATEWAY)
    await made.round(host)
    assert host.sent == [(1000, 500, 1)]
    assert "1 gateway," in made.facts()["summary"]
    await made.report(host)
    assert host.sent == [(1000, 500, 1)]


async def test_what_the_chain_has_already_is_not_said(host):
    host.put(ME, host_record("5P", last_heartbeat=1, network_mbps_down=1000, network_mbps_up=500, latency_ms=3))
    made = prober(gateway_only(2000), GATEWAY)
    await made.round(host)
    assert host.sent == []


async def test_a_latency_is_published_without_a_bandwidth_and_the_chains_bandwidth_stays(host):
    host.put(ME, host_record("5P", last_heartbeat=1, network_mbps_down=250, network_mbps_up=100))
    made = prober(gateway_only(0), GATEWAY)
    await made.round(host)
    assert host.sent == [(250, 100, 1)]
    assert (made.facts()["told_latency_ms"], made.facts()["class_mbps"]) == (1, 0)


async def test_a_bandwidth_is_published_without_a_latency_and_the_chains_latency_stays(host):
    host.put(ME, host_record("5P", last_heartbeat=1, latency_ms=30))
    made = prober(Ways({"1": 2000, "2": 2000, "3": None}))
    await made.round(host)
    await made.report(host)
    assert host.sent == [(1000, 500, 30)]
    assert made.facts()["told_latency_ms"] == 0


async def test_device_health_is_reported_when_the_call_is_free(host):
    host.port.storage["Hosts", "NetworkMeasuredAt"][(ME,)] = 1_000
    host.port.storage["Timestamp", "Now"][()] = 1_000 + PERIOD_MS - 1
    made = prober(gateway_only(2000), GATEWAY)
    await made.round(host)
    assert host.sent == []
    host.port.storage["Timestamp", "Now"][()] = 1_000 + PERIOD_MS
    await made.report(host)
    assert host.sent == [(1000, 500, 1)]


@pytest.mark.parametrize("status", [gen.HostStatusRetired(), gen.HostStatusRetiring(9)])
async def test_a_host_that_leaves_says_nothing(host, status):
    host.put(ME, host_record("5P", status=status, last_heartbeat=1))
    made = prober(gateway_only(2000), GATEWAY)
    await made.round(host)
    assert host.sent == []
