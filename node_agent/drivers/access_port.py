"""What is needed of whatever runs pods, to let tenants into them."""

# ruff: noqa: N818  (errors are named for the fact, as on the chain)

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from node_agent.drivers.port import DriverError

__all__ = ["AccessRefused", "ByteStream", "DriverError", "ExecSession", "Output", "PathHidden", "PodAccess"]


class AccessRefused(DriverError):
    """What the tenant asked for cannot be done in this pod: no such service, program, file or port. Fit for users."""


class PathHidden(AccessRefused):
    """The path lies in a mount of the pod to which and from which files cannot be copied."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a program wrote. `channel`: 1 standard output, 2 standard error; with a terminal all is 0."""

    channel: int
    data: bytes


class ExecSession(Protocol):
    """A program that was started in a pod."""

    async def read(self) -> Output | None:
        """The next output; None when the program has ended and closed its outputs. Raises DriverError."""
        ...

    async def write(self, data: bytes) -> None:
        """Input; waits while the program does not read. Nothing where it has ended."""
        ...

    async def end_input(self) -> None:
        """There is no more input."""
        ...

    async def resize(self, rows: int, columns: int) -> None:
        """The terminal has another size. Nothing without a terminal."""
        ...

    async def exit_code(self) -> int:
        """As a shell shows it; after `read` gave None. Raises DriverError."""
        ...

    async def kill(self) -> None:
        """End the program, as far as that can be done, and let go of it. Never raises."""
        ...


class ByteStream(Protocol):
    """A connection into a pod."""

    async def read(self) -> bytes:
        """The next bytes; none at the end or when it broke."""
        ...

    async def write(self, data: bytes) -> None:
        """All of `data`. Raises ConnectionError."""
        ...

    async def end(self) -> None:
        """Nothing more is sent; reading goes on."""
        ...

    async def close(self) -> None:
        """Drop it. Never raises."""
        ...


class PodAccess(Protocol):
    """Ways into the running pods of one host. `service` None: the pod's first.

    Everything raises :class:`AccessRefused`, PodGone where the pod is not there, DriverError.
    """

    async def exec(
        self, lease: int, service: str | None, argv: tuple[str, ...], *, tty: bool, rows: int, columns: int
    ) -> ExecSession:
        """Start a program; `argv` is passed on as it is, by no shell."""
        ...

    async def dial(self, lease: int, port: int) -> ByteStream:
        """Connect to a TCP port on the pod's own loopback address."""
        ...

    def get(self, lease: int, service: str | None, path: str) -> AsyncGenerator[bytes, None]:
        """A file or folder as a tar stream, the same bytes for the same files. Raises PathHidden."""
        ...

    async def hidden(self, lease: int, service: str | None, folder: str) -> tuple[str, ...]:
        """Return the paths below `folder`, relative to it, into which `put` would unpack where no program sees it.

        Raises PathHidden if `folder` itself is such a place.
        """
        ...

    async def put(self, lease: int, service: str | None, folder: str, archive: AsyncIterator[bytes]) -> None:
        """Unpack a tar stream into a folder that is there."""
        ...

    async def close(self) -> None:
        """Let go of the engine; programs that run are not touched."""
        ...
