"""The data of a lease, with every driver: volumes and snapshots, which outlive the pod, and the disk they take."""

import dataclasses

import driver_cases as case
import pytest

from node_agent.drivers.port import ImageUnavailable, PodGone, ResourcesUnavailable, SnapshotRefused
from offchain.schema.protocol.snapshots import MAX_SNAPSHOTS


async def test_volumes_outlive_the_pod_until_they_are_purged(setup):
    spec = setup.keeper()
    assert (await case.ended(setup.driver, await case.up(setup.driver, spec))).exit_code == 0
    await setup.driver.destroy(spec.lease, keep_data=True)
    assert [volume.name for volume in await setup.driver.volumes(spec.lease)] == ["data"]
    assert spec.lease in await setup.driver.leases()
    assert (await case.ended(setup.driver, await case.up(setup.driver, spec, start=2))).exit_code == 9
    await setup.driver.destroy(spec.lease, keep_data=True)
    await setup.driver.purge(spec.lease)
    await setup.driver.purge(spec.lease)
    assert await setup.driver.volumes(spec.lease) == ()
    assert spec.lease not in await setup.driver.leases()


async def test_volumes_go_with_a_pod_that_keeps_no_data(setup):
    spec = setup.keeper()
    await case.up(setup.driver, spec)
    await setup.driver.destroy(spec.lease, keep_data=False)
    assert await setup.driver.volumes(spec.lease) == ()
    assert spec.lease not in await setup.driver.leases()


async def test_another_lease_takes_over_the_data_and_the_first_cannot_delete_it(setup):
    first = setup.keeper()
    await case.ended(setup.driver, await case.up(setup.driver, first))
    await setup.driver.destroy(first.lease, keep_data=True)
    second = setup.keeper(data_from=first.lease)
    await setup.driver.prepare(second)
    await setup.driver.purge(first.lease)
    await setup.driver.destroy(first.lease, keep_data=False)
    assert await setup.driver.volumes(first.lease) == ()
    assert (await case.ended(setup.driver, await case.up(setup.driver, second))).exit_code == 9
    await setup.driver.destroy(second.lease, keep_data=True)
    third = setup.keeper(data_from=second.lease)
    assert (await case.ended(setup.driver, await case.up(setup.driver, third))).exit_code == 9
    assert first.lease not in await setup.driver.leases()
    await setup.driver.destroy(third.lease, keep_data=False)
    assert await setup.driver.volumes(third.lease) == ()


async def test_data_that_is_gone_cannot_be_taken_over(setup):
    with pytest.raises(ResourcesUnavailable, match="not on this host"):
        await setup.driver.prepare(setup.keeper(data_from=5))


PLENTY_MIB = 1024


async def test_a_snapshot_is_kept_under_its_name_until_it_is_removed_or_the_data_goes(setup):
    spec = setup.keeper(case.SLEEP)
    await case.up(setup.driver, spec)
    assert await setup.driver.snapshots(spec.lease) == ()
    first = await setup.driver.snapshot(spec.lease, "first", PLENTY_MIB)
    assert (first.name, first.digest[:7]) == ("first", "sha256:")
    second = await setup.driver.snapshot(spec.lease, "second", PLENTY_MIB)
    assert {one.name: one for one in await setup.driver.snapshots(spec.lease)} == {"first": first, "second": second}
    with pytest.raises(SnapshotRefused, match="there is a snapshot 'first' already"):
        await setup.driver.snapshot(spec.lease, "first", PLENTY_MIB)
    await setup.driver.remove_snapshot(spec.lease, "second")
    await setup.driver.remove_snapshot(spec.lease, "second")
    await setup.driver.destroy(spec.lease, keep_data=True)
    with pytest.raises(PodGone):
        await setup.driver.snapshot(spec.lease, "third", PLENTY_MIB)
    assert await (await setup.again()).snapshots(spec.lease) == (first,)
    assert spec.lease in await setup.driver.leases()
    await setup.driver.purge(spec.lease)
    assert await setup.driver.snapshots(spec.lease) == ()
    assert spec.lease not in await setup.driver.leases()


