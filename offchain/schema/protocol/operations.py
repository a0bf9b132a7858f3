"""Operations of hosts and gateways, with their arguments, which are bounded and checked on arrival."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias

from offchain.schema.protocol.evidence import MAX_FILES
from offchain.schema.protocol.fields import WireError, decode, digits_of, flag, optional, text, text_of, whole
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
    CHALLENGE = "challenge"
    EVIDENCE = "evidence"
    EVIDENCE_FILES = "evidence_files"
    ATTEST = "attest"
    SERVE = "serve"
    TAKE = "take"
    CARRY = "carry"


OF_GATEWAYS: Final = frozenset({Op.SERVE, Op.TAKE, Op.CARRY})
"""Operations of gateways only."""
NO_LEASE: Final = frozenset({Op.PING, Op.PROBE, Op.CHALLENGE, Op.ATTEST}) | OF_GATEWAYS
"""Operations on the host or gateway itself; all others are on one of a host's leases. ATTEST may name a lease."""
INTO_POD: Final = frozenset({Op.EXEC, Op.ATTACH, Op.DIAL, Op.GET, Op.PUT})
"""Operations inside a running pod, which end with its lease."""
OF_SNAPSHOTS: Final = frozenset({Op.SNAPSHOT, Op.IMAGE})
"""Operations on the snapshots of a rental, which are kept as long as its data."""


def _path(fields: dict[str, Any], name: str) -> str:
    path = text(fields, name, MAX_PATH)
    if not path.startswith("/") or "\0" in path or ".." in path.split("/"):
        raise WireError("path must be absolute, without .. and zero bytes")
    return path


def _argv(fields: dict[str, Any], name: str) -> tuple[str, ...]:
    argv = fields.get(name)
    if not isinstance(argv, list) or not 0 < len(argv) <= MAX_ARGV or not all(isinstance(a, str) for a in argv):
        raise WireError(f"argv must be a list of 1 to {MAX_ARGV} texts")
    if sum(map(len, argv)) > MAX_ARGV_CHARS or any("\0" in part for part in argv) or not argv[0]:
        raise WireError(f"argv must name a program, hold no zero bytes and at most {MAX_ARGV_CHARS} characters")
    return tuple(argv)


def _action(fields: dict[str, Any], name: str) -> SnapshotAction:
    word = text(fields, name, 16)
    if word not in set(SnapshotAction):
        raise WireError(f"act {word!r} is none of {', '.join(SnapshotAction)}")
    return SnapshotAction(word)


def _snapshot(fields: dict[str, Any], name: str) -> str:
    return snapshot_name(text(fields, name, MAX_NAME))


def _name_unless_list(fields: dict[str, Any], name: str) -> str | None:
    if fields.get("act") != SnapshotAction.LIST:
        return _snapshot(fields, name)
    if fields.get(name) is not None:
        raise WireError("a list takes no name")
    return None


def _check_resumed(offset: int, digest: str | None) -> None:
    """Check the offset at which a body continues, and the SHA-256 of the bytes before it."""
    if (offset > 0) != (digest is not None):
        raise WireError("offset and digest belong together")


_Count = Annotated[int, whole(U64_MAX)]
_Digest = Annotated[str | None, optional(digits_of(32))]
_Flag = Annotated[bool, flag]
_Path = Annotated[str, _path]
_Rows = Annotated[int, whole(MAX_ROWS, 1)]
_Service = Annotated[str | None, optional(text_of(MAX_NAME))]


@dataclass(frozen=True, slots=True)
class PingArgs:
    """Test whether the host answers."""


@dataclass(frozen=True, slots=True)
class ResultArgs:
    """The result of a lease."""


@dataclass(frozen=True, slots=True)
class ProbeArgs:
    """Bytes of zeros, to measure the connection. `up`: sent by the caller, and confirmed when all have arrived."""

    size: Annotated[int, whole(MAX_PROBE)]
    up: _Flag = False


@dataclass(frozen=True, slots=True)
class LogsArgs:
    """The log of a pod. `tail`: number of last lines; `since_ms`: Unix time of the oldest. None: all.

    `service`: of this container only.
    """

    follow: _Flag = False
    tail: Annotated[int | None, optional(whole(MAX_TAIL))] = None
    since_ms: Annotated[int | None, optional(whole(U64_MAX))] = None
    service: _Service = None


@dataclass(frozen=True, slots=True)
class ExecArgs:
    """A program in a running pod. `service` None: the first. Rows and columns are the terminal's, with `tty`."""

    argv: Annotated[tuple[str, ...], _argv]
    tty: _Flag = False
    service: _Service = None
    rows: _Rows = 24
    columns: _Rows = 80


@dataclass(frozen=True, slots=True)
class AttachArgs:
    """Reconnect to a program that :class:`ExecArgs` started. `received`: bytes of output that arrived so far."""

    token: Annotated[str, digits_of(16)]
    received: _Count


@dataclass(frozen=True, slots=True)
class DialArgs:
    """A TCP connection to a port inside the pod."""

    port: Annotated[int, whole(65535, 1)]


