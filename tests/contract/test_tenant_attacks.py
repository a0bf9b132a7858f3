"""A hostile tenant in a pod of the real driver, beside another tenant's: everything it tries is refused.

Each attack is tried a second time from a container without our limits, where it gets through: so it is known to work.
"""

import asyncio
import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
from pathlib import Path

import driver_cases as case
import psutil
import pytest
import tenant_attacks
import tenant_network
from driver_fixtures import docker_driver

from node_agent.drivers.docker.access import DockerAccess
from node_agent.drivers.docker.spec import bridge_name, pod_name
from node_agent.drivers.firewall import Firewall
from node_agent.runtime.delivered_files import FileStore
from offchain.adapters.transport.multi_transport import MultiTransport
from offchain.schema.manifest.types import DeliveredFile

pytestmark = [pytest.mark.docker, pytest.mark.skipif(os.getuid() != 0, reason="firewall rules need root")]

ATTACKS, NETWORK = tenant_attacks.__file__, tenant_network.__file__
SECRET = "secret-of-another-tenant-" + secrets.token_hex(8)
MARKER = "process-of-this-machine-" + secrets.token_hex(8)
NOT_HERE = ("ENOENT", "ENOSYS", "EAFNOSUPPORT", "ENODEV", "ENXIO", "EOPNOTSUPP", "empty", "it was killed by SIGSEGV")
"""How a kernel says that it has no such thing at all (SIGSEGV: of 32-bit calls): nothing to be defended then."""
CAPABILITIES = """
CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE
NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN
SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE
MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ
"""
"""By their numbers in the kernel."""
NEEDS = dict.fromkeys(("spared when memory is short", "more open files"), CAPABILITIES.split().index("SYS_RESOURCE"))
"""What a machine's own root may lack, where it lives in a container itself."""
METADATA = "169.254.169.254"
LINK_LOCAL = "169.254.77.7"
"""Stands for the metadata service where the test has to show that there would be one."""


@pytest.fixture(scope="module")
def image(docker_api):
    more = [*case.python_files(ATTACKS), *case.python_files(NETWORK)]
    made = case.build_image(docker_api, "tenant", [*more, ("/attacks.py", ATTACKS), ("/network.py", NETWORK)])
    yield made
    docker_api.remove_image(made.digest, force=True)


def may(bit):
    """Whether this process could give somebody the capability with this number."""
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    return bool(int(status["CapBnd"], 16) >> bit & 1)


def program(name, facts, *more):
    return (case.PYTHON, "-I", "-S", f"/{name}.py", json.dumps(facts), *more)


async def output_of(driver, spec):
    """What the pod's program printed, as JSON."""
    return json.loads(await case.output(driver, spec))


@contextlib.asynccontextmanager
async def victim(driver, files, image):
    """Another tenant's running pod with a secret, and the words that would betray it."""
    token = DeliveredFile("token", "/run/secrets/token", None)
    serving = program("network", {}, "600")
    spec = case.pod(serving, image, files=(token,), environment=(("PASSWORD", SECRET),))
    files.put(spec, "token", SECRET.encode())
    handle = await case.up(driver, spec)
    yield spec, handle, {handle.reference, str(spec.lease)}


