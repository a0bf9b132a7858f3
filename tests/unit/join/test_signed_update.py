"""Updates by signed releases: which are taken, which are refused with nothing changed, and which keys are kept."""

import asyncio
import hashlib
import json
import os
import shutil
import time
from datetime import UTC, datetime

import pytest

from node_agent.core.release_statement import ReleaseRefused, ReleaseStatement, ReleaseVersion, sign_statement
from node_agent.install import release_trust as trusting
from node_agent.install import update as updating
from node_agent.install.bundle import LOCK, build
from node_agent.install.launch import ROOT
from node_agent.install.release_trust import NAME, ReleaseTrust
from node_agent.install.releases import INSTALLED, Releases
from node_agent.runtime.status_file import NAME as BEACON
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.cli.provider.status import ReleaseView, release_of
from offchain.errors import OurError
from offchain.processes import start_time

KEY, OTHER = Ed25519Signer(b"\1" * 32), Ed25519Signer(b"\2" * 32)
PUBLIC, OTHER_PUBLIC = KEY.public_key.hex(), OTHER.public_key.hex()
CREATED = datetime(2026, 1, 31, tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class StandIn:
    """A service whose agent is this process: it says what a release would say when it is started."""

    kind = "stand-in"

    def __init__(self, state):
        self.state = state
        self.broken = set()
        self.killed = False

    def running(self):
        return True

    def restart(self):
        if self.killed:
            raise KeyboardInterrupt
        releases = Releases(self.state)
        release = releases.decide(time.time_ns() // 1_000_000).release
        if release in self.broken:
            releases.give_up(release)
            self.restart()
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


class World:
    """An agent's folder, and somebody who publishes releases."""

    def __init__(self, folder):
        self.state = folder / "state"
        self.state.mkdir()
        self.shop = folder / "shop"
        (self.shop / "sources/node_agent/runtime").mkdir(parents=True)
        for name in ("__init__", "__main__", "runtime/__init__", "runtime/startup"):
            (self.shop / f"sources/node_agent/{name}.py").touch()
        shutil.copy(ROOT / LOCK, self.shop / f"sources/{LOCK}")  # so that no environment has to be made
        self.releases = Releases(self.state)
        self.service = StandIn(self.state)

    def publish(self, version, *keys, says=None, next_keys=(), adopt=()):
        """A bundle of this version, and its statement where there are keys. `says`: the version in the statement."""
        path = self.shop / f"agent-{version}-{len(list(self.shop.iterdir()))}.tar.gz"
        (self.shop / "sources/node_agent/runtime/startup.py").write_text(f"# {path.name}\n")
        digest = build(path, self.shop / "sources", version=version, release_keys=adopt)
        if keys:
            major, minor, patch = map(int, (says or version).split("."))
            statement = ReleaseStatement(ReleaseVersion(major, minor, patch), digest, CREATED, tuple(next_keys))
            path.with_name(f"{path.name}.statement").write_bytes(sign_statement(statement, keys))
        return path, digest

    def keep(self, *keys):
        trusting.save(self.state, ReleaseTrust(tuple(key.public_key.hex() for key in keys)))

    def kept(self):
        return trusting.load(self.releases, self.state).keys

    def update(self, path, digest=None, **options):
        said = []
        return asyncio.run(
            updating.update(self.releases, self.state, self.service, str(path), said.append, digest=digest, **options)
        )

    def files(self):
        return {
            str(path.relative_to(self.state)): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
            for path in sorted(self.state.rglob("*"))
        }

    def refuses(self, path, why, digest=None, error=ReleaseRefused, **options):
        before, current = self.files(), self.releases.current()
        with pytest.raises(error, match=why):
            self.update(path, digest, **options)
        assert self.files() == before
        assert self.releases.current() == current
        assert self.releases.trial() is None


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_a_signed_release_needs_no_digest(world):
    world.keep(KEY)
    path, digest = world.publish("0.2.0", KEY)
    done = world.update(path)
    assert (done.digest, done.version, done.signed_by, done.keys) == (
        digest,
        ReleaseVersion(0, 2, 0),
        PUBLIC,
        (PUBLIC,),
    )
    assert world.releases.current() == digest
    before = world.files()
    world.update(path)  # is in use already
    assert world.files() == before


def test_what_is_not_signed_by_a_kept_key_is_refused(world):
    world.keep(KEY)
    unsigned, digest = world.publish("0.2.0")
    world.refuses(unsigned, rf"cannot be read.*keeps release keys \({PUBLIC}\)")
    world.refuses(unsigned, "cannot be read", digest)
    foreign, digest = world.publish("0.2.0", OTHER)
    world.refuses(foreign, f"signed by {OTHER_PUBLIC}; this agent keeps {PUBLIC}", digest)
    good, digest = world.publish("0.2.0", KEY)
    statement = good.with_name(f"{good.name}.statement")
    text = statement.read_bytes()
    statement.write_bytes(text.replace(b"0.2.0", b"0.3.0"))
    world.refuses(good, "it was altered")
    statement.write_bytes(text[:-40])
    world.refuses(good, "not a release statement")
    statement.write_bytes(text)
    world.refuses(good, f"SHA-256 {digest}, and --digest is {'0' * 64}", "0" * 64)
    world.refuses(good, "cannot be read", statement=str(world.shop / "nowhere"))


def test_the_bundle_has_to_be_the_one_that_was_signed(world):
    world.keep(KEY)
    path, digest = world.publish("0.2.0", KEY)
    path.write_bytes(path.read_bytes() + b"\0")
    world.refuses(path, f"not {digest}", error=OurError)
    path, _ = world.publish("0.2.0", KEY, says="0.9.0")
    world.refuses(path, r"version 0\.2\.0, its statement 0\.9\.0")


def test_older_and_equal_versions_are_refused_unless_they_are_wanted(world):
    world.keep(KEY)
    installed, _ = world.publish("0.1.0", KEY)
    world.refuses(installed, "the same version")
    new, _ = world.publish("0.3.0", KEY)
    old, old_digest = world.publish("0.2.0", KEY, next_keys=(OTHER_PUBLIC,))
    world.update(new)
    world.refuses(old, "version 0.3.0 is in use, and the release is older")
    same, _ = world.publish("0.3.0", KEY)
    world.refuses(same, "the same version with another SHA-256")
    done = world.update(old, allow_downgrade=True)
    assert (done.digest, world.releases.current()) == (old_digest, old_digest)
    assert world.kept() == (PUBLIC,), "a downgrade changes no keys"


def test_a_release_replaces_the_keys_once_it_is_in_use(world):
    world.keep(KEY)
    path, digest = world.publish("0.2.0", KEY, next_keys=(OTHER_PUBLIC,))
    world.service.broken.add(digest)
    with pytest.raises(OurError, match="the previous one runs again"):
        world.update(path)
    assert world.kept() == (PUBLIC,)
    world.service.broken.clear()
    assert world.update(path).keys == world.kept() == (OTHER_PUBLIC,)
    world.update(path)  # is in use already, although a key that was given up signed it
    by_old, _ = world.publish("0.3.0", KEY)
    world.refuses(by_old, f"signed by {PUBLIC}; this agent keeps {OTHER_PUBLIC}", allow_downgrade=True)
    by_new, digest = world.publish("0.3.0", OTHER)
    assert world.update(by_new).digest == digest


def test_keys_change_although_the_updater_is_killed(world):
    world.keep(KEY)
    path, digest = world.publish("0.2.0", KEY, next_keys=(OTHER_PUBLIC,))
    world.service.killed = True
    with pytest.raises(KeyboardInterrupt):
        world.update(path)
    assert world.kept() == (PUBLIC,)
    world.service.killed = False
    with pytest.raises(OurError, match=f"{digest} is on trial"):
        world.update(path)
    world.releases.confirm(digest)
    assert world.kept() == (OTHER_PUBLIC,)


def test_without_kept_keys_the_digest_decides_and_the_keys_of_the_bundle_are_adopted(world):
    unsigned, digest = world.publish("0.1.0")
    world.refuses(unsigned, "keeps no release keys.*--digest", error=OurError)
    world.refuses(unsigned, "Leave --statement out", digest, error=OurError, statement="x")
    assert world.update(unsigned, digest).keys == ()
    assert not (world.state / NAME).exists()
    first, digest = world.publish("0.1.0", adopt=(PUBLIC,))
    world.service.broken.add(digest)
    with pytest.raises(OurError, match="runs again"):
        world.update(first, digest)
    assert world.kept() == ()
    world.service.broken.clear()
    assert world.update(first, digest).keys == world.kept() == (PUBLIC,)
    world.refuses(unsigned, "keeps release keys", hashlib.sha256(unsigned.read_bytes()).hexdigest())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"format": 1}',
        '{"format": 2, "keys": []}',
        '{"format": 1, "keys": ["x"]}',
        "[" * 9000,
        " " * 20_000,
    ],
)
def test_a_file_of_keys_that_cannot_be_read_refuses_all(world, text):
    path, digest = world.publish("0.2.0", KEY)
    (world.state / NAME).write_text(text)
    world.refuses(path, "is not valid.*Nothing was changed", digest, error=OurError)


