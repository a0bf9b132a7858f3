"""Offers and devices as rows, from the records of hosts."""

import json
from dataclasses import replace

from offchain.indexer.offers import NO_EVIDENCE_PPM, HostAtBlock, device_rows, offer_rows
from offchain.schema.chain_types import _generated_chain as gen
from tests.support.chain_records import GTY, PPM, ask, device, host_record
from tests.support.history_blocks import HOSTS, PROVIDERS, TENANTS

HOST, PROVIDER, TENANT = HOSTS[0], PROVIDERS[0], TENANTS[0]


def offers(score=None, **changes):
    return list(offer_rows(HostAtBlock(HOST, 7, host_record(PROVIDER, **changes), score)))


def test_a_host_has_an_offer_for_each_model_and_simulated_devices_are_apart():
    devices = (
        device(),
        device(vram_mib=20_480),
        device(model=b"T4"),
        device(simulated=True),
    )
    found = {(row.model, row.simulated): row for row in offers(devices=devices)}
    assert {key: row.gpus for key, row in found.items()} == {("A100", 0): 2, ("T4", 0): 1, ("A100", 1): 1}
    assert found["A100", 0].vram_mib == 20_480
    assert {row.provider for row in found.values()} == {PROVIDER}
    assert {row.read_block for row in found.values()} == {7}


def test_only_devices_that_take_a_whole_lease_are_free():
    devices = (
        device(),
        device(milli_free=999, shared_by=TENANT),
        device(healthy=False),
        device(attested=True),
    )
    (found,) = offers(devices=devices, challenged=3)
    assert (found.gpus, found.gpus_free, found.attested) == (4, 1, 1)
    rows = list(device_rows(HostAtBlock(HOST, 7, host_record(PROVIDER, devices=devices, challenged=3), None)))
    assert [(row.place, row.milli_free, row.shared_by, row.healthy, row.challenged) for row in rows] == [
        (0, 1000, None, 1, 0),
        (1, 999, TENANT, 1, 0),
        (2, 1000, None, 0, 0),
        (3, 1000, None, 1, 1),
    ]


def test_the_price_is_that_of_the_shortest_unit_that_is_offered():
    listed = ask(gpu=(gen.GpuPrice(b"A100", 3 * GTY),), gpu_per_hour=GTY, hour_ppm=PPM // 2, day_ppm=PPM // 4)
    (found,) = offers(ask=listed)
    assert (found.price, found.billing) == (3 * GTY, "second")
    assert (found.price_second, found.price_hour, found.price_day) == (3 * GTY, 3 * GTY // 2, 3 * GTY // 4)
    (found,) = offers(ask=replace(listed, second_ppm=0))
    assert (found.price, found.billing, found.price_second) == (3 * GTY // 2, "hour", None)
    assert offers(ask=ask(second_ppm=0, hour_ppm=0, day_ppm=0)) == []


def test_a_low_list_price_does_not_hide_a_high_factor():
    (cheap,), (dear,) = offers(ask=ask(gpu_per_hour=9)), offers(ask=ask(gpu_per_hour=1, second_ppm=10 * PPM))
    assert cheap.price < dear.price


def test_a_host_without_gpus_offers_cores():
    (found,) = offers(devices=(), ask=ask(cpu_core_per_hour=5))
    assert (found.model, found.gpus, found.price, found.vendor) == ("", 0, 5, "")


def test_names_of_a_provider_cannot_break_a_database_or_a_page():
    (found,) = offers(devices=(device(model=b"A\0\xff\n\xe2\x80\xae"),), region=b"\0")
    assert found.model == "A\\x00\\xff\\n\\u202e"
    assert found.region == "\\x00"


def test_status_score_and_price_list_are_those_of_the_record():
    suspended = gen.HostStatusSuspended(gen.SuspendReason.SLASHED)
    (found,) = offers(status=suspended, bond=2**127)
    assert (found.status, found.score_ppm, found.bond) == ("Suspended(Slashed)", NO_EVIDENCE_PPM, 2**127)
    assert found.capabilities == "docker"
    assert json.loads(found.ask)["gpu_per_hour"] == GTY
