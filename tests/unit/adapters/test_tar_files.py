"""Archives: the same files give the same bytes, and a hostile one writes nowhere."""

import hashlib
import io
import os
import tarfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from offchain.adapters.transport.tar_files import BadArchive, check, pack, plan, unpack
from offchain.errors import OurError
from tests.support.examples import examples


def packed(source, name="copy"):
    packing = plan(source, name)
    data = b"".join(pack(packing))
    assert len(data) == packing.size
    return data


def tree(root):
    return {
        str(path.relative_to(root)): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in root.rglob("*")
        if path.is_symlink() or path.is_file()
    }


@pytest.fixture
def source(tmp_path):
    root = tmp_path / "source"
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "file.bin").write_bytes(os.urandom(70_000))
    (root / "empty").write_bytes(b"")
    (root / "run.sh").write_bytes(b"#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("deep/file.bin")
    (root / ("n" * 120 + " ü")).write_bytes(b"long name")
    return root


def test_a_tree_survives(source, tmp_path):
    unpack(io.BytesIO(packed(source)), tmp_path / "target")
    assert tree(tmp_path / "target") == tree(source)
    assert (tmp_path / "target" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_the_same_files_give_the_same_bytes_and_others_another_identity(source):
    before = plan(source, "copy")
    assert packed(source) == packed(source)
    (source / "empty").write_bytes(b"x")
    assert plan(source, "copy").identity != before.identity


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(30), deadline=None)
@given(st.dictionaries(st.text("ab.", min_size=1, max_size=5).filter(lambda n: n.strip(".")), st.binary(max_size=1500)))
def test_any_files_survive(tmp_path, files):
    root = tmp_path / hashlib.sha256(repr(files).encode()).hexdigest()[:8]
    (root / "source").mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (root / "source" / name).write_bytes(data)
    target = root / os.urandom(4).hex()
    unpack(io.BytesIO(packed(root / "source")), target)
    assert tree(target) == files


def test_one_file_replaces_another_but_no_folder(tmp_path):
    (tmp_path / "a").write_bytes(b"new")
    (tmp_path / "b").write_bytes(b"old")
    unpack(io.BytesIO(packed(tmp_path / "a")), tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"new"
    (tmp_path / "c").mkdir()
    with pytest.raises(OurError, match="is a folder"):
        unpack(io.BytesIO(packed(tmp_path / "a")), tmp_path / "c")


def test_files_that_cannot_be_packed_are_reported(tmp_path):
    with pytest.raises(OurError, match="nowhere"):
        plan(tmp_path / "nowhere", "x")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OurError, match="neither"):
        plan(tmp_path / "pipe", "x")
    (tmp_path / "file").write_bytes(b"x")
    assert plan(tmp_path, "x").skipped == (str(tmp_path / "pipe"),)


def test_a_file_that_becomes_shorter_while_it_is_packed_is_reported(tmp_path):
    (tmp_path / "file").write_bytes(bytes(1000))
    packing = plan(tmp_path / "file", "x")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OurError, match="shorter"):
        b"".join(pack(packing))


def archive(*members):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for member in members:
            info, data = tarfile.TarInfo(member["name"]), member.get("data", b"")
            info.size = len(data)
            for name, value in member.items():
                if name not in ("name", "data"):
                    setattr(info, name, value)
            tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


