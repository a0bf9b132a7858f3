"""What a round keeps hosts closed for, beside the rules of the chain: reservations, spread, what is another's."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from offchain.core.fleet.want import Want
from offchain.core.placing.free import AnyInts, Bools
from offchain.core.values import Task


class Gate(Protocol):
    """Made anew for a round."""

    def closed(self, task: Task, want: Want, devices: AnyInts) -> Bools | None:
        """[host]: whether a pod of this task may not go there now. None: every host is open to it.

        And to all that ask for the same and may use the same windows of time, until a pod is placed.

        `devices[host]`, bits, are those that it would take there; -1 where it has no room. Whether any host is closed
        may depend on where it has room alone.
        """

    def taken(self, task: Task, want: Want, host: int, devices: int) -> None:
        """A pod of this task has this place."""

    def given(self, task: Task, want: Want, host: int, devices: int) -> None:
        """It has lost it again: others of its gang found none."""


@runtime_checkable
class Leaning(Gate, Protocol):
    """A gate that also says where a pod goes first of the hosts that take it."""

    def first(self, task: Task, want: Want, takes: Bools) -> Bools | None:
        """[host]: to these first, if any of them takes it. None: it does not matter.

        `takes[host]`: whether it can go there.
        """
