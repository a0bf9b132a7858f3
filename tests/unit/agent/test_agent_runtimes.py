"""Which runtimes of an engine a provider may choose for tenants' containers. No engine needed."""

import pytest
from agent_builders import HOST, MANIFEST, a_lease

from node_agent.core.admission import admit, read_manifest
from node_agent.drivers.docker_spec import Ground, container_arguments, holder_arguments
from node_agent.drivers.runtimes import Isolation, Runtime, choose, isolation_of, offers

GVISOR = {"path": "/usr/bin/runsc", "runtimeArgs": ["--platform=ptrace", "--network=host"]}
RUNTIMES = {
    "runc": {"path": "runc"},
    "crun": {"path": "/usr/bin/crun"},
    "runsc": GVISOR,
    "runsc-gpu": {"path": "/opt/runsc", "runtimeArgs": ["-network=host", "--nvproxy=true"]},
    "runsc-alone": {"path": "/usr/bin/runsc"},
    "kata": {"runtimeType": "io.containerd.kata.v2"},
}


@pytest.mark.parametrize(
    ("name", "isolation"),
    [
        ("runc", Isolation.KERNEL),
        ("crun", Isolation.KERNEL),
        ("runsc", Isolation.GVISOR),
        ("runsc-alone", Isolation.GVISOR),
        ("kata", Isolation.KATA),
    ],
)
def test_what_isolates_containers_follows_from_the_program(name, isolation):
    assert isolation_of(RUNTIMES[name]) is isolation


def test_a_runtime_is_chosen_by_its_name():
    assert choose("crun", RUNTIMES) == Runtime("crun", Isolation.KERNEL)
    assert choose("runsc", RUNTIMES) == Runtime("runsc", Isolation.GVISOR, gpus=False, more_pids=256)
    assert choose("runsc-gpu", RUNTIMES).gpus


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("runs", "no runtime 'runs'; it has: crun, kata, runc, runsc, runsc-alone, runsc-gpu"),
        ("runsc-alone", "--network=host"),
        ("kata", "not supported"),
    ],
)
def test_a_runtime_under_which_pods_cannot_run_is_refused_with_the_reason(name, says):
    with pytest.raises(ValueError, match=says):
        choose(name, RUNTIMES)


def test_a_provider_is_told_what_there_is_to_choose():
    assert offers(RUNTIMES) == ("runsc", "runsc-gpu")
    assert offers({"runc": {"path": "runc"}}) == ()


def test_tenants_containers_run_under_the_runtime_and_the_holder_does_not():
    spec = admit(HOST, a_lease(), read_manifest(MANIFEST))
    ground = Ground("net", {}, {}, cdi=False, runc=True, runtime=choose("runsc", RUNTIMES))
    made = container_arguments(spec, "main", 1, image="i", ground=ground)["host_config"]
    assert (made["runtime"], made["pids_limit"]) == ("runsc", 32 + 256)
    # The holder is a program of the agent.
    assert holder_arguments(spec, image="i", ground=ground)["host_config"]["runtime"] == "runc"
