"""The chain's records with harmless defaults, and the storage of tasks in a fake chain as the pallets lay it out."""

from dataclasses import MISSING, fields, replace
from typing import Any, TypeVar

from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import TASKS_PER_PAGE, lease_id, lease_parts, task_key
from tests.support.fake_chain import FakeChain

R = TypeVar("R")
GTY = 10**12
ANY_RATE = 2**128 - 1
"""The rate of a placement that any price list meets, within the limit of the task."""
PPM = 10**6
NO_GPU = gen.GpuRequest(0, 0, 0, ())
INDEXED = {tag.value for tag in gen.IndexTag}
HOLDS_SOMETHING = {"Pending", "Active", "Suspended", "Retained"}


def zeroed(kind: type[R], /, **values: Any) -> R:
    """A record with these values: other numbers are 0, flags false, texts, bytes and lists empty, options None."""
    zeros = {"int": 0, "bool": False, "bytes": b"", "str": ""}
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name not in values and field.default is MISSING:
            type_ = str(field.type)
            empty = None if type_.endswith("| None") else () if type_.startswith("tuple[") else zeros[type_]
            values[field.name] = empty
    return kind(**values)


NOTHING = zeroed(gen.Capabilities)
DOCKER = replace(NOTHING, docker=True)
SANDBOXED = replace(DOCKER, sandboxed=True)


NO_TERMS = zeroed(gen.SlaTerms)


def ask(**changes: Any) -> gen.Ask:
    return zeroed(gen.Ask, **{"second_ppm": PPM, "hour_ppm": PPM, "day_ppm": PPM, "terms": NO_TERMS, **changes})


def device(*, model: bytes = b"A100", vram_mib: int = 40_960, simulated: bool = False, **changes: Any) -> gen.Device:
    spec = gen.DeviceSpec(gen.Vendor.NVIDIA, model, vram_mib, simulated)
    return replace(gen.Device(spec, 1000, shared_by=None, attested=False, healthy=True), **changes)


def placement(**changes: Any) -> gen.Placement:
    anywhere = {
        "allow_simulated": True,
        "capabilities": NOTHING,
        "layout": gen.Layout.ANY,
        "min_terms": NO_TERMS,
    }
    return zeroed(gen.Placement, **{**anywhere, **changes})


def hardware(cpu_milli: int, memory_mib: int, disk_gib: int) -> gen.HardwareSpec:
    """A machine without GPUs."""
    return zeroed(
        gen.HardwareSpec,
        tier=gen.Tier.CONSUMER,
        capabilities=DOCKER,
        cpu_milli=cpu_milli,
        memory_mib=memory_mib,
        disk_gib=disk_gib,
        network_mbps_down=100,
        network_mbps_up=100,
    )


def host_record(provider: str, **changes: Any) -> gen.HostRecord:
    capacity = gen.Capacity(8000, 8192, 100)
    record = zeroed(
        gen.HostRecord,
        provider=provider,
        status=gen.HostStatusOnline(),
        tier=gen.Tier.CONSUMER,
        capabilities=DOCKER,
        total=capacity,
        free=capacity,
        devices=(device(),),
        ask=ask(gpu_per_hour=GTY),
        region=b"eu",
    )
    return replace(record, **changes)


def task_spec(**changes: Any) -> gen.TaskSpec:
    spec = gen.TaskSpec(
        kind=gen.TaskKind.JOB,
        manifest_digest=bytes(32),
        resources=gen.Resources(1000, 512, 1, gen.GpuRequest(1, 1000, 0, ())),
        pods_min=1,
        pods_max=1,
        max_rate_per_hour=10 * GTY,
        unit=gen.BillingUnit.SECOND,
        max_duration_ms=600_000,
        deadline=None,
        priority=0,
        queue=b"default",
        verification=gen.VerificationPolicyAcceptance(),
        placement=placement(),
        data_from=None,
        spot=False,
        survival=gen.Survival.RESTART,
    )
    return replace(spec, **changes)


def escrow(**changes: Any) -> gen.Escrow:
    unit, fee_ppm = gen.BillingUnit.SECOND, 20_000
    fresh = zeroed(gen.Escrow, deposit=GTY, rate_per_hour=GTY, unit=unit, open=True, fee_ppm=fee_ppm)
    return replace(fresh, **changes)


def lease(host: str, **changes: Any) -> gen.Lease:
    return replace(zeroed(gen.Lease, host=host, state=gen.LeaseStatePending(), escrow=escrow()), **changes)


def task_record(tenant: str, **changes: Any) -> gen.TaskRecord:
    state, notice = gen.TaskStateQueued(), gen.NoticeStateAbsent()
    return replace(zeroed(gen.TaskRecord, tenant=tenant, state=state, notice=notice, pods_wanted=1), **changes)


