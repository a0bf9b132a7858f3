"""Every question that a host knows, asked by everyone who may not: by key, by lease, by proxy, by what was recorded."""

import asyncio
import contextlib
import dataclasses
import json
import os

import pytest
from agent_world import TENANT, World, agent_running

from node_agent.core.states import Phase
from node_agent.handlers.challenge_requests import ChallengeRequests
from node_agent.handlers.evidence_files import EvidenceFiles
from node_agent.handlers.evidence_requests import EvidenceRequests
from node_agent.handlers.receipt_requests import ReceiptRequests
from node_agent.metering.meter import UsageMeter
from node_agent.metering.ports import SteadyTime
from node_agent.runtime.state_dir import StateDir
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import Ed25519Signer, from_uri
from offchain.adapters.transport.peer import Peer
from offchain.adapters.transport.port import HostRefused
from offchain.schema.chain_types._generated_chain import (
    ChallengePhase,
    EndReasonCancelled,
    HostStatusRetired,
    LeaseStateActive,
    LeaseStateEnded,
    LeaseStatePurged,
)
from offchain.schema.protocol.delegation import DELEGABLE, Delegation, SignedDelegation, chain_of
from offchain.schema.protocol.messages import MAX_REQUEST_LIFE_MS, Code, Op, Request
from offchain.schema.protocol.operations import (
    INTO_POD,
    NO_LEASE,
    OF_GATEWAYS,
    OF_SNAPSHOTS,
    AttachArgs,
    AttestArgs,
    ChallengeArgs,
    ChallengePart,
    CheckpointArgs,
    DeliverArgs,
    DialArgs,
    EvidenceArgs,
    EvidenceFilesArgs,
    ExecArgs,
    GetArgs,
    ImageArgs,
    LogsArgs,
    PingArgs,
    ProbeArgs,
    PutArgs,
    ReceiptArgs,
    ResultArgs,
    SnapshotArgs,
    op_of,
)
from offchain.schema.protocol.snapshots import SnapshotAction
from tests.support.chain_records import host_record, lease, task_spec
from tests.support.challenge_records import challenge, seat
from tests.support.fake_access import FakeAccess, FakePod
from tests.support.fake_engine import FakeProgram
from tests.support.fake_usage import FakeUsageSource

STRANGER, FRIEND, NEIGHBOUR = from_uri("//Eve"), from_uri("//Bob"), from_uri("//Dave")
ASKED = [
    PingArgs(),
    ProbeArgs(1000),
    ResultArgs(),
    LogsArgs(),
    LogsArgs(follow=True, tail=3),
    ExecArgs(("cat",)),
    ExecArgs(("sh",), tty=True),
    AttachArgs("0" * 32, 0),
    DialArgs(80),
    GetArgs("/x"),
    PutArgs("/", "0" * 32, 10),
    DeliverArgs("secret", 100),
    ReceiptArgs(),
    ReceiptArgs("00" * 32, "00" * 64),
    *(SnapshotArgs(act, None if act is SnapshotAction.LIST else "before") for act in SnapshotAction),
    ImageArgs("before"),
    CheckpointArgs("00" * 32),
    ChallengeArgs(3, ChallengePart.COMMITMENT),
    EvidenceArgs("00" * 32),
    EvidenceFilesArgs(seal_to="00" * 32),
    EvidenceFilesArgs(size=10),
    AttestArgs("00" * 32),
]
OF_A_LEASE = [args for args in ASKED if op_of(args) not in NO_LEASE | {Op.CHECKPOINT}]
"""What a tenant may ask."""


def name_of(args):
    return f"{op_of(args).value}-{ASKED.index(args)}"


def test_no_question_is_forgotten_here():
    assert {op_of(args) for args in ASKED} == set(Op) - OF_GATEWAYS


async def proof_of(_challenge, part):
    """The host has computed its proof, and the opening is not drawn yet."""
    return b"proof" if part is ChallengePart.COMMITMENT else None


class NoGpus:
    def read(self, _uuids):
        return {}

    def close(self):
        pass


