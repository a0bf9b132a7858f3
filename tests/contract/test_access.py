"""Tenants in pods, from their client to the pod and back, over every transport: programs, connections, files."""

import asyncio
import hashlib
import io
import os
import tarfile

import access_cases as case
import p2p_endpoints as p2p
import pytest
from p2p_endpoints import STRANGER, TENANT, refusal

from node_agent.handlers import programs
from node_agent.handlers.pod_requests import PodRequests
from offchain.adapters.keys.sealed_box import seal
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.transport import copy, tar_files
from offchain.adapters.transport.port import HostRefused, HostUnreachable, refused
from offchain.schema.protocol.messages import Code, Control
from offchain.schema.protocol.mux import ERR, MAIN, OUT
from offchain.schema.protocol.operations import AttachArgs, DeliverArgs, ExecArgs, GetArgs, PutArgs

LEASE, OTHER, GONE = 7, 8, 9


class Way:
    """A host with pods, and a tenant's client."""

    def __init__(self, net, folder):
        self.net, self.folder = net, folder
        self.pods = case.fake_pods([LEASE, OTHER])
        self.delivered = []
        self.clients = []

    async def start(self):
        transport = await self.net.endpoint()
        key = Ed25519Signer(self.net.seeds[transport.key])
        self.access = PodRequests(self.pods, self.folder / "uploads", key, self.deliver)
        self.host = p2p.Host(transport, self.access.handlers())
        return self

    async def deliver(self, lease, name, data):
        if name == "unknown":
            raise ValueError("the manifest names no file 'unknown'")
        self.delivered.append((lease, name, data))

    async def client(self, signer=TENANT):
        made = p2p.client_of(await self.net.endpoint(), self.host, signer)
        self.clients.append(made)
        return made

    async def close(self):
        for client in self.clients:
            await client.close()
        await self.host.close()
        await self.access.close()


@pytest.fixture(params=p2p.KINDS)
async def way(request, tmp_path):
    net = p2p.Net(request.param)
    made = await Way(net, tmp_path).start()
    yield made
    await made.close()
    await net.close()


@pytest.fixture
async def client(way):
    return await way.client()


async def run(client, *argv, feed=b"", **options):
    program = await client.exec(LEASE, ExecArgs(argv, **options))
    if feed:
        await program.write(feed)
    await program.end_input()
    return await rest_of(program)


async def started(client):
    """A program that runs until it is ended."""
    program = await client.exec(LEASE, ExecArgs(case.FOR_EVER))
    assert await program.read() == (OUT, b"started\n")
    return program


async def rest_of(program):
    found = {}
    while (piece := await program.read()) is not None:
        found[piece[0]] = found.get(piece[0], b"") + piece[1]
    return found, program.exit_code


# --- programs ---------------------------------------------------------------------------------------------------------


async def test_a_program_has_input_two_outputs_and_an_exit_code(client):
    assert await run(client, *case.OUT_AND_ERR) == ({OUT: b"out\n", ERR: b"err\n"}, 3)
    data = os.urandom(2_000_000)
    program = await client.exec(LEASE, ExecArgs(case.CAT))

    async def feed():
        await program.write(data)
        await program.end_input()

    feeding = asyncio.create_task(feed())
    assert await rest_of(program) == ({OUT: data}, 0)
    await feeding


async def test_a_terminal_has_one_output_and_a_size(client):
    program = await client.exec(LEASE, ExecArgs(("size",), tty=True, rows=3, columns=4))
    assert await program.read() == (MAIN, b"3 4\n")
    await program.resize(5, 6)
    assert await program.read() == (MAIN, b"5 6\n")
    await program.kill()


