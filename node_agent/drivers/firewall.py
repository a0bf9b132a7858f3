"""Firewall that isolates pods from the machine, from its network neighbours and from each other.

Every pod has a bridge of its own whose name starts with a common prefix, and all rules match that prefix: one chain for
packets from pods to this machine, one for forwarded packets. A pod reaches public addresses and the machine's name
servers. It does not reach any address of the machine itself (including its own bridge's), another pod, a private or
link-local network (the provider's other machines; the metadata services of clouds), or anything by IPv6.

:mod:`node_agent.drivers.firewall_rules` defines the rules and compares them with a table. This module reads the tables
and restores the rules, each table in one transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path

from node_agent.drivers import firewall_rules
from node_agent.drivers.docker.spec import BRIDGE_PREFIX
from node_agent.drivers.firewall_rules import ExpectedRules
from node_agent.drivers.port import DriverError

log = logging.getLogger(__name__)

_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"
_PATIENCE_S = 20.0
_TRIES = 3
"""Another program may change the table between reading and the transaction, which then fails as a whole."""
_RESOLV = Path("/etc/resolv.conf")
_NAMESPACE = Path("/proc/self/ns/net")
_IPV6 = Path("/proc/self/net/if_inet6")
"""The file exists if the kernel has IPv6."""


class Firewall:
    """The rules on this machine. They are the same for all agents, which share them."""

    def __init__(self, resolv_conf: Path = _RESOLV) -> None:
        self._resolv_conf = resolv_conf
        self._lock = asyncio.Lock()
        self._written = False

    async def ensure(self) -> None:
        """Compare the rules with the expected ones and restore them if they differ.

        Raises :class:`DriverError` if they are not in force afterwards. The rules are kept only while a pod's bridge
        exists, see :meth:`remove_unused`.
        """
        async with self._lock, _alone():
            for tool, wanted in self._tables():
                restored = await _ensure(tool, wanted)
                if restored and self._written:
                    log.warning("the %s rules that isolate pods were changed: %s. Restored.", tool, "; ".join(restored))
            self._written = True

    async def remove(self) -> None:
        """Remove the rules, whether or not pods need them."""
        async with self._lock, _alone():
            await _remove_all()
            self._written = False

    async def remove_unused(self) -> bool:
        """Remove the rules if no pod of any agent is left on this machine; return whether that is so."""
        async with self._lock, _alone():
            unused = not bridges()
            if unused:
                await _remove_all()
                self._written = False
            return unused

    def _tables(self) -> tuple[tuple[str, ExpectedRules], ...]:
        ipv4 = ("iptables", firewall_rules.rules(self._servers()))
        return (ipv4, ("ip6tables", firewall_rules.RULES_6)) if _IPV6.exists() else (ipv4,)

    def _servers(self) -> tuple[str, ...]:
        try:
            return firewall_rules.name_servers(self._resolv_conf.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return ()


def bridges() -> frozenset[str]:
    """Return the names of all pod bridges on this machine, of any agent."""
    # Not from /sys: that may show another network namespace than this process is in.
    return frozenset(name for _, name in socket.if_nameindex() if name.startswith(BRIDGE_PREFIX))


@contextlib.asynccontextmanager
async def _alone() -> AsyncIterator[None]:
    """Hold the lock of the rules, which is the network namespace that they belong to."""
    try:
        handle = os.open(_NAMESPACE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise DriverError(f"{_NAMESPACE} cannot be opened: {error.strerror}") from None
    try:
        await asyncio.wait_for(asyncio.to_thread(fcntl.flock, handle, fcntl.LOCK_EX), _PATIENCE_S)
        yield
    except TimeoutError:
        raise DriverError(f"another agent has held the firewall for {_PATIENCE_S:g} s") from None
    finally:
        os.close(handle)


async def _ensure(tool: str, wanted: ExpectedRules) -> tuple[str, ...]:
    """Put the rules of one IP version in force; return the previous faults."""
    saved = await _run(f"{tool}-save", "-t", "filter")
    before = found = firewall_rules.faults(saved, wanted)
    failure: DriverError | None = None
    for _ in range(_TRIES):
        if not found:
            return before
        failure = None
        try:
            await _run(f"{tool}-restore", "--noflush", "--wait", text=firewall_rules.repair(saved, wanted))
        except DriverError as error:
            failure = error
        saved = await _run(f"{tool}-save", "-t", "filter")
        found = firewall_rules.faults(saved, wanted)
    if not found:
        return before
    raise failure or DriverError(
        f"the {tool} rules that isolate pods do not stay in force: {'; '.join(found)}. "
        "Which other program on this machine changes the filter table?"
    )


async def _remove_all() -> None:
    for tool in ("iptables", "ip6tables"):
        with contextlib.suppress(DriverError):
            text = firewall_rules.removal(await _run(f"{tool}-save", "-t", "filter"))
            if text:
                await _run(f"{tool}-restore", "--noflush", "--wait", text=text)


async def _run(tool: str, *arguments: str, text: str = "") -> str:
    program = shutil.which(tool) or shutil.which(tool, path=_SBIN)
    if program is None:
        raise DriverError(f"there is no {tool} on this machine. Install the package iptables.")
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(text.encode()), _PATIENCE_S)
    except BaseException as error:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if isinstance(error, TimeoutError):
            raise DriverError(f"{tool} did not answer within {_PATIENCE_S:g} s.") from None
        raise
    if process.returncode != 0:
        message = " ".join(err.decode(errors="replace").split())
        raise DriverError(f"{tool} failed: {message or f'exit code {process.returncode}'}. Run the agent as root.")
    return out.decode(errors="replace")
