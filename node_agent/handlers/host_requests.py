"""Authorisation of requests by the chain, and requests for results and logs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, nullcontext
from functools import partial
from itertools import chain
from typing import Any, Final

from node_agent.core.states import Phase, Pod
from node_agent.drivers.port import Driver, DriverError, PodGone
from node_agent.handlers.attestation_requests import check_account
from node_agent.handlers.challenge_requests import check_committee
from node_agent.handlers.checkpoint_requests import check_requesting_host
from node_agent.handlers.evidence_files import check_files_party
from node_agent.handlers.evidence_requests import check_juror
from node_agent.logs.lines import (
    LineSplitter,
    LogTail,
    comparable_stamp,
    comparable_stamp_of_ms,
    in_chunks,
    lines_since,
    without_service,
)
from node_agent.logs.pod_notes import InterleavedNotes, PodNotes
from node_agent.logs.store import LogKey
from node_agent.runtime.state_dir import StateDir
from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.adapters.transport.host_server import Handler
from offchain.adapters.transport.port import refused
from offchain.adapters.transport.session import Session
from offchain.errors import TheirError
from offchain.schema.chain_types._generated_chain import (
    HostStatusRetired,
    LeaseStateActive,
    LeaseStatePending,
    LeaseStateRetained,
    LeaseStateSuspended,
)
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.chain_types.replicas import is_audited, is_compared
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.types import ManifestError
from offchain.schema.protocol.messages import Answer, Code, Op, Request
from offchain.schema.protocol.operations import INTO_POD, OF_SNAPSHOTS, Args, LogsArgs, SnapshotArgs
from offchain.schema.protocol.snapshots import SnapshotAction

CHUNK: Final = 1 << 18
MAX_TAIL_BYTES: Final = 4 << 20
TAILS_AT_ONCE: Final = 4
"""Maximum of concurrent requests for last lines, which are held in memory."""
FOLLOW_FROM: Final = 10_000
"""Maximum of lines between the last lines and the first of those that follow."""
CHANGES_POD: Final = INTO_POD - {Op.GET}
"""Requests by which a tenant could make one pod of a compared job end with another result than the others."""
SHOWS_OUTPUT: Final = frozenset({Op.RESULT, Op.LOGS, Op.GET})
"""Requests whose answers another host could copy its result from."""
COMPARED_LATER: Final = frozenset({"Queued", "Assigned", "Running"})
"""States of a task whose results are not compared yet."""
WITHOUT_OUTPUT: Final = frozenset({Phase.ASSIGNED, Phase.AWAITING, Phase.PREPARING, Phase.REFUSING, Phase.REFUSED})
"""Phases in which a pod that has never run has no output."""
ACTING_PROXIES: Final = frozenset({"Any", "NonTransfer", "Tenant"})
"""Types of proxy that may act for a tenant's tasks (`ProxyType` of the runtime)."""


