"""Updates by signed releases: which are taken, which are refused with nothing changed, and which keys are kept."""

import asyncio
import hashlib
import shutil
from datetime import UTC, datetime

import pytest
from fake_service import FakeService

from node_agent.core.release_statement import ReleaseRefused, ReleaseStatement, ReleaseVersion, sign_statement
from node_agent.install import release_trust as trusting
from node_agent.install import update as updating
from node_agent.install.bundle import LOCK, build
from node_agent.install.release_trust import NAME, ReleaseTrust
from node_agent.install.releases import INSTALLED, Releases
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.cli.provider.status import ReleaseView, release_of
from offchain.devnet.paths import ROOT
from offchain.errors import OurError

KEY, OTHER = Ed25519Signer(b"\1" * 32), Ed25519Signer(b"\2" * 32)
PUBLIC, OTHER_PUBLIC = KEY.public_key.hex(), OTHER.public_key.hex()
CREATED = datetime(2026, 1, 31, tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class UpdateSetup:
    """An agent's folder, and somebody who publishes releases."""

    def __init__(self, folder):
        self.state = folder / "state"
        self.state.mkdir()
        self.origin = folder / "origin"
        (self.origin / "sources/node_agent/runtime").mkdir(parents=True)
        for name in ("__init__", "__main__", "runtime/__init__", "runtime/startup"):
            (self.origin / f"sources/node_agent/{name}.py").touch()
        shutil.copy(ROOT / LOCK, self.origin / f"sources/{LOCK}")  # so that no environment has to be made
        self.releases = Releases(self.state)
        self.service = FakeService(self.state)

    def publish(self, version, *keys, says=None, next_keys=(), adopt=()):
        """A bundle of this version, and its statement where there are keys. `says`: the version in the statement."""
        path = self.origin / f"agent-{version}-{len(list(self.origin.iterdir()))}.tar.gz"
        (self.origin / "sources/node_agent/runtime/startup.py").write_text(f"# {path.name}\n")
        digest = build(path, self.origin / "sources", version=version, release_keys=adopt)
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
def setup(tmp_path):
    return UpdateSetup(tmp_path)


def test_a_signed_release_needs_no_digest(setup):
    setup.keep(KEY)
    path, digest = setup.publish("0.2.0", KEY)
    done = setup.update(path)
    assert (done.digest, done.version, done.signed_by, done.keys) == (
        digest,
        ReleaseVersion(0, 2, 0),
        PUBLIC,
        (PUBLIC,),
    )
    assert setup.releases.current() == digest
    before = setup.files()
    setup.update(path)  # is in use already
    assert setup.files() == before


def test_what_is_not_signed_by_a_kept_key_is_refused(setup):
    setup.keep(KEY)
    unsigned, digest = setup.publish("0.2.0")
    setup.refuses(unsigned, rf"cannot be read.*keeps release keys \({PUBLIC}\)")
    setup.refuses(unsigned, "cannot be read", digest)
    foreign, digest = setup.publish("0.2.0", OTHER)
    setup.refuses(foreign, f"signed by {OTHER_PUBLIC}; this agent keeps {PUBLIC}", digest)
    good, digest = setup.publish("0.2.0", KEY)
    statement = good.with_name(f"{good.name}.statement")
    text = statement.read_bytes()
    statement.write_bytes(text.replace(b"0.2.0", b"0.3.0"))
    setup.refuses(good, "it was altered")
    statement.write_bytes(text[:-40])
    setup.refuses(good, "not a release statement")
    statement.write_bytes(text)
    setup.refuses(good, f"SHA-256 {digest}, and --digest is {'0' * 64}", "0" * 64)
    setup.refuses(good, "cannot be read", statement=str(setup.origin / "nowhere"))


def test_the_bundle_has_to_be_the_one_that_was_signed(setup):
    setup.keep(KEY)
    path, digest = setup.publish("0.2.0", KEY)
    path.write_bytes(path.read_bytes() + b"\0")
    setup.refuses(path, f"not {digest}", error=OurError)
    path, _ = setup.publish("0.2.0", KEY, says="0.9.0")
    setup.refuses(path, r"version 0\.2\.0, its statement 0\.9\.0")


def test_older_and_equal_versions_are_refused_unless_they_are_wanted(setup):
    setup.keep(KEY)
    installed, _ = setup.publish("0.1.0", KEY)
    setup.refuses(installed, "the same version")
    new, _ = setup.publish("0.3.0", KEY)
    old, old_digest = setup.publish("0.2.0", KEY, next_keys=(OTHER_PUBLIC,))
    setup.update(new)
    setup.refuses(old, "version 0.3.0 is in use, and the release is older")
    same, _ = setup.publish("0.3.0", KEY)
    setup.refuses(same, "the same version with another SHA-256")
    done = setup.update(old, allow_downgrade=True)
    assert (done.digest, setup.releases.current()) == (old_digest, old_digest)
    assert setup.kept() == (PUBLIC,), "a downgrade changes no keys"


def test_a_release_replaces_the_keys_once_it_is_in_use(setup):
    setup.keep(KEY)
    path, digest = setup.publish("0.2.0", KEY, next_keys=(OTHER_PUBLIC,))
    setup.service.broken.add(digest)
    with pytest.raises(OurError, match="the previous one runs again"):
        setup.update(path)
    assert setup.kept() == (PUBLIC,)
    setup.service.broken.clear()
    assert setup.update(path).keys == setup.kept() == (OTHER_PUBLIC,)
    setup.update(path)  # is in use already, although a key that was given up signed it
    by_old, _ = setup.publish("0.3.0", KEY)
    setup.refuses(by_old, f"signed by {PUBLIC}; this agent keeps {OTHER_PUBLIC}", allow_downgrade=True)
    by_new, digest = setup.publish("0.3.0", OTHER)
    assert setup.update(by_new).digest == digest


def test_keys_change_although_the_updater_is_killed(setup):
    setup.keep(KEY)
    path, digest = setup.publish("0.2.0", KEY, next_keys=(OTHER_PUBLIC,))
    setup.service.killed = True
    with pytest.raises(KeyboardInterrupt):
        setup.update(path)
    assert setup.kept() == (PUBLIC,)
    setup.service.killed = False
    with pytest.raises(OurError, match=f"{digest} is on trial"):
        setup.update(path)
    setup.releases.confirm(digest)
    assert setup.kept() == (OTHER_PUBLIC,)


def test_without_kept_keys_the_digest_decides_and_the_keys_of_the_bundle_are_adopted(setup):
    unsigned, digest = setup.publish("0.1.0")
    setup.refuses(unsigned, "keeps no release keys.*--digest", error=OurError)
    setup.refuses(unsigned, "Leave --statement out", digest, error=OurError, statement="x")
    assert setup.update(unsigned, digest).keys == ()
    assert not (setup.state / NAME).exists()
    first, digest = setup.publish("0.1.0", adopt=(PUBLIC,))
    setup.service.broken.add(digest)
    with pytest.raises(OurError, match="runs again"):
        setup.update(first, digest)
    assert setup.kept() == ()
    setup.service.broken.clear()
    assert setup.update(first, digest).keys == setup.kept() == (PUBLIC,)
    setup.refuses(unsigned, "keeps release keys", hashlib.sha256(unsigned.read_bytes()).hexdigest())


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
def test_a_file_of_keys_that_cannot_be_read_refuses_all(setup, text):
    path, digest = setup.publish("0.2.0", KEY)
    (setup.state / NAME).write_text(text)
    setup.refuses(path, "is not valid.*Nothing was changed", digest, error=OurError)


def test_a_damaged_release_that_is_here_already_is_not_run(setup):
    setup.keep(KEY)
    path, digest = setup.publish("0.2.0", KEY)
    setup.service.broken.add(digest)
    with pytest.raises(OurError, match="did not become ready"):
        setup.update(path)
    (setup.releases.folder / digest / "bundle.json").write_text("{}")
    setup.refuses(path, "is damaged", error=OurError)


def test_the_status_tells_version_and_keys(setup):
    assert release_of(setup.state) == ReleaseView(INSTALLED, "0.1.0", ())
    setup.keep(KEY)
    path, digest = setup.publish("0.2.0", KEY)
    setup.update(path)
    assert release_of(setup.state) == ReleaseView(digest, "0.2.0", (PUBLIC,))
    (setup.state / NAME).write_text("{")
    assert "is not valid" in release_of(setup.state).trouble


def test_two_updates_at_once_are_refused(setup):
    path, digest = setup.publish("0.2.0")
    with trusting.only_updater(setup.state):
        setup.refuses(path, "Another command", digest, error=OurError)
    assert setup.update(path, digest).digest == digest != INSTALLED


def test_statements_lie_beside_their_bundles():
    assert trusting.statement_beside("a/b.tar.gz") == "a/b.tar.gz.statement"
    assert trusting.statement_beside("https://x.org/b.tar.gz?t=1") == "https://x.org/b.tar.gz.statement?t=1"
