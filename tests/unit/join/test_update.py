"""Releases in files: made, checked, unpacked, tried, undone."""

import asyncio
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import time

import aiohttp.web
import pytest

from node_agent.install import update as updating
from node_agent.install.bundle import build, fetch, fetch_statement, sha256_of, unpack
from node_agent.install.launch import RELEASE_VARIABLE, command, environment
from node_agent.install.releases import INSTALLED, Releases
from node_agent.runtime.status_file import NAME as BEACON
from offchain.errors import OurError, TheirError
from offchain.processes import start_time


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    path = tmp_path_factory.mktemp("bundle") / "agent.tar.gz"
    return path, build(path)


@pytest.fixture
def said():
    return []


def test_the_same_sources_give_the_same_bytes(bundle, tmp_path):
    path, digest = bundle
    assert build(tmp_path / "again.tar.gz") == digest == sha256_of(path)


def test_a_release_is_staged_once_and_can_be_loaded(bundle, tmp_path, said):
    path, digest = bundle
    releases = Releases(tmp_path)
    staged = asyncio.run(updating.stage(releases, digest, str(path), said.append))
    assert staged.python == sys.executable  # its lock is the one this environment was made from
    assert releases.find(digest) == staged
    assert (tmp_path / f"releases/{digest}/app/node_agent/__main__.py").is_file()
    assert asyncio.run(updating.stage(releases, digest, "nowhere", said.append)) == staged
    assert command(tmp_path, staged)[0] == staged.python
    assert environment({}, staged)["PYTHONPATH"] == staged.path
    assert environment({}, staged)[RELEASE_VARIABLE] == digest
    assert environment({}, None)[RELEASE_VARIABLE] == INSTALLED


def test_other_bytes_are_refused_and_nothing_stays(bundle, tmp_path, said):
    path, _ = bundle
    wrong = "0" * 64
    with pytest.raises(OurError, match="Nothing was changed"):
        asyncio.run(updating.stage(Releases(tmp_path), wrong, str(path), said.append))
    assert not (tmp_path / "releases").exists()


def test_a_release_that_cannot_be_loaded_is_not_switched_to(bundle, tmp_path, said):
    path, _ = bundle
    broken = tmp_path / "broken.tar.gz"
    with tarfile.open(path) as old, tarfile.open(broken, "w:gz") as new:
        for member in old:
            data = old.extractfile(member).read()
            if member.name == "app/node_agent/runtime/startup.py":
                data = b"raise RuntimeError('broken on purpose')\n"
                member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    with pytest.raises(OurError, match="broken on purpose"):
        asyncio.run(updating.stage(Releases(tmp_path), sha256_of(broken), str(broken), said.append))
    assert not (tmp_path / "releases").exists()


def test_a_release_whose_packages_cannot_be_installed_leaves_no_environment(tmp_path, said):
    root = tmp_path / "sources"
    (root / "node_agent").mkdir(parents=True)
    (root / "node_agent/__main__.py").touch()
    (root / "requirements.lock").write_text("an: unreadable line\n")
    digest = build(tmp_path / "agent.tar.gz", root)
    with pytest.raises(OurError, match=r"its requirements cannot be installed: (?s:.*)unreadable line"):
        asyncio.run(updating.stage(Releases(tmp_path), digest, str(tmp_path / "agent.tar.gz"), said.append))
    assert said[-1] == "installing its requirements"
    assert not (tmp_path / "releases").exists()


def archive(path, *members):
    with tarfile.open(path, "w:gz") as tar:
        for member, data in members:
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


def link(name, to):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, to
    return member


@pytest.mark.parametrize(
    "members",
    [
        [(tarfile.TarInfo("../evil"), b"x")],
        [(tarfile.TarInfo("/etc/evil"), b"x")],
        [(link("app", "/etc"), b""), (tarfile.TarInfo("app/evil"), b"x")],
        [(tarfile.TarInfo("bundle.json"), b"{}")],
        [(tarfile.TarInfo("bundle.json"), b"[]"), (tarfile.TarInfo("requirements.lock"), b"")],
        [(tarfile.TarInfo("twice"), b"1"), (tarfile.TarInfo("twice"), b"2")],
        [],
    ],
)
def test_files_that_are_no_release(tmp_path, members):
    path = archive(tmp_path / "evil.tar.gz", *members)
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(OurError, match="is not a release"):
        unpack(path, target)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    "data", [b"", b"not gzip", gzip.compress(b"not tar" * 100, mtime=0), gzip.compress(b"x" * 2000, mtime=0)[:30]]
)
def test_bytes_that_are_no_archive(tmp_path, data):
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(OurError, match="is not a release"):
        unpack(tmp_path / "file", tmp_path)


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("node_agent.install.bundle.MAX_FILE_BYTES", 1000)
    path = archive(tmp_path / "bomb.tar.gz", (tarfile.TarInfo("bomb"), bytes(1001)))
    with pytest.raises(OurError, match="larger than any release"):
        unpack(path, tmp_path)
    monkeypatch.setattr("node_agent.install.bundle.MAX_BUNDLE_BYTES", 10)
    with pytest.raises(OurError, match="no release is"):
        sha256_of(path)


