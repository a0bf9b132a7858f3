"""Tasks whose results are compared: which of their pods the scheduler places, and where."""

from __future__ import annotations

from dataclasses import replace

from toy_network import HOST, OTHER_HOST, TENANT, Toy

from offchain.adapters.chain.typed import TaskAndSpec
from offchain.adapters.keys.signer import from_uri
from offchain.core.feasibility import Fit, Misfit, fit
from offchain.core.placement_forecast import allowed_hosts
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import Host, Layout, Task
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from offchain.services.record_mapping import host_of, task_of
from tests.support.chain_records import GTY, host_record, lease, task_record, task_spec

COMPARED = gen.VerificationPolicyRedundant(replicas=2)
ONE_MODEL = gen.Resources(1000, 512, 1, gen.GpuRequest(1, 1000, 0, (b"A100",)))
SPEC = task_spec(pods_min=2, pods_max=2, resources=ONE_MODEL, verification=COMPARED, deadline=5)
SECOND, THIRD = from_uri("//Eve").address, from_uri("//Ferdie").address
THIRD_HOST = from_uri("//ThirdHost").address
ENDED = gen.LeaseStateEnded(gen.EndReasonCompleted())


def mapped(spec: gen.TaskSpec = SPEC, **changes: object) -> Task:
    found = task_of(TaskAndSpec(7, task_record(TENANT.address, **{"pods_wanted": 2, **changes}), spec))
    assert found is not None
    return found


def test_waiting_replicas_are_placed_together_at_different_providers() -> None:
    task = mapped()
    assert (task.open_pods, task.least, task.layout) == ((0, 1), 2, Layout.PROVIDERS)
    assert (task.replicas, task.deadline) == (2, 5)
    assert mapped(task_spec(pods_max=2), pods_wanted=2).replicas == 0


def test_replicas_on_gpus_of_any_model_are_placed_by_nobody() -> None:
    for models in ((), (b"A100", b"H100")):
        gpus = gen.GpuRequest(1, 1000, 0, models)
        assert mapped(replace(SPEC, resources=replace(ONE_MODEL, gpus=gpus))).open_pods == ()
    without = gen.GpuRequest(0, 0, 0, ())
    assert mapped(replace(SPEC, resources=replace(ONE_MODEL, gpus=without))).open_pods == (0, 1)


def test_a_further_replica_is_placed_at_a_provider_without_one() -> None:
    there = (lease(HOST, pod=0, state=ENDED), lease(OTHER_HOST, pod=1))
    task = mapped(state=gen.TaskStateRunning(), leases=there, pods_wanted=3)
    assert (task.open_pods, task.least, task.deadline) == ((2,), 1, None)
    assert task.hosts == {HOST, OTHER_HOST}
    assert PodRequest.of(task).beside == {HOST, OTHER_HOST}, "replicas that have ended count"
    hosts = {
        name: host_of(name, host_record(provider), None)
        for name, provider in ((HOST, "5A"), (OTHER_HOST, "5B"), ("5Same", "5A"), ("5New", "5C"))
    }
    assert [host.id for host in allowed_hosts(task, hosts)] == ["5New"]


def test_replicas_that_are_all_there_wait_for_nobody() -> None:
    there = (lease(HOST, pod=0, state=ENDED), lease(OTHER_HOST, pod=1, state=ENDED))
    assert mapped(state=gen.TaskStateRunning(), leases=there).open_pods == ()


AUDITED = task_spec(resources=ONE_MODEL, verification=gen.VerificationPolicyAudit(), deadline=5)
SURCHARGE_PPM = 50_000


def audited(**changes: object) -> Task:
    found = task_of(TaskAndSpec(7, task_record(TENANT.address, **changes), AUDITED), audit_surcharge_ppm=SURCHARGE_PPM)
    assert found is not None
    return found


def test_the_first_host_of_an_audited_job_gets_a_surcharge_within_the_limit() -> None:
    task = audited()
    assert (task.open_pods, task.layout, task.audited, task.deadline) == ((0,), Layout.ANY, True, 5)
    host = host_of(HOST, host_record("5A"), None)
    price = rate_of(host, replace(task, surcharge_ppm=0))
    rate = price + price // 20
    assert rate_of(host, replace(task, max_rate_per_hour=rate)) == rate
    assert fit(host, PodRequest.of(replace(task, max_rate_per_hour=rate - 1))) is Misfit.PRICE
    assert mapped(task_spec()).surcharge_ppm == 0