class HostRequests:
    """Authorisation, results and logs for :class:`offchain.adapters.transport.host_server.HostServer`."""

    def __init__(
        self,
        chain: GantryChain,
        host: str,
        state: StateDir,
        driver: Driver,
        pod_of: Callable[[int], Pod | None],
        notes: PodNotes,
    ) -> None:
        self._chain = chain
        self._host = host
        self._state = state
        self._driver = driver
        self._pod_of = pod_of
        self._notes = notes
        self._tails = asyncio.Semaphore(TAILS_AT_ONCE)
        self._parsing = asyncio.Semaphore(1)
        """Only one thread parses manifests for peers, so that the agent's own work finds another."""

    def handlers(self) -> Mapping[Op, Handler]:
        return {Op.RESULT: self.result, Op.LOGS: self.logs}

    async def authorise(self, request: Request) -> None:
        """Refuse the request unless the chain now gives its account, or the one that it acts for, the right to it."""
        if request.op is Op.CHALLENGE:
            await check_committee(self._chain, self._host, request)
            return
        if request.lease is None and request.op is Op.ATTEST:
            await check_account(self._chain, request)
            return
        if request.lease is None:
            await self._check_host(request.account)
            return
        if request.op is Op.CHECKPOINT:
            await check_requesting_host(self._chain, request)
            return
        lease = await self._lease(request.lease)
        tenant = lease.task.record.tenant
        if tenant != request.tenant and not await self._acts_for(request.tenant, tenant):
            await self._check_stranger(lease, request)
            return
        if request.op in INTO_POD or request.op is Op.DELIVER:
            _check_runs(request.lease, lease.record.state, request.op)
        if request.op in CHANGES_POD and is_compared(lease.task.spec):
            raise refused(
                Code.UNSUPPORTED,
                f"The result of lease {request.lease} is compared with those of other hosts.",
                "Nobody may enter its pod. gantry logs shows its output.",
            )
        if request.op in SHOWS_OUTPUT and not _has_not_run(self._pod_of(lease.id)):
            _check_shown(lease)
        if request.op in OF_SNAPSHOTS:
            _check_has_snapshots(request.lease, lease.record.state, request.args)

    async def _check_stranger(self, lease: LeaseOfTask, request: Request) -> None:
        """Refuse a request about a lease of another account, unless it is one of a dispute about the lease."""
        if request.op is Op.EVIDENCE:
            await check_juror(self._chain, lease, request)
        elif request.op is Op.EVIDENCE_FILES:
            await check_files_party(self._chain, request, Code.NOT_YOUR_LEASE)
        else:
            raise refused(
                Code.NOT_YOUR_LEASE,
                f"Lease {request.lease} does not belong to {request.tenant}, nor is that its tenant's proxy.",
                "Sign with the account that submitted the task, or with a proxy of it of type Tenant.",
            )

    async def result(self, request: Request, session: Session) -> None:
        """Send the result whose digest is on chain, or is about to be."""
        number = _number(request)
        pod = self._pod_of(number)
        digest = pod.digest if pod is not None else None
        if digest is None:
            reported = (await self._lease(number)).record.result
            digest = reported.digest if reported is not None else None
        if digest is None:
            raise refused(Code.NOT_READY, f"Lease {number} has no result yet.", "Ask again when the task is reported.")
        data = self._state.get_blob(digest)
        if data is None:
            raise refused(Code.GONE, f"The result of lease {number} is not kept here any more.", "Run the task again.")
        session.accept(Answer(size=len(data)))
        await session.write(data)

    async def logs(self, request: Request, session: Session) -> None:
        """Send the stored log of earlier starts, then the log of the running container."""
        number = _number(request)
        assert isinstance(request.args, LogsArgs)  # noqa: S101  (decoded by its op)
        args = request.args
        oldest = None if args.since_ms is None else comparable_stamp_of_ms(args.since_ms)
        tail = None if args.tail is None else LogTail(args.tail, MAX_TAIL_BYTES)
        pod = self._pod_of(number)
        created_at_ms = pod.lease.created_at_ms if pod is not None else (await self._lease(number)).record.created_at
        place = None if args.service is None else await self._place(number, pod, args.service)
        key = LogKey(number, created_at_ms)
        kept = self._state.logs.lines(key, place)
        if kept is not None and args.service is not None:
            kept = map(partial(without_service, service=args.service), kept)
        runs = pod is not None and pod.ending is None
        # Notes on a pod belong to its first service.
        with nullcontext(InterleavedNotes()) if place else self._notes.read(key) as notes:
            if kept is None and not notes and not runs:
                raise await self._no_log(number, pod)
            before = None if kept is None and not notes else notes.interleave(kept or ())
            if before is not None and not runs:
                before = chain(before, notes.remaining())
            if tail is None:
                await self._all(number, before, oldest, session, args, notes, runs=runs)
                return
            async with self._tails:
                last = await self._tail(number, before, oldest, tail, args, notes, runs=runs)
            _accept(session)
            await session.write(b"".join(tail.lines()))
            if args.follow and runs:
                await self._after(number, last, session, args, notes)

    async def _no_log(self, number: int, pod: Pod | None) -> Exception:
        """Return the refusal if there is no log, by whether one may still come."""
        if pod is not None or _is_live((await self._lease(number)).record.state):
            return refused(Code.NOT_READY, f"Lease {number} has no log yet.", "Ask again when its pod was started.")
        task = lease_parts(number)[0]
        return refused(
            Code.GONE,
            f"Lease {number} has ended, and its pod left no log here.",
            f"gantry task show {task} shows why it ended.",
        )

    async def _place(self, number: int, pod: Pod | None, service: str) -> int:
        """Return the index of a service in its pod."""
        if pod is not None and pod.spec is not None:
            names = [one.service.name for one in pod.spec.containers]
        else:
            try:
                data = await self._chain.manifest(lease_parts(number)[0])
                async with self._parsing:
                    manifest = None if data is None else await asyncio.to_thread(parse_manifest, data)
                names = [] if manifest is None else [one.name for one in manifest.services]
            except TheirError:
                raise _node_away() from None
            except ManifestError:
                names = []
        if service in names:
            return names.index(service)
        there = f"its services are {', '.join(names)}" if names else "which services it had is not known any more"
        raise refused(
            Code.NOT_FOUND, f"Lease {number} has no service {service!r}; {there}.", "Leave out --service for all."
        )

    async def _all(
        self,
        number: int,
        kept: Iterator[bytes] | None,
        oldest: bytes | None,
        session: Session,
        args: LogsArgs,
        notes: InterleavedNotes,
        *,
        runs: bool,
    ) -> None:
        if kept is not None:
            _accept(session)
            # In a thread: in a long log no line may be new enough, and others are served meanwhile.
            pieces = in_chunks(lines_since(kept, oldest), CHUNK)
            while piece := await asyncio.to_thread(next, pieces, b""):
                await session.write(piece)
        if runs:
            running = self._running(number, args.service, follow=args.follow)
            async with aclosing(notes.interleave_stream(running)) as lines:
                async for some in lines:
                    _accept(session)
                    await session.write(b"".join(lines_since(some, oldest)))
        if not session.accepted:
            raise refused(Code.NOT_READY, f"Lease {number} has no log yet.", "Ask again when its pod was started.")

    async def _tail(
        self,
        number: int,
        kept: Iterator[bytes] | None,
        oldest: bytes | None,
        tail: LogTail,
        args: LogsArgs,
        notes: InterleavedNotes,
        *,
        runs: bool,
    ) -> bytes:
        """Add the last lines to `tail`; return the time of the last one."""
        last = b""
        if kept is not None:
            await asyncio.to_thread(tail.add, lines_since(kept, oldest))
        if runs:
            async with aclosing(self._running(number, args.service, follow=False, tail=args.tail)) as lines:
                async for some in lines:
                    tail.add(lines_since(notes.interleave(some), oldest))
                    last = max([last, *(at for line in some if (at := comparable_stamp(line)) is not None)])
            tail.add(lines_since(notes.remaining(), oldest))
        return last

    async def _after(self, number: int, last: bytes, session: Session, args: LogsArgs, notes: InterleavedNotes) -> None:
        """Send the lines after this time, as they come."""
        async with aclosing(notes.interleave_stream(self._later(number, last, args.service))) as lines:
            async for some in lines:
                await session.write(b"".join(some))

    async def _later(self, number: int, last: bytes, service: str | None) -> AsyncGenerator[list[bytes], None]:
        async with aclosing(self._running(number, service, follow=True, tail=FOLLOW_FROM)) as lines:
            async for some in lines:
                yield [line for line in some if (comparable_stamp(line) or last) > last]

    async def _running(
        self, number: int, service: str | None, *, follow: bool, tail: int | None = None
    ) -> AsyncGenerator[list[bytes], None]:
        """Yield the lines of the running pod's log; none if it has just been removed."""
        cutter = LineSplitter(verbatim=True)
        try:
            async with aclosing(self._driver.logs(number, follow=follow, service=service, tail=tail)) as chunks:
                async for chunk in chunks:
                    if lines := cutter.feed(chunk):
                        yield lines
        except PodGone:
            return
        except DriverError as error:
            raise refused(Code.INTERNAL, f"The log cannot be read: {error}.", "Try again.") from None
        yield cutter.end()

    async def _lease(self, lease: int) -> LeaseOfTask:
        try:
            found = await self._chain.lease(lease)
        except TheirError:
            raise _node_away() from None
        if found is None or found.record.host != self._host:
            raise refused(
                Code.UNKNOWN_LEASE,
                f"Lease {lease} is not one of this host, or not any more.",
                f"gantry task show {lease_parts(lease)[0]} shows where its pod is now.",
            )
        return found

    async def _acts_for(self, account: str, tenant: str) -> bool:
        """Whether the account is a proxy that may act for the tenant without a delay."""
        try:
            found = await self._chain.port.query("Proxy", "Proxies", [tenant])
        except TheirError:
            raise _node_away() from None
        return any(may_act(proxy, account) for proxy in (found[0] if found else ()))

    async def _check_host(self, account: str) -> None:
        try:
            record = await self._chain.host(account)
        except TheirError:
            raise _node_away() from None
        if record is None or isinstance(record.status, HostStatusRetired):
            raise refused(Code.NOT_A_HOST, f"{account} is not a host on this chain.", "Sign with a host's key.")


