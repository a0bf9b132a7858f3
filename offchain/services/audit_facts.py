"""The facts about a subject of a proof, read from a node or from a proof by the same queries.

A prover notes the storage keys of these queries; a verifier answers them from the proof. So a proof has exactly what
its facts need, and a verifier never follows the choice of a prover.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.chain.storage_queries import StorageQueries, StoredValue
from offchain.adapters.chain.typed import AccountBalance, LeaseOfTask, TaskAndSpec, TypedStorage
from offchain.adapters.keys import ss58
from offchain.core.bill_check import LeaseBillCheck, check_bill
from offchain.core.conservation import Hold
from offchain.core.proofs.subject import ProofSubject, StorageKeys, SubjectKind, storage_subject
from offchain.errors import BadReply, BadValue, ProofRefused
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import storage
from offchain.schema.chain_types.ids import lease_parts
from offchain.services.audit import hold_reason

_RUNTIME = "The runtime"


@dataclass(frozen=True, slots=True)
class AccountFacts:
    """The coins of an account, in base units."""

    address: str
    balance: AccountBalance
    holds: tuple[Hold, ...]
    scheduler_bond: int | None = None
    verifier_bond: int | None = None


@dataclass(frozen=True, slots=True)
class HostFacts:
    """A host. `record`: None if none is registered under the address. `leases`: those that hold something of it."""

    address: str
    record: gen.HostRecord | None
    score: gen.HostScore | None
    leases: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AuditFacts:
    """What the state of one block says about a subject. `now_ms`: the time of the block, Unix ms.

    `next_task`: the number of the next task, which tells a pruned task from one that never was.
    `missing_leases`: leases of the subject that their tasks do not have any more, or never had. `storage`: the values
    of a storage item.
    """

    subject: ProofSubject
    now_ms: int
    next_task: int
    tasks: tuple[TaskAndSpec, ...] = ()
    hosts: Mapping[str, gen.HostRecord] = field(default_factory=dict)
    bills: tuple[LeaseBillCheck, ...] = ()
    missing_leases: tuple[int, ...] = ()
    account: AccountFacts | None = None
    host: HostFacts | None = None
    storage: tuple[StoredValue, ...] = ()


def subject_of_storage(runtime: ChainRuntime, pallet: str, item: str, keys: Sequence[Sequence[Any]]) -> ProofSubject:
    """Return values of a storage item as a subject. `keys`: for each value its keys, plain.

    Raises BadValue for an unknown item, keys that are not of its types, and too many of them.
    """
    entry = runtime.entry(pallet, item)
    try:
        return storage_subject(pallet, item, [runtime.encode_keys(entry, key) for key in keys])
    except ProofRefused as error:
        raise BadValue(f"{pallet}.{item}: {error.reason}.", "Ask for fewer or shorter keys.") from None


async def read_facts(
    queries: StorageQueries, runtime: ChainRuntime, subject: ProofSubject, at: bytes, genesis_hash: bytes
) -> AuditFacts:
    """Return the facts about a subject in the state of a block.

    Raises ProofRefused if the state belongs to another chain, or was written by a runtime that this program does not
    know, or if the subject has values of an item that the runtime does not have.
    """
    chain = TypedStorage(queries)
    await _require_chain(chain, at, genesis_hash)
    await _require_known_runtime(chain, at)
    facts = AuditFacts(subject, await chain.now_ms(at), await chain.next_task(at))
    match subject.kind:
        case SubjectKind.TASK:
            return await _task_facts(chain, facts, at)
        case SubjectKind.LEASES:
            return await _lease_facts(chain, facts, at)
        case SubjectKind.ACCOUNT:
            return replace(facts, account=await _account_facts(chain, ss58.encode(subject.key), at))
        case SubjectKind.STORAGE if subject.storage is not None:
            return replace(facts, storage=await _stored_values(queries, runtime, subject.storage, at))
    return await _host_facts(chain, facts, at)


async def _stored_values(
    queries: StorageQueries, runtime: ChainRuntime, named: StorageKeys, at: bytes
) -> tuple[StoredValue, ...]:
    try:
        entry = runtime.entry(named.pallet, named.item)
        keys = [runtime.decode_keys(entry, joined) for joined in named.keys]
    except (BadReply, BadValue) as error:
        raise ProofRefused("The subject", error.message.removesuffix(".")) from None
    return tuple(await queries.stored_values(named.pallet, named.item, keys, at))


async def _require_chain(chain: TypedStorage, at: bytes, genesis_hash: bytes) -> None:
    """Check that the state has the hash of the genesis block, which the runtime keeps.

    GRANDPA's signatures do not name the chain: where validators use a key on two chains, blocks of the one have valid
    signatures for the other.
    """
    found = await chain.port.query("System", "BlockHash", (0,), at)
    if found != genesis_hash:
        named = "none" if found is None else f"0x{found.hex()}"
        raise ProofRefused("The chain", f"the state of the block names the genesis hash {named}")


async def _require_known_runtime(chain: TypedStorage, at: bytes) -> None:
    upgraded = await chain.port.query("System", "LastRuntimeUpgrade", (), at)
    found = None if upgraded is None else (upgraded["spec_name"], upgraded["spec_version"])
    if found != (gen.SPEC_NAME, gen.SPEC_VERSION):
        version = "none" if found is None else f"{found[0]} {found[1]}"
        raise ProofRefused(
            _RUNTIME,
            f"the state of the block has the version {version}, and this program reads {gen.SPEC_NAME} "
            f"{gen.SPEC_VERSION}",
            "Use the Gantry release that belongs to that version, or prove another block.",
        )
    if await chain.port.query("MultiBlockMigrations", "Cursor", (), at) is not None:
        raise ProofRefused(
            _RUNTIME,
            "the state of the block is being migrated from an earlier version",
            "Prove a block after the migration (docs/upgrades.md).",
        )


async def _task_facts(chain: TypedStorage, facts: AuditFacts, at: bytes) -> AuditFacts:
    (number,) = facts.subject.numbers
    task = (await chain.tasks([number], at)).get(number)
    if task is None:
        return facts
    account = await _account_facts(chain, task.record.tenant, at)
    return replace(await _with_bills(chain, facts, task.leases, at), tasks=(task,), account=account)


async def _lease_facts(chain: TypedStorage, facts: AuditFacts, at: bytes) -> AuditFacts:
    tasks = await chain.tasks((lease_parts(lease)[0] for lease in facts.subject.numbers), at)
    found: list[LeaseOfTask] = []
    missing: list[int] = []
    for number in facts.subject.numbers:
        task = tasks.get(lease_parts(number)[0])
        lease = None if task is None else task.lease(number)
        if lease is None:
            missing.append(number)
        else:
            found.append(lease)
    facts = await _with_bills(chain, facts, found, at)
    return replace(facts, tasks=tuple(tasks.values()), missing_leases=tuple(missing))


async def _with_bills(chain: TypedStorage, facts: AuditFacts, leases: list[LeaseOfTask], at: bytes) -> AuditFacts:
    # Whoever shows a task shows all of its leases.
    tasks = {lease.task.id: lease.task for lease in leases}
    hosts = await chain.hosts_named((other.record.host for task in tasks.values() for other in task.leases), at)
    params = await chain.params("Tasks", at)
    bills = tuple(
        check_bill(
            lease.id,
            lease.record,
            lease.task.spec.kind,
            hosts[lease.record.host].downtime_ms if lease.record.host in hosts else 0,
            facts.now_ms,
            params.min_charge_ms,
        )
        for lease in leases
    )
    return replace(facts, hosts=hosts, bills=bills)


async def _account_facts(chain: TypedStorage, address: str, at: bytes) -> AccountFacts:
    held = await chain.port.query("Balances", "Holds", (address,), at) or ()
    bond = await chain.read(storage.tasks_schedulers, address, at=at)
    verifier = await chain.read(storage.verification_verifiers, address, at=at)
    return AccountFacts(
        address,
        await chain.balance(address, at),
        tuple(Hold(address, hold_reason(hold["id"]), hold["amount"]) for hold in held),
        bond,
        None if verifier is None else verifier.bond,
    )


async def _host_facts(chain: TypedStorage, facts: AuditFacts, at: bytes) -> AuditFacts:
    address = ss58.encode(facts.subject.key)
    record = await chain.host(address, at)
    score = await chain.read(storage.reputation_host_scores, address, at=at)
    host = HostFacts(address, record, score, tuple(await chain.leases_of_host(address, at)))
    account = None if record is None else await _account_facts(chain, record.provider, at)
    return replace(facts, host=host, account=account)
