"""Hosts that can do all that the task needs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from core_builders import host
from filter_cases import takers

from offchain.core.fleet.filters.capabilities import CapabilityMissing, NotSandboxed
from tests.support.chain_records import NOTHING

HOSTS = (
    host("nothing", capabilities=NOTHING),
    host("docker", capabilities=replace(NOTHING, docker=True)),
    host("both", capabilities=replace(NOTHING, docker=True, kvm=True)),
    host("mig", capabilities=replace(NOTHING, mig=True)),
    host("sandboxed", capabilities=replace(NOTHING, docker=True, sandboxed=True)),
)


@pytest.mark.parametrize(
    ("needs", "fine"),
    [
        ({"docker": True}, ["docker", "both", "sandboxed"]),
        ({"docker": True, "kvm": True}, ["both"]),
        ({"mig": True}, ["mig"]),
        ({"kubernetes": True}, []),
        ({"cdi": True, "docker": True}, []),
    ],
)
def test_a_host_must_be_able_to_do_all_that_is_needed(needs, fine):
    assert takers(CapabilityMissing(), *HOSTS, capabilities=replace(NOTHING, **needs)) == fine


def test_who_needs_nothing_does_not_care():
    assert takers(CapabilityMissing(), *HOSTS, capabilities=NOTHING) is None


def test_a_task_that_asks_for_a_sandbox_goes_to_hosts_that_have_one():
    wanted = replace(NOTHING, docker=True, sandboxed=True)
    assert takers(NotSandboxed(), *HOSTS, capabilities=wanted) == ["sandboxed"]
    # Another rule, so that the reason is named.
    assert takers(CapabilityMissing(), *HOSTS, capabilities=wanted) == ["docker", "both", "sandboxed"]


def test_a_task_that_asks_for_no_sandbox_may_run_in_one():
    assert takers(NotSandboxed(), *HOSTS, capabilities=replace(NOTHING, docker=True)) is None
