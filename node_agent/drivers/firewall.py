"""Keeps pods away from the machine they run on, from its neighbours, and from each other.

Every pod has a bridge of its own whose name starts with one prefix, and all rules go by that prefix: one chain for what
pods send to this machine, one for what they send through it. A pod reaches public addresses and the machine's name
servers. It does not reach any address of the machine itself (its own bridge's among them), another pod, a private or
link-local network (the provider's other machines; the metadata services of clouds), or anything by IPv6.

The rules are written in one step, found by a fingerprint, and mended whenever they are not as they should be.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import ipaddress
import os
import shutil
import socket
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from node_agent.drivers.docker_spec import BRIDGE_PREFIX
from node_agent.ports import DriverError

POD = f"{BRIDGE_PREFIX}+"
"""All pods' bridges, as the kernel's filter takes it."""
TO_HOST = "GANTRY-INPUT"
THROUGH = "GANTRY-FORWARD"
CLOSED = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/3",
)
"""What is not the public internet: private, link-local, shared, for benchmarks, multicast, reserved; and Azure's own
services, whose address only looks public."""
_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"
_PATIENCE_S = 20.0
_RESOLV = Path("/etc/resolv.conf")
_NAMESPACE = Path("/proc/self/ns/net")


def name_servers(resolv_conf: str) -> tuple[str, ...]:
    """The machine's name servers that are reached through the network: a pod asks them itself. IPv4."""
    found = []
    for line in resolv_conf.splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] == "nameserver":
            with contextlib.suppress(ValueError):
                address = ipaddress.ip_address(words[1])
                if address.version == 4 and not address.is_loopback:
                    found.append(str(address))
    return tuple(sorted(set(found)))


def rules(servers: Iterable[str]) -> str:
    """Both chains, as `iptables-restore` takes them."""
    to_host = [
        # What this machine itself began, the way to a pod's ports among it, may be answered.
        "-m conntrack --ctstate ESTABLISHED,RELATED -j RETURN",
        "-j DROP",
    ]
    through = [
        f"-o {POD} -j DROP",
        *(f"-d {server}/32 -p {kind} --dport 53 -j RETURN" for server in servers for kind in ("udp", "tcp")),
        *(f"-d {network} -j DROP" for network in CLOSED),
    ]
    lines = [f"-A {TO_HOST} {rule}" for rule in to_host] + [f"-A {THROUGH} {rule}" for rule in through]
    mark = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    marked = [f'-A {chain} -m comment --comment "gantry {mark}"' for chain in (TO_HOST, THROUGH)]
    return "\n".join(["*filter", f":{TO_HOST} - [0:0]", f":{THROUGH} - [0:0]", *marked, *lines, "COMMIT", ""])


CLOSED_RULES_6 = f"""\
*filter
:{TO_HOST} - [0:0]
:{THROUGH} - [0:0]
-A {TO_HOST} -j DROP
-A {THROUGH} -j DROP
COMMIT
"""
"""Pods have no IPv6 addresses; what one makes up for itself leads nowhere."""


def hooks(saved: str) -> tuple[tuple[str, str], ...]:
    """Which of the kernel's chains lead to which of ours. Docker's own place for such rules where there is one."""
    through = "DOCKER-USER" if ":DOCKER-USER " in saved else "FORWARD"
    return (("INPUT", TO_HOST), (through, THROUGH))


def is_in_force(saved: str, wanted: str) -> bool:
    """Whether the tables, as `iptables-save` shows them, hold these rules, unchanged and in use."""
    for chain in (TO_HOST, THROUGH):
        here = [line for line in saved.splitlines() if line.startswith(f"-A {chain} ")]
        ours = [line for line in wanted.splitlines() if line.startswith(f"-A {chain} ")]
        if len(here) != len(ours) or not here or _comment(here[0]) != _comment(ours[0]):
            return False
    return all(f"-A {chain} -i {POD} -j {ours}" in saved.splitlines() for chain, ours in hooks(saved))


def _comment(line: str) -> str:
    return line.partition("--comment ")[2]


class Firewall:
    """The rules on this machine. Several agents share them: they are the same for all."""

    def __init__(self, resolv_conf: Path = _RESOLV) -> None:
        self._resolv_conf = resolv_conf
        self._lock = asyncio.Lock()

    async def ensure(self) -> None:
        """Have the rules in force. Raises :class:`DriverError` where this machine does not let us.

        They stay for a pod only if its bridge is there already, see :meth:`remove_unused`.
        """
        async with self._lock, _alone():
            wanted = rules(self._servers())
            saved = await _run("iptables-save", "-t", "filter")
            if is_in_force(saved, wanted):
                return
            await _run("iptables-restore", "--noflush", "--wait", text=wanted)
            for chain, ours in hooks(saved):
                if f"-A {chain} -i {POD} -j {ours}" not in saved.splitlines():
                    await _run("iptables", "-w", "-I", chain, "1", "-i", POD, "-j", ours)
            with contextlib.suppress(DriverError):  # a kernel without IPv6 needs no rules for it
                await _run("ip6tables-restore", "--noflush", "--wait", text=CLOSED_RULES_6)
                saved = await _run("ip6tables-save", "-t", "filter")
                for chain, ours in (("INPUT", TO_HOST), ("FORWARD", THROUGH)):
                    if f"-A {chain} -i {POD} -j {ours}" not in saved.splitlines():
                        await _run("ip6tables", "-w", "-I", chain, "1", "-i", POD, "-j", ours)

    async def remove(self) -> None:
        """Take the rules away, whoever needs them. Nothing where there are none."""
        async with self._lock, _alone():
            await _remove_all()

    async def remove_unused(self) -> bool:
        """Take the rules away where no pod of any agent of this machine is left, and tell whether that is so."""
        async with self._lock, _alone():
            unused = not bridges()
            if unused:
                await _remove_all()
            return unused

    def _servers(self) -> tuple[str, ...]:
        try:
            return name_servers(self._resolv_conf.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return ()


def bridges() -> frozenset[str]:
    """The pods' bridges on this machine, of whichever agent."""
    # Not from /sys: that may show another network namespace than this process is in.
    return frozenset(name for _, name in socket.if_nameindex() if name.startswith(BRIDGE_PREFIX))


@contextlib.asynccontextmanager
async def _alone() -> AsyncIterator[None]:
    """While no other agent looks at the rules or changes them. They belong to the network namespace: it is the lock."""
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


async def _remove_all() -> None:
    for tool in ("iptables", "ip6tables"):
        with contextlib.suppress(DriverError):
            await _remove(tool)


async def _remove(tool: str) -> None:
    saved = (await _run(f"{tool}-save", "-t", "filter")).splitlines()
    for line in saved:
        if line.startswith("-A ") and line.endswith((f"-j {TO_HOST}", f"-j {THROUGH}")):
            await _run(tool, "-w", "-D", *line.split()[1:])
    for chain in (TO_HOST, THROUGH):
        if any(line.startswith(f":{chain} ") for line in saved):
            await _run(tool, "-w", "-F", chain)
            await _run(tool, "-w", "-X", chain)


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
        said = " ".join(err.decode(errors="replace").split())
        raise DriverError(f"{tool} failed: {said or f'exit code {process.returncode}'}. Run the agent as root.")
    return out.decode(errors="replace")
