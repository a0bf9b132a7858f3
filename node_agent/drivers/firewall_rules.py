"""Packet filter rules that isolate pods: definition, comparison with a table, and repair. Pure.

The input is the output of `iptables-save -t filter`, and the output is input for `iptables-restore --noflush`. A table
holds the rules if both of our chains consist of exactly the expected rules in order, and if every packet of a pod
enters our chain before any other rule of the chain that leads there. Policies and all other rules belong to the
machine: they are neither compared nor changed.

The kernel evaluates the rules of both of iptables' backends (nf_tables and legacy), and a packet passes only if both
accept it. So an ACCEPT in the other backend does not open what these rules drop.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import shlex
from collections.abc import Iterable, Mapping

from node_agent.drivers.docker.spec import BRIDGE_PREFIX

POD = f"{BRIDGE_PREFIX}+"
"""The bridges of all pods, in the notation of iptables."""
TO_HOST = "GANTRY-INPUT"
THROUGH = "GANTRY-FORWARD"
DOCKER = "DOCKER-USER"
"""The chain that Docker places before its own rules, again with each new network."""
_READ = frozenset({TO_HOST, THROUGH, DOCKER, "INPUT", "FORWARD"})
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
"""Networks outside the public internet: private, link-local, shared, benchmark, multicast, reserved; and the address of
Azure's own services, which only looks public."""

Rule = tuple[str, ...]
"""A rule without its chain, as words in one canonical form."""
Chains = Mapping[str, tuple[Rule, ...]]
ExpectedRules = Mapping[str, tuple[str, ...]]
"""The rules of each of our chains in the syntax of `iptables`."""


def name_servers(resolv_conf: str) -> tuple[str, ...]:
    """Return the machine's IPv4 name servers that pods reach through the network."""
    found = []
    for line in resolv_conf.splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] == "nameserver":
            with contextlib.suppress(ValueError):
                address = ipaddress.ip_address(words[1])
                if address.version == 4 and not address.is_loopback:
                    found.append(str(address))
    return tuple(sorted(set(found)))


def rules(servers: Iterable[str]) -> ExpectedRules:
    """Return the IPv4 rules. `servers`: the name servers that pods may query."""
    to_host = (
        # Answers to connections that this machine opened, for example to a port of a pod.
        "-m conntrack --ctstate ESTABLISHED,RELATED -j RETURN",
        "-j DROP",
    )
    through = (
        f"-o {POD} -j DROP",
        *(f"-d {server}/32 -p {kind} --dport 53 -j RETURN" for server in servers for kind in ("udp", "tcp")),
        *(f"-d {network} -j DROP" for network in CLOSED),
    )
    # Several agents share the rules of a machine; those of earlier releases recognise them by this comment.
    lines = [f"-A {TO_HOST} {rule}" for rule in to_host] + [f"-A {THROUGH} {rule}" for rule in through]
    mark = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    comment = f'-m comment --comment "gantry {mark}"'
    return {TO_HOST: (comment, *to_host), THROUGH: (comment, *through)}


RULES_6: ExpectedRules = {TO_HOST: ("-j DROP",), THROUGH: ("-j DROP",)}
"""The IPv6 rules. Pods have no IPv6 addresses, and packets from one that a pod gives itself are dropped."""


def faults(saved: str, wanted: ExpectedRules) -> tuple[str, ...]:
    """Return the differences from the expected state, each as a phrase for the log. Empty: the rules are in force."""
    chains = _parse(saved)
    found = []
    for name, texts in wanted.items():
        here, expected = chains.get(name), tuple(_canonical(text) for text in texts)
        if here is None:
            found.append(f"the chain {name} is missing")
        elif here != expected:
            found.append(_difference(name, here, expected))
    found += [
        f"rule 1 of {chain} does not lead to {ours}"
        for chain, ours in _hooks(chains)
        if not _leads(chains, chain, ours)
    ]
    return tuple(found)


