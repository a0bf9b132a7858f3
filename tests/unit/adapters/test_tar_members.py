"""Headers of hostile archives cost a bounded amount of memory and time, and lead nowhere."""

import io
import os
import tarfile
import time
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from offchain.adapters.transport import tar_members
from offchain.adapters.transport.tar_files import BadArchive, check, unpack
from offchain.adapters.transport.tar_members import MemberKind, Members
from offchain.errors import OurError
from tests.support.examples import examples

END = bytes(1024)
GIB = 1 << 30


def header(name="x", kind=b"0", size=0, target="", form=tarfile.USTAR_FORMAT, **fields):
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size, target
    for field, value in fields.items():
        setattr(info, field, value)
    return info.tobuf(form)


def padded(data):
    return data + bytes(-len(data) % 512)


def record(name, value):
    rest = len(name) + len(value) + 3
    length = rest + len(str(rest + len(str(rest))))
    return b"%d %s=%s\n" % (length, name, value)


def pax(*records, data=b"", **member):
    body = b"".join(record(name, value) for name, value in records)
    return header("p", b"x", len(body)) + padded(body) + header(size=len(data), **member) + padded(data)


def read(data):
    return list(Members(io.BytesIO(data)))


COSTLY = {
    "a header of a gibibyte": header("p", b"x", GIB),
    "a header of no bytes": header("p", b"x", 0) + header(),
    "headers in a row": header("p", b"x", 512) + padded(record(b"path", b"y")) + header("p", b"x", 512),
    "a GNU long name of a gibibyte": header("p", b"L", GIB),
    "GNU long names in a row": (header("p", b"L", 512) + bytes(512)) * 2000,
    "a header for all files": header("p", b"g", 512) + padded(record(b"path", b"/etc/passwd")) + header(),
    "GNU sparse": header("p", b"S", 512) + bytes(512),
    "sparse, form 0.0": pax((b"GNU.sparse.size", b"9" * 5000)),
    "sparse, form 0.1": pax((b"GNU.sparse.map", b"0,1,2,3")),
    "sparse, form 1.0": pax((b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"), data=b"99999999\n"),
    "GNU format": header("x" * 99, form=tarfile.GNU_FORMAT),
    "a negative size": pax((b"size", b"-512")),
    "a negative size in the plain header": header(size=-512, form=tarfile.GNU_FORMAT),
    "a size with a fraction": pax((b"size", b"1e3")),
    "a size of 10,000 digits": pax((b"size", b"1" * 10_000)),
    "a size beyond the archive": pax((b"size", b"1000000000000")),
    "a file that is cut off": header(size=600) + bytes(512),
    "a header that is cut off": header()[:300],
    "a length of no digits": header("p", b"x", 512) + padded(b"x path=y\n") + header(),
    "a length beyond the header": header("p", b"x", 9) + padded(b"99 path=y\n") + header(),
    "a length of 0": header("p", b"x", 9) + padded(b"0 path=y\n") + header(),
    "a length of 20 digits": header("p", b"x", 30) + padded(b"1" * 20 + b" path=y\n") + header(),
    "a path of 5000 characters": pax((b"path", b"/".join([b"a" * 99] * 50))),
    "a name of 256 characters": pax((b"path", b"a" * 256)),
    "a link to 5000 characters": pax((b"linkpath", b"a/" * 2500), kind=b"2"),
    "nothing": b"",
    "only an end": END,
    "garbage after a member": header() + b"garbage" * 100,
}


@pytest.mark.parametrize("data", COSTLY.values(), ids=COSTLY)
def test_a_header_that_costs_much_or_says_what_cannot_be_is_refused(data):
    tracemalloc.start()
    try:
        with pytest.raises(BadArchive):
            read(data)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_number_of_any_length_is_read_in_linear_time():
    """tarfile before 3.11.10 takes some ten seconds for this header and holds the interpreter's lock meanwhile."""
    data = pax((b"uid", b"9" * 60_000)) + END
    begun = time.process_time()
    assert [member.name for member in read(data)] == ["x"]
    assert time.process_time() - begun < 1


def test_an_extended_header_overrides_path_link_and_size_before_they_are_checked():
    for hostile in (
        pax((b"path", b"../evil"), name="good"),
        pax((b"path", b"/etc/passwd"), name="good"),
        pax((b"path", b"a\0b"), name="good"),
        pax((b"linkpath", b"/etc/passwd"), name="good", kind=b"2", target="inside"),
        pax((b"path", b"good"), (b"path", b"../evil")),
        header("good", b"2"),
    ):
        with pytest.raises(BadArchive, match="outside"):
            check(io.BytesIO(hostile + END), most_bytes=1000)
    (long,) = read(pax((b"path", b"d/" + b"n" * 200), (b"size", b"3")) + padded(b"abc") + END)
    assert (long.name, long.size) == ("d/" + "n" * 200, 3)
    (kept,) = read(pax((b"path", b""), name="plain") + END)
    assert kept.name == "plain"


def test_a_file_that_grows_by_its_extended_header_counts_as_it_is():
    with pytest.raises(BadArchive, match="more than 10 bytes"):
        check(io.BytesIO(pax((b"size", b"11")) + padded(bytes(11)) + END), most_bytes=10)


@pytest.mark.parametrize("said", [b"nan", b"inf", b"-inf", b"1e300", b"-1e18", b"soon", b"9" * 400])
def test_an_impossible_time_is_ignored(tmp_path, said):
    unpack(io.BytesIO(pax((b"mtime", said), data=b"abc") + END), tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"abc"


def test_a_name_that_is_no_text_is_written_as_it_is(tmp_path):
    unpack(io.BytesIO(pax((b"path", b"d\xff/\x9b2J"), data=b"x") + END), tmp_path / "copy")
    assert [os.fsencode(path.name) for path in (tmp_path / "copy").iterdir()] == [b"\x9b2J"]


def test_entries_and_names_are_bounded_together(monkeypatch):
    monkeypatch.setattr(tar_members, "MAX_ENTRIES", 100)
    with pytest.raises(BadArchive, match="100 files"):
        read(header() * 101 + END)
    monkeypatch.setattr(tar_members, "MAX_NAME_BYTES", 1000)
    with pytest.raises(BadArchive, match="of names"):
        read(header("n" * 90) * 20 + END)


def test_members_that_were_read_take_no_memory():
    data = header(kind=b"5") * 3_000 + END
    tracemalloc.start()
    try:
        assert sum(1 for _ in Members(io.BytesIO(data))) == 3_000
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_nothing_is_unpacked_into_a_closed_folder():
    data = header("dev", b"5") + header("dev/shm", b"5") + header("dev/shm/x") + END
    check(io.BytesIO(data), most_bytes=10, closed=["proc", "de", "dev/shm/x/y"])
    for closed in ("dev", "dev/shm", "dev/shm/x"):
        with pytest.raises(BadArchive, match="below a mount"):
            check(io.BytesIO(data), most_bytes=10, closed=[closed])


NAMES = st.lists(st.sampled_from(["..", ".", "a", "b", "\x1b[2J", "ü", "n" * 120]), min_size=1, max_size=4).map(
    "/".join
)
TEXTS = NAMES.flatmap(lambda name: st.sampled_from([name, "/" + name, name + "/"]))
MEMBERS = st.fixed_dictionaries(
    {
        "name": TEXTS,
        "kind": st.sampled_from([b"0", b"0", b"5", b"5", b"2", b"1", b"3", b"4", b"6", b"7", b"L", b"K", b"S", b"\0"]),
        "target": TEXTS,
        "mode": st.sampled_from([0o644, 0o755, 0o6777, 0]),
        "data": st.binary(max_size=600),
        "records": st.lists(
            st.tuples(
                st.sampled_from([b"path", b"linkpath", b"size", b"mtime", b"uid", b"GNU.sparse.size"]),
                TEXTS.map(str.encode) | st.sampled_from([b"", b"0", b"3", b"-1", b"nan", b"512"]),
            ),
            max_size=2,
        ),
    }
)


def written(member):
    data = member["data"] if member["kind"] in (b"0", b"\0", b"7", b"L", b"K") else b""
    fields = {"name": member["name"][-49:], "kind": member["kind"], "target": member["target"][-49:]}
    if member["records"]:
        return pax(*member["records"], data=data, mode=member["mode"], **fields)
    return header(size=len(data), mode=member["mode"], **fields) + padded(data)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(100), deadline=None)
@given(st.lists(MEMBERS, min_size=1, max_size=5), st.integers(0, 3000))
def test_whatever_an_archive_holds_it_is_unpacked_inside_or_refused(tmp_path, hostile, cut):
    outer = tmp_path / os.urandom(8).hex()
    (outer / "inner").mkdir(parents=True)
    whole = b"".join(map(written, hostile)) + END
    for data in (whole, whole[:cut]):
        try:
            unpack(io.BytesIO(data), outer / "inner" / "copy")
        except (BadArchive, OurError):
            assert list((outer / "inner").iterdir()) in ([], [outer / "inner" / "copy"])
    assert list(outer.iterdir()) == [outer / "inner"]
    assert set((outer / "inner").iterdir()) <= {outer / "inner" / "copy"}
    for path in (outer / "inner").rglob("*"):
        assert path.lstat().st_mode & 0o6000 == 0
        if path.is_symlink():
            assert not path.readlink().is_absolute()
        else:
            assert path.is_file() or path.is_dir()


def test_what_this_client_and_python_write_is_read():
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in ("a", "n" * 150, "ü", "/".join(["d" * 60] * 4)):
            info = tarfile.TarInfo(name)
            info.size, info.mtime = 700, 1.5
            tar.addfile(info, io.BytesIO(bytes(700)))
    made.seek(0)
    found = read(made.getvalue())
    assert [(one.kind, one.size, one.mtime) for one in found] == [(MemberKind.FILE, 700, 1.5)] * 4
    assert [len(one.name) for one in found] == [1, 150, 1, 243]