@contextlib.contextmanager
def process_of_this_machine():
    command = [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()", MARKER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        try:
            yield
        finally:
            process.stdin.close()


def unlimited(api, image, command, network):
    """The output of the same program in a container that is as open as this machine can make one."""
    engine = os.environ["GANTRY_DOCKER_HOST"].removeprefix("unix://")
    shared = [
        f"{engine}:/var/run/docker.sock",
        *(f"{path}:{path}" for path in ("/dev/shm", "/dev/kmsg", "/sys/fs/cgroup")),
    ]
    config = api.create_host_config(
        cap_add=[name for bit, name in enumerate(CAPABILITIES.split()) if may(bit)],
        security_opt=["seccomp=unconfined", "apparmor=unconfined"],
        network_mode=network,
        pid_mode="host",
        binds=[one for one in shared if Path(one.partition(":")[0]).exists()],
        device_cgroup_rules=["a *:* rwm"],
    )
    config |= {"CgroupnsMode": "host", "MaskedPaths": [], "ReadonlyPaths": []}
    made = api.create_container(image.digest, list(command), host_config=config)["Id"]
    try:
        api.start(made)
        api.wait(made)
        return json.loads(api.logs(made, stderr=False))
    finally:
        api.remove_container(made, force=True, v=True)


@pytest.fixture(scope="module")
def outcomes(docker_api, image, tmp_path_factory):
    """What every attack came to: from the tenant's pod, and from a container without limits."""

    async def run(folder):
        files = FileStore(folder / "agent")
        async with docker_driver(folder, files=files) as driver, victim(driver, files, image) as (other, _, words):
            facts = {
                "marker": MARKER.encode().hex(),  # so that this program's own arguments do not have it
                "secret": SECRET,
                "others": sorted(words),
                "files": str(files.path(other.lease, "token").parent),
                "engine": os.environ["GANTRY_DOCKER_HOST"].removeprefix("unix://"),
                "gateway": "172.17.0.1",
            }
            command = program("attacks", facts)
            refused = await output_of(driver, case.pod(command, image))
            network = pod_name(other.host, other.lease)
            return refused, await asyncio.to_thread(unlimited, docker_api, image, command, network)

    with process_of_this_machine():
        return asyncio.run(run(tmp_path_factory.mktemp("attacks")))


@pytest.mark.parametrize("name", tenant_attacks.ATTACKS)
def test_a_tenant_gets_nowhere_with(name, outcomes):
    through, seen = outcomes[0][name]
    assert not through, f"{name}: {seen}"


@pytest.mark.parametrize("name", tenant_attacks.ATTACKS)
def test_without_our_limits_there_would_be(name, outcomes):
    through, seen = outcomes[1][name]
    if not through and (seen in NOT_HERE or not may(NEEDS.get(name, 0))):
        pytest.skip(f"the kernel of this machine lacks it, or does not let root use it ({seen})")
    assert through, f"the attack itself does not work: {seen}"


async def test_a_program_of_exec_has_the_same_limits(image, tmp_path):
    facts = {"marker": secrets.token_hex(8), "secret": secrets.token_hex(8), "others": [], "files": "/nowhere"}
    facts |= {"engine": os.environ["GANTRY_DOCKER_HOST"].removeprefix("unix://"), "gateway": "172.17.0.1"}
    async with docker_driver(tmp_path) as driver:
        spec = case.pod(case.SLEEP, image)
        await case.up(driver, spec)
        access = DockerAccess(os.environ["GANTRY_DOCKER_HOST"], case.HOST)
        try:
            command = program("attacks", facts)
            running = await access.exec(spec.lease, None, command, tty=False, rows=1, columns=1)
            said = b""
            while (piece := await running.read()) is not None:
                said += piece.data if piece.channel == 1 else b""
            assert await running.exit_code() == 0
        finally:
            await access.close()
    seen = json.loads(said)
    assert seen.keys() == tenant_attacks.ATTACKS.keys()
    assert not {name: what for name, (through, what) in seen.items() if through}


# --- the network ------------------------------------------------------------------------------------------------------


def on_one_port():
    """Sockets for TCP and for UDP on all addresses, on a port that nobody has for either."""
    while True:
        tcp = socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        try:
            udp.bind(("", tcp.getsockname()[1]))
        except OSError:
            tcp.close()
            udp.close()
        else:
            return tcp, udp


@contextlib.contextmanager
def answering():
    """A program of this machine that answers TCP and UDP on all its addresses."""
    tcp, udp = on_one_port()

    def echo():
        with contextlib.suppress(OSError):
            while True:
                data, who = udp.recvfrom(100)
                if data == b"end":
                    return
                udp.sendto(data, who)

    thread = threading.Thread(target=echo)
    thread.start()
    try:
        yield tcp.getsockname()[1]
    finally:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"end", ("127.0.0.1", tcp.getsockname()[1]))
        thread.join()
        tcp.close()
        udp.close()


@contextlib.asynccontextmanager
async def listening_agent():
    """An agent's own sockets, QUIC and websocket, on all addresses; gives their port."""
    ways = await MultiTransport.bind(secrets.token_bytes(32), "0.0.0.0:0")
    try:
        yield int(ways.addresses[0].rpartition(":")[2])
    finally:
        await ways.close()


@pytest.fixture
def link_local():
    """An address such as clouds' metadata services have, on this machine's side of a link."""
    # One that was killed may have left it.
    subprocess.run(["ip", "link", "delete", "gt-meta"], check=False, capture_output=True)
    subprocess.run(["ip", "link", "add", "gt-meta", "type", "bridge"], check=True, capture_output=True)
    try:
        for words in (["address", "add", f"{LINK_LOCAL}/32", "dev", "gt-meta"], ["link", "set", "gt-meta", "up"]):
            subprocess.run(["ip", *words], check=True, capture_output=True)
        yield LINK_LOCAL
    finally:
        subprocess.run(["ip", "link", "delete", "gt-meta"], check=True, capture_output=True)


def addresses(bridge):
    """All of this machine: IPv4, IPv6, and those of its side of the pod's own link, broadcasts among them."""
    found = [one for many in psutil.net_if_addrs().values() for one in many]
    four = [one.address for one in found if one.family is socket.AF_INET]
    six = [one.address.partition("%")[0] for one in found if one.family is socket.AF_INET6]
    near = [one for one in psutil.net_if_addrs()[bridge] if one.family is socket.AF_INET]
    broadcasts = [*(one.broadcast for one in near if one.broadcast), "255.255.255.255", "224.0.0.1"]
    linked = [f"{one}%eth0" for one in six if one.startswith("fe80")]
    return {*four, *six, *linked, *broadcasts, "::1", "ff02::1%eth0", "0.0.0.0"}  # noqa: S104