class Host(World):
    """An agent that answers everything, with a running pod of TENANT's and one of NEIGHBOUR's."""

    def __init__(self, folder):
        super().__init__(folder, lambda *_: FakeProgram(runs=True, output=b"one\n"))
        self.pods = FakeAccess({})

    @contextlib.asynccontextmanager
    async def serving(self):
        state = StateDir(self.folder)
        parts = (GantryChain(self.chain), state.store, self.key, self.chain.genesis)
        clocks = {"now_ms": lambda: self.now_ms, "moment": lambda: SteadyTime("boot", 0)}
        meter = UsageMeter(*parts, FakeUsageSource(self.engine, self.host), NoGpus(), **clocks)
        agent = self.made(
            state,
            pods=self.pods,
            handlers={
                **ReceiptRequests(asyncio.get_running_loop(), meter).handlers(),
                **ChallengeRequests(asyncio.get_running_loop(), proof_of).handlers(),
                **EvidenceRequests(GantryChain(self.chain), state, meter.newest).handlers(),
                **EvidenceFiles(GantryChain(self.chain), state.path).handlers(),
            },
        )
        async with agent_running(agent, state):
            self.agent_now = agent
            self.lease = await self.running(TENANT)
            self.other_lease = await self.running(NEIGHBOUR)
            yield self

    async def running(self, tenant):
        number = self.open_lease()
        self.tasks.change(number >> 24, tenant=tenant.address)
        await self.until(lambda: self.agent_now.state.phase(number) is Phase.RUNNING)
        await self.until(lambda: self.tasks.lease(number).state == LeaseStateActive())
        self.pods.pods[number] = FakePod({}, files={"/x": b""})
        return number

    def delegation(self, wallet, key, **changes):
        """What a wallet signs so that a session key may ask in its name."""
        made = Delegation(
            domain="console.example.org",
            account=wallet.address,
            key=key.address,
            may=DELEGABLE,
            chain=chain_of(self.chain.genesis),
            nonce="0f" * 16,
            issued_ms=self.now_ms,
            expires_ms=self.now_ms + 60_000,
        )
        text = dataclasses.replace(made, **changes).text()
        return SignedDelegation(text=text, signature=wallet.sign(text.encode()))

    def signed(
        self, args, signer, *, claims=None, number=None, genesis=None, host=None, life_ms=30_000, delegation=None
    ):
        """The bytes of a question. `claims`: the account that it pretends to come from."""
        request = Request(
            args=args,
            account=(claims or signer).address,
            nonce=os.urandom(16).hex(),
            expires_ms=self.now_ms + life_ms,
            crypto=signer.crypto,
            lease=None if op_of(args) in NO_LEASE else self.lease if number is None else number,
            delegation=delegation,
        )
        signature = signer.sign(request.payload(genesis or self.chain.genesis, host or self.key.public_key))
        return dataclasses.replace(request, signature=signature).encode()

    async def asked(self, *questions):
        """How each was answered, on one connection of a stranger's."""
        async with asyncio.timeout(20):
            return await self._asked(questions)

    async def _asked(self, questions):
        endpoint = self.network.endpoint(Ed25519Signer(os.urandom(32)).public_key)
        peer = Peer(await endpoint.dial(self.key.public_key, self.agent_now._transport.addresses, 5), dialler=True)
        answers = []
        for question in questions:
            session = peer.open(question, window=1 << 18)
            try:
                await session.answer()
                answers.append("ok")
            except HostRefused as no:
                answers.append(no.refusal.code)
            session.drop()
        await peer.close()
        return answers

    def proxy(self, kind="Tenant", delegate=FRIEND.address, delay=0):
        definition = {"delegate": delegate, "proxy_type": kind, "delay": delay}
        self.table("Proxy", "Proxies")[(TENANT.address,)] = ([definition], 0)


@pytest.fixture
async def host(tmp_path):
    async with Host(tmp_path / "agent").serving() as made:
        yield made


def refusal_of(args):
    """What somebody without any right is told."""
    known = {Op.PING: "ok", Op.PROBE: Code.NOT_A_HOST, Op.CHALLENGE: Code.NOT_FOUND}
    return known.get(op_of(args), Code.NOT_YOUR_LEASE)


async def test_the_tenant_itself_gets_past_every_check(host):
    """So that a refusal below is one of the account that asks."""
    answers = await host.asked(*(host.signed(args, TENANT) for args in OF_A_LEASE))
    assert not {Code.NOT_YOUR_LEASE, Code.BAD_SIGNATURE, Code.LEASE_ENDED, Code.UNKNOWN_LEASE} & set(answers)
    assert answers[:3] == [Code.NOT_READY, "ok", "ok"]


@pytest.mark.parametrize("who", ["a stranger", "a neighbour", "the host"])
async def test_who_is_not_the_tenant_gets_nothing(host, who):
    signer = {"a stranger": STRANGER, "a neighbour": NEIGHBOUR, "the host": host.key}[who]
    asked = [args for args in ASKED if not (who == "the host" and op_of(args) in (Op.PROBE, Op.CHECKPOINT))]
    answers = await host.asked(*(host.signed(args, signer) for args in asked))
    assert answers == [refusal_of(args) for args in asked]


