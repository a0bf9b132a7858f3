"""gantry host list: which hosts it shows, and in which order."""

from __future__ import annotations

from typing import Any

import pytest
from cli_world import GTY, World, the_host

from offchain.adapters.keys import signer
from offchain.schema.chain_types import _generated_chain as gen
from tests.support.chain_records import device, zeroed

CHEAP, DEAR, PLAIN, PROVIDER = (
    signer.from_uri(f"//Host{name}").address for name in ("Cheap", "Dear", "Plain", "Provider")
)


def good_score() -> Any:
    good = gen.Beta(10_000_000, 0)
    parts = dict.fromkeys(("completed", "verified", "uptime", "start_latency", "rating"), good)
    return zeroed(gen.HostScore, sla=zeroed(gen.Sla), **parts).encode()


@pytest.fixture
def hosts(world: World) -> World:
    """A cheap A100 that is proven and taken, a dear simulated one that is free, and a host without GPUs."""
    world.chain.storage["Hosts", "Hosts"].clear()
    taken = {**device(model=b"A100").encode(), "milli_free": 0, "attested": True}
    cheap = the_host(devices=[taken])
    dear = the_host(devices=[device(model=b"A100", simulated=True).encode()], tier="Datacenter")
    plain = the_host(devices=[], region=b"north", provider=PROVIDER)
    world.put("Reputation", "HostScores", DEAR, good_score())
    cheap["ask"] = {**cheap["ask"], "gpu_per_hour": GTY, "gpu": []}
    dear["ask"] = {**dear["ask"], "gpu_per_hour": 3 * GTY, "gpu": []}
    for address, record in ((CHEAP, cheap), (DEAR, dear), (PLAIN, plain)):
        world.put("Hosts", "Hosts", address, record)
    return world


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ((), {CHEAP, DEAR, PLAIN}),
        (("--gpu", "a100"), {CHEAP, DEAR}),
        (("--gpu", "a100", "--free"), {DEAR}),
        (("--gpu", "a100", "--max-price", "1.5"), {CHEAP}),
        (("--free",), {DEAR}),
        (("--region", "north"), {PLAIN}),
        (("--free-gpus", "1"), {DEAR}),
        (("--free-gpus", "2"), set()),
        (("--attested",), {CHEAP}),
        (("--attested", "--free"), set()),
        (("--real", "--gpu", "a100"), {CHEAP}),
        (("--tier", "datacenter"), {DEAR}),
        (("--min-score", "0.6"), {DEAR}),
        (("--provider", PROVIDER), {PLAIN}),
    ],
)
def test_hosts_are_chosen_by_what_they_have(hosts: World, arguments: tuple[str, ...], shown: set[str]) -> None:
    status, out, _ = hosts.run("host", "list", *arguments)
    assert status == 0
    assert {address for address in (CHEAP, DEAR, PLAIN) if address in out} == shown


def test_the_cheapest_come_first(hosts: World) -> None:
    _, out, _ = hosts.run("host", "list", "--gpu", "A100", "--sort", "price")
    assert out.index(CHEAP) < out.index(DEAR)


def test_those_with_most_free_gpus_come_first(hosts: World) -> None:
    _, out, _ = hosts.run("host", "list", "--sort", "free")
    assert out.index(DEAR) < min(out.index(CHEAP), out.index(PLAIN))


def test_retired_hosts_are_shown_on_request(hosts: World) -> None:
    hosts.put("Hosts", "Hosts", PLAIN, the_host(status="Retired"))
    assert PLAIN not in hosts.run("host", "list")[1]
    assert PLAIN in hosts.run("host", "list", "--retired")[1]


def test_prices_of_cores_latency_and_sandboxes_are_shown_on_request(hosts: World) -> None:
    names = ["HOST", "STATUS", "REGION", "GPUS", "CORES", "MEMORY", "GPU/H", "SCORE", "LEASES"]
    record = the_host(devices=[], latency_ms=12)
    record["capabilities"] = record["capabilities"] | {"sandboxed": True}
    hosts.put("Hosts", "Hosts", PLAIN, record)
    header, *_ = hosts.run("host", "list")[1].splitlines()
    assert header.split() == names
    header, *rows = hosts.run("host", "list", "--wide")[1].splitlines()
    assert header.split() == [*names, "CORE/H", "LATENCY", "SANDBOX"]
    (row,) = [row for row in rows if row.startswith(PLAIN)]
    assert row.endswith("  0       0.1 GTY  12 ms    yes")


def test_it_says_that_no_host_matches(hosts: World) -> None:
    _, out, err = hosts.run("host", "list", "--gpu", "h100")
    assert (out, err) == ("", "No host matches.\n")
