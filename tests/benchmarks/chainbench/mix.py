"""A realistic mix beside the best case: GPU tasks of 50 tenants on hosts of 50 providers, two pods each.

Eight hosts of eight providers form a group, which has 64 GPUs. A cohort is 32 tasks of 32 tenants: each has two pods on
two neighbouring hosts, each with a GPU of its own. One batch of a scheduler assigns them, each host reports its pods
in a batch of eight, two batches settle and one prunes. Operations are counted as in the best case, each by its event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from chainbench import costs, load
from chainbench.batched import EVENTS
from chainbench.costs import Costs
from chainbench.driver import Cohort, Stage
from chainbench.load import Loaded
from chainbench.node import SLOT_SECONDS, NodeError, running
from chainbench.progress import say
from chainbench.scene import (
    ARRAY,
    GTY,
    MANIFEST,
    PARAMS,
    SPEC,
    Scene,
    crank,
    endowed,
    host,
    provider,
    result_of,
    scheduler,
    tenant,
)
from chainbench.signing import Account
from offchain.devnet.release import Binaries
from offchain.schema.chain_types._generated_chain import (
    DeviceSpec,
    GpuRequest,
    HardwareSpec,
    PodPlacement,
    ReportResult,
    ReportStarted,
    Resources,
    Tier,
    Vendor,
    calls,
)
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import ANY_RATE

TENANTS = PROVIDERS = 50
# A stage takes two blocks and each group is at one stage, so that blocks are full with as many groups as this makes.
HOSTS_EACH, GPUS = 120, 8
HOSTS = PROVIDERS * HOSTS_EACH
GROUP = 8
GROUPS = HOSTS // GROUP
PODS = 2
COHORT = GROUP * GPUS // PODS
# A batch of settlements pays for a lease of each task and 16 more.
SETTLED_AT_ONCE = 16 // (PODS - 1)
SCHEDULERS = 16
# Of each task: one assignment, start and result of each pod, one settlement, one removal.
OPERATIONS_A_TASK = 3 + 2 * PODS
# More operations a second than this are not prepared for.
MOST_PER_SECOND = 9_500
_MODEL, _VRAM_MIB = b"A100", 40_960
_POD = Resources(cpu_milli=8_000, memory_mib=65_536, disk_gib=100, gpus=GpuRequest(1, 1000, _VRAM_MIB, (_MODEL,)))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured. `costs`: of an operation of each kind."""

    loaded: Loaded
    costs: Mapping[str, Costs]