async def test_the_committee_of_a_challenge_alone_gets_the_proof(host):
    commitment, opening = (ChallengeArgs(3, part) for part in ChallengePart)
    record = challenge(ChallengePhase.COMMITTING, seat(NEIGHBOUR.address), host=host.host)
    host.table("Verification", "Challenges")[(3,)] = record.encode()
    for who in (STRANGER, TENANT, host.key):
        assert await host.asked(host.signed(commitment, who)) == [Code.NOT_ON_COMMITTEE]
    asked = (host.signed(args, NEIGHBOUR) for args in (commitment, opening, ChallengeArgs(4, ChallengePart.OPENING)))
    assert await host.asked(*asked) == ["ok", Code.NOT_READY, Code.NOT_FOUND]
    host.table("Verification", "Challenges")[(3,)] = dataclasses.replace(record, host=STRANGER.address).encode()
    assert await host.asked(host.signed(commitment, NEIGHBOUR)) == [Code.NOT_FOUND]


async def test_who_calls_itself_the_tenant_gets_nothing(host):
    forged = [host.signed(args, STRANGER, claims=TENANT) for args in ASKED]
    assert await host.asked(*forged) == [Code.BAD_SIGNATURE] * len(ASKED)


async def test_what_the_tenant_signed_for_something_else_is_worth_nothing(host):
    for changes in ({"genesis": b"x" * 32}, {"host": bytes(32)}):
        questions = [host.signed(args, TENANT, **changes) for args in ASKED]
        assert await host.asked(*questions) == [Code.BAD_SIGNATURE] * len(ASKED)
    # Far above the limit: the agent's own calls make blocks meanwhile, and a block moves the clock by seconds.
    for life_ms, code in ((0, Code.EXPIRED), (10 * MAX_REQUEST_LIFE_MS, Code.EXPIRES_TOO_LATE)):
        questions = [host.signed(args, TENANT, life_ms=life_ms) for args in ASKED]
        assert await host.asked(*questions) == [code] * len(ASKED)


async def test_a_signature_for_one_question_is_none_for_another(host):
    """The tenant's harmless question, recorded, its args and op exchanged."""
    signed = json.loads(host.signed(LogsArgs(), TENANT))
    others = [json.loads(host.signed(args, TENANT)) for args in OF_A_LEASE if op_of(args) is not Op.LOGS]
    swapped = [signed | {"op": other["op"], "args": other["args"]} for other in others]
    swapped.append(signed | {"lease": host.other_lease})
    answers = await host.asked(*(json.dumps(one).encode() for one in swapped))
    assert answers == [Code.BAD_SIGNATURE] * len(swapped)


async def test_what_was_recorded_is_refused_when_it_is_sent_again(host):
    recorded = [host.signed(args, TENANT) for args in OF_A_LEASE]
    first = await host.asked(*recorded)
    assert Code.REPLAYED not in first
    assert await host.asked(*recorded) == [Code.REPLAYED] * len(recorded)


async def test_a_lease_number_that_is_not_the_accounts_own_opens_nothing(host):
    """Each of two tenants of one host, with the other's lease; and with numbers that are nobody's."""
    crossed = [host.signed(args, TENANT, number=host.other_lease) for args in OF_A_LEASE]
    assert await host.asked(*crossed) == [Code.NOT_YOUR_LEASE] * len(OF_A_LEASE)
    for number in (host.lease + 1, host.lease + (1 << 16), host.lease + (9 << 24), 0xFFFF_FFFF_FFFF_FFFF):
        nobodys = [host.signed(args, TENANT, number=number) for args in OF_A_LEASE]
        assert set(await host.asked(*nobodys)) == {Code.UNKNOWN_LEASE}


async def test_a_lease_on_another_host_is_not_this_ones(host):
    spec = task_spec()
    task = host.tasks.submit(TENANT.address, spec)
    host.tasks.change(task, leases=(lease(STRANGER.address, state=LeaseStateActive()),))
    elsewhere = [host.signed(args, TENANT, number=task << 24) for args in OF_A_LEASE]
    assert set(await host.asked(*elsewhere)) == {Code.UNKNOWN_LEASE}