def test_a_damaged_release_that_is_here_already_is_not_run(world):
    world.keep(KEY)
    path, digest = world.publish("0.2.0", KEY)
    world.service.broken.add(digest)
    with pytest.raises(OurError, match="did not become ready"):
        world.update(path)
    (world.releases.folder / digest / "bundle.json").write_text("{}")
    world.refuses(path, "is damaged", error=OurError)


def test_the_status_tells_version_and_keys(world):
    assert release_of(world.state) == ReleaseView(INSTALLED, "0.1.0", ())
    world.keep(KEY)
    path, digest = world.publish("0.2.0", KEY)
    world.update(path)
    assert release_of(world.state) == ReleaseView(digest, "0.2.0", (PUBLIC,))
    (world.state / NAME).write_text("{")
    assert "is not valid" in release_of(world.state).trouble


def test_two_updates_at_once_are_refused(world):
    path, digest = world.publish("0.2.0")
    with trusting.only_updater(world.state):
        world.refuses(path, "Another command", digest, error=OurError)
    assert world.update(path, digest).digest == digest != INSTALLED


def test_statements_lie_beside_their_bundles():
    assert trusting.statement_beside("a/b.tar.gz") == "a/b.tar.gz.statement"
    assert trusting.statement_beside("https://x.org/b.tar.gz?t=1") == "https://x.org/b.tar.gz.statement?t=1"
