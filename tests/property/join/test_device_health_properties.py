"""Whatever the drivers say, in whatever order."""

from hypothesis import given
from hypothesis import strategies as st

from node_agent.core.devices import (
    HARMLESS_XIDS,
    STEADY_MS,
    DeviceGone,
    DeviceHealthy,
    DeviceXid,
    apply_observations,
    initial_state,
)

COUNT = 3
DEVICES = st.integers(0, COUNT)
SEEN = st.one_of(
    st.builds(DeviceHealthy, DEVICES, st.none() | st.integers(0, 3)),
    st.builds(DeviceGone, DEVICES, st.just("gone")),
    st.builds(DeviceXid, DEVICES, st.sampled_from([13, 31, 48, 79, 94, 1000])),
)
ROUNDS = st.lists(st.tuples(st.lists(SEEN, max_size=4), st.integers(0, STEADY_MS)), max_size=20)


def states(rounds):
    now_ms, state = 0, initial_state(COUNT, {})
    for seen, passed_ms in rounds:
        now_ms += passed_ms
        state = apply_observations(state, seen, now_ms)
        yield seen, state, now_ms


@given(ROUNDS)
def test_there_are_always_the_same_devices_and_each_trouble_has_a_name(rounds):
    for _, state, _ in states(rounds):
        assert state.devices.keys() == set(range(COUNT))
        for index, device in state.devices.items():
            assert bool(device.why) == (index in state.unhealthy)


@given(ROUNDS)
def test_a_fault_is_over_only_by_an_absence(rounds):
    faulty: set[int] = set()
    for seen, state, _ in states(rounds):
        gone = {one.device for one in seen if isinstance(one, DeviceGone)}
        faulty -= gone
        assert faulty <= state.unhealthy
        for place, one in enumerate(seen):
            later_gone = {other.device for other in seen[place:] if isinstance(other, DeviceGone)}
            grave = isinstance(one, DeviceXid) and one.code not in HARMLESS_XIDS and one.device < COUNT
            if grave and one.device not in later_gone:
                faulty.add(one.device)
        assert faulty <= state.unhealthy


@given(ROUNDS)
def test_a_steady_minute_without_a_fault_heals_everything_but_faults(rounds):
    _, state, now_ms = [((), initial_state(COUNT, {}), 0), *states(rounds)][-1]
    well = [DeviceHealthy(index) for index in range(COUNT)]
    for step in (0, STEADY_MS):
        state = apply_observations(state, well, now_ms + step)
    assert state.unhealthy == {index for index, device in state.devices.items() if device.fault}