async def test_a_tenant_reaches_no_address_of_this_machine_and_no_other_pod(image, tmp_path, link_local):
    files = FileStore(tmp_path / "agent")
    async with (
        listening_agent() as agent_port,
        docker_driver(tmp_path, files=files) as driver,
        victim(driver, files, image) as (other, handle, _),
    ):
        spec = case.pod(case.SLEEP, image)
        running = await case.up(driver, spec)
        bridge = bridge_name(spec.host, spec.lease)
        inspected = await driver._engine.call(lambda: driver._engine.api.inspect_container(handle.reference))
        (network,) = inspected["NetworkSettings"]["Networks"].values()
        with answering() as port:
            mine = sorted(addresses(bridge) | {link_local, METADATA, "fd00:ec2::254"})
            tries = {
                "tcp": [[one, to] for one in mine for to in (port, agent_port)]
                + [[one, 80] for one in (METADATA, "fd00:ec2::254")]
                + [[network["IPAddress"], 22]],
                "udp": [[one, to] for one in mine for to in (port, agent_port)],
                "ping": [*(one for one in mine if ":" not in one), network["IPAddress"]],
                "names": [f"pod-{other.lease}", pod_name(other.host, other.lease), handle.reference[:12]],
            }
            own = {f"ping {one}" for one in ("127.0.0.1", "0.0.0.0")}  # noqa: S104  (the pod's own loopback)
            inside = ("nsenter", "-t", str(await pid_of(driver, running)), "-n", "--", *outside_program(tries))
            assert set(await output_of(driver, case.pod(program("network", tries), image, pids=512))) <= own
            assert set(json.loads(await said_by(inside))) <= own
            # Without the rules, the same attack succeeds: it is they that stop it.
            (gateway,) = [one.address for one in psutil.net_if_addrs()[bridge] if one.family is socket.AF_INET]
            open_to_it = set()
            for one in (gateway, link_local):
                open_to_it |= {f"tcp {one} {port}", f"tcp {one} {agent_port}", f"udp {one} {port}", f"ping {one}"}
            await Firewall().remove()
            try:
                reached = await reached_in_the_end(inside, open_to_it)
            finally:
                await driver.upkeep()
            assert open_to_it <= reached


def test_the_program_takes_nothing_that_it_sent_itself_for_an_answer():
    """A datagram to the container's own loopback must not answer another try, whose own port is the one that is tried.

    Its own ports come from a range of 32 here, for 29 tries, so that one of them would have that port in most runs.
    """
    near = [f"192.168.160.{last}" for last in range(77, 103)]
    tries = {"tcp": [["127.0.0.1", 40_007]], "udp": [[one, 40_007] for one in ("127.0.0.1", "0.0.0.0", *near)]}  # noqa: S104
    prepared = (
        "ip link set lo up && ip address add 192.168.160.2/24 dev lo && "
        'echo 40000 40031 > /proc/sys/net/ipv4/ip_local_port_range && exec "$@"'
    )
    for _ in range(3):
        command = ("unshare", "--net", "--", "sh", "-c", prepared, "sh", *outside_program(tries))
        assert json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout) == []


def outside_program(tries):
    """The same program of this machine's own Python, for a process that enters a pod's network alone."""
    return (case.PYTHON, "-I", "-S", NETWORK, json.dumps(tries))


async def reached_in_the_end(command, wanted):
    """All that this program reaches in a few tries: a busy machine may answer one of them too late."""
    reached = set()
    for _ in range(5):
        reached |= set(json.loads(await said_by(command)))
        if wanted <= reached:
            break
    return reached


async def said_by(command):
    done = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    said, _ = await done.communicate()
    return said


async def pid_of(driver, handle):
    inspection = await driver._engine.call(lambda: driver._engine.api.inspect_container(handle.reference))
    return inspection["State"]["Pid"]


async def test_the_engine_tells_a_pod_names_of_its_own_network_alone(docker_api, image, tmp_path):
    """The control of the names above: who is in the other pod's network does learn them."""
    files = FileStore(tmp_path / "agent")
    async with docker_driver(tmp_path, files=files) as driver, victim(driver, files, image) as (other, _, _):
        name = pod_name(other.host, other.lease)
        command = program("network", {"names": [name]})
        assert await asyncio.to_thread(unlimited, docker_api, image, command, name) == [f"names {name}"]
        assert await output_of(driver, case.pod(command, image)) == []
