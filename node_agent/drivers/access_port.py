"""The port through which tenants access their running pods."""

# ruff: noqa: N818  (errors are named for the fact, as on the chain)

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from node_agent.drivers.port import DriverError

__all__ = ["AccessRefused", "ByteStream", "DriverError", "ExecSession", "Output", "PathHidden", "PodAccess"]


class AccessRefused(DriverError):
    """The request cannot be served in this pod: no such service, program, file or port. The text is fit for users."""


class PathHidden(AccessRefused):
    """The path lies in a mount of the pod that copies do not reach."""


@dataclass(frozen=True, slots=True)
class Output:
    """Output of a program. `channel`: 1 standard output, 2 standard error, 0 with a terminal."""

    channel: int
    data: bytes


class ExecSession(Protocol):
    """A program started in a pod."""

    async def read(self) -> Output | None:
        """Return the next output, or None after the program has ended and closed its outputs. Raises DriverError."""

    async def write(self, data: bytes) -> None:
        """Write input; waits while the program does not read. Ignored if it has ended."""

    async def end_input(self) -> None:
        """Close the input."""

    async def resize(self, rows: int, columns: int) -> None:
        """Change the size of the terminal. Ignored without one."""

    async def exit_code(self) -> int:
        """Return the exit code as a shell does, after `read` returned None. Raises DriverError."""

    async def kill(self) -> None:
        """End the program as far as possible, and release the session. Never raises."""


class ByteStream(Protocol):
    """A connection into a pod."""

    async def read(self) -> bytes:
        """Return the next bytes; empty at the end and after a broken connection."""

    async def write(self, data: bytes) -> None:
        """Write all of `data`. Raises ConnectionError."""

    async def end(self) -> None:
        """Close the sending side; reading continues."""

    async def close(self) -> None:
        """Close the connection. Never raises."""


class PodAccess(Protocol):
    """Access to the running pods of one host. `service` None: the pod's first service.

    All methods raise :class:`AccessRefused`, PodGone if the pod does not exist, and DriverError.
    """

    async def exec(
        self, lease: int, service: str | None, argv: tuple[str, ...], *, tty: bool, rows: int, columns: int
    ) -> ExecSession:
        """Start a program; `argv` is passed on unchanged, without a shell."""

    async def dial(self, lease: int, port: int) -> ByteStream:
        """Connect to a TCP port on the pod's loopback address."""

    def get(self, lease: int, service: str | None, path: str) -> AsyncGenerator[bytes, None]:
        """Yield a file or folder as a tar stream; equal files give equal bytes. Raises PathHidden."""

    async def hidden(self, lease: int, service: str | None, folder: str) -> tuple[str, ...]:
        """Return the paths below `folder`, relative to it, into which `put` would unpack invisibly to programs.

        Raises PathHidden if `folder` itself is such a path.
        """

    async def put(self, lease: int, service: str | None, folder: str, archive: AsyncIterator[bytes]) -> None:
        """Unpack a tar stream into an existing folder."""

    async def close(self) -> None:
        """Close the connection to the engine; running programs are not affected."""
