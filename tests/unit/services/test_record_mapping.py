from __future__ import annotations

from dataclasses import replace

from offchain.adapters.chain.typed import TaskAndSpec
from offchain.core.values import RetainedData
from offchain.schema.chain_types import _generated_chain as gen
from offchain.services.record_mapping import host_of, task_of
from tests.support.chain_records import device, host_record, lease, task_record, task_spec

TENANT = "5FLSigC9HGRKVhB9FiEo4Y3koPsNmBmLJbpXg2mp1hXcS59Y"


def test_the_data_of_the_very_first_lease_is_taken_over_from_its_host():
    record = task_record(TENANT, first=0, submitted_at=0, changed_at=0)
    source = TaskAndSpec(0, replace(record, leases=(lease("host", pod=0, generation=0),)), task_spec())
    rental = TaskAndSpec(1, record, task_spec(kind=gen.TaskKind.RENTAL, data_from=0))
    found = task_of(rental, source)
    assert found is not None
    assert found.takes_over == RetainedData("host", source.spec.resources.disk_gib)
    moved = TaskAndSpec(1, replace(record, generation=1), rental.spec)
    again = task_of(moved, source)
    assert again is not None
    assert again.takes_over is None


def test_nothing_of_a_challenged_device_is_free():
    record = host_record("5P", devices=(device(), device()), answers_challenges=True)
    assert [one.milli_free for one in host_of("host", record, None).devices] == [1000, 1000]
    challenged = host_of("host", replace(record, challenged=1), None)
    assert [(one.milli_free, one.healthy) for one in challenged.devices] == [(1000, True), (0, True)]
