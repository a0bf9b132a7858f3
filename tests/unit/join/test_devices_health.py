"""When a GPU takes no more work, and when it does again."""

import pytest

from node_agent.core.devices import (
    STEADY_MS,
    DeviceGone,
    DeviceHealthy,
    DeviceState,
    DeviceXid,
    apply_observations,
    health_to_report,
    initial_state,
)


def after(*rounds, count=2, faults=None, step_ms=1000):
    state = initial_state(count, faults or {})
    for number, seen in enumerate(rounds):
        state = apply_observations(state, seen, number * step_ms)
    return state


def test_what_answers_is_in_order():
    assert (
        after([DeviceHealthy(0), DeviceHealthy(1, 0)], [DeviceHealthy(0), DeviceHealthy(1, 0)]).unhealthy == frozenset()
    )


@pytest.mark.parametrize("code", [48, 62, 64, 74, 79, 95, 119, 140, 999])
def test_a_hardware_fault_stays_although_the_gpu_answers(code):
    state = after([DeviceXid(1, code)], [DeviceHealthy(1)], [DeviceHealthy(1)], step_ms=STEADY_MS)
    assert state.unhealthy == {1}
    assert f"XID {code}" in state.devices[1].why


@pytest.mark.parametrize("code", [13, 31, 43, 45, 63, 68, 94, 109])
def test_a_fault_of_the_tenants_program_is_none_of_the_gpu(code):
    assert after([DeviceXid(1, code)]).unhealthy == frozenset()


def test_memory_errors_that_grow_are_a_fault_and_old_ones_are_not():
    assert after([DeviceHealthy(0, 5)], [DeviceHealthy(0, 5)]).unhealthy == frozenset()
    assert after([DeviceHealthy(0, 5)], [DeviceHealthy(0, 6)]).unhealthy == {0}
    assert after([DeviceHealthy(0, 5)], [DeviceHealthy(0, 0)], [DeviceHealthy(0, 0)]).unhealthy == frozenset()


def test_one_missed_poll_is_not_enough():
    assert after([DeviceGone(0, "x")], [DeviceHealthy(0)]).unhealthy == frozenset()
    assert after([DeviceGone(0, "x")], [DeviceGone(0, "x")]).unhealthy == {0}


def test_what_comes_back_takes_work_after_a_steady_minute():
    gone = [[DeviceGone(0, "lost")], [DeviceGone(0, "lost")]]
    back = [[DeviceHealthy(0)], [DeviceHealthy(0)]]
    assert after(*gone, *back).unhealthy == {0}
    assert after(*gone, *back, step_ms=STEADY_MS).unhealthy == frozenset()
    assert after(
        *gone, [DeviceHealthy(0)], [DeviceGone(0, "lost")], [DeviceHealthy(0)], step_ms=STEADY_MS
    ).unhealthy == {0}


def test_a_device_that_was_away_has_been_reset():
    state = after(
        [DeviceXid(0, 79)],
        [DeviceGone(0, "x")],
        [DeviceGone(0, "x")],
        [DeviceHealthy(0)],
        [DeviceHealthy(0)],
        step_ms=STEADY_MS,
    )
    assert state.devices[0] == DeviceState()


def test_faults_of_before_are_remembered():
    assert after([DeviceHealthy(0)], faults={0: "XID 48"}).unhealthy == {0}


def test_other_peoples_devices_are_passed_over():
    assert after([DeviceXid(7, 79), DeviceGone(9, "x")]).devices.keys() == {0, 1}


@pytest.mark.parametrize(
    ("listed", "unhealthy", "changed_at", "now", "wanted"),
    [
        ([True, True], {1}, None, 5, b"\x01"),
        ([True, False], {1}, None, 5, None),
        ([True, False], set(), 0, 59, None),
        ([True, False], set(), 0, 60, b""),
        ([True, True, True], {2, 0}, 0, 60, b"\x00\x02"),
    ],
)
def test_unknown_device_health_is_reported_once_a_period(listed, unhealthy, changed_at, now, wanted):
    assert health_to_report(listed, frozenset(unhealthy), changed_at, 60, now) == wanted
