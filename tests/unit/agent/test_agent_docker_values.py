"""Arguments of the Docker driver for pods, and its interpretation of the engine's reports. No engine needed."""

from dataclasses import replace
from pathlib import Path

import pytest
from agent_builders import HOST, MANIFEST, a_lease, a_service, a_spec

from node_agent.chain.records import executed_lease
from node_agent.core.admission import admit, read_manifest
from node_agent.core.values import ContainerSpec, EndKind
from node_agent.drivers.docker.container_end import (
    ResourceSample,
    event_window,
    events_of_run,
    parse_ending,
    parse_sample,
    parse_time_ms,
)
from node_agent.drivers.docker.data_volumes import LeaseVolumes
from node_agent.drivers.docker.seccomp_profile import SECURITY_OPTION
from node_agent.drivers.docker.spec import (
    NVIDIA_HOOK_PIDS,
    PodContext,
    container_arguments,
    is_image_fault,
    is_resource_fault,
    pod_sandbox_arguments,
)
from offchain.adapters.chain.typed import TaskAndSpec
from offchain.adapters.keys.signer import from_uri
from offchain.schema.manifest.types import DeliveredFile, HealthCheck, SshSpec, VolumeMount
from tests.support.chain_records import lease, task_record, task_spec

TENANT = from_uri("//Charlie").address


def arguments(spec=None, service="main", **options):
    context = PodContext(**{"network": "net", "files": {}, "volumes": {}, "cdi": True, "runc": True, **options})
    spec = spec or admit(HOST, a_lease(), read_manifest(MANIFEST))
    return container_arguments(spec, service, 1, image="sha256:1", context=context)


def with_gpus(**gpus):
    return a_spec(containers=(ContainerSpec(a_service(), **gpus),))


def test_every_container_is_confined():
    host = arguments()["host_config"]
    assert host["cap_drop"] == ["ALL"]
    assert host["security_opt"] == ["no-new-privileges:true", SECURITY_OPTION]
    assert (host["privileged"], host["init"], host["network_mode"]) == (False, True, "net")
    assert host["mem_limit"] == host["memswap_limit"] == 64 << 20
    assert (host["nano_cpus"], host["pids_limit"]) == (500_000_000, 32)
    assert not {"binds", "volumes_from", "devices", "pid_mode", "cap_add"} & host.keys()


def test_gpus_are_requested_by_cdi_name_or_by_the_older_driver():
    spec = with_gpus(gpu_uuids=("GPU-1",))
    (request,) = arguments(spec)["host_config"]["device_requests"]
    assert (request.driver, request.device_ids) == ("cdi", ["nvidia.com/gpu=GPU-1"])
    (request,) = arguments(spec, cdi=False)["host_config"]["device_requests"]
    assert (request.driver, request.device_ids, request.capabilities) == ("nvidia", ["GPU-1"], [["gpu"]])


def test_hooks_that_bring_the_driver_of_a_gpu_have_processes_beside_those_of_the_tenant():
    assert arguments(with_gpus(gpu_uuids=("GPU-1",)))["host_config"]["pids_limit"] == 32 + NVIDIA_HOOK_PIDS
    assert arguments(with_gpus(gpu_uuids=("AMD-1",)))["host_config"]["pids_limit"] == 32


def test_a_simulated_gpu_sets_only_a_variable():
    made = arguments(with_gpus(simulated_gpus=1))
    assert made["host_config"]["device_requests"] == []
    assert made["environment"]["GANTRY_SIMULATED_GPUS"] == "1"
    assert made["environment"]["NVIDIA_VISIBLE_DEVICES"] == "void"


def inspection(exit_code, *, oom=False):
    state = {
        "ExitCode": exit_code,
        "OOMKilled": oom,
        "StartedAt": "2026-01-01T00:00:00.100000000Z",
        "FinishedAt": "2026-01-01T00:00:02.350000000Z",
    }
    return {"State": state, "HostConfig": {"Memory": 64 << 20}}


def event(action, signal=None):
    attributes = {} if signal is None else {"signal": signal}
    return {"Action": action, "Actor": {"Attributes": attributes}}


DIE = event("die")


@pytest.mark.parametrize(
    ("exit_code", "oom", "events", "kind"),
    [
        (0, False, [DIE], EndKind.SELF),
        (1, False, [DIE], EndKind.SELF),
        (0, False, [], EndKind.KILLED),
        (1, False, [], EndKind.KILLED),
        (137, True, [DIE], EndKind.SELF),
        (137, True, [], EndKind.SELF),
        (137, False, [event("kill", "9"), DIE], EndKind.KILLED),
        (143, False, [event("kill", "15"), DIE], EndKind.KILLED),
        (0, False, [event("kill", "SIGTERM"), DIE], EndKind.KILLED),
        (0, False, [event("kill", "1"), DIE], EndKind.SELF),
        (137, False, [DIE], EndKind.UNEXPLAINED),
        (143, False, [DIE], EndKind.UNEXPLAINED),
        (255, False, [DIE], EndKind.SELF),
        (137, False, [], EndKind.KILLED),
        (255, False, [], EndKind.KILLED),
    ],
)
def test_the_cause_of_an_end_follows_from_the_events(exit_code, oom, events, kind):
    assert parse_ending(inspection(exit_code, oom=oom), ResourceSample(), events).kind is kind


