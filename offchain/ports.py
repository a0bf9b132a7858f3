"""Protocols and frozen values of the chain port, which workers, the agent and the CLI use.

Values are in plain form: an account is its SS58 string (prefix 42), a byte array or byte vector is `bytes`, an integer
is `int`, an enum without payload is its variant's name, one with a payload is `{"Variant": payload}`, a struct is a
dict. The generated types in :mod:`offchain.schema` decode the plain form into frozen classes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from offchain.schema.chain_types.values import Call

__all__ = [
    "Block",
    "BlockRef",
    "Call",
    "ChainEvent",
    "ChainPort",
    "DispatchFailure",
    "ExecutedResult",
    "Inclusion",
    "ItemDocumentation",
    "SignedExtrinsic",
    "Signer",
    "StoragePort",
]


@dataclass(frozen=True, slots=True)
class BlockRef:
    """A block by number and 32-byte hash."""

    number: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class ChainEvent:
    """An event. `extrinsic`: index of the extrinsic that caused it, None for block hooks."""

    pallet: str
    name: str
    fields: Mapping[str, Any]
    extrinsic: int | None


@dataclass(frozen=True, slots=True)
class DispatchFailure:
    """Why an included call had no effect: names of pallet and error, and the documentation of the error."""

    pallet: str
    name: str
    doc: str


@dataclass(frozen=True, slots=True)
class Inclusion:
    """An extrinsic in a block. `failure` is None where it succeeded.

    `refused`: failures of single items of a batch call, by index. `call`: `Pallet.function` of the outermost call.
    `signer`: the account that signed it; None for inherents. A chain reads both only where it is asked to.
    """

    index: int
    extrinsic_hash: bytes
    failure: DispatchFailure | None
    refused: Mapping[int, DispatchFailure] = field(default_factory=dict)
    call: str | None = None
    signer: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A finalized block, decoded once."""

    ref: BlockRef
    parent_hash: bytes
    timestamp_ms: int
    events: tuple[ChainEvent, ...]
    inclusions: tuple[Inclusion, ...]


@dataclass(frozen=True, slots=True)
class ItemDocumentation:
    """Documentation of a call, event or error (`kind`) in the metadata, and of its fields by name."""

    pallet: str
    kind: str
    name: str
    text: str
    fields: Mapping[str, str]


StorageKey = tuple[str, str, tuple[Any, ...]]
"""A storage value: pallet, item and the keys of a map."""


@dataclass(frozen=True, slots=True)
class BlockValues:
    """The time of a block in Unix ms, and storage values there in the order of their keys."""

    timestamp_ms: int
    values: tuple[Any | None, ...]


@dataclass(frozen=True, slots=True)
class SignedExtrinsic:
    """A signed extrinsic that blocks after `born`, up to `valid_until`, can include."""

    data: bytes
    hash: bytes
    account: str
    nonce: int
    born: int
    valid_until: int


@dataclass(frozen=True, slots=True)
class ExecutedResult:
    """The result of a job that was executed here: SHA-256 of its output as its host would report it, and exit code."""

    digest: bytes
    exit_code: int


class Signer(Protocol):
    """An account that can sign. It never prints or stores its secret."""

    @property
    def address(self) -> str:
        """SS58, prefix 42."""
        ...

    @property
    def public_key(self) -> bytes:
        """32 bytes."""
        ...

    @property
    def crypto(self) -> str:
        """`sr25519` or `ed25519`."""
        ...

    def sign(self, payload: bytes) -> bytes:
        """A signature of 64 bytes over exactly this payload."""
        ...


class StoragePort(Protocol):
    """Queries of the chain's storage: at a node, or in a proof, which has only what it proves."""

    async def query(self, pallet: str, item: str, params: Sequence[Any] = (), at: bytes | None = None) -> Any | None:
        """A storage value; None where it is absent and has no default. `at`: block hash, else the best block."""
        ...

    async def query_map(
        self, pallet: str, item: str, prefix: Sequence[Any] = (), at: bytes | None = None
    ) -> list[tuple[Any, Any]]:
        """All entries below a key prefix: (remaining key part or tuple of parts, value)."""
        ...

    async def query_many(
        self, pallet: str, item: str, keys: Sequence[Sequence[Any]], at: bytes | None = None
    ) -> list[Any | None]:
        """The values of one item with several keys, in their order, at one block; each as of :meth:`query`."""
        ...

    async def block_values(self, keys: Sequence[StorageKey], at: bytes) -> BlockValues:
        """The time of a block and the values of several items there, in one request; each value as of :meth:`query`."""
        ...

    async def query_page(
        self, pallet: str, item: str, after: Any | None, limit: int, at: bytes | None = None
    ) -> list[tuple[Any, Any]]:
        """At most `limit` (1 to 1000) entries of a map with one key, in the order of the keys' hashes.

        `after`: the key of the entry before the first; None: from the start.
        """
        ...


class ChainPort(StoragePort, Protocol):
    """A connection to one chain. After a restart of the node, calls reconnect and wait, within a timeout.

    Raises :class:`ChainUnreachable`, :class:`WrongChain`, :class:`SubmitRefused` (see :mod:`offchain.errors`).
    """

    async def connect(self) -> None:
        """Connect and check that this is the expected chain."""
        ...

    async def close(self) -> None:
        """End the connection. Another call opens it again."""
        ...

    async def genesis_hash(self) -> bytes:
        """The hash of block 0."""
        ...

    async def finalized_head(self) -> BlockRef:
        """The newest finalized block."""
        ...

    async def best_head(self) -> BlockRef:
        """The newest block."""
        ...

    async def block_ref(self, number: int) -> BlockRef:
        """Number and hash of a final block. LookupError where it is not finalized yet, or pruned."""
        ...

    async def block(self, number: int) -> Block:
        """The finalized block with this number. LookupError where it is not finalized yet."""
        ...

    async def extrinsic_hashes(self, number: int) -> tuple[bytes, ...]:
        """Hashes of the extrinsics of a finalized block, also where the node has pruned the state of the block.

        LookupError where it is not finalized yet.
        """
        ...

    def finalized(self) -> AsyncGenerator[BlockRef, None]:
        """Yield finalized heads; numbers may be skipped (the watcher fills the gaps)."""
        ...

    def best(self) -> AsyncGenerator[BlockRef, None]:
        """Yield best heads."""
        ...

    async def constant(self, pallet: str, name: str) -> Any:
        """A constant of the runtime."""
        ...

    async def documentation(self) -> Sequence[ItemDocumentation]:
        """The documentation of all calls, events and errors of the runtime, each once."""
        ...

    async def encode_call(self, call: Call) -> bytes:
        """The bytes of a call, to be signed by a wallet. BadValue where an argument is not of its type."""
        ...

    async def failure_of(self, error: Any) -> DispatchFailure:
        """The failure that an error in plain form stands for, as in an event of a nested call."""
        ...

    async def next_nonce(self, account: str) -> int:
        """The account's next nonce, transactions in the pool included."""
        ...

    async def sign(
        self, call: Call, signer: Signer, nonce: int, *, era_blocks: int = 64, tip: int = 0
    ) -> SignedExtrinsic:
        """A mortal signed extrinsic (format V4).

        Its lifetime of `era_blocks` starts at the last final block; while finality lags, shortly before the best block,
        and it is longer.
        """
        ...

    async def broadcast(self, extrinsic: SignedExtrinsic) -> None:
        """Submit to the node's pool, unless the pool has it. Raises SubmitRefused with the pool's typed reason."""
        ...
