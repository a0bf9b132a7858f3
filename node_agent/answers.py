"""What this host answers tenants who dial it: checked against the chain, served from the store or the running pod."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from node_agent.core.states import Pod
from node_agent.ports import Driver, DriverError, PodGone
from node_agent.state_dir import LogKey, StateDir
from offchain.link.errors import BadKey, TheirError
from offchain.link.keys import ss58_decode, verify
from offchain.link.p2p import HostRefused
from offchain.link.typed import GantryChain, LeaseOfTask
from offchain.schema.wire import Code, Refusal, Request

CHUNK = 1 << 18


class Answers:
    """Authoriser and provider for :class:`offchain.link.p2p_host.HostServer`."""

    def __init__(
        self,
        chain: GantryChain,
        host: str,
        state: StateDir,
        driver: Driver,
        pod_of: Callable[[int], Pod | None],
    ) -> None:
        self._chain = chain
        self._host = host
        self._state = state
        self._driver = driver
        self._pod_of = pod_of

    async def authorise(self, request: Request) -> None:
        """Raises unless the account is the lease's tenant on chain."""
        if request.lease is None:
            raise _refused(Code.BAD_REQUEST, "The request names no lease.", "Use a matching client.")
        lease = await self._lease(request.lease)
        if lease.task.record.tenant != request.account:
            raise _refused(
                Code.NOT_YOUR_LEASE,
                f"Lease {request.lease} does not belong to {request.account}.",
                "Sign with the account that submitted the task.",
            )

    async def result(self, lease: int) -> bytes:
        """The result whose digest is on chain, or is about to be."""
        pod = self._pod_of(lease)
        digest = pod.digest if pod is not None else None
        if digest is None:
            reported = (await self._lease(lease)).record.result
            digest = reported.digest if reported is not None else None
        if digest is None:
            raise _refused(Code.NOT_READY, f"Lease {lease} has no result yet.", "Ask again when the task is reported.")
        data = self._state.get_blob(digest)
        if data is None:
            raise _refused(Code.GONE, f"The result of lease {lease} is not kept here any more.", "Run the task again.")
        return data

    async def logs(self, lease: int, *, follow: bool) -> AsyncGenerator[bytes, None]:
        """The kept log of earlier starts, then the running container's."""
        pod = self._pod_of(lease)
        created_at_ms = pod.lease.created_at_ms if pod is not None else (await self._lease(lease)).record.created_at
        kept = self._state.get_log(LogKey(lease, created_at_ms))
        if kept is not None:
            for start in range(0, len(kept), CHUNK):
                yield kept[start : start + CHUNK]
        if pod is not None and pod.ending is None:
            try:
                async with aclosing(self._driver.logs(lease, follow=follow)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            except PodGone:
                pass
            except DriverError as error:
                raise _refused(Code.INTERNAL, f"The log cannot be read: {error}.", "Try again.") from None
            else:
                return
        if kept is None:
            raise _refused(Code.NOT_READY, f"Lease {lease} has no log yet.", "Ask again when its pod was started.")

    async def _lease(self, lease: int) -> LeaseOfTask:
        try:
            found = await self._chain.lease(lease)
        except TheirError:
            raise _refused(Code.BUSY, "The host cannot reach its chain node now.", "Try again in a minute.") from None
        if found is None or found.record.host != self._host:
            raise _refused(
                Code.UNKNOWN_LEASE, f"Lease {lease} is not one of this host.", "Look up the lease's host on the chain."
            )
        return found


def signature_is_genuine(account: str, crypto: str, payload: bytes, signature: bytes) -> bool:
    """Whether the account's key made this signature."""
    try:
        return verify(ss58_decode(account), crypto, payload, signature)
    except BadKey:
        return False


def _refused(code: Code, message: str, remedy: str) -> HostRefused:
    return HostRefused(Refusal(code, message, remedy))