def may_act(proxy: Mapping[str, Any], account: str) -> bool:
    """Whether one definition of `Proxy.Proxies` lets the account act for a tenant's tasks without a delay."""
    return proxy["delegate"] == account and proxy["delay"] == 0 and proxy["proxy_type"] in ACTING_PROXIES


def _is_live(state: object) -> bool:
    return isinstance(state, (LeaseStatePending, LeaseStateActive, LeaseStateSuspended))


def _check_runs(number: int, state: object, op: Op) -> None:
    """Refuse access to a pod that does not run."""
    if isinstance(state, LeaseStateActive) or (op is Op.DELIVER and isinstance(state, LeaseStatePending)):
        return
    if isinstance(state, LeaseStatePending):
        raise refused(Code.NOT_READY, f"The pod of lease {number} has not started.", "Wait until it runs.")
    if isinstance(state, LeaseStateSuspended):
        raise refused(Code.NOT_READY, f"Lease {number} is suspended: its pod is stopped.", "Resume it first.")
    raise refused(
        Code.LEASE_ENDED,
        f"Lease {number} has ended, and with it the way into its pod.",
        "Its log and result are still there: gantry logs, gantry task result.",
    )


def _has_not_run(pod: Pod | None) -> bool:
    """Whether the log of a pod has lines of the host only."""
    return pod is not None and pod.phase in WITHOUT_OUTPUT and pod.began_at_ms is None