async def test_no_more_snapshots_are_kept_than_are_allowed(setup):
    spec = setup.keeper(case.SLEEP)
    await case.up(setup.driver, spec)
    for number in range(MAX_SNAPSHOTS):
        await setup.driver.snapshot(spec.lease, f"s{number}", PLENTY_MIB)
    with pytest.raises(SnapshotRefused, match="no more are kept"):
        await setup.driver.snapshot(spec.lease, "one-more", PLENTY_MIB)


async def test_a_stopped_container_is_made_anew_from_a_snapshot_and_holds_it(setup):
    spec = setup.keeper(case.TWICE)
    assert (await case.ended(setup.driver, await case.up(setup.driver, spec))).exit_code == 3
    await setup.driver.snapshot(spec.lease, "ran", PLENTY_MIB)
    restored = dataclasses.replace(spec, base="ran")
    assert (await case.ended(setup.driver, await case.up(setup.driver, restored, start=2))).exit_code == 7
    with pytest.raises(SnapshotRefused, match="is made of 'ran'"):
        await setup.driver.remove_snapshot(spec.lease, "ran")
    await setup.driver.destroy(spec.lease, keep_data=True)
    await setup.driver.remove_snapshot(spec.lease, "ran")
    with pytest.raises(ImageUnavailable, match="no snapshot 'ran'"):
        await setup.driver.prepare(restored)


async def test_snapshots_go_with_the_data_to_the_lease_that_takes_it_over(setup):
    first = setup.keeper(case.TWICE)
    await case.ended(setup.driver, await case.up(setup.driver, first))
    await setup.driver.snapshot(first.lease, "ran", PLENTY_MIB)
    await setup.driver.destroy(first.lease, keep_data=True)
    second = setup.keeper(case.TWICE, data_from=first.lease, base="ran")
    assert (await case.ended(setup.driver, await case.up(setup.driver, second))).exit_code == 7
    assert await setup.driver.snapshots(first.lease) == ()
    assert [one.name for one in await setup.driver.snapshots(second.lease)] == ["ran"]
    await setup.driver.purge(first.lease)
    await setup.driver.destroy(first.lease, keep_data=False)
    assert [one.name for one in await setup.driver.snapshots(second.lease)] == ["ran"]
    await setup.driver.destroy(second.lease, keep_data=False)
    assert not {first.lease, second.lease} & await setup.driver.leases()


async def test_snapshots_alone_can_be_taken_over(setup):
    first = dataclasses.replace(setup.pod(case.TWICE), keeps_data=True)
    await case.ended(setup.driver, await case.up(setup.driver, first))
    await setup.driver.snapshot(first.lease, "ran", PLENTY_MIB)
    await setup.driver.destroy(first.lease, keep_data=True)
    second = dataclasses.replace(setup.pod(case.TWICE), keeps_data=True, data_from=first.lease, base="ran")
    assert (await case.ended(setup.driver, await case.up(setup.driver, second))).exit_code == 7


async def test_a_snapshot_counts_against_the_leases_disk(setup):
    spec = setup.keeper(case.BIG)
    await case.ended(setup.driver, await case.up(setup.driver, spec))
    with pytest.raises(SnapshotRefused, match="the snapshot takes"):
        await setup.driver.snapshot(spec.lease, "big", 3)
    assert await setup.driver.snapshots(spec.lease) == ()
    made = await setup.driver.snapshot(spec.lease, "big", PLENTY_MIB)
    assert made.size_bytes >= 2 << 20
    assert 4 <= (await setup.driver.upkeep())[spec.lease] <= 6


async def test_the_archive_of_a_snapshot_is_the_same_bytes_each_time(setup):
    spec = setup.keeper(case.SLEEP)
    await case.up(setup.driver, spec)
    await setup.driver.snapshot(spec.lease, "now", PLENTY_MIB)

    async def archive(name):
        return b"".join([piece async for piece in setup.driver.archive(spec.lease, name)])

    assert await archive("now") == await archive("now") != b""
    with pytest.raises(SnapshotRefused, match="no snapshot 'other'"):
        await archive("other")


async def test_upkeep_tells_the_disk_of_each_pod(setup):
    spec = setup.pod(case.SLEEP)
    await case.up(setup.driver, spec)
    assert (await setup.driver.upkeep())[spec.lease] < 1024
