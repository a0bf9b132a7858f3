"""Wrong calls, each with the one error that the chain must answer."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from abuse_world import (
    ASK,
    FAILED,
    HOSTS,
    JOB,
    MANIFEST,
    MINUTE_MS,
    PEOPLE,
    RENTAL,
    RESULT,
    SERVICE,
    SIGNERS,
    STATES,
    UNKNOWN_TASK,
    World,
    on,
    register,
)

from offchain.ports import Call
from offchain.schema.chain_types._generated_chain import (
    GpuRequest,
    ReportCheckpoint,
    ReportDataLost,
    ReportPurged,
    Survival,
    TaskSpec,
    VerificationPolicyRedundant,
    calls,
)
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import ANY_RATE
from tests.support.real_chain import by_sudo

U128 = 2**128 - 1
UNKNOWN_LEASE = lease_id(UNKNOWN_TASK, 0, 0)


@dataclass(frozen=True)
class Case:
    """`make` gives the call; `expected` is its error as pallet and name."""

    name: str
    signer: str
    make: Callable[[World], Call]
    expected: str


WITH_LEASE = ("Assigned", "Running", "Reported", "Verified", "Settled", "Failed")
"""States in which a task has the lease of its only attempt."""


def of_tasks() -> Iterator[Case]:
    """Every call about a task, in every state in which it is wrong."""
    allowed = {
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
                yield Case(f"{function}-{state}", signer, _of_task(function, state), f"Tasks.{expected}")
        yield Case(f"{function}-unknown", signer, _of_task(function, None), "Tasks.NoSuchTask")
    for function in ("cancel", "accept_result", "scale", "end"):
        for state in (*STATES, "Service", "Rental"):
            yield Case(f"{function}-{state}-of-another", "other", _of_task(function, state), "Tasks.NotTenant")
    for state in (*STATES, "Service", "Rental", "Retained"):
        yield Case(f"assign-{state}-by-a-stranger", "other", _of_task("assign", state), "Tasks.NotSchedulerOrTenant")


def _of_task(function: str, state: str | None) -> Callable[[World], Call]:
    def make(world: World) -> Call:
        task = UNKNOWN_TASK if state is None else world.tasks[state]
        match function:
            case "assign":
                return calls.tasks_assign(task=task, pods=[on("second")])
            case "scale":
                return calls.tasks_scale(task=task, pods=1)
            case _:
                return Call("Tasks", function, {"task": task})

    return make


def of_leases_by_hosts() -> Iterator[Case]:
    """Every report, in every state in which it is wrong, and of hosts that the lease is not on."""
    makers: dict[str, Callable[[int], Call]] = {
        "report_started": lambda lease: calls.tasks_report_started(lease=lease),
        "report_result": lambda lease: calls.tasks_report_result(lease=lease, result=RESULT),
        "report_failed": lambda lease: calls.tasks_report_failed(lease=lease, reason=FAILED),
        "report_purged": lambda lease: calls.tasks_report(lease=lease, report=ReportPurged(receipt=bytes(32))),
        "report_data_lost": lambda lease: calls.tasks_report(lease=lease, report=ReportDataLost()),
        "report_checkpoint": lambda lease: calls.tasks_report(
            lease=lease, report=ReportCheckpoint(digest=bytes(32), bytes_=1)
        ),
        "requeue": lambda lease: calls.tasks_requeue(lease=lease),
        "expire_lease": lambda lease: calls.tasks_expire_lease(lease=lease),
    }
    for name, make in makers.items():
        signer = "anyone" if name in ("requeue", "expire_lease") else "online"
        for state in STATES:
            expected = _of_lease(name, state)
            if expected is not None:
                yield Case(f"{name}-{state}", signer, _at(make, state), f"Tasks.{expected}")
        yield Case(f"{name}-unknown-task", signer, lambda _w, m=make: m(UNKNOWN_LEASE), "Tasks.NoSuchTask")
        yield Case(
            f"{name}-other-generation",
            signer,
            lambda w, m=make: m(lease_id(w.tasks["Running"], 0, 7)),
            "Tasks.NoSuchLease",
        )
        yield Case(
            f"{name}-other-pod", signer, lambda w, m=make: m(lease_id(w.tasks["Running"], 3, 0)), "Tasks.NoSuchLease"
        )
        if signer == "online":
            for thief in ("second", "nobody", "tenant"):
                for state in WITH_LEASE:
                    yield Case(f"{name}-{state}-by-{thief}", thief, _at(make, state), "Tasks.NotHostOfLease")


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


def _at(make: Callable[[int], Call], state: str) -> Callable[[World], Call]:
    return lambda world: make(world.lease(state))


def of_lease_calls() -> Iterator[Case]:
    """The tenant's and provider's calls about leases: of jobs, of others, in states where they mean nothing."""
    makers: dict[str, tuple[str, Callable[[int], Call]]] = {
        "extend": ("tenant", lambda lease: calls.leases_extend(lease=lease, ms=MINUTE_MS)),
        "top_up": ("tenant", lambda lease: calls.leases_top_up(lease=lease, amount=1)),
        "suspend": ("tenant", lambda lease: calls.leases_suspend(lease=lease)),
        "resume": ("tenant", lambda lease: calls.leases_resume(lease=lease)),
        "keep": ("tenant", lambda lease: calls.leases_keep(lease=lease, ms=MINUTE_MS, max_rate_per_hour=MINUTE_MS)),
        "release_data": ("tenant", lambda lease: calls.leases_release_data(lease=lease)),
        "reclaim": ("provider", lambda lease: calls.leases_reclaim(lease=lease)),
        "finish_reclaim": ("anyone", lambda lease: calls.leases_finish_reclaim(lease=lease)),
        "settle": ("anyone", lambda lease: calls.leases_settle(lease=lease)),
        "close_depleted": ("anyone", lambda lease: calls.leases_close_depleted(lease=lease)),
    }
    for name, (signer, make) in makers.items():
        for state in WITH_LEASE:
            expected = "LeaseNotRetained" if name in ("keep", "release_data") else "LeaseOfJob"
            yield Case(f"lease-{name}-{state}", signer, _at(make, state), f"Leases.{expected}")
        yield Case(f"lease-{name}-unknown", signer, lambda _w, m=make: m(UNKNOWN_LEASE), "Tasks.NoSuchTask")
        if signer == "tenant":
            for state in ("Service", "Rental"):
                yield Case(f"lease-{name}-{state}-of-another", "other", _at(make, state), "Leases.NotTenant")
            expected = "NotTenant" if name in ("keep", "release_data") else "LeaseNotRunning"
            yield Case(f"lease-{name}-Retained-of-another", "other", _at(make, "Retained"), f"Leases.{expected}")
    yield Case("reclaim-by-a-stranger", "other", _at(makers["reclaim"][1], "Rental"), "Leases.NotProvider")
    yield Case(
        "finish-reclaim-without-notice",
        "anyone",
        _at(makers["finish_reclaim"][1], "Rental"),
        "Leases.ReclaimNotNoticed",
    )
    yield Case(
        "close-what-is-paid-for", "anyone", _at(makers["close_depleted"][1], "Rental"), "Leases.LeaseNotDepleted"
    )
    yield Case("suspend-a-service", "tenant", _at(makers["suspend"][1], "Service"), "Leases.NotRental")
    yield Case("resume-what-runs", "tenant", _at(makers["resume"][1], "Rental"), "Leases.LeaseNotSuspended")
    yield Case("keep-what-runs", "tenant", _at(makers["keep"][1], "Rental"), "Leases.LeaseNotRetained")
    yield Case("release-what-runs", "tenant", _at(makers["release_data"][1], "Rental"), "Leases.LeaseNotRetained")
    yield Case("extend-what-ended", "tenant", _at(makers["extend"][1], "Retained"), "Leases.LeaseNotRunning")
    yield Case(
        "top-up-nothing",
        "tenant",
        lambda w: calls.leases_top_up(lease=w.lease("Rental"), amount=0),
        "Leases.AmountIsZero",
    )
    yield Case(
        "extend-by-nothing",
        "tenant",
        lambda w: calls.leases_extend(lease=w.lease("Rental"), ms=0),
        "Leases.DurationIsZero",
    )
    yield Case(
        "top-up-more-than-there-is",
        "tenant",
        lambda w: calls.leases_top_up(lease=w.lease("Rental"), amount=U128),
        "Billing.TenantCannotPay",
    )
    yield Case(
        "purge-too-early",
        "online",
        lambda w: calls.tasks_report(lease=w.lease("Retained"), report=ReportPurged(receipt=bytes(32))),
        "Tasks.DataStillKept",
    )
    yield Case(
        "a-rental-reports-no-start-twice",
        "online",
        lambda w: calls.tasks_report_started(lease=w.lease("Rental")),
        "Tasks.LeaseNotPending",
    )


def of_moves() -> Iterator[Case]:
    """Pods of tasks that are to stay where they are, and of those that have ended."""
    there = SIGNERS["second"].address
    makers: dict[str, tuple[str, Callable[[int], Call]]] = {
        "name_standby": (
            "NoStandbyWanted",
            lambda lease: calls.tasks_name_standby(lease=lease, host=there, devices=b"", rate_per_hour=ANY_RATE),
        ),
        "move_pod": (
            "NotMovable",
            lambda lease: calls.tasks_move_pod(lease=lease, host=there, devices=b"", rate_per_hour=ANY_RATE),
        ),
    }
    for name, (refusal, make) in makers.items():
        for state in (*WITH_LEASE, "Service", "Rental", "Retained"):
            lives = state in ("Assigned", "Running", "Service", "Rental")
            yield Case(f"{name}-{state}", "tenant", _at(make, state), f"Tasks.{refusal if lives else 'LeaseEnded'}")
            yield Case(f"{name}-{state}-by-a-stranger", "other", _at(make, state), "Tasks.NotSchedulerOrTenant")
        yield Case(f"{name}-unknown", "tenant", lambda _w, m=make: m(UNKNOWN_LEASE), "Tasks.NoSuchTask")


def of_specs() -> Iterator[Case]:
    """What nobody may submit."""
    needs = JOB.resources
    wrong: dict[str, tuple[TaskSpec, str]] = {
        "no-cpu": (replace(JOB, resources=replace(needs, cpu_milli=0)), "ResourcesEmpty"),
        "no-memory": (replace(JOB, resources=replace(needs, memory_mib=0)), "ResourcesEmpty"),
        "seventeen-devices": (
            replace(JOB, resources=replace(needs, gpus=GpuRequest(17, 1000, 0, ()))),
            "GpuRequestInvalid",
        ),
        "no-share-of-a-device": (
            replace(JOB, resources=replace(needs, gpus=GpuRequest(1, 0, 0, ()))),
            "GpuRequestInvalid",
        ),
        "more-than-a-device": (
            replace(JOB, resources=replace(needs, gpus=GpuRequest(1, 1001, 0, ()))),
            "GpuRequestInvalid",
        ),
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
        "a-rental-that-moves": (replace(RENTAL, survival=Survival.MOVE), "SurvivalInvalid"),
        "one-replica": (replace(JOB, verification=VerificationPolicyRedundant(replicas=1)), "ReplicasInvalid"),
        "four-replicas": (
            replace(JOB, pods_min=4, pods_max=4, verification=VerificationPolicyRedundant(replicas=4)),
            "ReplicasInvalid",
        ),
        "replicas-of-a-service": (
            replace(SERVICE, pods_min=2, pods_max=2, verification=VerificationPolicyRedundant(replicas=2)),
            "ReplicasInvalid",
        ),
        "fewer-pods-than-replicas": (
            replace(JOB, verification=VerificationPolicyRedundant(replicas=2)),
            "ReplicasInvalid",
        ),
    }
    for name, (spec, expected) in wrong.items():
        yield Case(
            f"submit-{name}",
            "tenant",
            lambda _w, s=spec: calls.tasks_submit(spec=s, manifest=MANIFEST),
            f"Tasks.{expected}",
        )
    yield Case("submit-nothing", "tenant", lambda _w: calls.tasks_submit(spec=JOB, manifest=b""), "Tasks.ManifestEmpty")
    yield Case(
        "submit-without-coins",
        "poor",
        lambda _w: calls.tasks_submit(spec=JOB, manifest=MANIFEST),
        "Tasks.TenantCannotPay",
    )
    for count, expected in ((0, "CountInvalid"), (4_097, "CountInvalid")):
        yield Case(
            f"array-of-{count}",
            "tenant",
            lambda _w, c=count: calls.tasks_submit_array(spec=JOB, manifest=MANIFEST, count=c),
            f"Tasks.{expected}",
        )
    yield Case(
        "array-of-services",
        "tenant",
        lambda _w: calls.tasks_submit_array(spec=SERVICE, manifest=MANIFEST, count=2),
        "Tasks.OnlyJobsInArrays",
    )
    # Deposits stop whoever would fill the chain's storage.
    yield Case(
        "array-beyond-the-deposit",
        "poor",
        lambda _w: calls.tasks_submit_array(spec=replace(JOB, max_rate_per_hour=0), manifest=MANIFEST, count=4_096),
        "Tasks.TenantCannotPay",
    )


def of_placements() -> Iterator[Case]:
    """A bonded scheduler that tries what it must not: the waiting task is there to be had, and stays waiting."""
    waiting = lambda pods: lambda world: calls.tasks_assign(task=world.tasks["Queued"], pods=pods)  # noqa: E731
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
    yield Case(
        "assign-batch-by-a-stranger",
        "other",
        lambda w: calls.tasks_assign_batch(assignments=[(w.tasks["Queued"], [on("online")])]),
        "Tasks.NotScheduler",
    )
    yield Case("bond-twice", "scheduler", lambda _w: calls.tasks_bond_scheduler(), "Tasks.AlreadyScheduler")
    yield Case("bond-without-coins", "poor", lambda _w: calls.tasks_bond_scheduler(), "Tasks.SchedulerCannotPay")
    yield Case("unbond-unbonded", "other", lambda _w: calls.tasks_unbond_scheduler(), "Tasks.NotScheduler")


def of_ratings() -> Iterator[Case]:
    for state in ("Assigned", "Running", "Reported", "Verified", "Failed"):
        yield Case(
            f"rate-{state}",
            "tenant",
            lambda w, s=state: calls.tasks_rate(lease=w.lease(s), stars=5),
            "Tasks.NotSettled",
        )
    for state in ("Queued", "Cancelled", "Expired"):
        yield Case(
            f"rate-{state}-without-a-lease",
            "tenant",
            lambda w, s=state: calls.tasks_rate(lease=w.lease(s), stars=5),
            "Tasks.NoSuchLease",
        )
    for stars in (0, 6, 255):
        yield Case(
            f"rate-{stars}-stars",
            "tenant",
            lambda w, n=stars: calls.tasks_rate(lease=w.lease("Settled"), stars=n),
            "Tasks.StarsInvalid",
        )
    for stranger in ("other", "provider", "online"):
        yield Case(
            f"rate-by-{stranger}",
            stranger,
            lambda w: calls.tasks_rate(lease=w.lease("Settled"), stars=5),
            "Tasks.NotTenant",
        )


def of_hosts() -> Iterator[Case]:
    """The provider's, the host's and strangers' calls about hosts."""
    for name in HOSTS:
        address = HOSTS[name].address
        for function in ("drain", "undrain", "retire", "withdraw_bond"):
            yield Case(
                f"{function}-{name}-by-another",
                "other",
                lambda _w, f=function, a=address: Call("Hosts", f, {"host": a}),
                "Hosts.NotProvider",
            )
        yield Case(
            f"set-ask-{name}-by-another",
            "other",
            lambda _w, a=address: calls.hosts_set_ask(host=a, ask=ASK),
            "Hosts.NotProvider",
        )
        yield Case(f"register-{name}-again", "provider", lambda w, n=name: register(w, n), "Hosts.AlreadyRegistered")
    nobody = SIGNERS["nobody"].address
    for function in ("drain", "undrain", "retire", "withdraw_bond", "report_absent"):
        yield Case(
            f"{function}-nobody",
            "provider",
            lambda _w, f=function: Call("Hosts", f, {"host": nobody}),
            "Hosts.NoSuchHost",
        )
    for name in ("online", "second", "draining"):
        yield Case(
            f"report-{name}-that-is-there",
            "anyone",
            lambda _w, n=name: calls.hosts_report_absent(host=HOSTS[n].address),
            "Hosts.NotAbsent",
        )
    for name in ("offline", "suspended"):
        yield Case(
            f"report-{name}-again",
            "anyone",
            lambda _w, n=name: calls.hosts_report_absent(host=HOSTS[n].address),
            "Hosts.HostNotOnline",
        )
    yield Case(
        "undrain-online",
        "provider",
        lambda _w: calls.hosts_undrain(host=HOSTS["online"].address),
        "Hosts.TransitionNotAllowed",
    )
    yield Case(
        "drain-offline",
        "provider",
        lambda _w: calls.hosts_drain(host=HOSTS["offline"].address),
        "Hosts.TransitionNotAllowed",
    )
    yield Case(
        "retire-with-leases",
        "provider",
        lambda _w: calls.hosts_retire(host=HOSTS["online"].address),
        "Hosts.HasLiveLeases",
    )
    yield Case(
        "bond-before-its-time",
        "provider",
        lambda _w: calls.hosts_withdraw_bond(host=HOSTS["retiring"].address),
        "Hosts.StillUnbonding",
    )
    yield Case(
        "bond-of-a-working-host",
        "provider",
        lambda _w: calls.hosts_withdraw_bond(host=HOSTS["second"].address),
        "Hosts.TransitionNotAllowed",
    )
    yield Case("heartbeat-of-nobody", "nobody", lambda _w: calls.hosts_heartbeat(), "Hosts.NoSuchHost")
    yield Case("register-with-anothers-signature", "other", _forged, "Hosts.BadHostSignature")


def _forged(world: World) -> Call:
    """A registration that the host signed for another provider, sent for a key that is not registered."""
    call = register(world, "nobody")
    return Call(call.pallet, call.function, {**call.args, "host": SIGNERS["nobody"].address})


def of_root() -> Iterator[Case]:
    """What governance alone may do."""
    address = HOSTS["second"].address
    for name, make in {
        "verify": lambda: calls.hosts_verify(host=address),
        "suspend": lambda: calls.hosts_suspend(host=address),
        "unsuspend": lambda: calls.hosts_unsuspend(host=HOSTS["suspended"].address),
    }.items():
        for signer in ("provider", "tenant", "second"):
            yield Case(f"{name}-by-{signer}", signer, lambda _w, m=make: m(), "System.BadOrigin")
    for signer in ("tenant", "provider", "scheduler"):
        yield Case(
            f"sudo-by-{signer}", signer, lambda _w: by_sudo(calls.hosts_verify(host=address)), "Sudo.RequireSudo"
        )
        yield Case(
            f"validator-added-by-{signer}",
            signer,
            lambda _w: Call("Validators", "add", {"who": PEOPLE["other"].address}),
            "System.BadOrigin",
        )


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
