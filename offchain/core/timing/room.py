"""What is free of one host, and the devices that a pod would take of it."""

from __future__ import annotations

from dataclasses import dataclass

from offchain.core.scheduler.columns import Ints
from offchain.core.scheduler.pod_request import PodShape


@dataclass(slots=True)
class Room:
    """Of one host; whether the pod accepts its model is not asked here."""

    cpu_milli: int
    memory_mib: int
    device: Ints
    """[device]: free thousandths."""

    def copy(self) -> Room:
        """The same, to be changed."""
        return Room(self.cpu_milli, self.memory_mib, self.device.copy())

    def has(self, shape: PodShape, devices: int) -> bool:
        """Whether a pod fits on just these devices."""
        return (
            self.cpu_milli >= shape.cpu_milli
            and self.memory_mib >= shape.memory_mib
            and all(left >= shape.gpu_milli for index, left in enumerate(self.device) if devices >> index & 1)
        )

    def pick(self, shape: PodShape) -> int:
        """The devices that a pod takes, as bits; -1 where it has no room.

        The fullest. For a pod that needs several, the emptiest: so as many fit beside each other as can.
        """
        if self.cpu_milli < shape.cpu_milli or self.memory_mib < shape.memory_mib:
            return -1
        fit = [(int(left), index) for index, left in enumerate(self.device) if left >= shape.gpu_milli]
        if shape.gpus > 1:
            fit.sort(key=lambda one: (-one[0], one[1]))
        else:
            fit.sort()
        if len(fit) < shape.gpus:
            return -1
        return sum(1 << index for _, index in fit[: shape.gpus])

    def take(self, shape: PodShape, devices: int) -> None:
        """A pod is there from now on."""
        self._move(shape, devices, -1)

    def give(self, shape: PodShape, devices: int) -> None:
        """A pod has gone."""
        self._move(shape, devices, 1)

    def _move(self, shape: PodShape, devices: int, sign: int) -> None:
        self.cpu_milli += sign * shape.cpu_milli
        self.memory_mib += sign * shape.memory_mib
        for index in range(len(self.device)):
            if devices >> index & 1:
                self.device[index] += sign * shape.gpu_milli
