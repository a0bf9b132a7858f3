"""Work of a challenge, and the messages between a verifier, an agent and the program that computes the proof.

Messages are JSON objects, one a line. Unknown fields are refused, sizes are bounded before anything is computed.
"""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from typing import Annotated, Any, Final

from offchain.schema.challenge.fingerprint_tree import LEAF_BYTES
from offchain.schema.protocol.fields import (
    Reader,
    WireError,
    bytes_of,
    canonical_json,
    decode,
    flag,
    hexadecimal,
    json_object,
    object_of,
    text_of,
    whole,
)

VERSION: Final = 1
SEED_BYTES: Final = 32
OPENED: Final = 20
"""Rows and chains that are opened: whoever computed a share phi of them passes with probability phi^20."""
LONGEST_PATH: Final = 32
LARGEST_ENTRY: Final = 8
"""The largest absolute value of a matrix entry."""
EXACT_BELOW: Final = 1 << 24
"""Whole numbers below this are exact in 32-bit floating point."""
MAX_DIMENSION: Final = 32_768
"""The largest dimension of a matrix. The largest sum, 32,768 * 64, is an eighth of `EXACT_BELOW`."""
MAX_LAYERS: Final = 10
MAX_CHAIN_READS: Final = 1024
MAX_VALUES: Final = 1 << 30
MAX_LINE: Final = 1 << 20
"""The longest line of a message, in bytes."""
U32_MAX: Final = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class ChallengeWork:
    """What a device computes. Both sides derive it from the claimed device, so no side can change it.

    `dimension`: n of the matrices; `products`: number of products C_k = A_k B, all with one B.
    `pages` of `page_words` 32-bit words fill the memory in `layers`; `chains` of `chain_reads` reads each follow.
    """

    dimension: Annotated[int, whole(MAX_DIMENSION, 64)]
    products: Annotated[int, whole(1 << 20, 1)]
    pages: Annotated[int, whole(U32_MAX, 2)]
    page_words: Annotated[int, whole(4096, 256)]
    layers: Annotated[int, whole(MAX_LAYERS, 1)]
    chains: Annotated[int, whole(MAX_VALUES, OPENED)]
    chain_reads: Annotated[int, whole(MAX_CHAIN_READS, 1)]

    def __post_init__(self) -> None:
        if self.dimension % 64:
            raise WireError(f"dimension must be a multiple of 64, not {self.dimension}")
        if self.dimension * LARGEST_ENTRY * LARGEST_ENTRY >= EXACT_BELOW:
            raise WireError(f"products of dimension {self.dimension} are not exact in 32-bit floating point")
        if self.pages % 2:
            raise WireError(f"pages must be an even number, not {self.pages}")
        if self.page_words & (self.page_words - 1):
            raise WireError(f"page_words must be a power of two, not {self.page_words}")
        if not OPENED <= self.rows <= MAX_VALUES:
            raise WireError(f"the products must have {OPENED} to {MAX_VALUES} rows, not {self.rows}")

    @property
    def rows(self) -> int:
        """Rows of all products."""
        return self.dimension * self.products

    @property
    def operations(self) -> int:
        """Multiplications and additions of all products."""
        return 2 * self.products * self.dimension**3

    @property
    def page_bytes(self) -> int:
        return 4 * self.page_words

    @property
    def memory_bytes(self) -> int:
        """Memory that all pages fill."""
        return self.pages * self.page_bytes

    @property
    def filled_bytes(self) -> int:
        """Bytes moved to fill the pages: written once, then read and written in each layer."""
        return self.memory_bytes * (1 + 2 * self.layers)

    @property
    def read_bytes(self) -> int:
        """Bytes that all chains read."""
        return self.chains * self.chain_reads * self.page_bytes

    def digest(self) -> str:
        return hashlib.sha256(canonical_json(dataclasses.asdict(self))).hexdigest()


@dataclass(frozen=True, slots=True)
class MeasuredClass:
    """What a device achieved. Rates by the host's own clock are statements of the host; see docs/trust.md.

    `gemm_gflops`: 10^9 operations a second in the products; `read_mbs`: 10^6 bytes a second in the chains of reads;
    `memory_mib`: memory that the pages filled. `is_simulated`: no real device computed it.
    """

    gemm_gflops: Annotated[int, whole(1 << 40)]
    read_mbs: Annotated[int, whole(1 << 40)]
    memory_mib: Annotated[int, whole(U32_MAX)]
    is_simulated: Annotated[bool, flag]


@dataclass(frozen=True, slots=True)
class ChallengeCommitment:
    """What a host commits to: its SHA-256 is the digest that `answer` stores on the chain."""

    version: Annotated[int, whole(VERSION, VERSION)]
    seed: Annotated[bytes, bytes_of(SEED_BYTES)]
    work: Annotated[bytes, bytes_of(32)]
    rows_root: Annotated[bytes, bytes_of(32)]
    chains_root: Annotated[bytes, bytes_of(32)]
    measured: Annotated[MeasuredClass, object_of(MeasuredClass)]

    def to_bytes(self) -> bytes:
        fields = {name: getattr(self, name) for name in ("seed", "work", "rows_root", "chains_root")}
        return canonical_json(
            {name: value.hex() for name, value in fields.items()}
            | {"version": self.version, "measured": dataclasses.asdict(self.measured)}
        )

    def digest(self) -> bytes:
        return hashlib.sha256(self.to_bytes()).digest()


