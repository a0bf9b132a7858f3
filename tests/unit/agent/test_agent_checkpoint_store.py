"""Files of saved folders: whole, checked, readable by nobody else, and there again after a kill."""

import contextlib
import hashlib
import io
import stat
import tarfile

import pytest

from node_agent.checkpoints.store import CheckpointStore, FolderTooLarge
from node_agent.core.checkpoints import ReportedCheckpoint
from node_agent.runtime.state_dir import StateDir
from offchain.adapters.transport.tar_files import BadArchive
from tests.support.fake_driver import packed

KEY = (7, 0)
ARCHIVE = packed({"/ckpt/step": b"3", "/ckpt/deep/model": b"m" * 5000}, "/ckpt")
DIGEST = hashlib.sha256(ARCHIVE).digest()
KNOWN = ReportedCheckpoint(DIGEST, len(ARCHIVE), "5Other", 9)


@pytest.fixture
def state(tmp_path):
    with contextlib.closing(StateDir(tmp_path)) as state:
        yield state


async def pieces(data, fails=None):
    yield data[:700]
    if fails is not None:
        raise fails
    yield data[700:]


def save(store, data=ARCHIVE, *, key=KEY, fails=None, most=1 << 20, at_ms=5):
    return store.save(pieces(data, fails), key, 70, "ckpt", most_bytes=most, at_ms=at_ms)


def files(store):
    return sorted(store._folder.iterdir())


async def test_what_is_saved_is_there_after_a_restart_of_the_agent(state, tmp_path):
    kept = await save(state.checkpoints)
    assert (kept.digest, kept.size, kept.saved_at_ms, kept.lease) == (DIGEST, len(ARCHIVE), 5, 70)
    (tmp_path / "checkpoints" / "half.part").write_bytes(b"half")
    again = CheckpointStore(tmp_path / "checkpoints", state.store)
    assert again.all() == (kept,)
    assert files(again) == [again.path(kept)]
    assert again.path(kept).read_bytes() == ARCHIVE
    assert stat.S_IMODE(again.path(kept).stat().st_mode) == 0o600


async def test_a_stream_that_breaks_off_leaves_nothing(state):
    with pytest.raises(OSError, match="gone"):
        await save(state.checkpoints, fails=OSError("gone"))
    with pytest.raises(BadArchive):
        await save(state.checkpoints, ARCHIVE[:4000])
    assert (state.checkpoints.all(), files(state.checkpoints)) == ((), [])


async def test_no_more_is_kept_than_the_lease_has_disk(state):
    with pytest.raises(FolderTooLarge):
        await save(state.checkpoints, most=len(ARCHIVE) - 1)
    assert files(state.checkpoints) == []


async def test_the_same_content_of_two_pods_is_one_file(state):
    store = state.checkpoints
    one, other = await save(store), await save(store, key=(7, 1))
    assert len(files(store)) == 1
    store.remove(one)
    assert store.find((7, 1), DIGEST) == other
    assert len(files(store)) == 1
    store.remove(other)
    assert (store.all(), files(store)) == ((), [])


async def test_a_fetched_file_is_kept_only_where_it_is_what_the_chain_says(state):
    store = state.checkpoints
    store.part(KEY).write_bytes(ARCHIVE[:-1] + b"x")
    with pytest.raises(BadArchive, match="not what the chain says"):
        await store.take(store.part(KEY), KEY, KNOWN, "ckpt")
    assert files(store) == []
    store.part(KEY).write_bytes(ARCHIVE)
    kept = await store.take(store.part(KEY), KEY, KNOWN, "ckpt")
    assert (kept.lease, kept.saved_at_ms) == (None, 9)
    assert files(store) == [store.path(kept)]


def hostile(*members):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, kind, link in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, link
            tar.addfile(member)
    return made.getvalue()


@pytest.mark.parametrize(
    "archive",
    [
        hostile(("etc/passwd", tarfile.REGTYPE, "")),
        hostile(("/ckpt/x", tarfile.REGTYPE, "")),
        hostile(("ckpt/../x", tarfile.REGTYPE, "")),
        hostile(("ckpt", tarfile.SYMTYPE, "etc")),
        hostile(("ckpt", tarfile.DIRTYPE, ""), ("ckpt/a", tarfile.SYMTYPE, "../etc")),
        hostile(("ckpt/a/b", tarfile.SYMTYPE, "../x"), ("ckpt/a/b/c", tarfile.SYMTYPE, "../../y")),
        hostile(("ckpt/a", tarfile.LNKTYPE, "etc/passwd")),
        hostile(("ckpt/a", tarfile.CHRTYPE, "")),
    ],
)
async def test_an_archive_that_leads_out_of_its_folder_is_not_kept(state, archive):
    with pytest.raises(BadArchive):
        await save(state.checkpoints, archive)
    assert files(state.checkpoints) == []


async def test_links_within_the_folder_are_kept(state):
    archive = hostile(("ckpt", tarfile.DIRTYPE, ""), ("ckpt/latest", tarfile.SYMTYPE, "step-3"))
    assert (await save(state.checkpoints, archive)).size == len(archive)
