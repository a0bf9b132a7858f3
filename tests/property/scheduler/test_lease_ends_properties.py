"""LeaseEnds that is updated equals one that is made anew."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from offchain.core.scheduler.availability import LeaseEnds
from offchain.core.scheduler.availability_kernels import FOREVER, NONE, AllocationColumn, AvailabilityChanges

HOSTS = 4

claims = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.integers(0, HOSTS - 1),
        st.integers(0, 3),
        st.integers(0, 3),
        st.sampled_from([0, 500, 1000]),
        st.integers(0, 3),
        st.integers(1, 9) | st.just(FOREVER),
    ),
    max_size=70,
)
steps = st.lists(st.tuples(st.lists(st.integers(0, 5), max_size=3), claims), max_size=5)


def rows_of(many: list[tuple[int, ...]]) -> Any:
    rows = np.zeros((len(many), AllocationColumn.COUNT), dtype=np.int64)
    for row, (_, host, cpu, memory, milli, devices, until_ms) in zip(rows, many, strict=True):
        row[[AllocationColumn.HOST, AllocationColumn.CPU, AllocationColumn.MEMORY, AllocationColumn.MILLI]] = (
            host,
            cpu,
            memory,
            milli,
        )
        row[[AllocationColumn.DEVICES, AllocationColumn.UNTIL]] = devices, until_ms
    return rows


def read(changes: AvailabilityChanges) -> list[list[tuple[int, ...]]]:
    """[host]: its rows by their moments; those of one moment count together."""
    found = []
    for host in range(HOSTS):
        here, row = [], int(changes.first[host])
        while row != NONE:
            here.append(tuple(changes.rows[row].tolist()))
            assert changes.host[row] == host
            row = int(changes.after[row])
        assert [moment for moment, *_ in here] == sorted(moment for moment, *_ in here)
        found.append(sorted(here))
    return found


@given(steps, st.integers(0, 6), st.integers(0, 3))
def test_lease_ends_updated_by_changes_equal_new_ones(of: list[Any], now_ms: int, spare: int):
    kept, model = LeaseEnds(), dict[int, list[tuple[int, ...]]]()
    for gone, come in of:
        kept.drop(gone)
        for task in gone:
            model.pop(task, None)
        new = {task: [one for one in come if one[0] == task] for task in range(6) if task not in model}
        put = [one for task in new for one in new[task]]
        kept.put(np.array([task for task, *_ in put], dtype=np.int64), rows_of(put))
        model |= {task: here for task, here in new.items() if here}
        known = {task for task, here in model.items() if any(one[-1] < FOREVER for one in here)}
        assert kept.known(range(6)) == known
    anew, put = LeaseEnds(), [one for here in model.values() for one in here]
    anew.put(np.array([task for task, *_ in put], dtype=np.int64), rows_of(put))
    assert read(kept.changes(HOSTS, now_ms, spare)) == read(anew.changes(HOSTS, now_ms, spare))
    for one, other in zip(kept.sums(HOSTS), anew.sums(HOSTS), strict=True):
        assert one.tolist() == other.tolist()
