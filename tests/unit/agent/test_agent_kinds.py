"""Services, rentals and pods of several containers in the agent's core, move by move."""

import dataclasses
from types import MappingProxyType

from agent_builders import HOST, a_handle, a_lease, a_pod, a_service, an_ending

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.machine import handle
from node_agent.core.retention import PURGE_MARGIN_MS
from node_agent.core.states import AgentState, Phase
from node_agent.core.values import (
    EndKind,
    FoundContainer,
    HostFailure,
    LeaseReport,
    LeaseStatus,
    ReportStatus,
    TaskKind,
)
from offchain.schema.manifest.types import DeliveredFile, Dependency, HealthCheck, RestartPolicy, VolumeMount

CHECK = HealthCheck(("true",), 1_000, 1_000, 1, 0)
ALWAYS = RestartPolicy("always", None)
RECEIPT = b"r" * 32
KILLED = an_ending(EndKind.KILLED, 143, mark="run-1")


class Play:
    """One pod that is about to be prepared."""

    def __init__(self, *services, lease=None, now_ms=5_000, **spec):
        self.now_ms = now_ms
        pod = a_pod(1, *services, lease=lease, now_ms=now_ms, **spec)
        self.state = AgentState(HOST, MappingProxyType({1: pod}))

    def __call__(self, *events):
        commands = []
        for event in events:
            self.state, more = handle(self.state, event, self.now_ms)
            commands += more
        return commands

    @property
    def pod(self):
        return self.state.pods[1]

    @property
    def phase(self):
        return self.pod.phase

    def lease(self, **changes):
        return self(ev.LeaseAssigned(dataclasses.replace(self.pod.lease, **changes)))

    def up(self, *names, start=1):
        commands = self(ev.PodPrepared(1)) if self.phase is Phase.PREPARING else []
        for name in names or ("main",):
            commands += self(ev.ContainerStarted(1, a_handle(service=name, start=start)))
        return commands


def kinds(commands):
    return [type(command) for command in commands]


def service(**changes):
    lease = a_lease(kind=TaskKind.SERVICE)
    return Play(a_service(restart=ALWAYS, **changes), lease=lease)


def rental(**changes):
    fields = {"kind": TaskKind.RENTAL, "status": LeaseStatus.ACTIVE, "started": True, "depletes_at_ms": 100_000}
    home = (VolumeMount("home", "/home", read_only=False),)
    one = a_service(restart=ALWAYS, volumes=home)
    return Play(one, lease=a_lease(**fields), volumes=("home",), keeps_data=True, **changes)


# --- services ---------------------------------------------------------------------------------------------------------


def test_a_service_is_reported_as_started_whatever_its_health():
    play = service(healthcheck=CHECK)
    assert kinds(play.up()) == [cmd.StartContainer, cmd.WatchContainer, cmd.SubmitStarted, cmd.ScheduleStop]
    assert play.phase is Phase.RUNNING
    assert play(ev.HealthChanged(1, "main", 1, healthy=True)) == []


def test_an_unhealthy_service_is_stopped_and_started_again_in_place_after_a_pause():
    play = service(healthcheck=CHECK)
    play.up()
    play(ev.HealthChanged(1, "main", 1, healthy=True))
    assert kinds(play(ev.HealthChanged(1, "main", 1, healthy=False))) == [cmd.StopContainer]
    assert play(ev.ContainerExited(1, "main", 1, KILLED)) == [cmd.ScheduleRetry(1, play.now_ms + 1_000)]
    play.now_ms += 1_000
    (start,) = play(ev.Tick())
    assert (start.start, start.follows) == (2, "run-1")
    # It was reported once, and that is not said again.
    assert kinds(play.up(start=2)) == [cmd.WatchContainer]


def test_a_service_whose_attempts_are_used_up_has_failed_by_itself():
    play = Play(a_service(restart=RestartPolicy("on-failure", 0)), lease=a_lease(kind=TaskKind.SERVICE))
    play.up()
    play.now_ms += 7_000
    (collect,) = play(ev.ContainerExited(1, "main", 1, an_ending(exit_code=4)))
    assert (collect.handle, play.pod.ending.exit_code, play.pod.ending.usage.wall_ms) == (a_handle(), 4, 7_000)
    assert "its restart policy allows no more" in collect.note


def test_a_service_that_ends_by_itself_without_a_policy_reports_its_result_with_all_its_time():
    play = Play(a_service(), lease=a_lease(kind=TaskKind.SERVICE))
    play.up()
    play.now_ms += 90_000
    assert kinds(play(ev.ContainerExited(1, "main", 1, an_ending()))) == [cmd.CollectResult]
    assert play.pod.ending.usage.wall_ms == 90_000


