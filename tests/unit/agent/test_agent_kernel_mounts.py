"""Mount tables of containers that are refused, as pure decisions."""

import dataclasses

import pytest

from node_agent.drivers.kernel_mounts import (
    MASKED,
    READ_ONLY,
    ExpectedMounts,
    MountDeviations,
    deviations_of,
    parse_mounts,
    why_unsafe,
)

TABLE = r"""
80 51 0:39 / / rw,relatime master:5 - overlay overlay rw,lowerdir=/a
81 80 0:42 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
82 80 0:43 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
83 82 0:44 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,gid=5
84 80 0:45 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro
85 84 0:46 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw,mode=755
86 85 0:29 /docker/f24c /sys/fs/cgroup/cpu ro,nosuid,nodev,noexec,relatime - cgroup cgroup rw,cpu
95 82 0:41 / /dev/mqueue rw,nosuid,nodev,noexec,relatime - mqueue mqueue rw
96 82 0:47 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs shm rw,size=65536k
97 80 254:0 /home/a\040b/gates/one /.gantry-gate ro,relatime - ext4 /dev/vda rw
98 80 254:0 /home/a\040b/gates/init /.gantry-init ro,relatime - ext4 /dev/vda rw
99 80 254:0 /var/files/7/notices /run/gantry ro,relatime - ext4 /dev/vda rw
100 80 0:48 / /tmp rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw,size=64k
101 80 254:0 /volumes/data /data rw,relatime - ext4 /dev/vda rw
52 81 0:42 /bus /proc/bus ro,nosuid,nodev,noexec,relatime - proc proc rw
55 81 0:42 /sys /proc/sys ro,nosuid,nodev,noexec,relatime - proc proc rw
56 81 0:49 / /proc/acpi ro,relatime - tmpfs tmpfs ro
57 81 0:43 /null /proc/keys rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
59 84 0:50 / /sys/firmware ro,relatime - tmpfs tmpfs ro
""".strip()
THERE = {"/proc/acpi", "/proc/keys", "/sys/firmware", "/proc/bus", "/proc/sys"}
OWN = (("/.gantry-gate", "/gates/one"), ("/.gantry-init", "/gates/init"), ("/run/gantry", "/7/notices"))
WANTED = ExpectedMounts(own=OWN)


def judge(text=TABLE, wanted=WANTED):
    return why_unsafe(parse_mounts(text), wanted, THERE.__contains__)


def test_the_mounts_of_the_engine_and_of_the_agent_are_accepted():
    assert {path for path in THERE if path not in (*MASKED, *READ_ONLY)} == set()
    assert judge() is None


@pytest.mark.parametrize(
    "more",
    [
        "120 80 254:0 /volumes/x /dev rw,relatime - ext4 /dev/vda rw",
        "120 80 0:60 / /dev rw,relatime - tmpfs tmpfs rw",
        "120 80 254:0 /volumes/x / rw,relatime - ext4 /dev/vda rw",
        "120 80 0:42 / /proc rw,relatime - proc proc rw",
        "120 81 0:42 /keys /proc/keys rw,relatime - proc proc rw",
        "120 81 254:0 /volumes/x /proc/fs rw,relatime - ext4 /dev/vda rw",
        "120 81 0:60 / /proc/driver/nvidia rw,relatime - tmpfs tmpfs rw",
        "120 84 254:0 /volumes/x /sys/kernel rw,relatime - ext4 /dev/vda rw",
        "120 85 0:29 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw",
        "120 82 254:0 /volumes/x /dev/data rw,relatime - ext4 /dev/vda rw",
        "120 82 0:6 /sda /dev/null2 rw,relatime - devtmpfs devtmpfs rw",
        "120 96 0:60 / /dev/shm/x rw,relatime - tmpfs tmpfs rw",
        "120 82 0:60 / /dev/shm rw,relatime - tmpfs tmpfs rw",
        "120 80 254:0 /volumes/x /.gantry-gate ro,relatime - ext4 /dev/vda rw",
        "120 80 254:0 /volumes/x /run/gantry rw,relatime - ext4 /dev/vda rw",
        "120 99 0:60 / /run/gantry/x rw,relatime - tmpfs tmpfs rw",
    ],
)
def test_one_more_mount_in_a_protected_folder_is_refused(more):
    assert judge(f"{TABLE}\n{more}") is not None
    assert judge(f"{more}\n{TABLE}") is not None


