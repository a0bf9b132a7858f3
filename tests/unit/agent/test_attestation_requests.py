"""Requests for attestation documents: from whom, how many, and what the agent reads from its machine."""

import asyncio
import contextlib
import struct
import uuid

import pytest
from agent_world import TENANT, World, agent_running

from node_agent.attestation.collateral import (
    FOLDER,
    SNP_CERTIFICATES_FILE,
    SNP_CRL_FILE,
    TDX_FILE,
    chain_of,
    collateral,
)
from node_agent.attestation.port import AttestationUnavailableError
from node_agent.attestation.tsm import machine_quote
from node_agent.handlers import attestation_requests as requests
from node_agent.handlers.attestation_requests import AttestationRequests
from node_agent.runtime.state_dir import StateDir
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.transport.host_client import HostClient
from offchain.adapters.transport.host_server import HostServer, signature_is_genuine
from offchain.adapters.transport.limits import ServerLimits
from offchain.adapters.transport.port import HostRefused
from offchain.core.attestation.verification import verify_attestation
from offchain.schema.attestation.document import EvidenceKind, report_data
from offchain.schema.attestation.policy import AttestationPolicy
from offchain.schema.protocol.messages import Code
from tests.support.attestation_roots import NOW_S
from tests.support.fake_engine import FakeProgram
from tests.support.memory_transport import MemoryNetwork
from tests.support.snp_samples import SEAL_KEY, SnpMachine

MACHINE = SnpMachine()
STRANGER, NOBODY = from_uri("//Eve"), from_uri("//Nobody")
NONCE = bytes(range(32))


class TestMachine:
    """A machine whose processor has a test root."""

    __test__ = False

    def __init__(self):
        self.trouble = None

    def document(self, host, nonce, seal_key):
        if self.trouble is not None:
            raise self.trouble
        return MACHINE.document(host, nonce, seal_key)


class Host(World):
    def __init__(self, folder):
        super().__init__(folder, lambda *_: FakeProgram())
        self.machine = TestMachine()
        self.time_s = 0.0

    @contextlib.asynccontextmanager
    async def serving(self):
        state = StateDir(self.folder)
        attestation = AttestationRequests(self.machine, self.key.public_key, SEAL_KEY, lambda: self.time_s)
        agent = self.made(state, handlers=attestation.handlers())
        async with agent_running(agent, state):
            self.agent_now = agent
            self.table("System", "Account")[(STRANGER.address,)] = {"nonce": 0, "data": {"free": 5, "reserved": 0}}
            yield self

    async def shown_to(self, signer, lease=None):
        async with self.asking(self.agent_now, signer) as client:
            return await client.attestation(NONCE, lease)


@pytest.fixture
async def host(tmp_path):
    async with Host(tmp_path / "agent").serving() as made:
        yield made


async def refusal(host, signer, lease=None):
    with pytest.raises(HostRefused) as refused:
        await host.shown_to(signer, lease)
    return refused.value.refusal


async def test_the_document_is_for_the_hosts_key_and_the_nonce_of_the_request(host):
    data = await host.shown_to(STRANGER)
    key = host.key.public_key
    result = verify_attestation(data, key, NONCE, AttestationPolicy(), NOW_S, test_root=MACHINE.root.der)
    assert (result.failure, result.seal_key) == (None, SEAL_KEY)


async def test_an_account_that_the_chain_does_not_know_gets_none(host):
    assert (await refusal(host, NOBODY)).code is Code.NOT_YOUR_LEASE


async def test_strangers_cannot_use_up_what_a_tenant_may_ask_for(host):
    lease = host.open_lease()
    for _ in range(5):
        await host.shown_to(STRANGER)
    assert (await refusal(host, STRANGER)).code is Code.BUSY
    for _ in range(3):
        await host.shown_to(TENANT, lease)
    assert "lease" in (await refusal(host, TENANT, lease)).message
    assert (await refusal(host, STRANGER, lease)).code is Code.NOT_YOUR_LEASE
    host.time_s += 60
    await host.shown_to(STRANGER)
    await host.shown_to(TENANT, lease)


async def test_a_machine_that_makes_no_document_says_why(host):
    host.machine.trouble = AttestationUnavailableError("the file x is missing", "Fetch it.")
    refused = await refusal(host, STRANGER)
    assert refused.code is Code.UNSUPPORTED
    assert "the file x is missing" in refused.message


class FakeReports:
    """A folder of configfs-tsm: the kernel's answer is there as soon as an entry is made."""

    def __init__(self, folder, provider, quote, certificates=None):
        self.folder, self.provider, self.quote, self.certificates = folder, provider, quote, certificates
        self.written = []
        folder.mkdir()

    def make(self, entry):
        entry.mkdir()
        (entry / "provider").write_text(f"{self.provider}\n")
        (entry / "inblob").touch()
        (entry / "outblob").write_bytes(self.quote)
        if self.certificates is not None:
            (entry / "auxblob").write_bytes(self.certificates)

    def quote_of(self, data):
        made = machine_quote(data, self.folder, self.make)
        (entry,) = self.folder.iterdir()  # a kernel removes the files with the folder
        self.written.append((entry / "inblob").read_bytes())
        return made


def test_the_kernel_is_asked_for_a_report_with_the_data(tmp_path):
    data = report_data(bytes(32), NONCE, SEAL_KEY)
    reports = FakeReports(tmp_path / "tdx", "tdx_guest", b"quote", b"not of AMD")
    made = reports.quote_of(data)
    assert (made.kind, made.quote, made.certificates) == (EvidenceKind.TDX, b"quote", b"")
    assert reports.written == [data]
    made = FakeReports(tmp_path / "snp", "sev_guest", b"report", b"table").quote_of(data)
    assert (made.kind, made.quote, made.certificates) == (EvidenceKind.SEV_SNP, b"report", b"table")