async def eventually(condition):
    """Wait for what the host does by itself; the loop comes round often."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  (nothing tells of it)
            await asyncio.sleep(0.01)


async def test_a_program_is_ended_when_its_tenant_says_so(way, client):
    program = await started(client)
    await program.kill()
    await eventually(lambda: len(way.access._programs) == 0)


async def test_nothing_is_lost_or_doubled_when_the_connection_breaks(client):
    program = await client.exec(LEASE, ExecArgs(case.CAT))
    data = os.urandom(1_500_000)

    async def feed():
        for start in range(0, len(data), 100_000):
            await program.write(data[start : start + 100_000])
        await program.end_input()

    feeding, got, breaks = asyncio.create_task(feed()), b"", 0
    while (piece := await program.read()) is not None:
        got += piece[1]
        if len(got) > (breaks + 1) * 400_000:
            breaks += 1
            await client._peer.connection.close()
    await feeding
    assert (breaks > 1, program.exit_code) == (True, 0)
    assert hashlib.sha256(got).digest() == hashlib.sha256(data).digest()


async def test_the_exit_code_is_told_even_where_the_connection_broke_first(client):
    program = await client.exec(LEASE, ExecArgs(case.CAT))
    await program.write(b"x")
    assert await program.read() == (OUT, b"x")
    await client._peer.connection.close()
    await program.end_input()
    assert await rest_of(program) == ({}, 0)


async def test_a_program_whose_tenant_does_not_come_back_is_ended(way, client):
    way.access._programs._hold_s = 0.05
    program = await started(client)
    await client.close()
    await eventually(lambda: len(way.access._programs) == 0)
    assert await refusal(client.ask(AttachArgs(program._token, 8), LEASE)) is Code.GONE


async def test_a_program_ends_with_its_lease_and_the_reason_is_told(way, client):
    program = await started(client)

    async def over(_request):
        raise refused(Code.LEASE_ENDED, "Lease 7 has ended.", "Its log is still there.")

    way.host.server._authorise = over
    await way.host.server.recheck()
    assert await refusal(program.read()) is Code.LEASE_ENDED
    await eventually(lambda: len(way.access._programs) == 0)


async def test_a_restarted_agent_says_why_the_shell_is_gone(way, client):
    program = await started(client)
    way.access._programs._programs.clear()  # as a new process has it
    await client._peer.connection.close()
    with pytest.raises(HostRefused, match="restarted"):
        await program.read()


async def test_an_agent_that_stops_ends_the_shell_with_a_reason(way, client):
    program = await started(client)
    closing = asyncio.create_task(way.host.server.close())
    with pytest.raises(HostRefused, match="does not outlive"):
        await program.read()
    await closing


async def test_a_program_that_nobody_reads_costs_bounded_memory(way, client):
    program = await client.exec(LEASE, ExecArgs(case.LOTS))
    assert (await program.read())[0] == OUT
    (kept,) = way.access._programs._programs.values()
    for _ in range(50):
        await asyncio.sleep(0.001)
    assert kept.replay.end - kept.replay.start <= programs.REPLAY + 2 * programs.AHEAD
    assert (await rest_of(program))[1] == 0


async def test_programs_at_once_are_bounded(client, monkeypatch):
    monkeypatch.setattr(programs, "MAX_PER_LEASE", 1)
    program = await client.exec(LEASE, ExecArgs(case.FOR_EVER))
    assert await refusal(client.exec(LEASE, ExecArgs(case.FOR_EVER))) is Code.BUSY
    await program.kill()


async def test_what_is_not_there_is_told(client):
    assert await refusal(client.exec(LEASE, ExecArgs(case.CAT, service="no-such"))) is Code.NOT_FOUND
    assert await refusal(client.exec(GONE, ExecArgs(case.CAT))) is Code.NOT_READY
    assert await refusal(client.dial(LEASE, case.NOBODY)) is Code.NOT_FOUND


# --- strangers --------------------------------------------------------------------------------------------------------


async def test_a_stranger_gets_nothing_of_anything(way):
    stranger = await way.client(STRANGER)
    sealed = seal(bytes(31) + b"\t", b"x")
    asks = [
        stranger.exec(LEASE, ExecArgs(case.CAT)),
        stranger.ask(AttachArgs("0" * 32, 0), LEASE),
        stranger.dial(LEASE, case.ECHO_PORT),
        stranger.get(LEASE, GetArgs("/")),
        stranger.put(LEASE, PutArgs("/", "0" * 32, 10)),
        stranger.ask(DeliverArgs("secret", len(sealed)), LEASE),
    ]
    assert [await refusal(ask) for ask in asks] == [Code.NOT_YOUR_LEASE] * len(asks)
    assert not way.delivered


async def test_another_tenant_of_the_host_cannot_take_over_a_program(way, client):
    way.host.answers.tenants.add(STRANGER.address)  # has a lease of its own here
    program = await client.exec(LEASE, ExecArgs(case.FOR_EVER))
    thief = await way.client(STRANGER)
    assert await refusal(thief.ask(AttachArgs(program._token, 0), LEASE)) is Code.GONE
    assert await refusal(thief.ask(AttachArgs(program._token, 0), OTHER)) is Code.GONE
    await program.kill()


# --- connections ------------------------------------------------------------------------------------------------------


async def test_many_connections_into_a_pod_at_once(way, client):
    async def one(number):
        session = await client.dial(LEASE, case.ECHO_PORT)
        data = os.urandom(100_000) + bytes([number])

        async def send():
            await session.write(data)
            session.end()

        sending, got = asyncio.create_task(send()), b""
        while (piece := await session.read_main()) is not None:
            got += piece
        await sending
        return got == data

    assert all(await asyncio.gather(*(one(number) for number in range(20))))
    await eventually(lambda: way.access._dials == 0)


async def test_a_connection_that_is_dropped_leaves_nothing_behind(way, client):
    session = await client.dial(LEASE, case.ECHO_PORT)
    await session.write(b"x")
    assert await session.read_main() == b"x"
    session.drop()
    await eventually(lambda: way.access._dials == 0)


# --- files ------------------------------------------------------------------------------------------------------------


def quiet(_done, _whole):
    pass


async def get(client, path, part, service=None):
    await copy.get(client, LEASE, path, service, part, quiet)
    return case.names_in(part.read_bytes())


async def put(client, source, folder="/", name=None):
    packing = tar_files.plan(source, name or source.name)
    await copy.put(client, LEASE, folder, None, packing, quiet)


async def test_a_folder_goes_in_and_comes_out_the_same(way, client, tmp_path):
    source = tmp_path / "src"
    (source / "deep" / "er").mkdir(parents=True)
    data = os.urandom(5_000_000)
    (source / "deep" / "er" / "big.bin").write_bytes(data)
    (source / "empty").write_bytes(b"")
    await put(client, source, name="app")
    assert way.pods.pods[LEASE].files == {"/app/deep/er/big.bin": data, "/app/empty": b""}
    assert (await get(client, "/app", tmp_path / "part"))["app/deep/er/big.bin"] == data
    assert not list((tmp_path / "uploads").iterdir())


async def test_a_copy_out_goes_on_after_a_cut(way, client, tmp_path):
    data = os.urandom(6_000_000)
    way.pods.pods[LEASE].files["/big"] = data
    cuts = []

    def cut(done, _whole):
        if done > (len(cuts) + 1) * 1_500_000:
            cuts.append(asyncio.ensure_future(client._peer.connection.close()))

    await copy.get(client, LEASE, "/big", None, tmp_path / "part", cut)
    assert len(cuts) > 1
    assert case.names_in((tmp_path / "part").read_bytes()) == {"big": data}


async def test_a_copy_out_of_another_run_goes_on_and_one_of_another_file_begins_anew(way, client, tmp_path):
    part = tmp_path / "part"
    way.pods.pods[LEASE].files["/big"] = os.urandom(1_000_000)
    await get(client, "/big", part)
    part.write_bytes(part.read_bytes()[:300_000])
    assert (await get(client, "/big", part))["big"] == way.pods.pods[LEASE].files["/big"]
    part.write_bytes(part.read_bytes()[:300_000])
    way.pods.pods[LEASE].files["/big"] = os.urandom(1_000_000)
    assert (await get(client, "/big", part))["big"] == way.pods.pods[LEASE].files["/big"]
    way.pods.pods[LEASE].files["/big"] = b"short"
    assert (await get(client, "/big", part))["big"] == b"short"


async def test_a_copy_in_goes_on_after_a_cut(way, client, tmp_path):
    source = tmp_path / "big"
    data = os.urandom(6_000_000)
    source.write_bytes(data)
    cuts = []

    def cut(done, _whole):
        if done > (len(cuts) + 1) * 2_000_000:
            cuts.append(asyncio.ensure_future(client._peer.connection.close()))

    await copy.put(client, LEASE, "/", None, tar_files.plan(source, "big"), cut)
    assert len(cuts) > 1
    assert way.pods.pods[LEASE].files["/big"] == data
    assert not list((tmp_path / "uploads").iterdir())


async def test_a_copy_in_of_another_run_goes_on_or_begins_anew(way, client, tmp_path):
    source = tmp_path / "big"
    data = os.urandom(3_000_000)
    source.write_bytes(data)
    packing = tar_files.plan(source, "big")
    upload = hashlib.sha256(repr((LEASE, "/", None)).encode() + packing.identity).hexdigest()[:32]
    for begun in (b"".join(tar_files.pack(packing))[:1_000_000], b"something else"):
        session, _ = await client.put(LEASE, PutArgs("/", upload, packing.size))
        await session.write(begun)
        await eventually(lambda: way.access._copies == 1)
        session.drop()
        await eventually(lambda: way.access._copies == 0)
        way.pods.pods[LEASE].files.clear()
        await copy.put(client, LEASE, "/", None, packing, quiet)
        assert way.pods.pods[LEASE].files["/big"] == data


def archive(**member):
    made, info = io.BytesIO(), tarfile.TarInfo(member.pop("name", "x"))
    for name, value in member.items():
        setattr(info, name, value)
    with tarfile.open(fileobj=made, mode="w") as tar:
        tar.addfile(info)
    return made.getvalue()


async def drained(session):
    while await session.read() is not None:
        pass


async def send(client, data, *, said=None, announced=None):
    session, _ = await client.put(LEASE, PutArgs("/", os.urandom(16).hex(), announced or len(data)))
    try:
        await session.write(data)
        await session.say(said or Control(size=len(data), digest=hashlib.sha256(data).digest()))
        session.end()
        await drained(session)
    finally:
        session.drop()


@pytest.mark.parametrize(
    "member",
    [
        {"name": "../evil"},
        {"name": "/etc/passwd"},
        {"name": "a/../../evil"},
        {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
        {"type": tarfile.SYMTYPE, "linkname": "../../up"},
        {"type": tarfile.LNKTYPE, "linkname": "/etc/shadow"},
        {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 1},
        {"type": tarfile.BLKTYPE, "devmajor": 8},
        {"type": tarfile.FIFOTYPE},
    ],
    ids=str,
)
async def test_a_hostile_archive_is_refused_and_not_kept(way, client, tmp_path, member):
    assert await refusal(send(client, archive(**member))) is Code.BAD_REQUEST
    assert not way.pods.pods[LEASE].files
    assert not list((tmp_path / "uploads").iterdir())


async def test_a_copy_below_a_mount_is_refused_and_not_reported_as_done(way, client, tmp_path):
    source = tmp_path / "shm"
    source.mkdir()
    (source / "x").write_bytes(b"x")
    for folder in ("/sys", "/dev", "/dev/shm", "/proc/1"):
        with pytest.raises(HostRefused, match="a mount whose files cannot be copied") as refused_copy:
            await put(client, source, folder)
        assert refused_copy.value.refusal.code is Code.BAD_REQUEST
    # Their names are in the archive and not in the folder.
    way.pods.pods[LEASE].hidden |= {"/data/shm"}
    way.pods.pods[LEASE].folders.add("/data")
    with pytest.raises(HostRefused, match="below a mount"):
        await put(client, source, "/data")
    await put(client, source, "/data", "other")
    assert way.pods.pods[LEASE].files == {"/data/other/x": b"x"}
    assert not list((tmp_path / "uploads").iterdir())


async def test_more_than_announced_other_than_said_and_damaged_archives_are_refused(client):
    assert await refusal(send(client, bytes(2000), announced=1000)) is Code.TOO_LARGE
    assert await refusal(send(client, bytes(2048), said=Control(size=2048, digest=bytes(32)))) is Code.CHANGED
    assert await refusal(send(client, b"no archive" * 300)) is Code.BAD_REQUEST
    assert await refusal(client.put(LEASE, PutArgs("/", "0" * 32, 1 << 60))) is Code.TOO_LARGE


async def test_uploads_that_are_left_behind_are_bounded(way, client):
    for _ in range(4):
        session, _ = await client.put(LEASE, PutArgs("/", os.urandom(16).hex(), 100))
        await session.write(b"x")
        session.drop()
    await eventually(lambda: way.access._copies == 0)
    assert await refusal(client.put(LEASE, PutArgs("/", os.urandom(16).hex(), 100))) is Code.BUSY
    await way.access.end_lease(LEASE)
    session, _ = await client.put(LEASE, PutArgs("/", os.urandom(16).hex(), 100))
    session.drop()


async def test_a_path_that_is_not_there_is_told(client, tmp_path):
    assert await refusal(get(client, "/nowhere", tmp_path / "part")) is Code.NOT_FOUND
    (tmp_path / "x").write_bytes(b"x")
    assert await refusal(put(client, tmp_path / "x", "/nowhere")) is Code.NOT_FOUND


async def test_a_host_that_is_away_is_told_after_a_few_tries(client, tmp_path, monkeypatch):
    monkeypatch.setattr(copy, "PAUSE_S", 0)

    async def away(*_args):
        raise HostUnreachable("nobody there")

    monkeypatch.setattr(client._transport, "dial", away)
    with pytest.raises(HostUnreachable):
        await get(client, "/x", tmp_path / "part")


# --- sealed files -----------------------------------------------------------------------------------------------------


async def test_a_sealed_file_is_opened_by_its_host_alone(way, client):
    secret = os.urandom(100_000)
    await client.deliver(LEASE, "db_password", secret)
    assert way.delivered == [(LEASE, "db_password", secret)]


async def test_what_the_manifest_does_not_name_is_told(client):
    assert await refusal(client.deliver(LEASE, "unknown", b"x")) is Code.NOT_FOUND


async def test_what_was_sealed_to_another_key_is_refused(way, client):
    sealed = seal(bytes(31) + b"\t", b"secret")
    session, _ = await client.ask(DeliverArgs("db_password", len(sealed)), LEASE)
    await session.write(sealed)
    session.end()
    assert await refusal(drained(session)) is Code.BAD_REQUEST
    assert not way.delivered


async def test_a_file_that_is_too_large_is_refused_before_it_is_sent(client, monkeypatch):
    monkeypatch.setattr("offchain.adapters.transport.host_client.MAX_SEALED", 100)
    assert await refusal(client.deliver(LEASE, "x", bytes(60))) is Code.TOO_LARGE
