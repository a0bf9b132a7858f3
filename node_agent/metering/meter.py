"""The meter: samples the agent's pods, and creates, signs and stores the receipts of their leases."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from node_agent.core.states import AgentState, Phase, Pod
from node_agent.drivers.port import DriverError
from node_agent.metering.pod_metrics import PodMetrics, PodUsage, usage_at
from node_agent.metering.ports import GpuUsageSource, SteadyTime, UsageSource
from node_agent.metering.receipts import MeteredLease, ReceiptStore, is_bill_final, make_receipt
from node_agent.metering.usage import ContainerRun, GpuReading, PodSample, fold
from node_agent.telemetry.hardware import current_boot_id
from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.outbox.store import Store
from offchain.adapters.periodic_jobs import PeriodicJobs
from offchain.schema.chain_types._generated_chain import HostRecord
from offchain.schema.protocol.receipt import Countersignature, SignedReceipt

log = logging.getLogger(__name__)

SAMPLE_S = 5.0
LOOK_S = 1.0
"""Interval of the check for new and ended pods."""
CLOSE_S = 15.0
TIDY_S = 3_600.0
FRESH_S = 4.0
"""A receipt up to this age is returned again, so frequent requests create no further receipts."""
REMEMBERED = 16
"""Receipts of a lease that can be countersigned; after a restart of the agent only the newest."""
MIB = 1 << 20
_NOTHING_YET = frozenset({Phase.ABSENT, Phase.ASSIGNED, Phase.AWAITING, Phase.PREPARING})
_REPORTED = frozenset({Phase.EXITED, Phase.REPORTING, Phase.DONE})


class MeteredAgent(Protocol):
    """The agent's state that the meter reads."""

    @property
    def state(self) -> AgentState:
        """The agent's state."""

    @property
    def disk_mib(self) -> Mapping[int, int]:
        """Disk usage of each lease's pod in MiB, as last measured."""


