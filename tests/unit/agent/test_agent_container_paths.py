"""Refused paths of images and containers, and mounts that copies do not reach."""

import contextlib
import posixpath
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node_agent.drivers.access_port import PathHidden
from node_agent.drivers.docker.container_paths import (
    ENGINE_TARGETS,
    GATE_WORDS,
    MAX_LOOKS,
    MAX_VOLUMES,
    UNCOPIED,
    PathRefused,
    check_targets,
    hidden_below,
    image_refusal,
    mount_targets,
    mounts_of,
)
from offchain.schema.manifest.protected_paths import (
    GATE,
    INIT,
    KERNEL,
    NOTICES,
    SHARED_MEMORY,
    plain_path,
    protected_folder,
)

PROTECTED = (*KERNEL, NOTICES)
names = st.sampled_from(["a", "proc", "sys", "dev", "run", "gantry", "shm", "self", "...", "gantry2"])


@st.composite
def disguised(draw, path):
    """Another way to write an absolute path."""
    text = draw(st.sampled_from(["/", "//", "///", "/./", "/../", "", "./", "../"]))
    for part in path.strip("/").split("/"):
        text += draw(st.sampled_from(["", "", "./", "x/../", "/", "x/y/../../"])) + part
        text += draw(st.sampled_from(["/", "//", "/./"]))
    return text if draw(st.booleans()) else re.sub(r"(/\.?)+$", "", text)


@given(st.data())
def test_a_protected_path_is_recognised_in_every_spelling(data):
    folder = data.draw(st.sampled_from(PROTECTED))
    below = data.draw(st.lists(names, max_size=3))
    path = posixpath.join(folder, *below)
    text = data.draw(disguised(path))
    assert plain_path(text) == path
    assert protected_folder(text) == (None if path == SHARED_MEMORY else folder)


@given(st.text(alphabet="/.apr\\ \n\0", max_size=30), st.text(alphabet="/.a", max_size=10))
def test_a_plain_path_is_absolute_and_has_no_second_form(text, folder):
    path = plain_path(text, folder)
    assert path.startswith("/")
    assert not path.startswith("//")
    assert not {"", ".", ".."} & set(path[1:].split("/")) - ({""} if path == "/" else set())
    assert plain_path(path) == path


@pytest.mark.parametrize(
    "path", ["/", "/data", "/process", "/devices", "/run", "/run/gantry2", "/system", SHARED_MEMORY]
)
def test_other_paths_are_not_protected(path):
    assert protected_folder(path) is None


@pytest.mark.parametrize(
    ("config", "trouble"),
    [
        ({"Volumes": {"/": {}}}, "all of its file system"),
        ({"Volumes": {"/x/..": {}}}, "all of its file system"),
        ({"Volumes": {"/data": {}, "dev": {}}}, "'dev' lies in /dev"),
        ({"Volumes": {"/dev/shm/x": {}}}, "lies in /dev"),
        ({"Volumes": {f"/v{number}": {} for number in range(MAX_VOLUMES + 1)}}, "declares 65 volumes"),
        ({"WorkingDir": "proc/self/fd/7"}, "working directory 'proc/self/fd/7' lies in /proc"),
        ({"Entrypoint": ["/proc/self/exe"]}, "program '/proc/self/exe' lies in /proc"),
        ({"WorkingDir": "/a/b", "Cmd": ["../../proc/self/exe", "x"]}, "lies in /proc"),
    ],
)
def test_an_image_with_such_a_configuration_is_refused(config, trouble):
    assert trouble in (image_refusal(config) or "")


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"Volumes": None, "WorkingDir": "", "Entrypoint": None, "Cmd": None},
        {"Volumes": {"/run": {}, "/data": {}, "/dev/shm": {}}, "WorkingDir": "/app", "Cmd": ["proc"]},
        {"WorkingDir": "/app", "Entrypoint": ["./proc"]},
        {"Entrypoint": ["sh", "/proc/self/exe"]},
    ],
)
def test_other_images_are_not_refused(config):
    assert image_refusal(config) is None


def looker(links, missing=()):
    """A file system in which these are links and all else, but for what is missing, is a folder."""
    return lambda path: None if path in missing else links.get(path, "")


@pytest.mark.parametrize(
    ("path", "links"),
    [
        ("/data", {"/data": "/proc"}),
        ("/data", {"/data": "x/../proc/self"}),
        ("/a/b/c", {"/a/b": "../../sys"}),
        ("/a/b", {"/a": "/c", "/c/b": "/d", "/d": "../../../dev"}),
        ("/a/gantry", {"/a": "/run"}),
        ("/a", {"/a": "/dev/shm"}),
        ("/a/shm", {"/a": "/dev"}),
        # What the image has behind a link into /proc is not what a program finds there.
        ("/link", {"/link": "/proc/self/fd/7", "/proc/self/fd/7": "/tmp"}),
        ("/link", {"/link": "/proc/../etc"}),
        # The kernel's folders themselves lead elsewhere, and so over what is mounted there.
        ("/data", {"/dev": "/data"}),
        ("/run/gantry", {"/run": "/dev"}),
        ("/data", {"/data": "/data"}),
    ],
)
def test_links_into_protected_folders_are_refused(path, links):
    with pytest.raises(PathRefused):
        check_targets([path], looker(links))


