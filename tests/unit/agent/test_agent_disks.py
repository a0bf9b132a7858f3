"""File systems of leases: their geometry, and the overlays of a container."""

from pathlib import Path

import pytest

from node_agent.drivers.docker.disks import MountOverlay, folder_name, mount_overlays
from node_agent.drivers.lease_disks import LEAST_INODES, MIB, SLACK_MIB, SPARE_MIB, geometry, reserve_bytes

ROOT = Path("/var/lib/docker")
DIGEST = "a" * 64
LAYER = ROOT / "overlay2" / "b"


def inspection(**changes):
    return {
        "Id": "c1",
        "HostConfig": {"NetworkMode": "bridge"},
        "GraphDriver": {"Name": "overlay2", "Data": {"UpperDir": f"{LAYER}/diff", "WorkDir": f"{LAYER}/work"}},
        "Mounts": [],
        **changes,
    }


def volume(name, source):
    return {"Type": "volume", "Name": name, "Source": str(source)}


@pytest.mark.parametrize("limit_mib", [1, 64, 1024, 100 << 10, 2 << 20])
def test_a_file_system_is_larger_than_its_limit_by_less_than_64_mib(limit_mib):
    made = geometry(limit_mib)
    assert made.size_mib == limit_mib + SLACK_MIB < limit_mib + 64
    assert made.inodes == max(LEAST_INODES, limit_mib * 64)
    assert made.journal_mib < SLACK_MIB


@pytest.mark.parametrize(
    ("room_mib", "limit_mib", "kept_mib", "reserve_mib"),
    [
        (1050, 1024, 0, 26),
        (1050, 1024, 100, 126),
        (1050, 1024, 2000, 1050),
        (1000, 1024, 0, SPARE_MIB),
    ],
)
def test_the_reserve_leaves_the_limit_minus_data_stored_elsewhere(room_mib, limit_mib, kept_mib, reserve_mib):
    assert reserve_bytes(room_mib * MIB, limit_mib, kept_mib) == reserve_mib * MIB


def test_a_containers_layer_and_engine_files_get_overlays():
    files = [
        MountOverlay(ROOT / "containers" / "c1" / name, name, is_file=True)
        for name in ("hosts", "hostname", "resolv.conf")
    ]
    assert mount_overlays(inspection(), ROOT) == (MountOverlay(LAYER, "layer", is_file=False), *files)


def test_a_container_on_another_ones_network_has_no_engine_files():
    shared = inspection(HostConfig={"NetworkMode": "container:c0"})
    assert [place.inside for place in mount_overlays(shared, ROOT)] == ["layer"]


def test_an_anonymous_volume_gets_an_overlay_and_a_named_one_does_not():
    asked = volume(DIGEST, ROOT / "volumes" / DIGEST / "_data")
    named = volume("gantry-1-data", ROOT / "volumes" / "gantry-1-data" / "_data")
    elsewhere = volume(DIGEST, "/mnt/other")
    found = mount_overlays(inspection(Mounts=[asked, named, elsewhere]), ROOT)
    assert found[-1] == MountOverlay(ROOT / "volumes" / DIGEST / "_data", f"volume-{DIGEST}", is_file=False)
    assert len(found) == 5


@pytest.mark.parametrize(
    "data",
    [
        None,
        {"UpperDir": "/elsewhere/overlay2/b/diff", "WorkDir": "/elsewhere/overlay2/b/work"},
        {"UpperDir": f"{LAYER}/diff", "WorkDir": f"{ROOT}/overlay2/other/work"},
    ],
)
def test_a_layer_at_an_unexpected_path_gets_no_overlay(data):
    found = mount_overlays(inspection(GraphDriver={"Data": data}), ROOT)
    assert "layer" not in [place.inside for place in found]


def test_hosts_and_engines_do_not_share_a_folder():
    names = {folder_name(root, host) for root in (ROOT, Path("/srv")) for host in ("5A", "5B")}
    assert len(names) == 4
