"""Files of tenants in pods, over every transport: copies in both directions, and sealed files."""

import asyncio
import hashlib
import io
import os
import tarfile

import access_cases as case
import pytest
from access_cases import LEASE
from p2p_endpoints import refusal
from p2p_endpoints import until as eventually

from offchain.adapters.keys.sealed_box import seal
from offchain.adapters.transport import copy, tar_files
from offchain.adapters.transport.port import HostRefused, HostUnreachable
from offchain.schema.protocol.messages import Code, Control
from offchain.schema.protocol.operations import DeliverArgs, PutArgs

way, client = case.way, case.client


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