def test_what_is_paid_for_ends_then_it_is_paid_in_time_and_goes_on():
    play = service()
    play.up()
    play.lease(status=LeaseStatus.ACTIVE, started=True, depletes_at_ms=20_000)
    assert play.lease(depletes_at_ms=30_000) == [cmd.ScheduleStop(1, 30_000)]
    play.now_ms = 20_000
    assert play(ev.Tick()) == []
    play.now_ms = 30_000
    (stopped,) = play(ev.Tick())
    assert isinstance(stopped, cmd.PausePod)
    play(ev.ContainerExited(1, "main", 1, KILLED), ev.PodPaused(1, (("main", "run-1"),)))
    assert play.phase is Phase.SUSPENDED
    assert kinds(play.lease(depletes_at_ms=60_000)) == [cmd.ScheduleStop, cmd.PreparePod]
    (start,) = play(ev.PodPrepared(1))
    assert (start.start, start.follows) == (2, "run-1")


def test_a_service_above_its_disk_limit_ends_with_its_usage_in_the_log():
    play = service()
    play.up()
    assert kinds(play(ev.LimitExceeded(1, "too much disk"))) == [cmd.StopPod]
    # Told again while it is not stopped, it is stopped again.
    assert kinds(play(ev.LimitExceeded(1, "too much disk"))) == [cmd.StopPod]
    (collect,) = play(ev.ContainerExited(1, "main", 1, KILLED))
    assert collect.note == "too much disk"


def test_a_pod_on_a_failed_device_is_given_back_once():
    play = Play(lease=a_lease(devices=(3,)))
    play.up()
    commands = play(ev.DevicesFailed(frozenset({3}), "it fell off the bus"))
    assert kinds(commands) == [cmd.SubmitFailed, cmd.StopPod, cmd.DestroyPod]
    assert commands[0].reason is HostFailure.RESOURCES_UNAVAILABLE
    assert play(ev.DevicesFailed(frozenset({3}), "it fell off the bus")) == []


# --- several containers -----------------------------------------------------------------------------------------------


def test_a_pod_comes_up_in_order_and_ends_with_its_main_container():
    db = a_service("db", healthcheck=CHECK)
    play = Play(a_service(depends_on=(Dependency("db", "healthy"),)), db)
    (first,) = play(ev.PodPrepared(1))
    assert first.service == "db"
    assert kinds(play.up("db")) == [cmd.WatchContainer, cmd.SubmitStarted, cmd.ScheduleStop]
    play.now_ms += 20_000
    (second,) = play(ev.HealthChanged(1, "db", 1, healthy=True))
    assert second.service == "main"
    assert kinds(play.up()) == [cmd.WatchContainer]
    play.now_ms += 3_600_000  # the agent was away when it ended
    assert kinds(play(ev.ContainerExited(1, "main", 1, an_ending()))) == [cmd.StopPod, cmd.CollectResult]
    assert play(ev.ContainerExited(1, "db", 1, KILLED)) == []
    assert play.pod.ending.usage.wall_ms == 20_000 + 1_000


def test_a_helper_that_ends_by_itself_leaves_the_main_container_alone():
    play = Play(a_service(), a_service("init"))
    play.up("main", "init")
    assert play(ev.ContainerExited(1, "init", 1, an_ending())) == []
    assert play.phase is Phase.RUNNING


def test_a_pod_waits_for_its_files():
    token = DeliveredFile("token", "/run/secrets/token", None)
    play = Play(a_service(files=(token,)))
    assert play.phase is Phase.AWAITING
    assert kinds(play(ev.FileDelivered(1, "token"))) == [cmd.PreparePod]


def test_files_lost_by_a_reboot_are_requested_again_and_containers_restart_in_place():
    token = DeliveredFile("token", "/run/secrets/token", None)
    play = Play(a_service(files=(token,), restart=ALWAYS), lease=a_lease(kind=TaskKind.SERVICE))
    play(ev.FileDelivered(1, "token"))
    play.up()
    found = FoundContainer(a_handle(), running=False, mark="run-9")
    play(ev.Recovered((found,), (play.pod.lease,), (1,)))
    assert play.phase is Phase.AWAITING
    play(ev.FileDelivered(1, "token"))
    (start,) = play(ev.PodPrepared(1))
    assert (start.start, start.follows) == (2, "run-9")


# --- rentals ----------------------------------------------------------------------------------------------------------


