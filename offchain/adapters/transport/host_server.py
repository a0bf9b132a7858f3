"""Server of a host or gateway: authenticates and authorises requests, runs their handlers, and rechecks sessions."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from offchain.adapters.background_tasks import BackgroundTasks
from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import verify
from offchain.adapters.periodic_jobs import PeriodicJobs
from offchain.adapters.transport.limits import Admission, ConnectionLimits, ServerLimits
from offchain.adapters.transport.peer import Peer
from offchain.adapters.transport.port import (
    HostMisbehaved,
    HostRefused,
    HostUnreachable,
    PeerConnection,
    Transport,
    refused,
)
from offchain.adapters.transport.probes import ProbeHandler, answer_ping
from offchain.adapters.transport.request_admission import (
    DelegationChecks,
    NonceCache,
    QueryQueue,
    check_in_time,
    count_down,
    replayed,
    too_many_nonces,
)
from offchain.adapters.transport.session import Session
from offchain.errors import BadKey, GantryError
from offchain.schema.protocol.messages import (
    MAX_REQUEST_LIFE_MS,
    Code,
    Op,
    Refusal,
    Request,
    WireError,
)

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 1024
MAX_STRANGERS = 256
"""Most connections without a proven account."""
STRANGER_S = 20.0
"""Time after which a connection without a proven account is closed."""
NETWORK_PART = 8
"""One address may have `MAX_STRANGERS` divided by this number of connections without a proven account."""
MAX_SESSIONS_PER_ACCOUNT = 128
SIGNATURE_REQUESTS: Final = 2
"""Requests that the check of a wallet's signature costs as much as."""
RECHECK_S = 6.0
"""Longest time that a session outlives its right: three blocks."""
FAREWELL = Refusal(
    Code.GONE,
    "The host's agent is being stopped or restarted; pods run on.",
    "Try again in a minute. A program started by gantry exec or gantry shell does not outlive the agent.",
)

Authorise = Callable[[Request], Awaitable[None]]
"""Raises :class:`HostRefused` unless the chain gives `request.tenant` the right to this request now."""
VerifySignature = Callable[[str, str, bytes, bytes], bool]
"""(account, crypto, payload, signature) -> genuine?"""


