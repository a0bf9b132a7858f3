"""Timers that are kept from step to step give what timers made anew give, whatever changes in between."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from offchain.core.settlement import SettlementTimers
from offchain.core.snapshot import Touched
from offchain.core.values import HostStatus, LeaseState, TaskState
from tests.support.core_builders import PERIODS, host, lease, snapshot, task
from tests.support.examples import examples

TIMES = st.integers(0, 2 * PERIODS.absence_limit_ms)
NUMBERS = st.integers(1, 4)
HOSTS = st.sampled_from(["h1", "h2"])


@st.composite
def tasks(draw):
    number = draw(NUMBERS)
    leases = [
        lease(
            8 * number + pod,
            host=draw(HOSTS),
            state=draw(st.sampled_from(LeaseState)),
            created_at=draw(TIMES),
            until=draw(TIMES),
        )
        for pod in range(draw(st.integers(0, 2)))
    ]
    return task(
        number,
        *leases,
        state=draw(st.sampled_from(TaskState)),
        changed_at=draw(TIMES),
        deadline=draw(st.none() | TIMES),
    )


@st.composite
def hosts(draw):
    return host(draw(HOSTS), status=draw(st.sampled_from(HostStatus)), last_heartbeat=draw(TIMES))


STEPS = st.lists(
    st.tuples(st.lists(tasks() | hosts(), max_size=3), st.sets(NUMBERS | HOSTS, max_size=2), TIMES), max_size=8
)


LOST_HOST = [
    task(1, lease(8, host="h1", state=LeaseState.ACTIVE, created_at=0, until=0), state=TaskState.QUEUED),
    host("h1", status=HostStatus.UNVERIFIED, last_heartbeat=0),
]
"""A lease that is over, on a host that counts as lost later: from then on it is requeued instead of expired."""


@given(STEPS)
@example([(LOST_HOST, set(), 5001), ([], set(), PERIODS.absence_limit_ms + 1)])
@settings(max_examples=examples(200))
def test_a_step_with_what_has_changed_gives_what_a_look_at_everything_gives(steps):
    kept = SettlementTimers()
    records = {}
    now = 0
    for changes, removed, later in steps:
        now = max(now, later)
        for key in removed:
            records.pop(key, None)
        records.update({record.id: record for record in changes})
        keys = {*removed, *(record.id for record in changes)}
        touched = Touched(
            frozenset(key for key in keys if isinstance(key, str)),
            frozenset(key for key in keys if isinstance(key, int)),
        )
        snap = snapshot(*records.values())
        assert kept.due(snap, touched, now) == SettlementTimers().due(snap, None, now)
