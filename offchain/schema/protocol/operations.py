"""What can be asked of a host or a gateway, with which arguments. Each is bounded and checked when it arrives."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

from offchain.schema.protocol import fields as read
from offchain.schema.protocol.fields import WireError
from offchain.schema.protocol.snapshots import Act, snapshot_name

U64_MAX: Final = (1 << 64) - 1
MAX_ARGV: Final = 256
MAX_ARGV_CHARS: Final = 8192
MAX_NAME: Final = 64
MAX_PATH: Final = 1024
MAX_ROWS: Final = 1000
MAX_TAIL: Final = 1_000_000
MAX_PROBE: Final = 4 << 20
TOKEN_BYTES: Final = 16
MAX_SEALED: Final = 64 << 20
"""The largest file that can be delivered sealed, in bytes: host and tenant hold it in memory."""


class Op(StrEnum):
    """What is asked of a host."""

    PING = "ping"
    PROBE = "probe"
    RESULT = "result"
    LOGS = "logs"
    EXEC = "exec"
    ATTACH = "attach"
    DIAL = "dial"
    GET = "get"
    PUT = "put"
    DELIVER = "deliver"
    RECEIPT = "receipt"
    SNAPSHOT = "snapshot"
    IMAGE = "image"
    CHECKPOINT = "checkpoint"
    SERVE = "serve"
    TAKE = "take"
    CARRY = "carry"


OF_GATEWAYS: Final = frozenset({Op.SERVE, Op.TAKE, Op.CARRY})
"""What is asked of a gateway only."""
NO_LEASE: Final = frozenset({Op.PING, Op.PROBE}) | OF_GATEWAYS
"""What is asked of the host or gateway itself; everything else is about one of a host's leases."""
INTO_POD: Final = frozenset({Op.EXEC, Op.ATTACH, Op.DIAL, Op.GET, Op.PUT})
"""What reaches into a running pod, and ends with its lease."""
OF_SNAPSHOTS: Final = frozenset({Op.SNAPSHOT, Op.IMAGE})
"""What is about the snapshots of a rental, which are kept as long as its data."""


@dataclass(frozen=True, slots=True)
class PingArgs:
    """Whether the host is there."""

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> PingArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ())
        return cls()


@dataclass(frozen=True, slots=True)
class ResultArgs:
    """The result of a lease."""

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> ResultArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ())
        return cls()


@dataclass(frozen=True, slots=True)
class ProbeArgs:
    """So many bytes of zeros, to measure the way. `up`: from who asks, who is told when all have come."""

    size: int
    up: bool = False

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> ProbeArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ("size", "up"))
        return cls(read.integer(fields, "size", MAX_PROBE), read.flag(fields, "up"))


@dataclass(frozen=True, slots=True)
class LogsArgs:
    """The log of a pod. `tail`: the last so many lines; `since_ms`: Unix time of the oldest. None: all.

    `service`: of this container only.
    """

    follow: bool = False
    tail: int | None = None
    since_ms: int | None = None
    service: str | None = None

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> LogsArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ("follow", "tail", "since_ms", "service"))
        return cls(
            read.flag(fields, "follow"),
            read.optional_integer(fields, "tail", MAX_TAIL),
            read.optional_integer(fields, "since_ms", U64_MAX),
            read.optional_text(fields, "service", MAX_NAME),
        )


@dataclass(frozen=True, slots=True)
class ExecArgs:
    """A program in a running pod. `service` None: the first. Rows and columns are the terminal's, with `tty`."""

    argv: tuple[str, ...]
    tty: bool = False
    service: str | None = None
    rows: int = 24
    columns: int = 80

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> ExecArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ("argv", "tty", "service", "rows", "columns"))
        argv = fields.get("argv")
        if not isinstance(argv, list) or not 0 < len(argv) <= MAX_ARGV or not all(isinstance(a, str) for a in argv):
            raise WireError(f"argv must be a list of 1 to {MAX_ARGV} texts")
        if sum(map(len, argv)) > MAX_ARGV_CHARS or any("\0" in part for part in argv) or not argv[0]:
            raise WireError(f"argv must name a program, hold no zero bytes and at most {MAX_ARGV_CHARS} characters")
        return cls(
            tuple(argv),
            read.flag(fields, "tty"),
            read.optional_text(fields, "service", MAX_NAME),
            read.integer(fields, "rows", MAX_ROWS, 1),
            read.integer(fields, "columns", MAX_ROWS, 1),
        )