async def test_a_release_is_fetched_and_never_more_of_it_than_allowed(tmp_path, monkeypatch):
    async def serve(request):
        if request.path == "/none":
            raise aiohttp.web.HTTPNotFound
        return aiohttp.web.Response(body=b"x" * 5000)

    app = aiohttp.web.Application()
    app.router.add_get("/{name}", serve)
    runner = aiohttp.web.AppRunner(app)
    await runner.setup()
    site = aiohttp.web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    try:
        await fetch(f"http://127.0.0.1:{port}/it", tmp_path / "it")
        assert (tmp_path / "it").stat().st_size == 5000
        with pytest.raises(TheirError, match="404"):
            await fetch(f"http://127.0.0.1:{port}/none", tmp_path / "it")
        assert await fetch_statement(f"http://127.0.0.1:{port}/it") == b"x" * 5000
        monkeypatch.setattr("node_agent.install.bundle.MAX_STATEMENT_BYTES", 1000)
        with pytest.raises(TheirError, match="serves more than 1000"):
            await fetch_statement(f"http://127.0.0.1:{port}/it")
        (tmp_path / "long").write_bytes(b"x" * 5000)
        assert len(await fetch_statement(str(tmp_path / "long"))) == 1001
        monkeypatch.setattr("node_agent.install.bundle.MAX_BUNDLE_BYTES", 1000)
        with pytest.raises(TheirError, match="serves more than 1000"):
            await fetch(f"http://127.0.0.1:{port}/it", tmp_path / "it")
    finally:
        await runner.cleanup()
    with pytest.raises(TheirError, match="cannot be fetched"):
        await fetch(f"http://127.0.0.1:{port}/it", tmp_path / "it")
    with pytest.raises(OurError, match="cannot be read"):
        await fetch(str(tmp_path / "missing"), tmp_path / "it")


class StandIn:
    """A service whose agent is this process: it says what a release would say when it is started."""

    kind = "stand-in"

    def __init__(self, state, broken=()):
        self.state = state
        self.broken = broken
        self.started = []

    def running(self):
        return True

    def restart(self):
        releases = Releases(self.state)
        release = releases.decide(time.time_ns() // 1_000_000).release
        self.started.append(release)
        if release in self.broken:
            return
        releases.confirm(release)
        said = {
            "pid": os.getpid(), "start_time": start_time(os.getpid()), "release": release, "ready": True,
            "started_ms": 0, "said_ms": 0, "addresses": [], "pods": {}, "devices": {}, "network": {},
        }  # fmt: skip
        (self.state / BEACON).write_text(json.dumps(said))

    def log(self, lines, *, follow):
        del lines, follow
        yield "the last words"


NEW = hashlib.sha256(b"new").hexdigest()


def test_a_release_that_becomes_ready_is_in_use(tmp_path, said):
    releases, service = Releases(tmp_path), StandIn(tmp_path)
    asyncio.run(updating.switch(releases, NEW, tmp_path, service, said.append, ready_s=30))
    assert (releases.current(), releases.trial(), service.started) == (NEW, None, [NEW])
    asyncio.run(updating.switch(releases, NEW, tmp_path, service, said.append, ready_s=30))
    assert service.started == [NEW]
    assert said[-1] == "the release is in use already"


def test_a_release_that_does_not_become_ready_is_undone(tmp_path, said):
    releases, service = Releases(tmp_path), StandIn(tmp_path, broken=(NEW,))
    with pytest.raises(OurError, match=r"(?s)the previous one runs again.*the last words"):
        asyncio.run(updating.switch(releases, NEW, tmp_path, service, said.append, ready_s=2))
    assert (releases.current(), releases.trial(), service.started) == (INSTALLED, None, [NEW, INSTALLED])


def test_old_releases_are_removed_but_the_one_before(tmp_path, said):
    releases = Releases(tmp_path)
    names = [hashlib.sha256(bytes([number])).hexdigest() for number in range(3)]
    service = StandIn(tmp_path)
    for name in names:
        (releases.folder / name / "app").mkdir(parents=True)
        releases.complete(name, sys.executable)
        asyncio.run(updating.switch(releases, name, tmp_path, service, said.append, ready_s=30))
    assert [releases.find(name) is not None for name in names] == [False, True, True]


@pytest.mark.parametrize(
    ("text", "good"), [("sha256:" + NEW, True), (NEW.upper(), True), ("12", False), ("x" * 64, False)]
)
def test_digests(text, good):
    if good:
        assert updating.digest_of(text) == NEW
    else:
        with pytest.raises(ValueError, match="64 hex digits"):
            updating.digest_of(text)