def at(second, action, container="ours"):
    """An event of that second of the run's minute."""
    started_ns = parse_time_ms("2026-01-01T00:00:00Z") * 1_000_000
    return {"Action": action, "Actor": {"ID": container}, "timeNano": started_ns + int(second * 1_000_000_000)}


FLOOD = [at(1, "exec_start", "another")] * 256


@pytest.mark.parametrize(
    ("events", "outlives", "told"),
    [
        ([at(0.2, "start"), at(2.4, "die")], False, ["die"]),
        ([at(0.2, "start"), at(1, "exec_start"), at(2.3, "kill"), at(2.4, "die")], False, ["kill", "die"]),
        # It was restarted meanwhile: what the program said then may be lost, though it ended by itself.
        ([at(2.4, "die")], False, []),
        ([at(0.2, "start", "another"), at(2.4, "die")], False, []),
        # An earlier run of the same container.
        ([at(-9, "start"), at(-5, "die"), at(2.4, "die")], False, []),
        ([at(2.4, "die")], True, ["die"]),
        ([*FLOOD, at(2.4, "die")], False, ["die"]),
        ([at(0.2, "start"), at(2.4, "die", "another")], False, []),
        ([at(0.2, "start"), at(0.25, "die"), at(99, "die")], False, ["die"]),
        ([], True, []),
    ],
)
def test_events_count_only_if_the_engine_saw_the_run_begin(events, outlives, told):
    state = inspection(0)["State"]
    found = events_of_run(iter(events), "ours", state, event_window(state, 1767225603.0), outlives_engine=outlives)
    assert [one["Action"] for one in found] == told


def test_usage_is_the_containers_own():
    usage = parse_ending(inspection(0), ResourceSample(700, 12), [DIE]).usage
    assert (usage.wall_ms, usage.cpu_ms, usage.memory_peak_mib) == (2250, 700, 12)


def test_a_killed_container_at_its_memory_limit_counts_as_out_of_memory():
    ending = parse_ending(inspection(137), ResourceSample(0, 63), [DIE])
    assert (ending.kind, ending.oom_killed, ending.usage.memory_peak_mib) == (EndKind.SELF, True, 64)


def test_a_late_notice_of_the_memory_limit_counts():
    ending = parse_ending(inspection(137), ResourceSample(), [DIE, event("oom")])
    assert (ending.kind, ending.oom_killed) == (EndKind.SELF, True)


def test_samples_keep_the_peak_and_leave_out_the_cache():
    stats = {
        "cpu_stats": {"cpu_usage": {"total_usage": 5_000_000}},
        "memory_stats": {"usage": 10 << 20, "stats": {"total_inactive_file": 4 << 20}},
    }
    assert parse_sample(stats) == ResourceSample(5, 6)
    assert parse_sample(stats).joined(parse_sample({"memory_stats": {}})) == ResourceSample(5, 6)


def test_the_engines_times():
    assert parse_time_ms("1970-01-01T00:00:01.5Z") == 1500
    assert parse_time_ms("1970-01-01T01:00:01.123456789+01:00") == 1123
    assert parse_time_ms("0001-01-01T00:00:00Z") == 0
    assert parse_time_ms(None) == 0


def test_faults_of_refused_starts():
    assert is_image_fault("unable to find user nobody: no matching entries in passwd file")
    # What a dependency wrote into a volume may keep another container from starting.
    assert is_image_fault("error mounting to rootfs at /data/x: mkdirat: too many levels of symbolic links")
    assert is_resource_fault('could not select device driver "cdi"')
    assert not is_image_fault("nvidia-container-cli: no such file or directory")
    for hook in ("error running hook #3", "error running createContainer hook #0"):
        assert is_resource_fault(f"error during container init: {hook}: exit status 1: no such file or directory")
    assert not is_image_fault("connection refused")


# --- pods -------------------------------------------------------------------------------------------------------------

TOKEN = DeliveredFile("token", "/run/secrets/token", None)
CHECK = HealthCheck(("wget", "-q"), interval_ms=5_000, timeout_ms=1_000, retries=3, start_period_ms=2_000)


def a_full_pod():
    web = a_service(
        "web",
        volumes=(VolumeMount("data", "/data", read_only=True),),
        files=(TOKEN,),
        healthcheck=CHECK,
        stop_signal="SIGINT",
    )
    ssh = SshSpec(("key",), "/root/.ssh/authorized_keys", 22)
    return a_spec(1, web, a_service("db"), volumes=("data",), ssh=ssh, keeps_data=True)