def read_commitment(data: bytes) -> ChallengeCommitment:
    """Return the commitment in these bytes. Raise :class:`WireError`, also for another encoding of the same content."""
    commitment = decode(ChallengeCommitment, json_object(data[:MAX_LINE]))
    if commitment.to_bytes() != data:
        raise WireError("the commitment is not in canonical JSON")
    return commitment


def _hashes(fields: dict[str, Any], name: str) -> tuple[bytes, ...]:
    value = fields.get(name)
    if not isinstance(value, list) or len(value) > LONGEST_PATH:
        raise WireError(f"{name} must be a list of at most {LONGEST_PATH} hashes")
    return tuple(hexadecimal({name: one}, name, 32) for one in value)


def _leaf(fields: dict[str, Any], name: str) -> bytes:
    value = fields.get(name)
    if not isinstance(value, str) or len(value) > 2 * LEAF_BYTES or len(value) % 16:
        raise WireError(f"{name} must be at most {2 * LEAF_BYTES} hexadecimal digits, 16 for each value")
    return hexadecimal(fields, name, len(value) // 2)


@dataclass(frozen=True, slots=True)
class OpenedValue:
    """One row or chain with its leaf and the path to the root."""

    number: Annotated[int, whole(MAX_VALUES)]
    leaf: Annotated[bytes, _leaf]
    path: Annotated[tuple[bytes, ...], _hashes]

    def to_fields(self) -> dict[str, Any]:
        return {"number": self.number, "leaf": self.leaf.hex(), "path": [one.hex() for one in self.path]}


def _opened(fields: dict[str, Any], name: str) -> tuple[OpenedValue, ...]:
    value = fields.get(name)
    if not isinstance(value, list) or len(value) != OPENED or not all(isinstance(one, dict) for one in value):
        raise WireError(f"{name} must be a list of {OPENED} objects")
    return tuple(decode(OpenedValue, one) for one in value)


@dataclass(frozen=True, slots=True)
class ChallengeOpening:
    """What a host shows after the rows and chains were drawn."""

    rows: Annotated[tuple[OpenedValue, ...], _opened]
    chains: Annotated[tuple[OpenedValue, ...], _opened]

    def to_bytes(self) -> bytes:
        return canonical_json(
            {"rows": [one.to_fields() for one in self.rows], "chains": [one.to_fields() for one in self.chains]}
        )


def read_opening(data: bytes) -> ChallengeOpening:
    """Return the opening in these bytes. Raise :class:`WireError`."""
    if len(data) > MAX_LINE:
        raise WireError(f"the opening has {len(data)} bytes, and at most {MAX_LINE} are read")
    return decode(ChallengeOpening, json_object(data))


def _numbers(fields: dict[str, Any], name: str) -> tuple[int, ...]:
    value = fields.get(name)
    if not isinstance(value, list) or len(value) != OPENED:
        raise WireError(f"{name} must be a list of {OPENED} numbers")
    read: Reader = whole(MAX_VALUES - 1)
    return tuple(read({name: one}, name) for one in value)


@dataclass(frozen=True, slots=True)
class PrepareOrder:
    """First line to the program: allocate, compile and measure for this work. `device`: number of the GPU.

    `time_limit_s`: the program gives up after computing for so long. `folder`: where the disk is measured; may be
    empty.
    """

    work: Annotated[ChallengeWork, object_of(ChallengeWork)]
    backend: Annotated[str, text_of(16)]
    device: Annotated[int, whole(1023)]
    time_limit_s: Annotated[int, whole(3600, 1)]
    folder: Annotated[str, text_of(4096)]


@dataclass(frozen=True, slots=True)
class ComputeOrder:
    """Second line: compute the proof for this seed, and answer with the commitment."""

    seed: Annotated[bytes, bytes_of(SEED_BYTES)]


@dataclass(frozen=True, slots=True)
class OpenOrder:
    """Third line: open these rows and chains."""

    rows: Annotated[tuple[int, ...], _numbers]
    chains: Annotated[tuple[int, ...], _numbers]


def opening_seed(seed: bytes, digest: bytes, randomness: bytes) -> bytes:
    """Return the seed that draws rows and chains: of randomness that is known only after `digest` is on the chain."""
    return hashlib.sha256(b"gantry/challenge/opening/v1" + seed + digest + randomness).digest()


def drawn_numbers(seed: bytes, purpose: str, total: int) -> tuple[int, ...]:
    """Return 20 different numbers below `total`, in the order in which they are drawn."""
    found: dict[int, None] = {}
    attempt = 0
    while len(found) < OPENED:
        digest = hashlib.sha256(f"gantry/challenge/draw/{purpose}/{attempt}/".encode() + seed).digest()
        found.setdefault(int.from_bytes(digest[:16], "little") % total)
        attempt += 1
    return tuple(found)