@pytest.mark.parametrize(
    ("provider", "quote", "said"),
    [("other_guest", b"", "known are tdx_guest, sev_guest"), ("tdx_guest", bytes(16_385), "more than 16384 bytes")],
)
def test_a_report_that_is_not_understood_or_too_large_is_an_error(tmp_path, provider, quote, said):
    with pytest.raises(AttestationUnavailableError, match=said):
        FakeReports(tmp_path / "tsm", provider, quote).quote_of(bytes(64))


def test_an_ordinary_machine_says_what_is_missing(tmp_path):
    with pytest.raises(AttestationUnavailableError, match="No such file") as error:
        machine_quote(bytes(64), tmp_path / "none")
    assert "Linux 6.7" in error.value.hint


def table(**certificates):
    """The hypervisor's table of certificates (GHCB specification)."""
    names = {
        "vcek": "63da758d-e664-4564-adc5-f4b93be8accd",
        "ask": "4ab7b379-bbac-4fe4-a02f-05aef327c782",
        "ark": "c0b406a4-a803-4952-9743-3fb6014cd0ae",
    }
    at = 24 * (len(certificates) + 1)
    head, body = b"", b""
    for name, data in certificates.items():
        head += struct.pack("<16sII", uuid.UUID(names[name]).bytes, at + len(body), len(data))
        body += data
    return head + bytes(24) + body


def test_the_chain_of_amd_comes_from_the_hypervisor_or_from_the_file(tmp_path):
    folder = tmp_path / FOLDER
    folder.mkdir()
    complete = table(ark=MACHINE.root.der, vcek=MACHINE.leaf.der, ask=MACHINE.authority.der)
    with pytest.raises(AttestationUnavailableError, match=SNP_CRL_FILE):
        collateral(EvidenceKind.SEV_SNP, folder, complete)
    (folder / SNP_CRL_FILE).write_text("the list\n")
    found = collateral(EvidenceKind.SEV_SNP, folder, complete)
    assert found == MACHINE.leaf.pem + MACHINE.authority.pem + MACHINE.root.pem + "the list\n"
    for incomplete in (table(vcek=MACHINE.leaf.der), b"", b"\1" * 100, complete[:30]):
        assert chain_of(incomplete) == ""
        with pytest.raises(AttestationUnavailableError, match=SNP_CERTIFICATES_FILE):
            collateral(EvidenceKind.SEV_SNP, folder, incomplete)
    (folder / SNP_CERTIFICATES_FILE).write_text("chain")
    assert collateral(EvidenceKind.SEV_SNP, folder, b"") == "chain\nthe list\n"


def test_collateral_of_intel_is_a_file_of_bounded_size(tmp_path):
    with pytest.raises(AttestationUnavailableError, match=TDX_FILE):
        collateral(EvidenceKind.TDX, tmp_path, b"")
    (tmp_path / TDX_FILE).write_text("{}")
    assert collateral(EvidenceKind.TDX, tmp_path, b"") == "{}"
    (tmp_path / TDX_FILE).write_text("x" * 300_000)
    with pytest.raises(AttestationUnavailableError, match="more than 262144"):
        collateral(EvidenceKind.TDX, tmp_path, b"")


@pytest.mark.parametrize("lease", [None, 7])
async def test_a_document_for_an_account_without_a_lease_makes_nobody_known(lease):
    """Coins are cheap: an account that has some must not get the share of a tenant's connection."""
    network, key, proven = MemoryNetwork(), from_uri("//Host", "ed25519"), []

    class Limits(ServerLimits):
        def add_account(self, account):
            proven.append(account)
            return super().add_account(account)

    async def anybody(_request):
        pass

    server = HostServer(
        network.endpoint(key.public_key),
        genesis_hash=bytes(32),
        authorise=anybody,
        handlers=AttestationRequests(TestMachine(), key.public_key, SEAL_KEY).handlers(),
        verify=signature_is_genuine,
        now_ms=lambda: 0,
    )
    server._limits = Limits()
    serving = asyncio.create_task(server.serve())
    client = HostClient(
        network.endpoint(STRANGER.public_key),
        key.public_key,
        server.addresses,
        genesis_hash=bytes(32),
        signer=STRANGER,
        now_ms=lambda: 0,
    )
    await client.attestation(NONCE, lease)
    assert proven == ([] if lease is None else [STRANGER.address])
    await client.close()
    await server.close()
    await serving


async def test_documents_are_made_one_at_a_time_and_few_wait():
    now, most = [0], [0]

    class Slow:
        def document(self, host, nonce, seal_key):
            now[0] += 1
            most[0] = max(most[0], now[0])
            made = MACHINE.document(host, nonce, seal_key)
            now[0] -= 1
            return made

    class Taken:
        def accept(self, _answer):
            pass

        async def write(self, _body):
            pass

    handler = AttestationRequests(Slow(), bytes(32), SEAL_KEY, lambda: 0.0)

    def asked(lease):
        args = requests.AttestArgs(NONCE.hex())
        return type("Asked", (), {"args": args, "lease": lease})()

    done = await asyncio.gather(*(handler.attest(asked(lease), Taken()) for lease in range(40)), return_exceptions=True)
    refused = [one for one in done if one is not None]
    assert len(refused) == 40 - requests.MOST_WAITING
    assert {one.refusal.code for one in refused} == {Code.BUSY}
    assert most == [1]