def test_a_rental_is_stopped_and_started_again_with_all_it_has():
    play = rental()
    play.up()
    (stopped,) = play.lease(status=LeaseStatus.SUSPENDED)
    assert isinstance(stopped, cmd.PausePod)
    # Taken up again before the pause was over: it comes up as soon as that is done.
    assert play.lease(status=LeaseStatus.ACTIVE) == []
    assert kinds(play(ev.PodPaused(1, (("main", "run-1"),)))) == [cmd.PreparePod]
    (start,) = play(ev.PodPrepared(1))
    assert (start.start, start.follows) == (2, "run-1")


def test_a_rental_that_is_stopped_survives_a_restart_of_the_agent():
    play = rental()
    play.up()
    play.lease(status=LeaseStatus.SUSPENDED)
    play(ev.PodPaused(1, (("main", "run-1"),)))
    assert play(ev.Recovered((), (play.pod.lease,), (1,))) == []
    resumed = dataclasses.replace(play.pod.lease, status=LeaseStatus.ACTIVE)
    assert kinds(play(ev.Recovered((), (resumed,), (1,)))) == [cmd.PreparePod]


def retained(play, until_ms):
    return play.lease(status=LeaseStatus.RETAINED, retained_until_ms=until_ms, depletes_at_ms=None)


def test_retained_data_is_kept_until_its_time_and_deleted_with_a_receipt():
    play = rental()
    play.up()
    assert retained(play, 50_000) == [cmd.StopPod(1, "the lease is over"), cmd.DestroyPod(1, keep_data=True)]
    assert play(ev.PodDestroyed(1)) == [cmd.TakeInventory(1, ("home",))]
    due_ms = 50_000 + PURGE_MARGIN_MS
    assert play(ev.DataFound(1, RECEIPT, ())) == [cmd.ScheduleRetry(1, due_ms)]
    assert retained(play, 50_000) == []
    play.now_ms = due_ms
    assert play(ev.Tick()) == [cmd.TakeInventory(1, ("home",))]
    assert play(ev.DataFound(1, RECEIPT, ())) == [cmd.PurgeData(1)]
    assert play(ev.DataPurged(1)) == [cmd.SubmitPurged(1, RECEIPT)]
    assert play(ev.ReportOutcome(1, LeaseReport.PURGED, ReportStatus.INCLUDED)) == []
    play(ev.LeaseEnded(1, "Purged"), ev.PodDestroyed(1))
    assert not play.state.pods


def test_a_release_or_a_longer_keep_moves_the_deletion():
    play = rental()
    play.up()
    retained(play, 50_000)
    play(ev.PodDestroyed(1), ev.DataFound(1, RECEIPT, ()))
    assert retained(play, 90_000) == [cmd.ScheduleRetry(1, 90_000 + PURGE_MARGIN_MS)]
    assert play.pod.retry_at_ms == 90_000 + PURGE_MARGIN_MS
    assert retained(play, -PURGE_MARGIN_MS) == [cmd.TakeInventory(1, ("home",))]


def test_a_deletion_that_was_cut_short_keeps_its_receipt():
    play = rental()
    play.up()
    retained(play, 0)
    play.now_ms = PURGE_MARGIN_MS
    play(ev.PodDestroyed(1), ev.DataFound(1, RECEIPT, ()))
    assert play(ev.Recovered((), (play.pod.lease,), ())) == [cmd.PurgeData(1)]
    assert play(ev.DataPurged(1)) == [cmd.SubmitPurged(1, RECEIPT)]


def test_a_receipt_that_the_chain_refuses_is_sent_again():
    play = rental()
    play.up()
    retained(play, 0)
    play.now_ms = PURGE_MARGIN_MS
    play(ev.PodDestroyed(1), ev.DataFound(1, RECEIPT, ()), ev.DataPurged(1))
    (again,) = play(ev.ReportOutcome(1, LeaseReport.PURGED, ReportStatus.FAILED))
    play.now_ms = again.at_ms
    assert play(ev.Tick()) == [cmd.SubmitPurged(1, RECEIPT, attempt=1)]


def test_data_that_is_gone_is_reported_as_lost():
    play = rental()
    play.up()
    retained(play, 10**9)
    commands = play(ev.PodDestroyed(1), ev.DataFound(1, RECEIPT, ("home",)))[1:]
    assert commands == [cmd.SubmitDataLost(1), cmd.PurgeData(1)]
    assert play(ev.DataPurged(1)) == []


def test_data_that_another_lease_takes_over_stays_when_the_first_ends():
    play = rental()
    play.up()
    retained(play, 10**9)
    play(ev.PodDestroyed(1), ev.DataFound(1, RECEIPT, ()))
    assert play(ev.LeaseEnded(1, "DataMoved")) == [cmd.DestroyPod(1, keep_data=True)]
    other = a_lease(2, kind=TaskKind.RENTAL, data_from=1)
    commands = play(ev.Recovered((), (other,), (1,)))
    assert cmd.DestroyPod(1, keep_data=True) in commands


