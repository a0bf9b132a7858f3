"""Operations of hosts and gateways, with their arguments, which are bounded and checked on arrival."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

from offchain.schema.protocol import fields as read
from offchain.schema.protocol.fields import WireError
from offchain.schema.protocol.snapshots import SnapshotAction, snapshot_name

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
"""The largest sealed file that can be delivered, in bytes: host and tenant hold it in memory."""


class Op(StrEnum):
    """An operation. A session carries one."""

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
"""Operations of gateways only."""
NO_LEASE: Final = frozenset({Op.PING, Op.PROBE}) | OF_GATEWAYS
"""Operations on the host or gateway itself; all others are on one of a host's leases."""
INTO_POD: Final = frozenset({Op.EXEC, Op.ATTACH, Op.DIAL, Op.GET, Op.PUT})
"""Operations inside a running pod, which end with its lease."""
OF_SNAPSHOTS: Final = frozenset({Op.SNAPSHOT, Op.IMAGE})
"""Operations on the snapshots of a rental, which are kept as long as its data."""


@dataclass(frozen=True, slots=True)
class PingArgs:
    """Test whether the host answers."""

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> PingArgs:
        """Raise :class:`WireError`."""
        read.known_only(fields, ())
        return cls()


@dataclass(frozen=True, slots=True)
class ResultArgs:
    """The result of a lease."""

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> ResultArgs:
        """Raise :class:`WireError`."""
        read.known_only(fields, ())
        return cls()


@dataclass(frozen=True, slots=True)
class ProbeArgs:
    """Bytes of zeros, to measure the connection. `up`: sent by the caller, and confirmed when all have arrived."""

    size: int
    up: bool = False

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> ProbeArgs:
        """Raise :class:`WireError`."""
        read.known_only(fields, ("size", "up"))
        return cls(read.integer(fields, "size", MAX_PROBE), read.flag(fields, "up"))


@dataclass(frozen=True, slots=True)
class LogsArgs:
    """The log of a pod. `tail`: number of last lines; `since_ms`: Unix time of the oldest. None: all.

    `service`: of this container only.
    """

    follow: bool = False
    tail: int | None = None
    since_ms: int | None = None
    service: str | None = None

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> LogsArgs:
        """Raise :class:`WireError`."""
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
        """Raise :class:`WireError`."""
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
    """Reconnect to a program that :class:`ExecArgs` started. `received`: bytes of output that arrived so far."""

    token: str
    received: int

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> AttachArgs:
        """Raise :class:`WireError`."""
        read.known_only(fields, ("token", "received"))
        return cls(read.hexadecimal(fields, "token", 16).hex(), read.integer(fields, "received", U64_MAX))


@dataclass(frozen=True, slots=True)
class DialArgs:
    """A TCP connection to a port inside the pod."""

    port: int

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> DialArgs:
        """Raise :class:`WireError`."""
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
        """Raise :class:`WireError`."""
        read.known_only(fields, ("path", "service", "offset", "digest"))
        return cls(_path(fields), read.optional_text(fields, "service", MAX_NAME), *_resumed(fields))


@dataclass(frozen=True, slots=True)
class PutArgs:
    """A tar stream that is unpacked in the folder `path` of a pod when it has arrived completely.

    `upload` identifies it: a part that arrived before is kept for a while and continued, unless `fresh`. `size` in
    bytes.
    """

    path: str
    upload: str
    size: int
    service: str | None = None
    fresh: bool = False

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> PutArgs:
        """Raise :class:`WireError`."""
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
    """A file that the pod's manifest names, sealed to the host's key. `size` of the sealed box in bytes."""

    name: str
    size: int

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> DeliverArgs:
        """Raise :class:`WireError`."""
        read.known_only(fields, ("name", "size"))
        return cls(read.text(fields, "name", MAX_NAME), read.integer(fields, "size", MAX_SEALED, 1))


@dataclass(frozen=True, slots=True)
class ReceiptArgs:
    """The newest receipt of a lease; with `digest` and `signature`: the tenant's signature under one of them."""

    digest: str | None = None
    signature: str | None = None

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> ReceiptArgs:
        """Raise :class:`WireError`."""
        read.known_only(fields, ("digest", "signature"))
        digest = read.optional_hexadecimal(fields, "digest", 32)
        signature = read.optional_hexadecimal(fields, "signature", 64)
        if (digest is None) != (signature is None):
            raise WireError("digest and signature belong together")
        return cls(None if digest is None else digest.hex(), None if signature is None else signature.hex())