class UsageMeter:
    """The meter of one host. `moment` returns the time of the machine's steady clock."""

    def __init__(
        self,
        chain: GantryChain,
        store: Store,
        key: Ed25519Signer,
        genesis_hash: bytes,
        usage_source: UsageSource,
        gpus: GpuUsageSource,
        *,
        now_ms: Callable[[], int],
        moment: Callable[[], SteadyTime],
    ) -> None:
        self._chain = chain
        self._receipts = ReceiptStore(store)
        self._key = key
        self._genesis_hash = genesis_hash
        self._usage_source = usage_source
        self._gpus = gpus
        self._now_ms = now_ms
        self._moment = moment
        self._recent: dict[tuple[int, int], deque[SignedReceipt]] = {}
        self._issued_s: dict[tuple[int, int], float] = {}
        self._turn = asyncio.Lock()
        self.pod_metrics = PodMetrics()
        """The usage of pods at the last sample, as metrics."""

    def add_jobs(self, agent: MeteredAgent, jobs: PeriodicJobs) -> None:
        """Meter the pods and close receipts. After a failure the counters catch up with the next run."""
        clock = asyncio.get_running_loop()
        sampled_s = float("-inf")
        metered: frozenset[int] = frozenset()

        async def sample() -> None:
            nonlocal sampled_s, metered
            pods = frozenset(_metered(agent.state))
            if clock.time() - sampled_s >= SAMPLE_S or pods != metered:
                sampled_s, metered = clock.time(), pods
                await self.sample(agent)

        jobs.add("metering", sample, LOOK_S)
        jobs.add("receipts", self.follow, CLOSE_S)
        jobs.add("old receipts", lambda: self._receipts.forget_old(self._now_ms()), TIDY_S)

    async def sample(self, agent: MeteredAgent) -> None:
        """Take one sample of every pod. After a failed reading, the next one catches up with all but the time."""
        pods = _metered(agent.state)
        if not pods:
            self.pod_metrics.update({})
            return
        try:
            runs = await self._usage_source.read(pods)
        except DriverError as error:
            log.debug("the pods could not be metered: %s", error)
            return
        gpus = await self._read_gpus(pods)
        async with self._turn:
            changed = []
            usage: dict[int, PodUsage] = {}
            for number, pod in pods.items():
                before = self._entry(number, pod.lease.created_at_ms)
                if before.closed_at_ms is not None:
                    continue
                sample = self._sample(agent, number, runs.get(number, ()), gpus.get(number, ()))
                reported = pod.ending.usage if pod.ending is not None and pod.phase in _REPORTED else before.reported
                after = replace(before, metered=fold(before.metered, sample), reported=reported)
                if after != before:
                    changed.append(after)
                used = usage_at(pod.lease.task, pod.lease.pod, before.metered, after.metered, sample)
                if used is not None:
                    usage[number] = used
            self._receipts.put(changed)
        self.pod_metrics.update(usage)

    def _sample(
        self, agent: MeteredAgent, number: int, runs: tuple[ContainerRun, ...], gpus: tuple[GpuReading, ...]
    ) -> PodSample:
        now = self._moment()
        disk_mib = agent.disk_mib.get(number)
        disk_bytes = None if disk_mib is None else disk_mib * MIB
        return PodSample(boot=now.boot, steady_ms=now.steady_ms, runs=runs, gpus=gpus, disk_bytes=disk_bytes)

    async def _read_gpus(self, pods: Mapping[int, Pod]) -> dict[int, tuple[GpuReading, ...]]:
        """Return the utilisation of each pod's GPUs, without GPUs that pods may share."""
        given = {number: _uuids(pod) for number, pod in pods.items()}
        owners = Counter(uuid for uuids in given.values() for uuid in uuids)
        if not owners:
            return {}
        found = await asyncio.to_thread(self._gpus.read, frozenset(owners))
        return {
            number: tuple(found[uuid] for uuid in sorted(uuids) if owners[uuid] == 1 and uuid in found)
            for number, uuids in given.items()
            if not _has_share(pods[number])
        }

    def _entry(self, lease: int, created_at_ms: int) -> MeteredLease:
        return self._receipts.get(lease, created_at_ms) or MeteredLease(lease=lease, created_at_ms=created_at_ms)

    async def newest(self, number: int) -> SignedReceipt | None:
        """Return the lease's receipt, created if there is no fresh one. None if nothing is known of the lease.

        Raises ChainUnreachable if a receipt has to be created and the bill cannot be read.
        """
        async with self._turn:
            stored = self._receipts.newest_of(number)
            if stored is not None and stored.newest is not None and self._is_fresh(stored):
                return stored.newest
            return await self._issue(number, stored)

    async def countersign(self, number: int, digest: bytes, given: Countersignature) -> bool:
        """Store a tenant's signature, which the caller has verified. False if the receipt is not stored any more."""
        async with self._turn:
            entry = self._receipts.newest_of(number)
            signed = None if entry is None else self._find(entry, digest)
            if entry is None or signed is None:
                return False
            signed = replace(signed, countersignature=given)
            if entry.newest is not None and entry.newest.receipt.digest == digest:
                entry = replace(entry, newest=signed)
            older = entry.countersigned
            if older is None or older.receipt.seq <= signed.receipt.seq:
                entry = replace(entry, countersigned=signed)
            self._receipts.put([entry])
            return True

    async def find(self, number: int, digest: bytes) -> SignedReceipt | None:
        """Return a receipt of the lease that can be countersigned."""
        entry = self._receipts.newest_of(number)
        return None if entry is None else self._find(entry, digest)

    async def follow(self) -> None:
        """Update open leases from the final block, and create the last receipts of those that ended.

        Leases of a reverted block get none: nothing was ever owed for them.
        """
        entries = self._receipts.open_entries()
        if not entries:
            return
        at = (await self._chain.port.finalized_head()).hash
        found = await self._chain.leases((entry.lease for entry in entries), at=at)
        host = await self._chain.host(self._key.address, at=at)
        now_ms = await self._chain.now_ms(at)
        async with self._turn:
            for known in entries:
                entry = self._entry(*known.key)
                lease = found.get(entry.lease)
                ours = lease if lease is not None and lease.record.created_at == entry.created_at_ms else None
                if ours is None and now_ms <= entry.created_at_ms:
                    continue  # its block is not final yet
                self._take(entry, ours, host, now_ms)

    def _take(self, entry: MeteredLease, lease: LeaseOfTask | None, host: HostRecord | None, now_ms: int) -> None:
        if lease is None:
            # The chain has purged it: its newest receipt is the last.
            self._close(replace(entry, closed_at_ms=self._now_ms()))
        elif is_bill_final(lease.record):
            self._close(self._written(entry, lease, host, now_ms, final=True))
        elif lease.record.escrow.since is not None and lease.record.escrow != entry.escrow:
            self._receipts.put([replace(entry, escrow=lease.record.escrow)])

    def _close(self, entry: MeteredLease) -> None:
        self._receipts.put([entry])
        self._issued_s.pop(entry.key, None)
        self._recent.pop(entry.key, None)

    async def _issue(self, number: int, stored: MeteredLease | None) -> SignedReceipt | None:
        if stored is not None and stored.closed_at_ms is not None:
            return stored.newest
        at = (await self._chain.port.finalized_head()).hash
        lease = await self._chain.lease(number, at=at)
        if lease is None or lease.record.host != self._key.address:
            return None if stored is None else stored.newest
        host = await self._chain.host(self._key.address, at=at)
        entry = self._entry(number, lease.record.created_at)
        over = is_bill_final(lease.record)
        entry = self._written(entry, lease, host, await self._chain.now_ms(at), final=over)
        if over:
            self._close(entry)
        else:
            self._receipts.put([entry])
            self._issued_s[entry.key] = asyncio.get_running_loop().time()
        return entry.newest

    def _written(
        self, entry: MeteredLease, lease: LeaseOfTask, host: HostRecord | None, now_ms: int, *, final: bool
    ) -> MeteredLease:
        """Return the lease with one more receipt. It is stored before anybody gets it, so no number is used twice."""
        if not final and lease.record.escrow.since is not None:
            entry = replace(entry, escrow=lease.record.escrow)
        receipt = make_receipt(entry, lease, host, genesis_hash=self._genesis_hash, now_ms=now_ms, final=final)
        signed = SignedReceipt(receipt, self._key.sign(receipt.host_payload))
        self._recent.setdefault(entry.key, deque(maxlen=REMEMBERED)).append(signed)
        closed_at_ms = self._now_ms() if final else None
        return replace(entry, seq=receipt.seq, newest=signed, reported=receipt.reported, closed_at_ms=closed_at_ms)

    def _is_fresh(self, entry: MeteredLease) -> bool:
        if entry.closed_at_ms is not None:
            return True
        issued_s = self._issued_s.get(entry.key)
        return issued_s is not None and asyncio.get_running_loop().time() - issued_s < FRESH_S

    def _find(self, entry: MeteredLease, digest: bytes) -> SignedReceipt | None:
        stored = [one for one in (entry.newest, entry.countersigned) if one is not None]
        return next((one for one in (*stored, *self._recent.get(entry.key, ())) if one.receipt.digest == digest), None)


def steady_time() -> SteadyTime:
    """Return the time of the kernel's clock since the machine's start, sleep included."""
    return SteadyTime(current_boot_id(), time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000)


def _metered(state: AgentState) -> dict[int, Pod]:
    """Return the pods that use resources."""
    return {number: pod for number, pod in state.pods.items() if pod.spec is not None and pod.phase not in _NOTHING_YET}


def _has_share(pod: Pod) -> bool:
    return pod.spec is not None and any(one.has_share for one in pod.spec.containers)


def _uuids(pod: Pod) -> frozenset[str]:
    return (
        frozenset(uuid for one in pod.spec.containers for uuid in one.gpu_uuids)
        if pod.spec is not None
        else frozenset()
    )