@pytest.mark.parametrize(
    ("line", "found"),
    [
        # The container's /dev/null was a link to the hidden file.
        ("0:43 /null /proc/keys rw,nosuid - tmpfs", "0:42 /keys /proc/keys rw - proc"),
        # It was a file of a volume.
        ("0:43 /null /proc/keys rw,nosuid - tmpfs", "254:0 /volumes/x/null /proc/keys rw - ext4"),
        ("0:43 /null /proc/keys rw,nosuid - tmpfs", "0:60 /null /proc/keys rw,nosuid - tmpfs"),
        ("0:49 / /proc/acpi ro,relatime - tmpfs tmpfs ro", "0:49 / /proc/acpi rw,relatime - tmpfs tmpfs rw"),
        ("/proc/keys rw", "/data/keys rw"),
        ("/sys /proc/sys ro", "/sys /proc/sys rw"),
        ("/sys /proc/sys ro", "/fs /proc/sys ro"),
        ("/ /sys ro,nosuid", "/ /sys rw,nosuid"),
        ("/proc rw,", "/x/proc rw,"),
        ("81 80 0:42 / /proc", "81 100 0:42 / /proc"),
        ("82 80 0:43 / /dev rw,nosuid - tmpfs tmpfs", "82 80 254:0 /volumes/x /dev rw,nosuid - ext4 /dev/vda"),
        ("/gates/one /.gantry-gate ro", "/gates/two /.gantry-gate ro"),
        ("/gates/one /.gantry-gate ro", "/gates/one /.gantry-gate rw"),
        ("/gates/one /.gantry-gate ro", "/gates/one /bin/sh ro"),
        ("97 80", "97 100"),
        ("7/notices", "8/notices"),
    ],
)
def test_a_mount_that_differs_from_the_engines_is_refused(line, found):
    assert TABLE.count(line) == 1
    assert judge(TABLE.replace(line, found)) is not None


def test_paths_that_the_kernel_lacks_need_no_mask():
    without = "\n".join(line for line in TABLE.splitlines() if "/proc/acpi" not in line)
    assert judge(without) == "nothing is mounted at /proc/acpi"
    assert why_unsafe(parse_mounts(without), WANTED, (THERE - {"/proc/acpi"}).__contains__) is None


def test_what_the_engine_mounts_for_gpus_is_accepted():
    device = "120 82 0:6 /nvidia0 /dev/nvidia0 rw,nosuid - devtmpfs devtmpfs rw"
    folders = (
        "121 81 0:60 / /proc/driver/nvidia rw - tmpfs tmpfs rw\n"
        "122 121 0:42 /driver/nvidia/gpus/1 /proc/driver/nvidia/gpus/1 ro - proc proc rw"
    )
    nvidia = dataclasses.replace(WANTED, nvidia=True)
    assert judge(f"{TABLE}\n{device}") is None
    assert judge(f"{TABLE}\n{device}\n{folders}", nvidia) is None
    assert judge(f"{TABLE}\n{device}\n{folders}") is not None


def test_containers_of_engines_with_user_namespaces_have_the_machines_device_files():
    null = "120 82 0:6 /null /dev/null rw,nosuid - devtmpfs devtmpfs rw"
    text = TABLE.replace("0:43 /null /proc/keys rw,nosuid - tmpfs tmpfs", "0:6 /null /proc/keys rw,nosuid - devtmpfs d")
    assert judge(f"{text}\n{null}") is None
    assert judge(text) is not None


def test_a_folder_of_the_agent_that_was_replaced_since_is_still_its_own():
    assert judge(TABLE.replace("/gates/init ", "/gates/init//deleted ")) is None


@pytest.mark.parametrize("text", ["x", "1 2 3", "a b 0:1 / / rw - ext4 x rw x"])
def test_an_invalid_mount_table_is_refused(text):
    with pytest.raises(ValueError, match=r"mount table|invalid literal"):
        parse_mounts(text)


MORE = "120 82 0:60 / /dev/hugepages rw,relatime - hugetlbfs nodev rw"


def test_what_an_engine_mounts_in_a_container_of_the_agents_own_is_accepted_in_others():
    assert "hugetlbfs" in judge(f"{TABLE}\n{MORE}")
    found = deviations_of(parse_mounts(f"{TABLE}\n{MORE}"), WANTED, THERE.__contains__)
    assert found == MountDeviations(others=frozenset({("/dev/hugepages", "hugetlbfs")}))
    assert why_unsafe(parse_mounts(f"{TABLE}\n{MORE}"), WANTED, THERE.__contains__, found) is None


@pytest.mark.parametrize(
    "more",
    [
        "121 82 254:0 /volumes/x /dev/hugepages rw,relatime - ext4 /dev/vda rw",
        f"{MORE}\n121 120 254:0 /volumes/x /dev/hugepages rw,relatime - ext4 /dev/vda rw",
        "121 82 254:0 /volumes/x /dev/data rw,relatime - hugetlbfs nodev rw",
    ],
)
def test_a_tenants_mount_at_an_accepted_path_is_refused(more):
    found = MountDeviations(others=frozenset({("/dev/hugepages", "hugetlbfs")}))
    assert why_unsafe(parse_mounts(f"{TABLE}\n{more}"), WANTED, THERE.__contains__, found) is not None


def test_paths_that_an_engine_does_not_hide_are_found():
    text = "\n".join(line for line in TABLE.splitlines() if " /proc/keys " not in line)
    found = deviations_of(parse_mounts(text), WANTED, THERE.__contains__)
    assert found == MountDeviations(missing=frozenset({"/proc/keys"}))
    assert "/proc/keys" in why_unsafe(parse_mounts(text), WANTED, THERE.__contains__, found)
