"""Isolation on a real engine: what a tenant's container must not reach, see or take."""

import contextlib
import dataclasses
import os
import socket
import subprocess
import sys

import driver_cases as case
import psutil
import pytest
from driver_fixtures import docker_driver

from node_agent.core.values import ContainerSpec
from node_agent.drivers.docker.spec import bridge_name
from node_agent.drivers.firewall import Firewall
from node_agent.runtime.delivered_files import FileStore
from offchain.schema.manifest.types import DeliveredFile, VolumeMount

pytestmark = [pytest.mark.docker, pytest.mark.skipif(os.getuid() != 0, reason="firewall rules need root")]

PUBLIC, OUTSIDE = "203.0.113.1", "203.0.113.2"
"""Of a network for documentation, which no machine has: our way to a pretended outside."""
METADATA = "169.254.77.7"
"""Out there as well, at an address such as clouds' metadata services have."""
PATIENCE_S = 20
"""What is sure to come may take so long where the machine is busy."""
LISTEN = (
    "import socket,sys; s=socket.create_server(('', int(sys.argv[1]))); print(s.getsockname()[1], flush=True)\n"
    "while 1: s.accept()"
)


@pytest.fixture
async def driver(docker_api, tmp_path):  # noqa: ARG001  (skips where there is no engine)
    async with docker_driver(tmp_path, files=FileStore(tmp_path / "agent")) as made:
        yield made