@pytest.mark.parametrize("state", [LeaseStateEnded(EndReasonCancelled()), LeaseStatePurged()], ids=["ended", "purged"])
async def test_the_tenant_of_a_lease_that_is_over_reaches_into_no_pod(host, state):
    host.tasks.change_lease(host.lease, state=state)
    for args in OF_A_LEASE:
        (answer,) = await host.asked(host.signed(args, TENANT))
        inside = op_of(args) in INTO_POD | OF_SNAPSHOTS | {Op.DELIVER}
        assert (answer is Code.LEASE_ENDED) == inside, name_of(args)
    assert set(await host.asked(*(host.signed(args, STRANGER) for args in OF_A_LEASE))) == {Code.NOT_YOUR_LEASE}


@pytest.mark.parametrize(
    "change",
    [{"kind": "Provider"}, {"kind": "Governance"}, {"delay": 1}, {"delegate": NEIGHBOUR.address}],
    ids=["of another type", "of a type that is not known", "with a delay", "of somebody else"],
)
async def test_a_proxy_that_may_not_act_now_gets_nothing(host, change):
    host.proxy(**change)
    answers = await host.asked(*(host.signed(args, FRIEND) for args in OF_A_LEASE))
    assert answers == [Code.NOT_YOUR_LEASE] * len(OF_A_LEASE)


async def test_a_proxy_gets_nothing_once_it_is_removed(host):
    host.proxy()
    assert Code.NOT_YOUR_LEASE not in await host.asked(*(host.signed(args, FRIEND) for args in OF_A_LEASE))
    host.table("Proxy", "Proxies").clear()
    answers = await host.asked(*(host.signed(args, FRIEND) for args in OF_A_LEASE))
    assert answers == [Code.NOT_YOUR_LEASE] * len(OF_A_LEASE)


async def test_a_proxy_of_a_proxy_is_none(host):
    host.proxy()
    definition = {"delegate": STRANGER.address, "proxy_type": "Any", "delay": 0}
    host.table("Proxy", "Proxies")[(FRIEND.address,)] = ([definition], 0)
    answers = await host.asked(*(host.signed(args, STRANGER) for args in OF_A_LEASE))
    assert answers == [Code.NOT_YOUR_LEASE] * len(OF_A_LEASE)


async def test_a_checkpoint_is_for_the_hosts_of_its_pod_and_for_no_tenant(host):
    host.proxy()
    asked = CheckpointArgs("00" * 32)
    for signer, said in ((TENANT, Code.NOT_YOUR_LEASE), (FRIEND, Code.NOT_YOUR_LEASE), (host.key, Code.GONE)):
        assert await host.asked(host.signed(asked, signer)) == [said]
    host.tasks.change_lease(host.lease, state=LeaseStateEnded(EndReasonCancelled()))
    assert await host.asked(host.signed(asked, host.key)) == [Code.LEASE_ENDED]


async def test_a_host_that_has_left_may_not_probe(host):
    probe = ProbeArgs(1000)
    assert await host.asked(host.signed(probe, host.key)) == ["ok"]
    host.table("Hosts", "Hosts")[(host.host,)] = host_record(host.host, status=HostStatusRetired()).encode()
    assert await host.asked(host.signed(probe, host.key)) == [Code.NOT_A_HOST]


async def test_a_session_key_gets_what_its_tenant_delegated_and_nothing_else(host):
    key = from_uri("//Session", "ed25519")
    given = host.delegation(TENANT, key)
    args = [*OF_A_LEASE, PingArgs(), ProbeArgs(5)]
    answers = await host.asked(*(host.signed(one, key, delegation=given) for one in args))
    refused = {op_of(one) for one, answer in zip(args, answers, strict=True) if answer is Code.BAD_DELEGATION}
    assert refused == {op_of(one) for one in args} - {Op.LOGS, Op.RESULT, Op.EXEC, Op.ATTACH}
    assert Code.NOT_YOUR_LEASE not in answers
    assert await host.asked(host.signed(LogsArgs(), key)) == [Code.NOT_YOUR_LEASE]


async def test_a_delegation_gives_what_its_account_has_now(host):
    key = from_uri("//Session", "ed25519")
    logs = LogsArgs()
    stranger = host.signed(logs, key, delegation=host.delegation(STRANGER, key))
    friend = [host.signed(logs, key, delegation=host.delegation(FRIEND, key)) for _ in range(2)]
    other = host.signed(logs, key, number=host.other_lease, delegation=host.delegation(TENANT, key))
    assert await host.asked(stranger, friend[0], other) == [Code.NOT_YOUR_LEASE] * 3
    host.proxy()
    assert await host.asked(friend[1]) == ["ok"]