@dataclass(frozen=True, slots=True)
class AttachArgs:
    """Back to a program that :class:`ExecArgs` started. `received`: bytes of output that arrived so far."""

    token: str
    received: int

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> AttachArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ("token", "received"))
        return cls(read.hexadecimal(fields, "token", 16).hex(), read.integer(fields, "received", U64_MAX))


@dataclass(frozen=True, slots=True)
class DialArgs:
    """A TCP connection to a port inside the pod."""

    port: int

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> DialArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ("port",))
        return cls(read.integer(fields, "port", 65535, 1))


@dataclass(frozen=True, slots=True)
class GetArgs:
    """A file or folder of a pod as a tar stream, from byte `offset` of that stream on.

    `digest`: SHA-256 of the bytes before the offset, which must be the same as they were.
    """

    path: str
    service: str | None = None
    offset: int = 0
    digest: str | None = None

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> GetArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ("path", "service", "offset", "digest"))
        return cls(_path(fields), read.optional_text(fields, "service", MAX_NAME), *_resumed(fields))


@dataclass(frozen=True, slots=True)
class PutArgs:
    """A tar stream to be unpacked in the folder `path` of a pod, once it arrived whole.

    `upload` names it: what arrived of it before is kept for a while, and continued unless `fresh`. `size` in bytes.
    """

    path: str
    upload: str
    size: int
    service: str | None = None
    fresh: bool = False

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> PutArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ("path", "upload", "size", "service", "fresh"))
        return cls(
            _path(fields),
            read.hexadecimal(fields, "upload", 16).hex(),
            read.integer(fields, "size", U64_MAX),
            read.optional_text(fields, "service", MAX_NAME),
            read.flag(fields, "fresh"),
        )


@dataclass(frozen=True, slots=True)
class DeliverArgs:
    """A file for a pod that its manifest names, sealed to the host's key. `size` of the sealed box in bytes."""

    name: str
    size: int

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> DeliverArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ("name", "size"))
        return cls(read.text(fields, "name", MAX_NAME), read.integer(fields, "size", MAX_SEALED, 1))


@dataclass(frozen=True, slots=True)
class ReceiptArgs:
    """The newest receipt of a lease; with `digest` and `signature`: the tenant's signature under one of them."""

    digest: str | None = None
    signature: str | None = None

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> ReceiptArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ("digest", "signature"))
        digest = read.optional_hexadecimal(fields, "digest", 32)
        signature = read.optional_hexadecimal(fields, "signature", 64)
        if (digest is None) != (signature is None):
            raise WireError("digest and signature belong together")
        return cls(None if digest is None else digest.hex(), None if signature is None else signature.hex())


@dataclass(frozen=True, slots=True)
class SnapshotArgs:
    """What is to be done with a rental's snapshots; answered with what there is of them. Only a list needs no name."""

    act: Act
    name: str | None = None

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> SnapshotArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ("act", "name"))
        word = read.text(fields, "act", 16)
        if word not in set(Act):
            raise WireError(f"act {word!r} is none of {', '.join(Act)}")
        act = Act(word)
        if act is Act.LIST:
            if fields.get("name") is not None:
                raise WireError("a list takes no name")
            return cls(act)
        return cls(act, snapshot_name(read.text(fields, "name", MAX_NAME)))


@dataclass(frozen=True, slots=True)
class ImageArgs:
    """A snapshot as an image archive, from byte `offset` of it on; `digest` as in :class:`GetArgs`."""

    name: str
    offset: int = 0
    digest: str | None = None

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> ImageArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ("name", "offset", "digest"))
        return cls(snapshot_name(read.text(fields, "name", MAX_NAME)), *_resumed(fields))


