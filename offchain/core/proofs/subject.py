"""What a proof is about: a task, an account, a host, leases or values of a storage item."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from offchain.core.proofs.reader import ProofReader
from offchain.errors import ProofRefused
from offchain.schema.chain_types.values import compact

MOST_LEASES: Final = 256
MOST_STORAGE_KEYS: Final = 32
MOST_STORAGE_KEY_BYTES: Final = 256
"""The largest encoding of the keys of one value. Records have keys of at most some 70 bytes."""
_MOST_NAME: Final = 64
_MOST_TASK: Final = (1 << 64) - 1
_TASK_BYTES: Final = 8
_LEASE_BYTES: Final = 12
_KEY_BYTES: Final = 32


class SubjectKind(IntEnum):
    """The kinds of subjects, with their numbers in proof files."""

    TASK = 0
    ACCOUNT = 1
    HOST = 2
    LEASES = 3
    STORAGE = 4


@dataclass(frozen=True, slots=True)
class StorageKeys:
    """Values of a storage item. `keys`: for each value its keys, encoded and joined, in rising order.

    An item without keys has one value, under the empty key.
    """

    pallet: str
    item: str
    keys: tuple[bytes, ...]

    def encode(self) -> bytes:
        """Return the bytes in a proof file."""
        names = (name.encode() for name in (self.pallet, self.item))
        parts = [*names, *self.keys]
        sized = [compact(len(part)) + part for part in parts]
        return b"".join([*sized[:2], compact(len(self.keys)), *sized[2:]])


@dataclass(frozen=True, slots=True)
class ProofSubject:
    """The subject of a proof. `numbers`: the task, or the leases in rising order. `key`: that of an account or host.

    `storage`: the values of a storage item, for that kind only.
    """

    kind: SubjectKind
    numbers: tuple[int, ...] = ()
    key: bytes = b""
    storage: StorageKeys | None = None

    def encode(self) -> bytes:
        """Return the bytes in a proof file."""
        head = bytes([self.kind])
        match self.kind:
            case SubjectKind.TASK:
                return head + self.numbers[0].to_bytes(_TASK_BYTES, "little")
            case SubjectKind.LEASES:
                leases = (lease.to_bytes(_LEASE_BYTES, "little") for lease in self.numbers)
                return head + compact(len(self.numbers)) + b"".join(leases)
            case SubjectKind.STORAGE:
                assert self.storage is not None  # noqa: S101 - this kind has them
                return head + self.storage.encode()
        return head + self.key


def task_subject(task: int) -> ProofSubject:
    """Return a task as a subject. Raises ProofRefused if the chain has no such numbers."""
    if not 0 <= task <= _MOST_TASK:
        raise ProofRefused("The subject", f"{task} is not the number of a task")
    return ProofSubject(SubjectKind.TASK, (task,))


def leases_subject(leases: set[int]) -> ProofSubject:
    """Return leases as a subject. Raises ProofRefused if there are none, too many, or the chain has no such numbers."""
    ordered = tuple(sorted(leases))
    if not 1 <= len(ordered) <= MOST_LEASES:
        raise ProofRefused("The subject", f"it has {len(ordered)} leases, and 1 to {MOST_LEASES} are allowed")
    if ordered[0] < 0 or ordered[-1] >= 1 << 8 * _LEASE_BYTES:
        raise ProofRefused("The subject", f"{ordered[-1]} is not the number of a lease")
    return ProofSubject(SubjectKind.LEASES, ordered)


def storage_subject(pallet: str, item: str, keys: Iterable[bytes]) -> ProofSubject:
    """Return values of a storage item as a subject. Raises ProofRefused if a name or a key cannot be one, or too many.

    `keys`: for each value its keys, encoded and joined.
    """
    for name in (pallet, item):
        if not 1 <= len(name) <= _MOST_NAME or not (name.isascii() and name.isalnum()):
            raise ProofRefused("The subject", f"{name[:_MOST_NAME]!r} is not the name of a pallet or storage item")
    ordered = tuple(sorted(set(keys)))
    if not 1 <= len(ordered) <= MOST_STORAGE_KEYS:
        raise ProofRefused("The subject", f"it has {len(ordered)} keys, and 1 to {MOST_STORAGE_KEYS} are allowed")
    longest = max(map(len, ordered))
    if longest > MOST_STORAGE_KEY_BYTES:
        raise ProofRefused(
            "The subject", f"a key has {longest} bytes, and at most {MOST_STORAGE_KEY_BYTES} are allowed"
        )
    return ProofSubject(SubjectKind.STORAGE, storage=StorageKeys(pallet, item, ordered))


def read_subject(reader: ProofReader) -> ProofSubject:
    """Read a subject. Raises ProofRefused."""
    kind = reader.uint(1)
    match kind:
        case SubjectKind.TASK:
            return task_subject(reader.uint(_TASK_BYTES))
        case SubjectKind.ACCOUNT | SubjectKind.HOST:
            return ProofSubject(SubjectKind(kind), key=reader.take(_KEY_BYTES))
        case SubjectKind.LEASES:
            leases = [reader.uint(_LEASE_BYTES) for _ in range(reader.count(MOST_LEASES, "leases"))]
            subject = leases_subject(set(leases))
            if list(subject.numbers) != leases:
                raise reader.refuse("its leases are not in rising order")
            return subject
        case SubjectKind.STORAGE:
            return _read_storage(reader)
    raise reader.refuse(f"it is of the unknown kind {kind}")


def _read_storage(reader: ProofReader) -> ProofSubject:
    pallet, item = (reader.sized(_MOST_NAME, "a name").decode("latin-1") for _ in range(2))
    count = reader.count(MOST_STORAGE_KEYS, "keys")
    keys = tuple(reader.sized(MOST_STORAGE_KEY_BYTES, "a key") for _ in range(count))
    subject = storage_subject(pallet, item, keys)
    if subject.storage is None or subject.storage.keys != keys:
        raise reader.refuse("its keys are not in rising order")
    return subject
