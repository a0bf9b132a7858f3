"""Mounts of a pod that copies do not reach."""

import pytest

from node_agent.drivers.access_port import PathHidden
from node_agent.drivers.docker.container_paths import UNCOPIED, hidden_below, mounts_of

INSPECTED = {
    "HostConfig": {"Tmpfs": {"/tmp": "size=1M", "/run/": ""}},
    "Mounts": [
        {"Type": "volume", "Destination": "/data"},
        {"Type": "bind", "Destination": "/run/secrets/token"},
        {"Type": "tmpfs", "Destination": "/mem"},
    ],
}


def test_the_engines_description_names_what_is_hidden_and_what_is_reached():
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
def test_what_is_hidden_below_a_folder_is_named_from_there(path, below):
    assert hidden_below(path, *mounts_of(INSPECTED)) == below