@dataclass(frozen=True, slots=True)
class CheckpointArgs:
    """The saved folder of a pod, asked for by a host that runs it, or stands by for it, by the lease that says so.

    `file`: its SHA-256, 64 hex digits; from byte `offset` on; `digest` as in :class:`GetArgs`.
    """

    file: str
    offset: int = 0
    digest: str | None = None

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> CheckpointArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ("file", "offset", "digest"))
        return cls(read.hexadecimal(fields, "file", 32).hex(), *_resumed(fields))


@dataclass(frozen=True, slots=True)
class ServeArgs:
    """A host is here, and is to be told of who asks for it.

    The gateway says tokens of :data:`TOKEN_BYTES` bytes, one for each caller; one of zeros only keeps the way alive,
    and is said back.
    """

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> ServeArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ())
        return cls()


@dataclass(frozen=True, slots=True)
class TakeArgs:
    """A host takes up the caller that it was told of: what follows are the caller's bytes, and its own to it."""

    token: str

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> TakeArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ("token",))
        return cls(read.hexadecimal(fields, "token", TOKEN_BYTES).hex())


@dataclass(frozen=True, slots=True)
class CarryArgs:
    """A caller asks for the host with this key, 64 hex digits: what follows are the host's bytes, and its own."""

    host: str

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> CarryArgs:
        """Raises :class:`WireError`."""
        read.known_only(fields, ("host",))
        return cls(read.hexadecimal(fields, "host", 32).hex())


Args: TypeAlias = (
    PingArgs
    | ProbeArgs
    | ResultArgs
    | LogsArgs
    | ExecArgs
    | AttachArgs
    | DialArgs
    | GetArgs
    | PutArgs
    | DeliverArgs
    | ReceiptArgs
    | SnapshotArgs
    | ImageArgs
    | CheckpointArgs
    | ServeArgs
    | TakeArgs
    | CarryArgs
)

_TYPES: dict[Op, type[Args]] = {
    Op.PING: PingArgs,
    Op.PROBE: ProbeArgs,
    Op.RESULT: ResultArgs,
    Op.LOGS: LogsArgs,
    Op.EXEC: ExecArgs,
    Op.ATTACH: AttachArgs,
    Op.DIAL: DialArgs,
    Op.GET: GetArgs,
    Op.PUT: PutArgs,
    Op.DELIVER: DeliverArgs,
    Op.RECEIPT: ReceiptArgs,
    Op.SNAPSHOT: SnapshotArgs,
    Op.IMAGE: ImageArgs,
    Op.CHECKPOINT: CheckpointArgs,
    Op.SERVE: ServeArgs,
    Op.TAKE: TakeArgs,
    Op.CARRY: CarryArgs,
}
_OPS = {kind: op for op, kind in _TYPES.items()}


def op_of(args: Args) -> Op:
    """Which question these arguments belong to."""
    return _OPS[type(args)]


def encode_args(args: Args) -> dict[str, Any]:
    """The arguments as JSON fields."""
    fields = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(args).items()}
    if isinstance(args, LogsArgs) and args.service is None:
        del fields["service"]  # what it was before it could be said: hosts of an earlier release take it, too
    return fields


def decode_args(op: Op, fields: Any) -> Args:
    """The arguments of this question. Raises :class:`WireError` that names the field."""
    if not isinstance(fields, dict):
        raise WireError("args must be a JSON object")
    return _TYPES[op].decode(fields)


def _resumed(fields: dict[str, Any]) -> tuple[int, str | None]:
    """Where a body goes on, and the SHA-256 of what came before."""
    offset, digest = read.integer(fields, "offset", U64_MAX), read.optional_hexadecimal(fields, "digest", 32)
    if (offset > 0) != (digest is not None):
        raise WireError("offset and digest belong together")
    return offset, None if digest is None else digest.hex()


def _path(fields: dict[str, Any]) -> str:
    path = read.text(fields, "path", MAX_PATH)
    if not path.startswith("/") or "\0" in path or ".." in path.split("/"):
        raise WireError("path must be absolute, without .. and zero bytes")
    return path