def repair(saved: str, wanted: ExpectedRules) -> str:
    """Return the input of `iptables-restore --noflush` that puts the rules in force in one transaction.

    A chain whose first rule is not the jump to ours loses all its jumps to ours and gets a new first one.
    """
    chains = _parse(saved)
    lines = ["*filter", *(f":{name} - [0:0]" for name in wanted)]
    for chain, ours in _hooks(chains):
        if not _leads(chains, chain, ours):
            lines += _deletions(saved, chain, ours)
            lines.append(f"-I {chain} 1 {' '.join(_jump(ours))}")
    lines += [f"-A {name} {text}" for name, texts in wanted.items() for text in texts]
    return "\n".join([*lines, "COMMIT", ""])


def removal(saved: str) -> str:
    """Return the input of `iptables-restore --noflush` that removes our chains and all jumps to them.

    Empty if there is nothing to remove.
    """
    chains = _parse(saved)
    ours = [name for name in (TO_HOST, THROUGH) if name in chains]
    if not ours:
        return ""
    others = [name for name in _names(saved) if name not in ours]
    jumps = [line for chain in others for name in ours for line in _deletions(saved, chain, name)]
    emptied = [f":{name} - [0:0]" for name in ours]
    return "\n".join(["*filter", *emptied, *jumps, *(f"-X {name}" for name in ours), "COMMIT", ""])


def _hooks(chains: Chains) -> tuple[tuple[str, str], ...]:
    """Return the chains of the machine that jump to ours, with ours."""
    docker = ((DOCKER, THROUGH),) if DOCKER in chains else ()
    return (("INPUT", TO_HOST), *docker, ("FORWARD", THROUGH))


def _leads(chains: Chains, chain: str, ours: str) -> bool:
    """Return whether the first rule of a chain sends all packets of pods to our chain."""
    first = chains.get(chain, ())[:1]
    by_docker = chain == "FORWARD" and DOCKER in chains and first == (("-j", DOCKER),)
    return first == (_jump(ours),) or by_docker


def _jump(ours: str) -> Rule:
    return ("-i", POD, "-j", ours)


def _deletions(saved: str, chain: str, ours: str) -> list[str]:
    """Return a deletion for each rule of a chain that jumps to ours, regardless of its other matches."""
    found = [line for line in saved.splitlines() if line.startswith(f"-A {chain} ")]
    return [f"-D {line[3:]}" for line in found if line.endswith((f" -j {ours}", f" -g {ours}"))]


def _names(saved: str) -> list[str]:
    return [line[1:].split()[0] for line in saved.splitlines() if line.startswith(":")]


def _parse(saved: str) -> dict[str, tuple[Rule, ...]]:
    """Return the rules of the chains of the filter table; of irrelevant chains only the names."""
    found: dict[str, list[Rule]] = {}
    table = ""
    for line in saved.splitlines():
        if line.startswith("*"):
            table = line
        elif table == "*filter" and line.startswith(":"):
            found.setdefault(line[1:].split()[0], [])
        elif table == "*filter" and line.startswith("-A "):
            _, chain, *rest = line.split(maxsplit=2)
            if chain in _READ:
                found.setdefault(chain, []).append(_canonical(rest[0] if rest else ""))
    return {name: tuple(rules) for name, rules in found.items()}


def _canonical(text: str) -> Rule:
    """Return a rule as words. `iptables-save` adds the match of a protocol, and sorts states in its own way."""
    try:
        words = shlex.split(text) if '"' in text else text.split()
    except ValueError:
        return (text,)
    found: list[str] = []
    protocol = ""
    at = 0
    while at < len(words):
        word, value = words[at], words[at + 1] if at + 1 < len(words) else ""
        if word == "-m" and value == protocol != "":
            at += 2
            continue
        if word == "-p":
            protocol = value
        found.append(",".join(sorted(word.split(","))) if found and found[-1] == "--ctstate" else word)
        at += 1
    return tuple(found)


def _difference(name: str, here: tuple[Rule, ...], expected: tuple[Rule, ...]) -> str:
    for number, (found, right) in enumerate(zip(here, expected, strict=False), 1):
        if found != right:
            return f"rule {number} of {name} is {' '.join(found)!r} instead of {' '.join(right)!r}"
    return f"{name} has {len(here)} rules instead of {len(expected)}"