@dataclass(frozen=True, slots=True)
class GetArgs:
    """A file or folder of a pod as a tar stream, from byte `offset` of that stream on.

    `digest`: SHA-256 of the bytes before the offset, which must be the same as they were.
    """

    path: _Path
    service: _Service = None
    offset: _Count = 0
    digest: _Digest = None

    def __post_init__(self) -> None:
        _check_resumed(self.offset, self.digest)


@dataclass(frozen=True, slots=True)
class PutArgs:
    """A tar stream that is unpacked in the folder `path` of a pod when it has arrived completely.

    `upload` identifies it: a part that arrived before is kept for a while and continued, unless `fresh`. `size` in
    bytes.
    """

    path: _Path
    upload: Annotated[str, digits_of(16)]
    size: _Count
    service: _Service = None
    fresh: _Flag = False


@dataclass(frozen=True, slots=True)
class DeliverArgs:
    """A file that the pod's manifest names, sealed to the host's key. `size` of the sealed box in bytes."""

    name: Annotated[str, text_of(MAX_NAME)]
    size: Annotated[int, whole(MAX_SEALED, 1)]


@dataclass(frozen=True, slots=True)
class ReceiptArgs:
    """The newest receipt of a lease; with `digest` and `signature`: the tenant's signature under one of them."""

    digest: _Digest = None
    signature: Annotated[str | None, optional(digits_of(64))] = None

    def __post_init__(self) -> None:
        if (self.digest is None) != (self.signature is None):
            raise WireError("digest and signature belong together")


@dataclass(frozen=True, slots=True)
class SnapshotArgs:
    """An action on a rental's snapshots; the answer lists them. Only `list` needs no name."""

    act: Annotated[SnapshotAction, _action]
    name: Annotated[str | None, _name_unless_list] = None


@dataclass(frozen=True, slots=True)
class ImageArgs:
    """A snapshot as an image archive, from byte `offset` of it on; `digest` as in :class:`GetArgs`."""

    name: Annotated[str, _snapshot]
    offset: _Count = 0
    digest: _Digest = None

    def __post_init__(self) -> None:
        _check_resumed(self.offset, self.digest)


@dataclass(frozen=True, slots=True)
class CheckpointArgs:
    """The checkpoint of a pod, for the host of a later lease of that pod or for its standby.

    `file`: its SHA-256, 64 hex digits; from byte `offset` on; `digest` as in :class:`GetArgs`.
    """

    file: Annotated[str, digits_of(32)]
    offset: _Count = 0
    digest: _Digest = None

    def __post_init__(self) -> None:
        _check_resumed(self.offset, self.digest)


class ChallengePart(StrEnum):
    """A document of a host's answer to a challenge."""

    COMMITMENT = "commitment"
    OPENING = "opening"


def _part(fields: dict[str, Any], name: str) -> ChallengePart:
    word = text(fields, name, 16)
    if word not in set(ChallengePart):
        raise WireError(f"part {word!r} is none of {', '.join(ChallengePart)}")
    return ChallengePart(word)


@dataclass(frozen=True, slots=True)
class ChallengeArgs:
    """A document of the host's answer to a challenge, for the members of the challenge's committee."""

    challenge: _Count
    part: Annotated[ChallengePart, _part]


@dataclass(frozen=True, slots=True)
class EvidenceArgs:
    """Evidence about an ended lease, for its tenant and for the jury of a dispute about it.

    `seal_to`: X25519 public key, 64 hex digits, for which the answer is sealed.
    """

    seal_to: Annotated[str, digits_of(32)]


@dataclass(frozen=True, slots=True)
class EvidenceFilesArgs:
    """The files of the opener of a dispute: sent by it if there is a `size`; else asked for, sealed for `seal_to`."""

    size: Annotated[int | None, optional(whole(MAX_FILES, 1))] = None
    seal_to: _Digest = None

    def __post_init__(self) -> None:
        if (self.size is None) == (self.seal_to is None):
            raise WireError("size or seal_to is needed, and not both")


@dataclass(frozen=True, slots=True)
class AttestArgs:
    """An attestation document of the host for this nonce, 64 hex digits."""

    nonce: Annotated[str, digits_of(32)]


@dataclass(frozen=True, slots=True)
class RegisterArgs:
    """Register a host with the gateway, which announces its callers.

    The gateway sends a token of :data:`TOKEN_BYTES` bytes for each caller. A token of zeros is a keepalive, which the
    host returns.
    """


@dataclass(frozen=True, slots=True)
class AcceptArgs:
    """Accept an announced caller: the bytes of caller and host follow in both directions."""

    token: Annotated[str, digits_of(TOKEN_BYTES)]


@dataclass(frozen=True, slots=True)
class RelayArgs:
    """Relay to the host with this key, 64 hex digits: the bytes of caller and host follow in both directions."""

    host: Annotated[str, digits_of(32)]


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
    | ChallengeArgs
    | EvidenceArgs
    | EvidenceFilesArgs
    | AttestArgs
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
    Op.CHALLENGE: ChallengeArgs,
    Op.EVIDENCE: EvidenceArgs,
    Op.EVIDENCE_FILES: EvidenceFilesArgs,
    Op.ATTEST: AttestArgs,
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
    return decode(_TYPES[op], fields)
