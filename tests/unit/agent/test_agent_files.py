"""Files that tenants deliver: what is taken, and who may read it."""

import hashlib
import os

import pytest
from agent_builders import a_service, a_spec

from node_agent.runtime.delivered_files import MAX_SECRET_BYTES, FileStore
from offchain.schema.manifest.types import DeliveredFile, SshSpec

DATA = b"data"
TOKEN = DeliveredFile("token", "/run/secrets/token", None)
INPUT = DeliveredFile("input", "/in", hashlib.sha256(DATA).digest())
SPEC = a_spec(
    1, a_service(files=(TOKEN, INPUT)), ssh=SshSpec(("ssh-ed25519 AAAA me",), "/root/.ssh/authorized_keys", 22)
)


@pytest.fixture
def store(tmp_path):
    (tmp_path / "memory").mkdir()
    return FileStore(tmp_path / "agent", tmp_path / "memory")


def mode(path):
    return path.stat().st_mode & 0o777


def test_secrets_are_in_memory_and_inputs_on_disk_both_private(store, tmp_path):
    store.put(SPEC, "token", b"secret")
    store.put(SPEC, "input", DATA)
    secret, kept = store.path(1, "token"), store.path(1, "input")
    assert secret.is_relative_to(tmp_path / "memory")
    assert kept.is_relative_to(tmp_path / "agent")
    for path in (secret, kept):
        assert mode(path) == 0o600
        assert mode(path.parent) == mode(path.parent.parent) == 0o700
    assert store.names(SPEC) == ("input", "token")


def test_they_are_there_for_the_next_agent_and_go_with_the_pod(store, tmp_path):
    store.put(SPEC, "token", b"secret")
    again = FileStore(tmp_path / "agent", tmp_path / "memory")
    assert again.path(1, "token").read_bytes() == b"secret"
    assert again.leases() == {1}
    again.remove(1)
    again.remove(1)
    assert list((tmp_path / "memory").iterdir()) == []
    assert again.names(SPEC) == ()
    assert again.leases() == frozenset()


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("other", b"", "waits for no file"),
        ("input", b"altered", "SHA-256"),
        ("token", bytes(MAX_SECRET_BYTES + 1), "at most"),
        ("../token", b"", "waits for no file"),
    ],
)
def test_what_the_manifest_does_not_say_is_not_taken(store, name, data, says):
    with pytest.raises(ValueError, match=says):
        store.put(SPEC, name, data)
    assert store.names(SPEC) == ()


def test_a_container_that_runs_as_somebody_known_is_the_only_one_to_read_its_file(store):
    store.put(SPEC, "token", b"secret")
    store.allow_reading(1, "token", os.getuid())
    assert mode(store.path(1, "token")) == 0o400
    store.allow_reading(1, "token", None)
    assert mode(store.path(1, "token")) == 0o444


def test_the_keys_of_a_rental_are_a_file_like_others(store):
    store.put_keys(SPEC)
    assert store.path(1, ".authorized_keys").read_text() == "ssh-ed25519 AAAA me\n"


def test_a_folder_of_another_user_is_refused(tmp_path):
    (tmp_path / "memory").mkdir()
    name = f"gantry-{os.getuid()}-" + hashlib.sha256(str((tmp_path / "agent").resolve()).encode()).hexdigest()[:16]
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "memory" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError, match="another user"):
        FileStore(tmp_path / "agent", tmp_path / "memory")