@dataclass(frozen=True, slots=True)
class SnapshotArgs:
    """An action on a rental's snapshots; the answer lists them. Only `list` needs no name."""

    act: SnapshotAction
    name: str | None = None

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> SnapshotArgs:
        """Raise :class:`WireError`."""
        read.known_only(fields, ("act", "name"))
        word = read.text(fields, "act", 16)
        if word not in set(SnapshotAction):
            raise WireError(f"act {word!r} is none of {', '.join(SnapshotAction)}")
        act = SnapshotAction(word)
        if act is SnapshotAction.LIST:
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
        """Raise :class:`WireError`."""
        read.known_only(fields, ("name", "offset", "digest"))
        return cls(snapshot_name(read.text(fields, "name", MAX_NAME)), *_resumed(fields))


@dataclass(frozen=True, slots=True)
class CheckpointArgs:
    """The checkpoint of a pod, for the host of a later lease of that pod or for its standby.

    `file`: its SHA-256, 64 hex digits; from byte `offset` on; `digest` as in :class:`GetArgs`.
    """

    file: str
    offset: int = 0
    digest: str | None = None

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> CheckpointArgs:
        """Raise :class:`WireError`."""
        read.known_only(fields, ("file", "offset", "digest"))
        return cls(read.hexadecimal(fields, "file", 32).hex(), *_resumed(fields))


@dataclass(frozen=True, slots=True)
class RegisterArgs:
    """Register a host with the gateway, which announces its callers.

    The gateway sends a token of :data:`TOKEN_BYTES` bytes for each caller. A token of zeros is a keepalive, which the
    host returns.
    """

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> RegisterArgs:
        """Raise :class:`WireError`."""
        read.known_only(fields, ())
        return cls()


@dataclass(frozen=True, slots=True)
class AcceptArgs:
    """Accept an announced caller: the bytes of caller and host follow in both directions."""

    token: str

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> AcceptArgs:
        """Raise :class:`WireError`."""
        read.known_only(fields, ("token",))
        return cls(read.hexadecimal(fields, "token", TOKEN_BYTES).hex())


@dataclass(frozen=True, slots=True)
class RelayArgs:
    """Relay to the host with this key, 64 hex digits: the bytes of caller and host follow in both directions."""

    host: str

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> RelayArgs:
        """Raise :class:`WireError`."""
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
    | RegisterArgs
    | AcceptArgs
    | RelayArgs
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
    Op.SERVE: RegisterArgs,
    Op.TAKE: AcceptArgs,
    Op.CARRY: RelayArgs,
}
_OPS = {kind: op for op, kind in _TYPES.items()}


def op_of(args: Args) -> Op:
    """Return the operation to which the arguments belong."""
    return _OPS[type(args)]


def encode_args(args: Args) -> dict[str, Any]:
    """Return the arguments as JSON fields."""
    fields = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(args).items()}
    if isinstance(args, LogsArgs) and args.service is None:
        del fields["service"]  # as before the field existed: hosts of earlier releases accept it, too
    return fields


def decode_args(op: Op, fields: Any) -> Args:
    """Return the arguments of an operation. Raise :class:`WireError` that names the field."""
    if not isinstance(fields, dict):
        raise WireError("args must be a JSON object")
    return _TYPES[op].decode(fields)


def _resumed(fields: dict[str, Any]) -> tuple[int, str | None]:
    """Return the offset at which a body continues, and the SHA-256 of the bytes before it."""
    offset, digest = read.integer(fields, "offset", U64_MAX), read.optional_hexadecimal(fields, "digest", 32)
    if (offset > 0) != (digest is not None):
        raise WireError("offset and digest belong together")
    return offset, None if digest is None else digest.hex()


def _path(fields: dict[str, Any]) -> str:
    path = read.text(fields, "path", MAX_PATH)
    if not path.startswith("/") or "\0" in path or ".." in path.split("/"):
        raise WireError("path must be absolute, without .. and zero bytes")
    return path
