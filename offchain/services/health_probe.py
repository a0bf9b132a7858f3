"""Health checks of pods, run in them by their tenant.

The chain knows that a pod runs, not that it is healthy, and the host's word is not trusted: the check is the one that
the tenant wrote, and its exit code decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.adapters.transport.port import TransportError
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.manifest.types import Manifest
from offchain.schema.protocol.operations import ExecArgs

ANSWER_S: Final = 10.0
"""Timeout for the answer of a host, beyond the timeouts of the checks."""


class PodProgram(Protocol):
    """A program that runs in a pod."""

    exit_code: int | None

    async def read(self) -> tuple[int, bytes] | None:
        """Return its next output; None when it has ended."""
        ...

    async def kill(self) -> None:
        """End it."""
        ...


class ExecSource(Protocol):
    """A connection to a host, as far as programs are concerned."""

    async def exec(self, lease: int, args: ExecArgs) -> PodProgram:
        """Start a program in the pod of this lease."""
        ...


ConnectHost = Callable[[gen.HostRecord, str], AbstractAsyncContextManager[ExecSource]]
"""Opens a connection to the host with this record and address."""


class HealthProbe:
    def __init__(self, chain: GantryChain, dial: ConnectHost) -> None:
        self._chain = chain
        self._dial = dial

    async def __call__(self, lease: LeaseOfTask, manifest: Manifest) -> bool | None:
        """Return whether every container of the pod is healthy; None if its host does not answer."""
        checks = [(one.name, one.healthcheck) for one in manifest.services if one.healthcheck is not None]
        if not checks:
            return True
        record = await self._chain.host(lease.record.host)
        if record is None:
            return None
        try:
            async with asyncio.timeout(ANSWER_S + sum(check.timeout_ms for _, check in checks) / 1000):
                async with self._dial(record, lease.record.host) as host:
                    for name, check in checks:
                        args = ExecArgs(check.test, service=name)
                        if not await _passes(host, lease.id, args, check.timeout_ms / 1000):
                            return False
        except (TransportError, TimeoutError):
            return None
        return True


async def _passes(host: ExecSource, lease: int, args: ExecArgs, within_s: float) -> bool:
    program = await host.exec(lease, args)
    try:
        async with asyncio.timeout(within_s):
            while await program.read() is not None:
                pass
    except TimeoutError:
        return False
    finally:
        if program.exit_code is None:
            await program.kill()
    return program.exit_code == 0
