"""Wrong calls, each with the one error that the chain must answer."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

import abuse_network as of
from abuse_network import HOSTS, JOB, MANIFEST, MINUTE_MS, RENTAL, SERVICE, SIGNERS, STATES, UNKNOWN_TASK, Network, on

from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import (
    GpuRequest,
    VerificationPolicyAudit,
    VerificationPolicyRedundant,
    calls,
)
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import ANY_RATE
from tests.support.real_chain import by_sudo

U128 = 2**128 - 1
UNKNOWN_LEASE = lease_id(UNKNOWN_TASK, 0, 0)
Make = Callable[[Network], Call]


@dataclass(frozen=True)
class Case:
    """`make` gives the call; `expected` is its error as pallet and name."""

    name: str
    signer: str
    make: Make
    expected: str


WITH_LEASE = ("Assigned", "Running", "Reported", "Verified", "Settled", "Failed")
"""States in which a task has the lease of its only attempt."""


def fixed(call: Call) -> Make:
    return lambda _world: call


def on_lease(make: Callable[..., Call], state: str, **fields: Any) -> Make:
    """The call about the lease of the task in this state."""
    return lambda net: make(lease=net.lease(state), **fields)


def on_other_lease(make: Callable[..., Call], pod: int, generation: int) -> Make:
    """The call about a lease that the running task does not have."""
    return lambda net: make(lease=lease_id(net.tasks["Running"], pod, generation))


def on_task(function: str, state: str | None) -> Make:
    """The call about the task in this state, or about one that does not exist."""

    def make(net: Network) -> Call:
        task = UNKNOWN_TASK if state is None else net.tasks[state]
        match function:
            case "assign":
                return calls.tasks_assign(task=task, pods=[on("second")])
            case "scale":
                return calls.tasks_scale(task=task, pods=1)
            case _:
                return Call("Tasks", function, {"task": task})

    return make


def on_host(function: str, host: str) -> Make:
    return fixed(Call("Hosts", function, {"host": SIGNERS[host].address}))


def of_tasks() -> Iterator[Case]:
    """Every call about a task, in every state in which it is wrong."""
    allowed: dict[str, dict[str, str | None]] = {
        "assign": {"Queued": None},
        "cancel": {"Queued": None, "Assigned": None, "Running": None},
        "expire": {"Queued": "DeadlineNotPassed"},
        "accept_result": {"Reported": None},
        "settle": {"Verified": None, "Reported": "DisputeWindowOpen"},
        "scale": {},
        "end": {},
    }
    otherwise = {
        "assign": ("scheduler", "NotQueued"),
        "cancel": ("tenant", "TransitionNotAllowed"),
        "expire": ("anyone", "NotQueued"),
        "accept_result": ("tenant", "NotReported"),
        "settle": ("anyone", "NotSettleable"),
        "scale": ("tenant", "NotService"),
        "end": ("tenant", "JobsAreCancelled"),
    }
    for function, (signer, refusal) in otherwise.items():
        for state in STATES:
            expected = allowed[function].get(state, refusal)
            if expected is not None:
                yield Case(f"{function}-{state}", signer, on_task(function, state), f"Tasks.{expected}")
        yield Case(f"{function}-unknown", signer, on_task(function, None), "Tasks.NoSuchTask")
    for function in ("cancel", "accept_result", "scale", "end"):
        for state in (*STATES, "Service", "Rental"):
            yield Case(f"{function}-{state}-of-another", "other", on_task(function, state), "Tasks.NotTenant")
    for state in (*STATES, "Service", "Rental", "Retained"):
        yield Case(f"assign-{state}-by-a-stranger", "other", on_task("assign", state), "Tasks.NotSchedulerOrTenant")


def of_leases_by_hosts() -> Iterator[Case]:
    """Every report, in every state in which it is wrong, and of hosts that the lease is not on."""
    checkpoint = gen.ReportCheckpoint(digest=bytes(32), bytes_=1)
    makers: dict[str, Callable[..., Call]] = {
        "report_started": calls.tasks_report_started,
        "report_result": partial(calls.tasks_report_result, result=of.RESULT),
        "report_failed": partial(calls.tasks_report_failed, reason=of.FAILED),
        "report_purged": partial(calls.tasks_report, report=gen.ReportPurged(receipt=bytes(32))),
        "report_data_lost": partial(calls.tasks_report, report=gen.ReportDataLost()),
        "report_checkpoint": partial(calls.tasks_report, report=checkpoint),
        "requeue": calls.tasks_requeue,
        "expire_lease": calls.tasks_expire_lease,
    }
    for name, make in makers.items():
        signer = "anyone" if name in ("requeue", "expire_lease") else "online"
        for state in STATES:
            expected = _of_lease(name, state)
            if expected is not None:
                yield Case(f"{name}-{state}", signer, on_lease(make, state), f"Tasks.{expected}")
        yield Case(f"{name}-unknown-task", signer, fixed(make(lease=UNKNOWN_LEASE)), "Tasks.NoSuchTask")
        yield Case(f"{name}-other-generation", signer, on_other_lease(make, 0, 7), "Tasks.NoSuchLease")
        yield Case(f"{name}-other-pod", signer, on_other_lease(make, 3, 0), "Tasks.NoSuchLease")
        if signer == "online":
            for thief in ("second", "nobody", "tenant"):
                for state in WITH_LEASE:
                    yield Case(f"{name}-{state}-by-{thief}", thief, on_lease(make, state), "Tasks.NotHostOfLease")


def _of_lease(name: str, state: str) -> str | None:
    """What the chain answers to this about the lease of a job in this state; None where it is right."""
    if state not in WITH_LEASE:
        return "NoSuchLease"
    ended = state not in ("Assigned", "Running")
    answers = {
        "report_started": None if state == "Assigned" else "LeaseNotPending",
        "report_result": None if state == "Running" else "LeaseNotActive",
        "report_failed": "LeaseEnded" if ended else None,
        "report_checkpoint": None if state == "Running" else "LeaseNotActive",
        "requeue": "LeaseEnded" if ended else "LeaseNotStuck",
        "expire_lease": "LeaseNotDepleted" if state == "Running" else "LeaseNotActive",
    }
    return answers.get(name, "DataNotRetained")


def of_lease_calls() -> Iterator[Case]:
    """The tenant's and provider's calls about leases: of jobs, of others, in states where they mean nothing."""
    makers: dict[str, tuple[str, Callable[..., Call]]] = {
        "extend": ("tenant", partial(calls.leases_extend, ms=MINUTE_MS)),
        "top_up": ("tenant", partial(calls.leases_top_up, amount=1)),
        "suspend": ("tenant", calls.leases_suspend),
        "resume": ("tenant", calls.leases_resume),
        "keep": ("tenant", partial(calls.leases_keep, ms=MINUTE_MS, max_rate_per_hour=MINUTE_MS)),
        "release_data": ("tenant", calls.leases_release_data),
        "reclaim": ("provider", calls.leases_reclaim),
        "finish_reclaim": ("anyone", calls.leases_finish_reclaim),
        "settle": ("anyone", calls.leases_settle),
        "close_depleted": ("anyone", calls.leases_close_depleted),
    }
    for name, (signer, make) in makers.items():
        for state in WITH_LEASE:
            expected = "LeaseNotRetained" if name in ("keep", "release_data") else "LeaseOfJob"
            yield Case(f"lease-{name}-{state}", signer, on_lease(make, state), f"Leases.{expected}")
        yield Case(f"lease-{name}-unknown", signer, fixed(make(lease=UNKNOWN_LEASE)), "Tasks.NoSuchTask")
        if signer == "tenant":
            for state in ("Service", "Rental"):
                yield Case(f"lease-{name}-{state}-of-another", "other", on_lease(make, state), "Leases.NotTenant")
            expected = "NotTenant" if name in ("keep", "release_data") else "LeaseNotRunning"
            yield Case(f"lease-{name}-Retained-of-another", "other", on_lease(make, "Retained"), f"Leases.{expected}")
    for name, signer, function, state, expected in (
        ("reclaim-by-a-stranger", "other", "reclaim", "Rental", "NotProvider"),
        ("finish-reclaim-without-notice", "anyone", "finish_reclaim", "Rental", "ReclaimNotNoticed"),
        ("close-what-is-paid-for", "anyone", "close_depleted", "Rental", "LeaseNotDepleted"),
        ("suspend-a-service", "tenant", "suspend", "Service", "NotRental"),
        ("resume-what-runs", "tenant", "resume", "Rental", "LeaseNotSuspended"),
        ("keep-what-runs", "tenant", "keep", "Rental", "LeaseNotRetained"),
        ("release-what-runs", "tenant", "release_data", "Rental", "LeaseNotRetained"),
        ("extend-what-ended", "tenant", "extend", "Retained", "LeaseNotRunning"),
    ):
        yield Case(name, signer, on_lease(makers[function][1], state), f"Leases.{expected}")
    top_up, purged = calls.leases_top_up, gen.ReportPurged(receipt=bytes(32))
    for name, signer, make, expected in (
        ("top-up-nothing", "tenant", on_lease(top_up, "Rental", amount=0), "Leases.AmountIsZero"),
        ("extend-by-nothing", "tenant", on_lease(calls.leases_extend, "Rental", ms=0), "Leases.DurationIsZero"),
        ("top-up-more-than-there-is", "tenant", on_lease(top_up, "Rental", amount=U128), "Billing.TenantCannotPay"),
        ("purge-too-early", "online", on_lease(calls.tasks_report, "Retained", report=purged), "Tasks.DataStillKept"),
        (
            *("a-rental-reports-no-start-twice", "online"),
            *(on_lease(calls.tasks_report_started, "Rental"), "Tasks.LeaseNotPending"),
        ),
    ):
        yield Case(name, signer, make, expected)


def of_moves() -> Iterator[Case]:
    """Pods of tasks that are to stay where they are, and of those that have ended."""
    there: dict[str, Any] = {"host": SIGNERS["second"].address, "devices": b"", "rate_per_hour": ANY_RATE}
    for name, refusal, make in (
        ("name_standby", "NoStandbyWanted", partial(calls.tasks_name_standby, **there)),
        ("move_pod", "NotMovable", partial(calls.tasks_move_pod, **there)),
    ):
        for state in (*WITH_LEASE, "Service", "Rental", "Retained"):
            lives = state in ("Assigned", "Running", "Service", "Rental")
            expected = f"Tasks.{refusal if lives else 'LeaseEnded'}"
            yield Case(f"{name}-{state}", "tenant", on_lease(make, state), expected)
            yield Case(f"{name}-{state}-by-a-stranger", "other", on_lease(make, state), "Tasks.NotSchedulerOrTenant")
        yield Case(f"{name}-unknown", "tenant", fixed(make(lease=UNKNOWN_LEASE)), "Tasks.NoSuchTask")


def _submits(spec: gen.TaskSpec, manifest: bytes = MANIFEST) -> Make:
    return fixed(calls.tasks_submit(spec=spec, manifest=manifest))


def _submits_array(spec: gen.TaskSpec, count: int) -> Make:
    return fixed(calls.tasks_submit_array(spec=spec, manifest=MANIFEST, count=count))


def of_specs() -> Iterator[Case]:
    """What nobody may submit."""

    def needs(**changes: Any) -> gen.TaskSpec:
        return replace(JOB, resources=replace(JOB.resources, **changes))

    def replicas(spec: gen.TaskSpec, count: int, **changes: Any) -> gen.TaskSpec:
        return replace(spec, verification=VerificationPolicyRedundant(replicas=count), **changes)

    wrong: dict[str, tuple[gen.TaskSpec, str]] = {
        "no-cpu": (needs(cpu_milli=0), "ResourcesEmpty"),
        "no-memory": (needs(memory_mib=0), "ResourcesEmpty"),
        "seventeen-devices": (needs(gpus=GpuRequest(17, 1000, 0, ())), "GpuRequestInvalid"),
        "no-share-of-a-device": (needs(gpus=GpuRequest(1, 0, 0, ())), "GpuRequestInvalid"),
        "more-than-a-device": (needs(gpus=GpuRequest(1, 1001, 0, ())), "GpuRequestInvalid"),
        "no-pods": (replace(JOB, pods_min=0), "PodRangeInvalid"),
        "fewer-pods-than-least": (replace(JOB, pods_min=3, pods_max=2), "PodRangeInvalid"),
        "seventeen-pods": (replace(JOB, pods_max=17), "PodRangeInvalid"),
        "no-time": (replace(JOB, max_duration_ms=0), "DurationInvalid"),
        "too-long": (replace(JOB, max_duration_ms=2**63), "DurationInvalid"),
        "deadline-passed": (replace(JOB, deadline=1), "DeadlinePassed"),
        "another-manifest": (replace(JOB, manifest_digest=sha256(b"another").digest()), "ManifestDigestMismatch"),
        "unpayable": (replace(JOB, max_rate_per_hour=10**30), "TenantCannotPay"),
        "uncountable": (replace(JOB, max_rate_per_hour=U128), "CostTooHigh"),
        "two-rentals": (replace(RENTAL, pods_max=2), "RentalHasOnePod"),
        "job-with-old-data": (replace(JOB, data_from=0), "OnlyRentalsTakeData"),
        "a-rental-that-moves": (replace(RENTAL, survival=gen.Survival.MOVE), "SurvivalInvalid"),
        "one-replica": (replicas(JOB, 1), "ReplicasInvalid"),
        "four-replicas": (replicas(JOB, 4, pods_min=4, pods_max=4), "ReplicasInvalid"),
        "replicas-of-a-service": (replicas(SERVICE, 2, pods_min=2, pods_max=2), "ReplicasInvalid"),
        "fewer-pods-than-replicas": (replicas(JOB, 2), "ReplicasInvalid"),
        "audit-of-a-service": (replace(SERVICE, verification=VerificationPolicyAudit()), "ReplicasInvalid"),
        "audit-of-two-pods": (replace(JOB, pods_max=2, verification=VerificationPolicyAudit()), "ReplicasInvalid"),
        "audit-where-none-is-offered": (replace(JOB, verification=VerificationPolicyAudit()), "ReplicasNotOffered"),
    }
    for name, (spec, expected) in wrong.items():
        yield Case(f"submit-{name}", "tenant", _submits(spec), f"Tasks.{expected}")
    yield Case("submit-nothing", "tenant", _submits(JOB, b""), "Tasks.ManifestEmpty")
    yield Case("submit-without-coins", "poor", _submits(JOB), "Tasks.TenantCannotPay")
    for count in (0, 4_097):
        yield Case(f"array-of-{count}", "tenant", _submits_array(JOB, count), "Tasks.CountInvalid")
    yield Case("array-of-services", "tenant", _submits_array(SERVICE, 2), "Tasks.OnlyJobsInArrays")
    # Deposits stop whoever would fill the chain's storage.
    free = replace(JOB, max_rate_per_hour=0)
    yield Case("array-beyond-the-deposit", "poor", _submits_array(free, 4_096), "Tasks.TenantCannotPay")


def of_placements() -> Iterator[Case]:
    """A bonded scheduler that tries what it must not: the waiting task is there to be had, and stays waiting."""
    waiting = lambda pods: lambda net: calls.tasks_assign(task=net.tasks["Queued"], pods=pods)  # noqa: E731
    wrong = {
        "offline-host": ([on("offline")], "Hosts.HostNotOnline"),
        "draining-host": ([on("draining")], "Hosts.HostNotOnline"),
        "suspended-host": ([on("suspended")], "Hosts.HostNotOnline"),
        "retiring-host": ([on("retiring")], "Hosts.HostNotOnline"),
        "no-host": ([on("nobody")], "Hosts.NoSuchHost"),
        "no-pods": ([], "Tasks.WrongPodCount"),
        "two-pods": ([on("online"), on("second", 1)], "Tasks.WrongPodCount"),
        "the-second-pod": ([on("online", 1)], "Tasks.PodOutOfRange"),
        "a-device-unasked": ([on("online", 0, b"\x00")], "Hosts.WrongDeviceCount"),
    }
    for name, (pods, expected) in wrong.items():
        yield Case(f"assign-to-{name}", "scheduler", waiting(pods), expected)

    def batch(net: Network) -> Call:
        return calls.tasks_assign_batch(assignments=[(net.tasks["Queued"], [on("online")])])

    yield Case("assign-batch-by-a-stranger", "other", batch, "Tasks.NotScheduler")
    yield Case("bond-twice", "scheduler", fixed(calls.tasks_bond_scheduler()), "Tasks.AlreadyScheduler")
    yield Case("bond-without-coins", "poor", fixed(calls.tasks_bond_scheduler()), "Tasks.SchedulerCannotPay")
    yield Case("unbond-unbonded", "other", fixed(calls.tasks_unbond_scheduler()), "Tasks.NotScheduler")


def of_ratings() -> Iterator[Case]:
    rows = [(f"rate-{state}", "tenant", state, 5, "NotSettled") for state in WITH_LEASE if state != "Settled"]
    without = ("Queued", "Cancelled", "Expired")
    rows += [(f"rate-{state}-without-a-lease", "tenant", state, 5, "NoSuchLease") for state in without]
    rows += [(f"rate-{stars}-stars", "tenant", "Settled", stars, "StarsInvalid") for stars in (0, 6, 255)]
    rows += [(f"rate-by-{who}", who, "Settled", 5, "NotTenant") for who in ("other", "provider", "online")]
    for name, signer, state, stars, expected in rows:
        yield Case(name, signer, on_lease(calls.tasks_rate, state, stars=stars), f"Tasks.{expected}")


def of_hosts() -> Iterator[Case]:
    """The provider's, the host's and strangers' calls about hosts."""
    ours = ("drain", "undrain", "retire", "withdraw_bond")
    for name, key in HOSTS.items():
        for function in ours:
            yield Case(f"{function}-{name}-by-another", "other", on_host(function, name), "Hosts.NotProvider")
        set_ask = fixed(calls.hosts_set_ask(host=key.address, ask=of.ASK))
        yield Case(f"set-ask-{name}-by-another", "other", set_ask, "Hosts.NotProvider")
        yield Case(f"register-{name}-again", "provider", partial(of.register, host=name), "Hosts.AlreadyRegistered")
    for function in (*ours, "report_absent"):
        yield Case(f"{function}-nobody", "provider", on_host(function, "nobody"), "Hosts.NoSuchHost")
    there, known = ("online", "second", "draining"), ("offline", "suspended")
    rows = [(f"report-{name}-that-is-there", "anyone", "report_absent", name, "NotAbsent") for name in there]
    rows += [(f"report-{name}-again", "anyone", "report_absent", name, "HostNotOnline") for name in known]
    rows += [
        ("undrain-online", "provider", "undrain", "online", "TransitionNotAllowed"),
        ("drain-offline", "provider", "drain", "offline", "TransitionNotAllowed"),
        ("retire-with-leases", "provider", "retire", "online", "HasLiveLeases"),
        ("bond-before-its-time", "provider", "withdraw_bond", "retiring", "StillUnbonding"),
        ("bond-of-a-working-host", "provider", "withdraw_bond", "second", "TransitionNotAllowed"),
    ]
    for name, signer, function, host, expected in rows:
        yield Case(name, signer, on_host(function, host), f"Hosts.{expected}")
    yield Case("heartbeat-of-nobody", "nobody", fixed(calls.hosts_heartbeat()), "Hosts.NoSuchHost")
    yield Case("register-with-anothers-signature", "other", _forged, "Hosts.BadHostSignature")


def _forged(net: Network) -> Call:
    """A registration that the host signed for another provider, sent for a key that is not registered."""
    call = of.register(net, "nobody")
    return Call(call.pallet, call.function, {**call.args, "host": SIGNERS["nobody"].address})


def of_root() -> Iterator[Case]:
    """What governance alone may do."""
    for function, host in (("verify", "second"), ("suspend", "second"), ("unsuspend", "suspended")):
        for signer in ("provider", "tenant", "second"):
            yield Case(f"{function}-by-{signer}", signer, on_host(function, host), "System.BadOrigin")
    sudo = fixed(by_sudo(calls.hosts_verify(host=HOSTS["second"].address)))
    added = fixed(Call("Validators", "add", {"who": SIGNERS["other"].address}))
    for signer in ("tenant", "provider", "scheduler"):
        yield Case(f"sudo-by-{signer}", signer, sudo, "Sudo.RequireSudo")
        yield Case(f"validator-added-by-{signer}", signer, added, "System.BadOrigin")


CASES = [
    *of_tasks(),
    *of_leases_by_hosts(),
    *of_lease_calls(),
    *of_moves(),
    *of_specs(),
    *of_placements(),
    *of_ratings(),
    *of_hosts(),
    *of_root(),
]
