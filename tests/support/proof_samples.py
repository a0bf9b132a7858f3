"""A chain of headers, votes and states in memory, and the proofs that a node of it would give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nacl.signing import SigningKey

from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.keys.signer import from_uri
from offchain.core.proofs.grandpa import FinalityVotes, Precommit
from offchain.core.proofs.header import BlockHeader, decode_header
from offchain.core.proofs.proof_file import AuditProof, AuthorityLink, GenesisPart
from offchain.core.proofs.subject import ProofSubject, task_subject
from offchain.core.proofs.verification import AUTHORITIES_KEY
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import task_key
from tests.support.chain_records import (
    GTY,
    escrow,
    host_record,
    lease,
    spec_record,
    task_record,
    task_spec,
    tasks_params,
)
from tests.support.trie_builder import BuiltTrie, blake2, build_trie, scale_length

METADATA = (Path(__file__).parents[2] / "chain/metadata/gantry.scale").read_bytes()
RUNTIME = ChainRuntime(METADATA, gen.SPEC_NAME, gen.SPEC_VERSION, gen.TRANSACTION_VERSION)
TENANT, PROVIDER = from_uri("//Charlie").address, from_uri("//Bob").address
HOST = from_uri("//Host", "ed25519").address
TASK = 7
NOW = 1_800_000_000_000
RAN_MS = 90_000
PAID = GTY * RAN_MS // 3_600_000
ROUND = 12


def validator(name: str) -> SigningKey:
    return SigningKey(blake2(name.encode()))


VALIDATORS = [validator(f"validator {number}") for number in range(6)]


def public(key: SigningKey) -> bytes:
    return bytes(key.verify_key)


def authorities_of(keys: Sequence[SigningKey]) -> bytes:
    return scale_length(len(keys)) + b"".join(public(key) + (1).to_bytes(8, "little") for key in keys)


def change_log(keys: Sequence[SigningKey], *, kind: int = 1, delay: int = 0) -> bytes:
    """A digest item of GRANDPA that announces other authorities. `kind`: 1 scheduled, 2 forced."""
    payload = bytes([kind]) + (b"" if kind == 1 else bytes(4)) + authorities_of(keys) + delay.to_bytes(4, "little")
    return b"\x04FRNK" + scale_length(len(payload)) + payload


def make_header(number: int, parent: bytes, state_root: bytes, logs: Sequence[bytes] = ()) -> BlockHeader:
    items = [b"\x06BABE" + scale_length(4) + b"slot", *logs, b"\x05BABE" + scale_length(64) + bytes(64)]
    raw = parent + scale_length(number) + state_root + bytes(32) + scale_length(len(items)) + b"".join(items)
    return decode_header(raw, "sample")


def precommit(key: SigningKey, target: BlockHeader, set_id: int, round_: int = ROUND) -> Precommit:
    message = b"\x01" + target.hash + target.number.to_bytes(4, "little")
    payload = message + round_.to_bytes(8, "little") + set_id.to_bytes(8, "little")
    return Precommit(public(key), target.number, target.hash, key.sign(payload).signature)


def votes_for(header: BlockHeader, keys: Sequence[SigningKey], set_id: int) -> FinalityVotes:
    votes = sorted((precommit(key, header, set_id) for key in keys), key=lambda vote: vote.voter)
    return FinalityVotes(ROUND, tuple(votes), ())


def encoded_state(values: Mapping[tuple[Any, ...], Any]) -> dict[bytes, bytes]:
    """Storage keys and values: [pallet, item, keys…] -> plain value."""
    found = {}
    for (pallet, item, *params), plain in values.items():
        entry = RUNTIME.entry(pallet, item)
        found[RUNTIME.storage_key(entry, params)] = RUNTIME.encode(entry.value, plain, item)
    return found


def task_state(paid: int = PAID, **changes: Any) -> dict[tuple[Any, ...], Any]:
    """The records of a settled job that ran for 90 s at 1 GTY an hour."""
    ended = NOW - 60_000
    fee = paid * 20_000 // 1_000_000
    bill = escrow(accrued=paid, paid=paid, fee=fee, open=False)
    record = lease(
        HOST,
        state=gen.LeaseStateEnded(gen.EndReasonCompleted()),
        created_at=ended - RAN_MS - 3_000,
        started_at=ended - RAN_MS,
        ended_at=ended,
        escrow=bill,
        result=gen.PodResult(bytes(32), 0, gen.Usage(RAN_MS, 1_000, 10)),
    )
    task = task_record(TENANT, first=TASK, state=gen.TaskStateSettled(), leases=(record,), submitted_at=ended - 99_000)
    account = {
        "nonce": 1,
        "consumers": 0,
        "providers": 1,
        "sufficients": 0,
        "data": {"free": 100 * GTY, "reserved": 0, "frozen": 0, "flags": 0},
    }
    return {
        ("System", "LastRuntimeUpgrade"): {"spec_version": gen.SPEC_VERSION, "spec_name": gen.SPEC_NAME},
        ("Timestamp", "Now"): NOW,
        ("Tasks", "NextTaskId"): TASK + 1,
        ("Tasks", "Params"): tasks_params(),
        ("Tasks", "Tasks", task_key(TASK)): task.encode(),
        ("Tasks", "Specs", task_key(TASK)): spec_record(TENANT, task_spec()).encode(),
        ("Hosts", "Hosts", HOST): host_record(PROVIDER).encode(),
        ("System", "Account", TENANT): account,
        **changes,
    }


@dataclass
class SampleChain:
    """A chain whose authorities change twice: set 0 has validators 0 to 3, set 1 has 1 to 4, set 2 has 2 to 5.

    Block 10 ends set 0, block 20 ends set 1. Block 30 has the state; set 2 votes for block 32.
    """

    state: dict[bytes, bytes] = field(default_factory=lambda: encoded_state(task_state()))
    hashed: bool = True
    named_genesis: bytes | None = None
    """The genesis hash in the state; None: that of this chain."""

    def __post_init__(self) -> None:
        self.sets = [VALIDATORS[first : first + 4] for first in range(3)]
        self.genesis_state = build_trie(
            {AUTHORITIES_KEY: authorities_of(self.sets[0]), b"other": b"value"}, hashed=self.hashed
        )
        self.genesis = make_header(0, bytes(32), self.genesis_state.hash)
        named = encoded_state({("System", "BlockHash", 0): self.named_genesis or self.genesis.hash})
        self.state = {**self.state, **named}
        self.trie: BuiltTrie = build_trie(self.state, hashed=self.hashed)
        self.changes = [
            make_header(10, blake2(b"9"), blake2(b"a"), [change_log(self.sets[1])]),
            make_header(20, blake2(b"19"), blake2(b"b"), [change_log(self.sets[2])]),
        ]
        self.header = make_header(30, blake2(b"29"), self.trie.hash)
        self.descendants = [make_header(31, self.header.hash, blake2(b"c"))]
        self.descendants.append(make_header(32, self.descendants[0].hash, blake2(b"d")))

    def link(self, number: int) -> AuthorityLink:
        header = self.changes[number]
        return AuthorityLink(header, votes_for(header, self.sets[number][:3], number))

    def proof(self, keys: Sequence[bytes] | None = None, subject: ProofSubject | None = None) -> AuditProof:
        """The proof of the task, or of another subject, with the nodes for these storage keys."""
        return AuditProof(
            subject=subject or task_subject(TASK),
            genesis=GenesisPart(self.genesis, tuple(sorted(self.genesis_state.nodes_for([AUTHORITIES_KEY])))),
            first_set=0,
            links=(self.link(0), self.link(1)),
            header=self.header,
            descendants=tuple(self.descendants),
            votes=votes_for(self.descendants[-1], self.sets[2][:3], 2),
            nodes=tuple(sorted(self.trie.nodes_for(self.task_keys() if keys is None else keys))),
            metadata=METADATA,
        )

    def task_keys(self, task: int = TASK) -> list[bytes]:
        """The storage keys that the facts about the task need, written out once more."""
        wanted: list[tuple[Any, ...]] = [
            ("System", "BlockHash", 0),
            ("System", "LastRuntimeUpgrade"),
            ("MultiBlockMigrations", "Cursor"),
            ("Timestamp", "Now"),
            ("Tasks", "NextTaskId"),
            ("Tasks", "Tasks", task_key(task)),
        ]
        if task == TASK:
            wanted += [
                ("Tasks", "Params"),
                ("Tasks", "Specs", task_key(TASK)),
                ("Hosts", "Hosts", HOST),
                ("System", "Account", TENANT),
                ("Balances", "Holds", TENANT),
                ("Tasks", "Schedulers", TENANT),
                ("Verification", "Verifiers", TENANT),
            ]
        return [RUNTIME.storage_key(RUNTIME.entry(pallet, item), params) for pallet, item, *params in wanted]


def without_genesis(proof: AuditProof, first_set: int) -> AuditProof:
    """The proof as it is made with the checkpoint of a set."""
    return replace(proof, genesis=None, first_set=first_set, links=proof.links[first_set:])