def _check_shown(lease: LeaseOfTask) -> None:
    """Refuse the output of an audited job while another host may have to repeat the work and could copy it.

    The tenant may own that host, which the first one pays.
    """
    is_secret = is_audited(lease.task.spec) and lease.record.result is None
    if is_secret and lease.task.record.state.tag in COMPARED_LATER:
        raise refused(
            Code.NOT_READY,
            f"Task {lease.task.id} is audited: output and result of lease {lease.id} are shown to nobody before the "
            "result is revealed.",
            "Ask again when the task is reported or verified: another host that repeats the job must not copy it.",
        )


def _check_has_snapshots(number: int, state: object, args: Args) -> None:
    """Refuse a request for snapshots that do not exist: they are kept as long as the data."""
    if isinstance(state, (LeaseStateActive, LeaseStateSuspended)):
        return
    if isinstance(state, LeaseStatePending):
        raise refused(Code.NOT_READY, f"The pod of lease {number} has not started.", "Wait until it runs.")
    if not isinstance(state, LeaseStateRetained):
        raise refused(
            Code.LEASE_ENDED, f"Lease {number} has ended, and its snapshots are gone.", "Take them out before the end."
        )
    if isinstance(args, SnapshotArgs) and args.act in (SnapshotAction.TAKE, SnapshotAction.RESTORE):
        raise refused(
            Code.LEASE_ENDED,
            f"Lease {number} has ended, and only its data is kept.",
            "Rent anew with data_from and snapshot in the manifest.",
        )


def _number(request: Request) -> int:
    assert request.lease is not None  # noqa: S101  (a request without is refused)
    return request.lease


def _accept(session: Session) -> None:
    if not session.accepted:
        session.accept()


def _node_away() -> Exception:
    return refused(Code.BUSY, "The host cannot reach its chain node now.", "Try again in a minute.")
