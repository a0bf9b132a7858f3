"""The network's gateway: what the host measured of it, and the way to a host whose own ports are closed."""

import contextlib
import subprocess
from collections.abc import Iterator

import pytest

from offchain.schema.chain_types._generated_chain import HostRecord
from offchain.schema.protocol.gateway import is_gateway, parse_gateway
from offchain.schema.protocol.messages import parse_endpoint
from tests.support.local_network import TENANT, Done, Net

STEPS = 2


async def the_host(net: Net) -> HostRecord:
    return next(record for record in (await net.typed.hosts()).values() if record.status.tag == "Online")


async def test_the_chain_has_the_class_of_the_hosts_network_both_ways_and_its_latency(net: Net):
    async def look() -> HostRecord | None:
        record = await the_host(net)
        return record if all((record.network_mbps_down, record.network_mbps_up, record.latency_ms)) else None

    record: HostRecord = await net.each_block(look, "the host to say how good its network is")
    # Both are on this machine.
    assert min(record.network_mbps_down, record.network_mbps_up) >= 10
    assert record.latency_ms < 1_000


async def test_the_host_names_its_gateway_and_doctor_reaches_it(net: Net):
    (named,) = filter(is_gateway, parse_endpoint((await the_host(net)).endpoint))
    assert named == (net.state / "gateway" / "address").read_text(encoding="utf-8").strip()
    done = await net.gantry("doctor")
    assert f"{named} answers in" in done.out, done.said


@contextlib.contextmanager
def closed(ports: set[int], gateway_port: int) -> Iterator[None]:
    """Nobody gets to these ports of this machine but the gateway, whose answers come there."""
    rules = [
        rule
        for port in map(str, ports)
        for rule in (
            ("-p", "udp", "--dport", port, "!", "--sport", str(gateway_port), "-j", "REJECT"),
            ("-p", "tcp", "--dport", port, "-j", "REJECT"),
        )
    ]
    made: list[tuple[str, ...]] = []
    try:
        for rule in rules:
            subprocess.run(["iptables", "-w", "-I", "INPUT", *rule], check=True)
            made.append(rule)
        yield
    finally:
        for rule in made:
            subprocess.run(["iptables", "-w", "-D", "INPUT", *rule], check=True)


@pytest.fixture
async def finished(net: Net) -> int:
    number = await net.submit(STEPS)
    await net.until(number, {"Reported", "Verified", "Settled"})
    return number


async def test_logs_come_through_the_gateway_where_the_hosts_ports_are_closed(net: Net, finished: int):
    addresses = parse_endpoint((await the_host(net)).endpoint)
    ports = {int(address.rpartition(":")[2]) for address in addresses if not is_gateway(address)}
    (gateway,) = (parse_gateway(address) for address in addresses if is_gateway(address))
    command = ("logs", str(finished), "--account", TENANT)
    direct = await net.check(*command)
    assert f"step {STEPS} of {STEPS}" in direct.out
    assert "gateway" not in direct.err
    with closed(ports, gateway.port):

        async def through() -> Done | None:
            # A host that has lost its stream to the gateway makes another by itself.
            done = await net.gantry(*command)
            return done if (done.code, done.out) == (0, direct.out) else None

        first: Done = await net.each_block(through, "logs through the gateway")
        assert "connecting through a gateway" in first.err
        killed = net.kill("gateway")
        await net.each_block(through, "logs through the gateway that was started again")
        assert net.pid("gateway") != killed
