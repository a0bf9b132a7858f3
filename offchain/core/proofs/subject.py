"""What a proof is about: a task, an account, a host or leases."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from offchain.core.proofs.reader import ProofReader
from offchain.errors import ProofRefused
from offchain.schema.chain_types.values import compact

MOST_LEASES: Final = 256
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


@dataclass(frozen=True, slots=True)
class ProofSubject:
    """The subject of a proof. `numbers`: the task, or the leases in rising order. `key`: that of an account or host."""

    kind: SubjectKind
    numbers: tuple[int, ...] = ()
    key: bytes = b""

    def encode(self) -> bytes:
        """Return the bytes in a proof file."""
        head = bytes([self.kind])
        match self.kind:
            case SubjectKind.TASK:
                return head + self.numbers[0].to_bytes(_TASK_BYTES, "little")
            case SubjectKind.LEASES:
                leases = (lease.to_bytes(_LEASE_BYTES, "little") for lease in self.numbers)
                return head + compact(len(self.numbers)) + b"".join(leases)
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
    raise reader.refuse(f"it is of the unknown kind {kind}")