@contextlib.contextmanager
def listening(*prefix, port=0):
    """Somebody who takes connections, in the network that the prefix enters, at this port or at any; gives the port."""
    command = [*prefix, sys.executable, "-c", LISTEN, str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        found = int(process.stdout.readline())
        assert port in (0, found)
        try:
            yield found
        finally:
            process.kill()


async def reached(driver, image, addresses, port):
    """Which of these a container of a pod of its own can connect to.

    The time is for a busy machine: a try holds a processor for milliseconds, and the pod has little of one. All are
    tried at once, each by three processes, however many addresses other tests give this machine meanwhile.
    """
    tries = [
        f"timeout {PATIENCE_S} bash -c 'exec 3<>/dev/tcp/{one}/{port}' 2>/dev/null && echo {one} &" for one in addresses
    ]
    command = ("bash", "-c", "\n".join([*tries, "wait", "echo tried"]))
    spec = case.pod(command, image, pids=8 + 4 * len(addresses), memory_mib=64 + 8 * len(addresses))
    output = (await case.output(driver, spec)).decode().split()
    await driver.destroy(spec.lease, keep_data=False)
    assert output[-1:] == ["tried"], "not every address was tried"
    return set(output[:-1])


def run(*command):
    return subprocess.run(command, check=False, capture_output=True).returncode


def network_of(pid):
    return os.readlink(f"/proc/{pid}/ns/net")  # noqa: PTH115  (it is a name, not a path)


def addresses_of_this_machine():
    found = [one for many in psutil.net_if_addrs().values() for one in many if one.family is socket.AF_INET]
    return [one.address for one in found if not one.address.startswith("127.")]


async def pid_of(driver, handle):
    inspection = await driver._engine.call(lambda: driver._engine.api.inspect_container(handle.reference))
    return inspection["State"]["Pid"]


@pytest.fixture
def outside():
    """A network beside this machine's, reached through it."""
    name = f"gantry-test-{os.getpid()}"
    with contextlib.ExitStack() as stack:

        def ip(*words):
            subprocess.run(["ip", *words], check=True, capture_output=True)

        ip("netns", "add", name)
        stack.callback(lambda: subprocess.run(["ip", "netns", "delete", name], check=False))
        ip("link", "add", "gt-out", "type", "veth", "peer", "name", "gt-in", "netns", name)
        stack.callback(lambda: subprocess.run(["ip", "link", "delete", "gt-out"], check=False, capture_output=True))
        ip("address", "add", f"{PUBLIC}/24", "dev", "gt-out")
        ip("link", "set", "gt-out", "up")
        ip("-n", name, "address", "add", f"{OUTSIDE}/24", "dev", "gt-in")
        ip("-n", name, "link", "set", "gt-in", "up")
        ip("-n", name, "address", "add", f"{METADATA}/32", "dev", "gt-in")
        ip("-n", name, "route", "add", "default", "via", PUBLIC)
        ip("route", "add", f"{METADATA}/32", "via", OUTSIDE)
        yield ("ip", "netns", "exec", name)


async def test_a_pod_reaches_the_outside_and_nothing_of_this_machine(driver, shell_image, outside):
    spec = case.pod(case.SLEEP, shell_image)
    handle = await case.up(driver, spec)
    bridge = psutil.net_if_addrs()[bridge_name(spec.host, spec.lease)]
    (gateway,) = [one.address for one in bridge if one.family is socket.AF_INET]
    own = addresses_of_this_machine()
    assert {gateway, PUBLIC} <= set(own)
    with listening() as port, listening(*outside, port=port):
        assert await reached(driver, shell_image, [*own, METADATA, "169.254.169.254", OUTSIDE], port) == {OUTSIDE}
        # Without the rules, the same attack succeeds: it is they that stop it.
        for one in own:
            socket.create_connection((one, port), PATIENCE_S).close()
        pid = await pid_of(driver, handle)

        def attacks(patience_s):
            enter = ("nsenter", "-t", str(pid), "-n", "timeout", str(patience_s), "bash", "-c")
            return [run(*enter, f"exec 3<>/dev/tcp/{one}/{port}") for one in (gateway, METADATA)]

        await Firewall().remove()
        try:
            assert attacks(PATIENCE_S) == [0, 0]
        finally:
            await driver.upkeep()
        assert 0 not in attacks(3)


async def test_a_pod_does_not_reach_another(driver, shell_image):
    spec = case.pod(case.SLEEP, shell_image)
    handle = await case.up(driver, spec)
    inspection = await driver._engine.call(lambda: driver._engine.api.inspect_container(handle.reference))
    (network,) = inspection["NetworkSettings"]["Networks"].values()
    pid = inspection["State"]["Pid"]
    with listening("nsenter", "-t", str(pid), "-n") as port:
        socket.create_connection((network["IPAddress"], port), PATIENCE_S).close()
        assert await reached(driver, shell_image, [network["IPAddress"]], port) == set()


async def test_the_rules_are_mended_and_written_once(driver):
    def shown():
        tables = subprocess.run(["iptables-save", "-t", "filter"], check=True, capture_output=True, text=True).stdout
        return [line for line in tables.splitlines() if "GANTRY" in line and line.startswith("-A")]

    await driver.upkeep()
    whole = shown()
    await driver.upkeep()
    assert shown() == whole
    assert run("iptables", "-F", "GANTRY-FORWARD") == 0
    await driver.upkeep()
    assert shown() == whole
    await Firewall().remove()
    await Firewall().remove()
    assert shown() == []
    await driver.upkeep()
    assert shown() == whole


async def test_an_agent_that_may_not_isolate_pods_gives_them_no_network(shell_image, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("node_agent.drivers.firewall._SBIN", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    async with docker_driver(tmp_path) as driver:
        assert not (await driver.fingerprint()).isolated
        assert "pods get no network" in caplog.text
        spec = case.pod(("sh", "-c", "ls /sys/class/net"), shell_image)
        assert (await case.output(driver, spec)).split() == [b"lo"]


async def test_no_socket_and_no_folder_of_this_machine_is_in_a_container(driver, shell_image):
    look = "cat /proc/self/mountinfo; ls -a / /run /var/run 2>/dev/null"
    spec = case.pod(("sh", "-c", look), shell_image)
    seen = (await case.output(driver, spec)).decode()
    assert "docker.sock" not in seen
    allowed = {"/etc/resolv.conf", "/etc/hostname", "/etc/hosts", "/.gantry-gate", "/.gantry-init", "/dev/init"}
    mounts = [line.split() for line in seen.splitlines() if " - " in line]
    from_disk = {words[4] for words in mounts if words[words.index("-") + 1] in ("ext4", "xfs", "btrfs")}
    assert from_disk <= allowed


async def test_the_disk_that_a_pod_takes_is_seen(driver, shell_image):
    lines = "awk 'BEGIN { while (i++ < 400000) print \"xxxxxxxxxxxxxxxxxxxxxxxxx\" }'"
    fill = f"{lines} > /big; cat /big > /data/big"
    volume = (VolumeMount("data", "/data", read_only=False),)
    spec = case.pod(("sh", "-c", fill), shell_image, volumes=volume)
    await case.ended(driver, await case.up(driver, spec))
    assert 18 <= (await driver.upkeep())[spec.lease] <= 30


async def test_a_secret_is_read_by_its_container_alone_and_cannot_be_changed(driver, shell_image, tmp_path):
    token = DeliveredFile("token", "/run/secrets/token", None)
    script = "cat /run/secrets/token; echo no > /run/secrets/token || stat -c ' %a %u' /run/secrets/token"
    services = [
        case.a_service(("sh", "-c", script), shell_image, files=(token,), user="1234"),
        case.a_service(("sh", "-c", "cat /run/secrets/token || echo none"), shell_image, name="other"),
    ]
    spec = dataclasses.replace(
        case.pod(case.SLEEP, shell_image), containers=tuple(ContainerSpec(one) for one in services)
    )
    FileStore(tmp_path / "agent").put(spec, "token", b"s3cret")
    await driver.prepare(spec)
    said = []
    for service in ("main", "other"):
        handle = await driver.start(spec, service, 1)
        await case.ended(driver, handle)
        said.append((await driver.collect(handle, spec.result)).data.decode().strip())
        inspected = await driver._engine.call(
            lambda reference=handle.reference: driver._engine.api.inspect_container(reference)
        )
        assert "s3cret" not in str(inspected)
    assert said == ["s3cret 400 1234", "none"]


async def test_containers_of_a_pod_share_one_network_and_know_each_other_by_name(driver, shell_image):
    look = ("sh", "-c", "ls -l /proc/self/ns/net; cat /etc/hosts; sleep 600")
    services = [case.a_service(look, shell_image), case.a_service(look, shell_image, name="db")]
    spec = dataclasses.replace(
        case.pod(case.SLEEP, shell_image), containers=tuple(ContainerSpec(one) for one in services)
    )
    await driver.prepare(spec)
    main = await driver.start(spec, "main", 1)
    db = await driver.start(spec, "db", 1)

    shared = network_of(await pid_of(driver, db))
    assert network_of(await pid_of(driver, main)) == shared != network_of("self")
    await driver.stop_container(main)
    (mark,) = [found.mark for found in await driver.recover(spec.lease) if found.handle == main]
    again = await driver.start(spec, "main", 2, mark)
    assert network_of(await pid_of(driver, again)) == shared
    hosts = (await driver.collect(db, spec.result)).data.decode()
    assert {"main", "db"} <= {name for line in hosts.splitlines() for name in line.split()[1:]}