LINK = {"name": "x/link", "type": tarfile.SYMTYPE}
FOLDER = {"name": "x", "type": tarfile.DIRTYPE}
HOSTILE = [
    archive({"name": "../evil", "data": b"!"}),
    archive({"name": "/tmp/evil", "data": b"!"}),
    archive(FOLDER, {"name": "x/../../evil", "data": b"!"}),
    archive(FOLDER, {**LINK, "linkname": "/etc"}),
    archive(FOLDER, {**LINK, "linkname": "../../up"}),
    archive(FOLDER, {**LINK, "linkname": "a/../../../up"}),
    archive(FOLDER, {"name": "x/hard", "type": tarfile.LNKTYPE, "linkname": "/etc/passwd"}),
    archive(FOLDER, {"name": "x/dev", "type": tarfile.BLKTYPE}),
    archive({"name": "/".join("a" * 100), "data": b"!"}),
    b"not a tar" * 200,
]


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_archive_is_refused_and_writes_nothing(tmp_path, data):
    inner = tmp_path / "inner"
    inner.mkdir()
    with pytest.raises(BadArchive):
        check(io.BytesIO(data), most_bytes=1 << 20)
    with pytest.raises(BadArchive):
        unpack(io.BytesIO(data), inner / "target")
    assert [path for path in tmp_path.rglob("*") if path != inner] == []


def test_nothing_is_written_through_a_link(tmp_path):
    data = archive(FOLDER, {**LINK, "linkname": "inside"}, {"name": "x/link", "data": b"a file now"})
    unpack(io.BytesIO(data), tmp_path / "target")
    assert (tmp_path / "target" / "link").read_bytes() == b"a file now"
    over = archive(FOLDER, {**LINK, "linkname": "."}, {"name": "x/link/file", "data": b"through"})
    unpack(io.BytesIO(over), tmp_path / "other")
    assert not (tmp_path / "other" / "file").exists()


def link(name, target):
    return {"name": name, "type": tarfile.SYMTYPE, "linkname": target}


@pytest.mark.parametrize(
    "members",
    [
        [link("x", "etc")],
        [FOLDER, link("x/a", "../y")],
        [FOLDER, link("x/a", "..")],
        # One link after the other: each for itself goes no higher than the folder that is copied.
        [FOLDER, link("x/d/up", ".."), link("x/d/out", "up/../..")],
        [FOLDER, link("x/a", "b/.."), link("x/b", ".")],
    ],
)
def test_no_link_leads_out_of_what_is_copied_not_even_through_another(tmp_path, members):
    with pytest.raises(BadArchive, match="outside"):
        unpack(io.BytesIO(archive(*members)), tmp_path / "target")
    assert list(tmp_path.iterdir()) == []


PARTS = st.sampled_from(["..", ".", "a", "b", "c"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.dictionaries(
        st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join),
        st.lists(PARTS, min_size=1, max_size=5).map("/".join),
        max_size=5,
    )
)
def test_whatever_links_are_made_lead_inside(tmp_path, links):
    target = tmp_path / os.urandom(8).hex()
    try:
        unpack(io.BytesIO(archive(FOLDER, *(link(f"x/{name}", to) for name, to in links.items()))), target)
    except BadArchive:
        return
    for path in [target, *target.rglob("*")]:
        if path.is_symlink():
            try:
                path.resolve(strict=True)
            except (OSError, RuntimeError):
                continue  # it leads nowhere, or round and round
            assert path.resolve().is_relative_to(target)


def test_more_than_one_thing_is_refused(tmp_path):
    with pytest.raises(BadArchive, match="2 things"):
        unpack(io.BytesIO(archive({"name": "a"}, {"name": "b"})), tmp_path / "target")


def test_more_bytes_than_said_are_refused():
    with pytest.raises(BadArchive, match="more than 10 bytes"):
        check(io.BytesIO(archive({"name": "a", "data": bytes(11)})), most_bytes=10)


@given(st.binary(max_size=3000))
def test_any_bytes_are_an_archive_or_refused(data):
    try:
        check(io.BytesIO(data), most_bytes=1 << 20)
    except BadArchive:
        return


def test_set_user_id_does_not_travel(tmp_path):
    (tmp_path / "tool").write_bytes(b"x")
    (tmp_path / "tool").chmod(0o4755)
    unpack(io.BytesIO(packed(tmp_path / "tool")), tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_mode & 0o7777 == 0o755
    made = archive({"name": "tool", "mode": 0o6777})
    unpack(io.BytesIO(made), tmp_path / "other")
    assert (tmp_path / "other").stat().st_mode & 0o6000 == 0