class Fleet(Scene):
    """Hosts of several providers, each with GPUs."""

    def provider_of(self, host: int) -> Account:
        """Neighbouring hosts have different providers."""
        return provider(host % PROVIDERS)

    def hardware(self) -> HardwareSpec:
        """Return what each host is registered with: room for as many pods as it has GPUs."""
        return replace(
            super().hardware(),
            tier=Tier.DATACENTER,
            cpu_milli=GPUS * _POD.cpu_milli,
            memory_mib=GPUS * _POD.memory_mib,
            disk_gib=GPUS * _POD.disk_gib,
            devices=(DeviceSpec(Vendor.NVIDIA, _MODEL, _VRAM_MIB, simulated=True),) * GPUS,
        )

    def submit_each(self, count: int) -> int:
        """Submit `count` tasks of each tenant; return the number of the first. Each tenant's are neighbours."""
        say(f"submits {count} tasks of each of {TENANTS} tenants")
        first = self.next_task()
        spec = replace(SPEC, resources=_POD, pods_min=PODS, pods_max=PODS, max_rate_per_hour=100 * GTY)
        call = self.node.runtime.encode_call(calls.tasks_submit_array(spec=spec, manifest=MANIFEST, count=count))
        self.crowd.act([(tenant(number), call) for number in range(TENANTS)])
        self.check_submitted(first, TENANTS * count)
        return first

    def group_stages(self, group: int, tasks: Sequence[int]) -> list[Stage]:
        """The life of a cohort of tasks on a group of hosts."""
        encode = self.node.runtime.encode_call
        hosts = range(group * GROUP, (group + 1) * GROUP)
        placed = placements(tasks)
        assign = calls.tasks_assign_batch(
            assignments=[
                (
                    task,
                    tuple(PodPlacement(pod, self.address(hosts[at]), bytes([gpu]), ANY_RATE) for pod, at, gpu in pods),
                )
                for task, pods in placed.items()
            ]
        )
        on_host: dict[int, list[tuple[int, int]]] = {at: [] for at in range(GROUP)}
        for task, pods in placed.items():
            for pod, at, _ in pods:
                on_host[at].append((task, lease_id(task, pod, 0)))
        starts = [
            (host(hosts[at]), encode(calls.tasks_report_batch(reports=[(lease, ReportStarted()) for _, lease in held])))
            for at, held in on_host.items()
        ]
        results = [
            (
                host(hosts[at]),
                encode(
                    calls.tasks_report_batch(reports=[(lease, ReportResult(result_of(task))) for task, lease in held])
                ),
            )
            for at, held in on_host.items()
        ]
        by = group % SCHEDULERS
        pods_in_all = len(tasks) * PODS
        parts = [tasks[start : start + SETTLED_AT_ONCE] for start in range(0, len(tasks), SETTLED_AT_ONCE)]
        return [
            Stage("assign", [(scheduler(by), encode(assign))], len(tasks)),
            Stage("start", starts, pods_in_all),
            Stage("result", results, pods_in_all),
            Stage("settle", [(crank(by), self.settle(part)) for part in parts], len(tasks)),
            Stage("prune", [(crank(by), self.prune(tasks))], len(tasks)),
        ]


def placements(tasks: Sequence[int]) -> dict[int, list[tuple[int, int, int]]]:
    """Place a cohort: task -> its pods as (pod, host of the group, GPU of the host). Each GPU has one pod."""
    placed: dict[int, list[tuple[int, int, int]]] = {}
    used = [0] * GROUP
    for number, task in enumerate(tasks):
        pods = []
        for pod in range(PODS):
            at = (number + pod) % GROUP
            pods.append((pod, at, used[at]))
            used[at] += 1
        placed[task] = pods
    return placed


def cohort_tasks(first: int, each: int, cohort: int) -> list[int]:
    """Return a cohort's tasks. Each of the tenants has `each` tasks, one tenant's after another's from `first` on."""
    numbers = range(cohort * COHORT, (cohort + 1) * COHORT)
    return [first + number % TENANTS * each + number // TENANTS for number in numbers]


def measure(binaries: Binaries, seconds: int) -> Outcome:
    """Sustain it for so long."""
    slots = seconds // int(SLOT_SECONDS)
    wanted = int(MOST_PER_SECOND * load.driven_seconds(slots) / OPERATIONS_A_TASK)
    # One cohort is used up to see what it costs.
    cohorts = -(-wanted // COHORT) + 1
    each = -(-cohorts * COHORT // TENANTS)
    if each > ARRAY:
        raise NodeError(f"--seconds {seconds}: mix needs {each} tasks of each tenant, and one submission holds {ARRAY}")
    people = endowed(schedulers=SCHEDULERS, cranks=SCHEDULERS, tenants=TENANTS, providers=PROVIDERS)
    with running(binaries, people, PARAMS) as node:
        fleet = Fleet(node, HOSTS, room=0, schedulers=SCHEDULERS)
        fleet.build()
        first = fleet.submit_each(each)
        cost = costs.of_stages(fleet, fleet.group_stages(0, cohort_tasks(first, each, 0)))
        say(f"encodes the calls of {cohorts - 1} cohorts")
        lives = [
            Cohort(number % GROUPS, fleet.group_stages(number % GROUPS, cohort_tasks(first, each, number)))
            for number in range(1, cohorts)
        ]
        return Outcome(load.drive([node], fleet, lives, slots, EVENTS), cost)