def test_links_are_followed_behind_a_folder_that_is_not_there():
    with pytest.raises(PathRefused, match="leads into /dev"):
        check_targets(["/a"], looker({"/a": "gone/../b", "/b": "/dev"}, missing={"/gone"}))


def test_other_links_are_not_refused():
    links = {"/var/run": "/run", "/lib": "usr/lib", "/data": "/mnt/../real", "/etc/mtab": "/proc/mounts"}
    check_targets(["/var/run/app", "/lib/x", "/data", "/run/gantry", SHARED_MEMORY, "/etc", "/"], looker(links))


def test_lookups_are_bounded_and_not_repeated():
    seen = []

    def look(path):
        seen.append(path)
        return ""

    with pytest.raises(PathRefused, match="more than 256 folders"):
        check_targets(["/" + "/".join("x" * 2000), "/data"], look)
    assert len(seen) == len(set(seen)) == MAX_LOOKS
    seen.clear()
    check_targets(["/a/b", "/a/b", "/a/c"], look)
    assert seen == [*KERNEL, GATE, INIT, "/a", "/a/b", "/a/c"]


@given(st.data())
def test_link_resolution_ends_and_never_reads_a_protected_folder(data):
    paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
    texts = st.lists(names | st.just(".."), min_size=1, max_size=3).map("/".join)
    links = data.draw(st.dictionaries(paths, texts | texts.map(lambda text: f"/{text}"), max_size=6))

    def look(path):
        assert protected_folder(posixpath.dirname(path)) is None
        return links.get(path, "")

    with contextlib.suppress(PathRefused):
        check_targets(data.draw(st.lists(paths, max_size=3)), look)


def test_the_targets_of_a_container_are_all_its_mounts_and_its_working_directory():
    inspection = {
        "Mounts": [{"Destination": "/data/"}, {"Destination": "/data"}, {"Destination": "/run/secrets/x"}],
        "HostConfig": {"Tmpfs": {"/tmp": "size=1"}},
        "Config": {"WorkingDir": "/place/../app"},
    }
    assert mount_targets(inspection) == ("/data", "/run/secrets/x", "/tmp", *ENGINE_TARGETS, "/app")
    assert mount_targets({}) == (*ENGINE_TARGETS, "/")


@pytest.mark.parametrize(
    ("config", "program"),
    [
        ({"Entrypoint": ["bin/../x"], "WorkingDir": "/app"}, "/app/bin/../x"),
        ({"Entrypoint": None, "Cmd": ["/x", "/y"]}, "/x"),
        ({"Entrypoint": [*GATE_WORDS, "/x"], "Cmd": ["/y"]}, "/x"),
        ({"Entrypoint": [*GATE_WORDS], "Cmd": ["./y"]}, "/./y"),
        ({"Entrypoint": ["x"], "Cmd": ["/y"]}, None),
        ({"Entrypoint": [*GATE_WORDS, "x"], "Cmd": ["/y"]}, None),
    ],
)
def test_the_program_of_a_container_is_a_target_where_it_has_a_path(config, program):
    found = mount_targets({"Config": config})
    assert (found[-1] if program is not None else None) == program
    assert (len(found) == len(ENGINE_TARGETS) + 2) == (program is not None)


def test_the_agents_programs_must_not_be_links():
    check_targets([GATE, INIT], looker({}))
    for path in (GATE, INIT):
        with pytest.raises(PathRefused, match="is a link in it"):
            check_targets([], looker({path: "/bin/sh"}))
        with pytest.raises(PathRefused, match="leads into"):
            check_targets(["/data"], looker({"/data": path}))


INSPECTED = {
    "HostConfig": {"Tmpfs": {"/tmp": "size=1M", "/run/": ""}},
    "Mounts": [
        {"Type": "volume", "Destination": "/data"},
        {"Type": "bind", "Destination": "/run/secrets/token"},
        {"Type": "tmpfs", "Destination": "/mem"},
    ],
}


def test_hidden_and_reached_mounts_follow_from_the_inspection():
    assert mounts_of(INSPECTED) == (UNCOPIED | {"/tmp", "/run", "/mem"}, {"/data", "/run/secrets/token"})
    assert mounts_of({"HostConfig": {"Tmpfs": None}, "Mounts": None}) == (UNCOPIED, frozenset())


@pytest.mark.parametrize("path", ["/tmp", "/tmp/x/y", "/dev/shm", "/run/secrets", "/mem/", "/proc/1/root/data"])
def test_a_path_in_a_hidden_mount_is_refused(path):
    with pytest.raises(PathHidden):
        hidden_below(path, *mounts_of(INSPECTED))


@pytest.mark.parametrize(
    ("path", "below"),
    [
        ("/", ("dev", "mem", "proc", "run", "sys", "tmp")),
        ("/data", ()),
        ("/data/tmp", ()),
        ("/devices", ()),
        ("/run/secrets/token", ()),
    ],
)
def test_hidden_mounts_below_a_folder_are_relative_to_it(path, below):
    assert hidden_below(path, *mounts_of(INSPECTED)) == below
