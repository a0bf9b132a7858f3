"""One score alone over a few hosts."""

from __future__ import annotations

from core_builders import task

from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.want import Want
from offchain.core.planning.scores import SCORES
from offchain.core.values import Host

WANT = Want.of(task())


def fleet(*hosts: Host) -> Fleet:
    found = Fleet()
    found.put(hosts)
    return found


def scored(name: str, *hosts: Host, want: Want = WANT) -> list[float]:
    return [float(one) for one in SCORES[name](want, fleet(*hosts).facts)]