def spec_record(tenant: str, spec: gen.TaskSpec, count: int = 1, **changes: Any) -> gen.SpecRecord:
    record = gen.SpecRecord(tenant, spec, count, open=count, kept=count, manifest_deposit=0, task_deposit=0)
    return replace(record, **changes)


class Tasks:
    """The tasks, leases and lists in a fake chain's storage. Blocks remember records, so none is changed in place."""

    def __init__(self, chain: FakeChain) -> None:
        self._chain = chain

    def submit(self, tenant: str, spec: gen.TaskSpec, count: int = 1, *, manifest: bytes = b"", now: int = 0) -> int:
        """Tasks in the queue; gives the number of the first."""
        first = int(self._table("NextTaskId").get((), 0))
        self._table("NextTaskId")[()] = first + count
        self._table("Specs")[task_key(first),] = spec_record(tenant, spec, count).encode()
        self._table("Manifests")[task_key(first),] = manifest
        self._table("ByTenant")[tenant, task_key(first)] = count
        wanted = spec.pods_min if spec.kind is gen.TaskKind.SERVICE else spec.pods_max
        for number in range(first, first + count):
            self.put(number, task_record(tenant, first=first, submitted_at=now, changed_at=now, pods_wanted=wanted))
        return first

    def get(self, number: int) -> gen.TaskRecord:
        return gen.TaskRecord.decode(self._table("Tasks")[task_key(number),])

    def put(self, number: int, record: gen.TaskRecord | None) -> None:
        """Store a record, or remove it, and keep the lists of tasks and of each host's leases."""
        before = self._table("Tasks").get((task_key(number),))
        old = None if before is None else gen.TaskRecord.decode(before)
        if record is None:
            self._table("Tasks").pop((task_key(number),), None)
        else:
            self._table("Tasks")[task_key(number),] = record.encode()
        for known, listed in ((old, False), (record, True)):
            if known is None:
                continue
            if known.state.tag in INDEXED:
                self._list(known.state.tag, number, listed=listed)
            for held in known.leases:
                if held.state.tag in HOLDS_SOMETHING:
                    self._hold(held.host, lease_id(number, held.pod, held.generation), held=listed)

    def change(self, number: int, **changes: Any) -> None:
        self.put(number, replace(self.get(number), **changes))

    def lease(self, number: int) -> gen.Lease:
        task, pod, generation = lease_parts(number)
        (found,) = [x for x in self.get(task).leases if (x.pod, x.generation) == (pod, generation)]
        return found

    def change_lease(self, number: int, **changes: Any) -> None:
        task, old = lease_parts(number)[0], self.lease(number)
        leases = tuple(replace(x, **changes) if x == old else x for x in self.get(task).leases)
        self.change(task, leases=leases)

    def clear(self) -> None:
        for item in ("Tasks", "Specs", "Manifests", "ByState", "ByTenant"):
            self._table(item).clear()
        self._chain.storage["Leases", "ByHost"].clear()
        self._table("NextTaskId")[()] = 0

    def _table(self, item: str) -> dict[tuple[Any, ...], Any]:
        return self._chain.storage["Tasks", item]

    def _list(self, tag: str, number: int, *, listed: bool) -> None:
        page, place = divmod(number, TASKS_PER_PAGE)
        key = (tag, task_key(page))
        bits = int.from_bytes(self._table("ByState").pop(key, bytes(32)), "little")
        bits = bits | 1 << place if listed else bits & ~(1 << place)
        if bits:
            self._table("ByState")[key] = bits.to_bytes(32, "little")

    def _hold(self, host: str, number: int, *, held: bool) -> None:
        table = self._chain.storage["Leases", "ByHost"]
        rest = [known for known in table.pop((host,), []) if known != number]
        if held or rest:
            table[host,] = sorted([*rest, number] if held else rest)


def hosts_params(**changes: Any) -> dict[str, Any]:
    params = zeroed(
        gen.HostsParams,
        heartbeat_period_ms=60_000,
        absence_limit_ms=180_000,
        allow_simulated=True,
        halt_after_ms=30_000,
        free_weight_us=5_000,
    )
    plain: dict[str, Any] = replace(params, **changes).encode()
    return plain


def tasks_params(**changes: Any) -> dict[str, Any]:
    params = zeroed(
        gen.TasksParams,
        start_timeout_ms=60_000,
        dispute_window_ms=6_000,
        max_attempts=3,
        scheduler_bond=GTY,
        max_duration_ms=10**9,
        archive_after_ms=600_000,
        refused_item_fine=1,
        preemption_notice_ms=120_000,
        poor_ppm=300_000,
        checkpoint_min_ms=1_000,
        min_charge_ms=60_000,
        report_grace_ms=15_000,
        max_refusals=3,
        scheduler_unbonding_ms=30_000,
        scheduler_penalty_ppm=100_000,
        evidence_ms=30_000,
        offer_known_ms=10_000,
    )
    plain: dict[str, Any] = replace(params, **changes).encode()
    return plain
