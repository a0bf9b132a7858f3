"""When a pod's folder is saved, when the chain is told of it, and which files are kept."""

import dataclasses

import pytest
from agent_builders import HOST, MANIFEST, a_handle, a_lease
from hypothesis import given
from hypothesis import strategies as st

from node_agent.core import checkpoints as core
from node_agent.core import events as ev
from node_agent.core.admission import read_manifest
from node_agent.core.checkpoints import CheckpointFile, ReportedCheckpoint, SaveAttempt, TaskCheckpoints
from node_agent.core.machine import handle
from node_agent.core.states import AgentState, Phase
from offchain.schema.chain_types.ids import lease_id

SAVED = MANIFEST.replace(b"duration", b"checkpoint: {path: /ckpt, every: 10m}\n  duration")
BEGAN_MS = 5_000
EVERY_MS = 600_000
NOTICE_MS = 120_000
NUMBER = lease_id(7, 0, 1)


def running(manifest=SAVED, **changes):
    lease = a_lease(NUMBER, manifest=manifest, task=7, attempt=1, started=True, **changes)
    state = AgentState(HOST)
    for event in (
        ev.LeaseAssigned(lease, read_manifest(manifest)),
        ev.PodPrepared(NUMBER),
        ev.ContainerStarted(NUMBER, a_handle(NUMBER)),
    ):
        state, _ = handle(state, event, BEGAN_MS)
    assert state.phase(NUMBER) is Phase.RUNNING
    return state.pods[NUMBER]


def kept(digest=b"a" * 32, at_ms=0, lease=NUMBER, task=7, pod=0):
    return CheckpointFile(task, pod, digest, 10, at_ms, lease)


def known(digest=b"a" * 32, at_ms=0):
    return ReportedCheckpoint(digest, 10, "5Other", at_ms)


def due(pod, tried=None, last=None):
    return core.next_save_ms(pod, tried, last, notice_ms=NOTICE_MS)


def test_a_folder_is_saved_each_time_its_interval_has_passed():
    pod = running()
    assert due(pod) == BEGAN_MS + EVERY_MS
    assert due(pod, last=kept(at_ms=700_000)) == 700_000 + EVERY_MS
    assert due(pod, SaveAttempt(900_000, failed=False)) == 900_000 + EVERY_MS


def test_what_could_not_be_saved_is_tried_again_soon():
    assert due(running(), SaveAttempt(900_000, failed=True)) == 900_000 + core.RETRY_MS


def test_a_pod_without_a_folder_or_not_running_is_not_saved():
    assert due(running(MANIFEST)) is None
    assert due(running().to(Phase.SUSPENDED)) is None
    assert due(running().to(Phase.ENDING)) is None


def test_who_has_to_leave_is_saved_once_more_when_it_had_time_to_write():
    pod = running(notice_ends_ms=1_000_000)
    told_ms = 1_000_000 - NOTICE_MS
    assert due(pod, last=kept(at_ms=told_ms - 1)) == told_ms + core.AFTER_SIGNAL_MS
    assert (
        due(pod, SaveAttempt(told_ms + core.AFTER_SIGNAL_MS, failed=False)) == told_ms + core.AFTER_SIGNAL_MS + EVERY_MS
    )


@given(st.integers(0, 2_000_000), st.integers(0, 2_000_000), st.booleans(), st.integers(1_000, 200_000))
def test_no_two_saves_are_closer_than_the_interval_but_for_a_notice_or_a_failure(saved_ms, tried_ms, failed, notice_ms):
    for pod in (running(), running(notice_ends_ms=1_500_000)):
        at_ms = core.next_save_ms(pod, SaveAttempt(tried_ms, failed), kept(at_ms=saved_ms), notice_ms=notice_ms)
        assert at_ms is not None
        assert at_ms > tried_ms or pod.lease.notice_ends_ms is not None
        if not failed and pod.lease.notice_ends_ms is None:
            assert at_ms >= max(saved_ms, tried_ms) + EVERY_MS


def told(pod, last, said, now_ms=1_000_000):
    return core.file_to_report(pod, last, said, least_ms=60_000, now_ms=now_ms)


def test_unknown_checkpoints_are_reported_and_not_too_often():
    pod = running()
    assert told(pod, None, None) is None
    assert told(pod, kept(), None) == kept()
    assert told(pod, kept(), known()) is None
    assert told(pod, kept(), known(b"b" * 32, at_ms=940_001)) is None
    assert told(pod, kept(), known(b"b" * 32, at_ms=940_000)) == kept()


def test_only_the_host_of_an_active_lease_tells_the_chain():
    pod = running()
    assert told(pod, kept(lease=NUMBER - 1), None) is None
    assert told(pod, kept(lease=None), None) is None
    assert told(dataclasses.replace(pod, started_known=False), kept(), None) is None


def test_what_the_chain_has_is_kept_until_the_task_is_final():
    last, older = kept(b"b" * 32, 2), kept(b"a" * 32, 1)
    view = TaskCheckpoints(final=False, known={0: known(b"b" * 32)})
    assert core.unneeded_files([older, last], [], {7: view}) == (older,)
    assert core.unneeded_files([older, last], [], {7: dataclasses.replace(view, final=True)}) == (older, last)
    assert core.unneeded_files([older, last], [], {7: None}) == (older, last)
    assert core.unneeded_files([older, last], [], {}) == ()


@pytest.mark.parametrize("stands_by", [True, False])
def test_who_runs_or_stands_by_keeps_the_youngest_file_also_where_the_chain_has_another(stands_by):
    files = [kept(bytes([at_ms]) * 32, at_ms) for at_ms in (1, 2, 3)]
    view = TaskCheckpoints(final=False, known={0: known(files[0].digest)}, standby={0: NUMBER} if stands_by else {})
    pods = [] if stands_by else [running()]
    assert core.unneeded_files(files, pods, {7: view}) == (files[1],)


def test_what_is_here_is_not_fetched():
    assert core.checkpoint_to_fetch(None, (7, 0), []) is None
    assert core.checkpoint_to_fetch(known(), (7, 0), [kept()]) is None
    assert core.checkpoint_to_fetch(known(), (7, 1), [kept()]) == known()