def test_a_rental_that_is_given_back_keeps_its_data_until_the_chain_says_that_it_is_over():
    play = rental()
    play.up()
    commands = play(ev.DevicesFailed(frozenset(), "none"))
    assert commands == []
    play.state.pods[1]
    for _ in range(3):
        commands = play(ev.ContainerExited(1, "main", play.pod.containers[0].start, None))
        play.up(start=play.pod.containers[0].start)
    assert cmd.DestroyPod(1, keep_data=True) in commands
    play(ev.PodDestroyed(1))
    assert play(ev.LeaseEnded(1, "HostRefused")) == [cmd.DestroyPod(1)]


def test_a_retained_lease_of_a_forgotten_pod_is_kept_and_deleted_in_time():
    lease = a_lease(kind=TaskKind.RENTAL, status=LeaseStatus.RETAINED, retained_until_ms=0)
    state, commands = handle(AgentState(HOST), ev.LeaseAssigned(lease), 5_000)
    assert commands == [cmd.DestroyPod(1, keep_data=True)]
    state, commands = handle(state, ev.PodDestroyed(1), 5_000)
    assert commands == [cmd.TakeInventory(1, ())]
    state, commands = handle(state, ev.DataFound(1, RECEIPT, ()), PURGE_MARGIN_MS)
    assert commands == [cmd.PurgeData(1)]


def test_a_machine_that_runs_is_stopped_and_made_anew_from_a_snapshot():
    play = rental()
    play.up()
    commands = play(ev.RestoreRequested(1, "before"))
    assert (kinds(commands), play.phase) == ([cmd.PausePod], Phase.SUSPENDING)
    commands = play(ev.PodPaused(1, (("main", "run-1"),)))
    assert (kinds(commands), play.pod.spec.base) == ([cmd.PreparePod], "before")
    (started,) = play(ev.PodPrepared(1))
    # It follows no ended run: a container that is there goes.
    assert (started.follows, started.start, started.spec.base) == ("", 2, "before")
    play(ev.ContainerStarted(1, a_handle(start=2)))
    assert play.phase is Phase.RUNNING
    play.lease(status=LeaseStatus.SUSPENDED)
    play(ev.PodPaused(1, (("main", "run-2"),)))
    play.lease(status=LeaseStatus.ACTIVE)
    (again,) = play(ev.PodPrepared(1))
    assert (again.follows, again.start) == ("run-2", 3)


def test_a_stopped_rental_is_replaced_by_its_snapshot_when_it_is_resumed():
    play = rental()
    play.up()
    play.lease(status=LeaseStatus.SUSPENDED)
    play(ev.PodPaused(1, (("main", "run-1"),)))
    assert play(ev.RestoreRequested(1, "before")) == []
    assert play.phase is Phase.SUSPENDED
    play.lease(status=LeaseStatus.ACTIVE)
    (started,) = play(ev.PodPrepared(1))
    assert (started.follows, started.spec.base) == ("", "before")


def test_a_machine_is_made_anew_also_when_the_agent_was_restarted_in_between():
    play = rental()
    play.up()
    play(ev.RestoreRequested(1, "before"), ev.PodPaused(1, (("main", "run-1"),)), ev.PodPrepared(1))
    found = (FoundContainer(a_handle(start=1), running=False, mark="run-1"),)
    (started,) = (one for one in play(ev.Recovered(found, (play.pod.lease,))) if isinstance(one, cmd.StartContainer))
    assert (started.follows, started.start) == ("", 2)


def test_only_the_first_container_is_made_anew():
    lease = a_lease(kind=TaskKind.RENTAL, status=LeaseStatus.ACTIVE, started=True, depletes_at_ms=100_000)
    play = Play(a_service(restart=ALWAYS), a_service(name="db", restart=ALWAYS), lease=lease, keeps_data=True)
    play.up("main", "db")
    play(ev.RestoreRequested(1, "before"), ev.PodPaused(1, (("main", "run-1"), ("db", "run-2"))))
    main, db = play(ev.PodPrepared(1))
    assert (main.follows, db.follows) == ("", "run-2")
    play(ev.ContainerStarted(1, a_handle(service="db", start=2)))
    assert play.pod.renew
    play(ev.ContainerStarted(1, a_handle(service="main", start=2)))
    assert not play.pod.renew


def test_a_snapshot_of_an_ended_rental_is_not_restored():
    play = rental()
    play.up()
    retained(play, 10**9)
    assert play(ev.RestoreRequested(1, "before")) == []
    assert play.pod.spec.base is None