def rate_of(host: Host, task: Task) -> int:
    found = fit(host, PodRequest.of(task))
    assert isinstance(found, Fit)
    return found.rate_per_hour


def test_a_drawn_audit_is_placed_at_another_provider_for_no_more_than_the_first_host_gets() -> None:
    first = lease(HOST, pod=0, state=ENDED)
    first = replace(first, escrow=replace(first.escrow, rate_per_hour=GTY // 2))
    running = {"state": gen.TaskStateRunning(), "leases": (first,)}
    assert audited(**running, pods_wanted=1).open_pods == ()
    task = audited(**running, pods_wanted=2)
    assert (task.open_pods, task.layout, task.hosts, task.deadline) == ((1,), Layout.PROVIDERS, {HOST}, None)
    assert (task.max_rate_per_hour, task.surcharge_ppm) == (GTY // 2, 0)


def test_audited_jobs_on_gpus_of_any_model_are_placed_by_nobody() -> None:
    gpus = replace(ONE_MODEL.gpus, models=())
    any_model = replace(AUDITED, resources=replace(ONE_MODEL, gpus=gpus))
    found = task_of(TaskAndSpec(7, task_record(TENANT.address), any_model))
    assert found is not None
    assert found.open_pods == ()


async def test_a_host_repeats_the_work_of_an_audited_job_when_the_chain_draws_it() -> None:
    toy = Toy()
    toy.chain.storage["Tasks", "Params"][()] |= {"audit_surcharge_ppm": SURCHARGE_PPM}
    toy.host(HOST)
    await toy.block()
    async with toy.working("scheduler") as quiet:
        policy = gen.VerificationPolicyAudit()
        task = await toy.submit(resources=ONE_MODEL, verification=policy, max_rate_per_hour=2 * GTY)
        await toy.block()
        await quiet()
        pod = {"pod": 0, "host": HOST, "devices": b"\0", "rate_per_hour": GTY + GTY // 20}
        assert toy.waiting("assign") == [{"task": task, "pods": [pod]}]
        await toy.block()
        await quiet()
        await toy.call("report", lease=lease_id(task, 0, 0))
        await toy.block()
        toy.go(task, gen.TaskStateRunning(), pods_wanted=2)
        toy._draw = lambda _account, task: [("Tasks", "Scaled", {"task": task})]  # type: ignore[attr-defined]
        await toy.call("draw", task=task)
        for _ in range(2):
            await toy.block()
            await quiet()
        assert not toy.waiting("assign"), "the only provider has the first pod"
        toy.host(OTHER_HOST, provider=SECOND)
        toy._online = lambda _account, host: [("Hosts", "StatusChanged", {"host": host})]  # type: ignore[attr-defined]
        await toy.call("online", host=OTHER_HOST)
        await toy.block()
        await quiet()
        pod = {"pod": 1, "host": OTHER_HOST, "devices": b"\0", "rate_per_hour": GTY}
        assert toy.waiting("assign") == [{"task": task, "pods": [pod]}]


async def test_another_host_is_found_when_results_differ() -> None:
    toy = Toy()
    toy.host(HOST)
    toy.host(OTHER_HOST, provider=SECOND)
    await toy.block()
    async with toy.working("scheduler") as quiet:
        task = await toy.submit(pods_min=2, pods_max=2, resources=ONE_MODEL, verification=COMPARED)
        await toy.block()
        await quiet()
        (first,) = toy.waiting("assign")
        assert {pod["host"] for pod in first["pods"]} == {HOST, OTHER_HOST}
        await toy.block()
        await quiet()
        for pod in (0, 1):
            await toy.call("report", lease=lease_id(task, pod, 0))
        await toy.block()
        toy.go(task, gen.TaskStateRunning(), pods_wanted=3)
        toy._differ = lambda _account, task: [("Tasks", "Scaled", {"task": task})]  # type: ignore[attr-defined]
        await toy.call("differ", task=task)
        for _ in range(2):
            await toy.block()
            await quiet()
        assert not toy.waiting("assign"), "both providers have had a replica"
        toy.host(THIRD_HOST, provider=THIRD)
        toy._online = lambda _account, host: [("Hosts", "StatusChanged", {"host": host})]  # type: ignore[attr-defined]
        await toy.call("online", host=THIRD_HOST)
        await toy.block()
        await quiet()
        pod = {"pod": 2, "host": THIRD_HOST, "devices": b"\0", "rate_per_hour": GTY}
        assert toy.waiting("assign") == [{"task": task, "pods": [pod]}]