def test_only_volumes_and_delivered_files_are_mounted_and_files_cannot_be_written():
    files = {"token": Path("/files/a"), ".authorized_keys": Path("/files/b")}
    made = arguments(a_full_pod(), "web", files=files, volumes={"data": "gantry-data"})
    mounts = [(one["Type"], one["Source"], one["Target"], one["ReadOnly"]) for one in made["host_config"]["mounts"]]
    assert mounts == [
        ("volume", "gantry-data", "/data", True),
        ("bind", "/files/a", "/run/secrets/token", True),
        ("bind", "/files/b", "/root/.ssh/authorized_keys", True),
    ]
    assert arguments(a_full_pod(), "db")["host_config"]["mounts"] == []


def test_the_engine_runs_the_health_check():
    made = arguments(
        a_full_pod(), "web", files={"token": Path("/a"), ".authorized_keys": Path("/b")}, volumes={"data": "d"}
    )
    check = made["healthcheck"]
    assert (check["Test"], check["Interval"], check["Retries"]) == (["CMD", "wget", "-q"], 5 * 10**9, 3)
    assert made["stop_signal"] == "SIGINT"
    assert arguments(a_full_pod(), "db")["healthcheck"] == {"test": ["NONE"]}


def test_the_owner_of_the_network_has_the_names_of_the_services():
    spec = a_full_pod()
    member = arguments(spec, "db", network="container:1")
    assert (member["hostname"], "extra_hosts" in member["host_config"]) == (None, False)
    sandbox = pod_sandbox_arguments(spec, image="i", context=PodContext("net", {}, {}, cdi=False, runc=False))
    assert sandbox["host_config"]["extra_hosts"] == {"web": "127.0.0.1", "db": "127.0.0.1"}
    assert sandbox["host_config"]["cap_drop"] == ["ALL"]
    assert SECURITY_OPTION in sandbox["host_config"]["security_opt"]
    assert "gantry.service" not in sandbox["labels"]
    alone = arguments()
    assert alone["host_config"]["extra_hosts"] == {"main": "127.0.0.1"}


def volume(lease, **labels):
    return {
        "Name": str(labels),
        "Labels": {"gantry.lease": str(lease), **{f"gantry.{k}": v for k, v in labels.items()}},
    }


def test_ownership_of_data_follows_claims():
    held = LeaseVolumes((volume(1, data="1", volume="home"), volume(4, data="4", volume="home"), volume(2, claim="1")))
    assert (held.data_of(1), held.data_of(2), held.data_of(4), held.data_of(9)) == (None, 1, 4, 9)
    assert (list(held.of(1)), list(held.of(2)), list(held.of(4))) == ([], ["home"], ["home"])
    assert held.leases() == {2, 4}


def test_the_event_window_includes_late_reports():
    state = {"StartedAt": "2026-01-01T00:00:00.5Z", "FinishedAt": "2026-01-01T00:00:01.25Z", "ExitCode": 3}
    finished_s = parse_time_ms("2026-01-01T00:00:01.25Z") / 1000
    since_s, until_s = event_window(state, finished_s + 0.01)
    assert (since_s, until_s) == (finished_s - 0.75, finished_s + 0.05)
    # A busy engine: when it says that the container has exited, the notice of it is just being written.
    for now_s in (finished_s + 0.3, finished_s + 20):
        assert now_s < event_window(state, now_s)[1] < now_s + 0.01
    # Signals come to an end that may be a broken memory limit, whose notice comes late.
    assert event_window({**state, "ExitCode": 137}, finished_s)[1] == finished_s + 1
    # A start that was noted after the end, and a run of hours.
    assert event_window({**state, "StartedAt": "2026-01-01T00:00:02Z"}, finished_s)[0] == finished_s
    assert event_window({**state, "StartedAt": "2025-12-31T00:00:00Z"}, finished_s)[0] == finished_s - 60
    # A clock that was set back since must not make the engine wait until that time comes again.
    assert event_window(state, finished_s - 3600)[1] < finished_s - 3600 + 0.1


@pytest.mark.parametrize(("first", "index"), [(7, "0"), (5, "2")])
def test_a_container_finds_the_place_of_its_task_in_the_array(first, index):
    record = task_record(TENANT, first=first, leases=(lease(HOST.address),))
    (found,) = TaskAndSpec(7, record, task_spec()).leases
    known = replace(a_lease(), task=7, array_index=executed_lease(found).array_index)
    environment = arguments(admit(HOST, known, read_manifest(MANIFEST)))["environment"]
    assert (environment["GANTRY_ARRAY_INDEX"], environment["GANTRY_TASK"]) == (index, "7")