class Handler(Protocol):
    """Answers one kind of request."""

    async def __call__(self, request: Request, session: Session) -> None:
        """Accept the session and serve it to its end, or raise :class:`HostRefused` to say why not.

        Cancelled when the peer leaves, and when the right to the session ends; `session.error` is the reason.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Live:
    request: Request
    session: Session


class HostServer:
    """Serves the peers of a host, or of a gateway, over one transport until it is closed."""

    def __init__(
        self,
        transport: Transport,
        *,
        genesis_hash: bytes,
        authorise: Authorise,
        handlers: Mapping[Op, Handler],
        verify: VerifySignature,
        now_ms: Callable[[], int],
        stranger_s: float = STRANGER_S,
        recheck_s: float = RECHECK_S,
        most: tuple[int, int] = (MAX_CONNECTIONS, MAX_STRANGERS),
        farewell: Refusal = FAREWELL,
    ) -> None:
        self._stranger_s = stranger_s
        self._most_connections, self._most_strangers = most
        self._farewell = farewell
        self._recheck_s = recheck_s
        self._transport = transport
        self._genesis_hash = genesis_hash
        self._authorise = authorise
        self._handlers: dict[Op, Handler] = {Op.PING: answer_ping, Op.PROBE: ProbeHandler(), **handlers}
        self._verify = verify
        self._now_ms = now_ms
        self._nonces = NonceCache()
        self._tasks = BackgroundTasks()
        self._peers: set[Peer] = set()
        self._strangers: dict[int, tuple[Peer, str]] = {}
        """Peers on which no account is proven, and their addresses; the oldest first."""
        self._limits = ServerLimits()
        transport.admit_by(self._may_connect)
        self._queries = QueryQueue()
        self._live: set[_Live] = set()
        self._of_account: Counter[str] = Counter()

    @property
    def addresses(self) -> tuple[str, ...]:
        """Addresses at which the host listens."""
        return self._transport.addresses

    @property
    def peers(self) -> int:
        """Number of connections."""
        return len(self._peers)

    async def serve(self) -> None:
        """Accept connections until :meth:`close`."""
        async with PeriodicJobs() as jobs:
            jobs.add("authorisation of sessions", self.recheck, self._recheck_s, delay_s=self._recheck_s)
            while (connection := await self._transport.accept()) is not None:
                if len(self._peers) >= self._most_connections:
                    self._tasks.run(connection.close())
                    continue
                self._tasks.run(self._serve_connection(connection))

    async def recheck(self) -> None:
        """Authorise every session of a lease again, and drop those whose right has ended."""
        refusals: dict[tuple[str, str, int | None, Op], Refusal | None] = {}
        for live in tuple(self._live):
            request = live.request
            key = (request.account, request.tenant, request.lease, request.op)
            refusal = self._refusal_of_delegation(request)
            if refusal is None and key not in refusals:
                refusals[key] = await self._refusal_now(request)
            refusal = refusal or refusals[key]
            if refusal is not None:
                live.session.drop(refusal)

    async def close(self) -> None:
        """Send every peer the farewell, drop its connection, and stop listening."""
        await asyncio.gather(*(peer.close(self._farewell) for peer in tuple(self._peers)))
        await self._transport.close()
        await self._tasks.close()

    def _refusal_of_delegation(self, request: Request) -> Refusal | None:
        """Return why the delegation of a session does not hold any more: it expires during long sessions."""
        try:
            DelegationChecks(self._genesis_hash).check(request, self._now_ms())
        except HostRefused as no:
            return no.refusal
        return None

    async def _refusal_now(self, request: Request) -> Refusal | None:
        try:
            await self._authorise(request)
        except HostRefused as no:
            # While the chain node is unreachable no right ends; the pod itself is stopped by other means.
            return None if no.refusal.code is Code.BUSY else no.refusal
        except GantryError:
            return None
        return None

    async def _serve_connection(self, connection: PeerConnection) -> None:
        limits = self._limits.connect(connection.remote_address)
        self._make_room(limits.network)
        peer = Peer(connection, dialler=False, limits=limits)
        known = asyncio.Event()
        delegations = DelegationChecks(self._genesis_hash)
        self._peers.add(peer)
        self._strangers[id(peer)] = peer, limits.network
        guard = self._tasks.run(self._watch_stranger(peer, known))
        sessions: set[asyncio.Task[None]] = set()
        try:
            while (session := await peer.accept()) is not None:
                if session.over:  # dropped before anything was done for it
                    peer.release()
                    self._count_refusal(peer, limits)
                    continue
                task = self._tasks.run(self._serve_session(session, peer, limits, known, delegations))
                # Nothing more is done for a session that its peer has dropped.
                session.when_over(partial(_cancel, task))
                task.add_done_callback(partial(_release, session, peer))
                sessions.add(task)
                task.add_done_callback(sessions.discard)
        finally:
            self._peers.discard(peer)
            limits.close(self._now_s())
            guard.cancel()
            await peer.close()
            await asyncio.gather(*sessions, return_exceptions=True)

    def _make_room(self, network: str) -> None:
        """Close a stranger's connection where there are too many: the oldest, of the same address if that has many.

        A peer with a request sends it at once; one that only occupies connections does not.
        """
        of_network = [key for key, (_, known) in self._strangers.items() if known == network]
        if len(of_network) >= max(1, self._most_strangers // NETWORK_PART):
            oldest = of_network[0]
        elif len(self._strangers) >= self._most_strangers:
            oldest = next(iter(self._strangers))
        else:
            return
        peer, _ = self._strangers.pop(oldest)
        self._tasks.run(peer.close())

    def _may_connect(self, address: str, validated: bool, /) -> Admission:  # noqa: FBT001  (a callback)
        return self._limits.admit(address, self._now_s(), validated=validated)

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()

    async def _watch_stranger(self, peer: Peer, known: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(self._stranger_s):
                await known.wait()
        except TimeoutError:
            await peer.close(
                Refusal(
                    Code.EXPIRED,
                    f"Nobody has proven within {self._stranger_s:g} s to be a tenant of this host.",
                    "Connect when there is something to ask.",
                )
            )
        finally:
            self._strangers.pop(id(peer), None)

    async def _serve_session(
        self,
        session: Session,
        peer: Peer,
        limits: ConnectionLimits,
        known: asyncio.Event,
        delegations: DelegationChecks,
    ) -> None:
        try:
            request = await self._admit(session.request, limits, delegations)
            if _proves_account(request):
                peer.prove(request.tenant)
                known.set()
            await self._run(request, session)
            session.end()
        except asyncio.CancelledError:
            self._count_refusal(peer, limits)
            raise
        except HostRefused as no:
            session.drop(no.refusal)
            self._count_refusal(peer, limits)
        except (HostUnreachable, HostMisbehaved):
            session.drop()
        except Exception:
            # In the middle of a body the peer sees a dropped session, never a short file.
            log.exception("serving a request failed")
            session.drop(
                Refusal(Code.INTERNAL, "The host failed at this.", "Try again; tell the provider if it stays.")
            )

    def _count_refusal(self, peer: Peer, limits: ConnectionLimits) -> None:
        """Count a request of a stranger that was refused, or that its peer dropped before the answer."""
        if limits.refuse(self._now_s()):
            self._tasks.run(peer.close(_TOO_MANY_REFUSED))

    async def _run(self, request: Request, session: Session) -> None:
        handler = self._handlers.get(request.op)
        if handler is None:
            raise refused(Code.UNSUPPORTED, f"This host does not offer {request.op.value}.", "Use another host.")
        if self._of_account[request.tenant] >= MAX_SESSIONS_PER_ACCOUNT:
            raise refused(
                Code.BUSY,
                f"{MAX_SESSIONS_PER_ACCOUNT} sessions of this account are open here.",
                "End one of them first.",
            )
        live = _Live(request, session)
        self._of_account[request.tenant] += 1
        if request.lease is not None:
            self._live.add(live)
        try:
            await handler(request, session)
        finally:
            self._live.discard(live)
            count_down(self._of_account, request.tenant)

    async def _admit(self, data: bytes, limits: ConnectionLimits, delegations: DelegationChecks) -> Request:
        request = self._genuine(data, limits, delegations)
        if request.op is Op.PING:
            return request  # anybody may repeat a ping; its nonce is not stored, or anybody could fill the cache
        if self._nonces.seen(request):
            raise replayed()
        if not self._nonces.has_room(request.tenant, self._now_ms()):
            raise too_many_nonces()
        if limits.is_proven:
            await self._authorise(request)
        else:
            async with self._queries.slot(limits.network, suspect=limits.is_suspect(self._now_s())):
                await self._authorise(request)
        # A nonce is forgotten when its request expires, which may have happened while the chain was queried.
        check_in_time(request, self._now_ms())
        # No await between these two: of two equal requests at the same time, one passes.
        if self._nonces.seen(request):
            raise replayed()
        if not self._nonces.add(request, self._now_ms()):
            raise too_many_nonces()
        return request

    def _genuine(self, data: bytes, limits: ConnectionLimits, delegations: DelegationChecks) -> Request:
        """Return the request, which is in time and signed by its account, and its delegation by the tenant.

        Raises :class:`HostRefused`.
        """
        try:
            request = Request.decode(data)
        except WireError as error:
            raise refused(Code.BAD_REQUEST, f"The request is malformed: {error}.", "Use a matching client.") from None
        now_ms = self._now_ms()
        check_in_time(request, now_ms)
        if request.expires_ms > now_ms + MAX_REQUEST_LIFE_MS:
            raise refused(
                Code.EXPIRES_TOO_LATE,
                f"The request is valid for more than {MAX_REQUEST_LIFE_MS // 1000} s.",
                "Check your machine's clock and sign for a shorter time.",
            )
        delegations.check(request, now_ms)
        payload = request.payload(self._genesis_hash, self._transport.key)
        if not self._verify(request.account, request.crypto, payload, request.signature):
            raise refused(
                Code.BAD_SIGNATURE,
                f"The signature is not one of {request.account} for this host and chain.",
                "Sign with the tenant's key, for the chain and the host key you are dialling.",
            )
        if request.delegation is not None and not delegations.is_verified(request.delegation):
            # A second signature, of any of three kinds, with and without a wrapping of the text.
            limits.spend(0, SIGNATURE_REQUESTS, 0, self._now_s())
            delegations.verify(request.delegation)
        return request


def _proves_account(request: Request) -> bool:
    """Whether an admitted request shows more than that an account exists, which many accounts can show."""
    return request.op is not Op.PING and (request.op is not Op.ATTEST or request.lease is not None)


_TOO_MANY_REFUSED: Final = Refusal(
    Code.BUSY, "Too many requests were refused on this connection.", "Correct them, and connect again."
)


def _cancel(task: asyncio.Task[None]) -> None:
    if asyncio.current_task() is not task:
        task.cancel()


def _release(session: Session, peer: Peer, _task: asyncio.Task[None]) -> None:
    # A session and a task that refer to each other would be freed late, and with them the connection's buffers.
    session.when_over(None)
    peer.release()


def signature_is_genuine(account: str, crypto: str, payload: bytes, signature: bytes) -> bool:
    """Whether the key of the account made this signature."""
    try:
        return verify(ss58.decode(account), crypto, payload, signature)
    except BadKey:
        return False
