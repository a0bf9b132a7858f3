"""Requests for attestation documents: of tenants before they deliver secrets, and of accounts that look for a host."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Final

from node_agent.attestation.port import AttestationSource, AttestationUnavailableError
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.transport.host_server import Handler
from offchain.adapters.transport.limits import CpuShare, TokenBucket
from offchain.adapters.transport.port import refused
from offchain.adapters.transport.session import Session
from offchain.errors import TheirError
from offchain.schema.protocol.messages import Answer, Code, Op, Request
from offchain.schema.protocol.operations import AttestArgs

log = logging.getLogger(__name__)

QUOTE_COST_US: Final = 1_000_000
"""One document, of the processor that makes quotes: others wait meanwhile."""
OF_LEASE: Final = CpuShare(us_per_s=100_000, burst_us=2_000_000)
"""The tenant of one lease: 6 documents a minute, 3 at once."""
OF_STRANGERS: Final = CpuShare(us_per_s=200_000, burst_us=4_000_000)
"""All accounts without a lease together: 12 documents a minute, 5 at once."""
MOST_WAITING: Final = 16
MOST_LEASES: Final = 256
"""Leases whose use is remembered; more than a host has."""


async def check_account(chain: GantryChain, request: Request) -> None:
    """Refuse the request of an account that the chain does not know: new ones would cost nothing."""
    try:
        found = await chain.port.query("System", "Account", [request.account])
    except TheirError:
        raise refused(Code.BUSY, "The host cannot reach its chain node now.", "Try again in a minute.") from None
    if not found or not (found["data"]["free"] or found["data"]["reserved"]):
        raise refused(
            Code.NOT_YOUR_LEASE, f"The account {request.account} has no coins on this chain.", "Sign with another one."
        )


class AttestationRequests:
    """Handler of :data:`Op.ATTEST`. One document is made at a time.

    `seal_key`: the public key that opens what tenants seal. `now_s`: a monotonic clock.
    """

    def __init__(
        self, source: AttestationSource, host_key: bytes, seal_key: bytes, now_s: Callable[[], float] = monotonic
    ) -> None:
        self._source = source
        self._host_key = host_key
        self._seal_key = seal_key
        self._now_s = now_s
        self._making = asyncio.Lock()
        self._waiting = 0
        self._strangers = TokenBucket(OF_STRANGERS)
        self._of_lease: dict[int, TokenBucket] = {}

    def handlers(self) -> Mapping[Op, Handler]:
        return {Op.ATTEST: self.attest}

    async def attest(self, request: Request, session: Session) -> None:
        """Send a document for the nonce of the request."""
        args = request.args
        assert isinstance(args, AttestArgs)  # noqa: S101  (decoded by its op)
        self._charge(request.lease)
        if self._waiting >= MOST_WAITING:
            raise refused(Code.BUSY, f"{MOST_WAITING} documents are being made here.", "Try again in some seconds.")
        self._waiting += 1
        try:
            async with self._making:
                document = await asyncio.to_thread(
                    self._source.document, self._host_key, bytes.fromhex(args.nonce), self._seal_key
                )
        except AttestationUnavailableError as error:
            log.warning("no attestation document could be made: %s. %s", error, error.hint)
            raise refused(
                Code.UNSUPPORTED, f"The host cannot prove now that it is confidential: {error}.", "Use another host."
            ) from None
        finally:
            self._waiting -= 1
        body = document.encode()
        session.accept(Answer(size=len(body)))
        await session.write(body)

    def _charge(self, lease: int | None) -> None:
        now_s = self._now_s()
        bucket = self._strangers if lease is None else self._bucket_of(lease, now_s)
        wait_s = bucket.spend(0, now_s)
        if wait_s:
            whose = "accounts without a lease have" if lease is None else f"the tenant of lease {lease} has"
            raise refused(
                Code.BUSY, f"Too many documents: {whose} asked lately.", f"Try again in {max(1, round(wait_s))} s."
            )
        bucket.spend(QUOTE_COST_US, now_s)

    def _bucket_of(self, lease: int, now_s: float) -> TokenBucket:
        if lease not in self._of_lease and len(self._of_lease) >= MOST_LEASES:
            self._of_lease = {one: bucket for one, bucket in self._of_lease.items() if not bucket.is_full(now_s)}
        return self._of_lease.setdefault(lease, TokenBucket(OF_LEASE))
