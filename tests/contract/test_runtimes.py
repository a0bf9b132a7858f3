"""Pods under gVisor on a real engine that has the runtime runsc: what a tenant uses works there."""

import asyncio
import json
import os
import shutil

import docker
import driver_cases as case
import pytest
from driver_fixtures import image_store

from node_agent.core.values import ContainerSpec
from node_agent.drivers.docker.access import DockerAccess
from node_agent.drivers.docker.driver import DockerDriver
from node_agent.drivers.docker.engine_features import Isolation, is_sandboxed
from node_agent.drivers.port import DriverError
from offchain.cli.provider.machine_survey import engine_facts
from offchain.devnet import engine
from offchain.devnet.paths import DevnetPaths

PATIENCE_S = 60

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(os.getuid() != 0, reason="starting a Docker engine needs root"),
    pytest.mark.skipif(shutil.which("dockerd") is None, reason="dockerd is not installed"),
    pytest.mark.skipif(
        shutil.which("runsc") is None, reason="runsc is not installed (scripts/test unpacks its package)"
    ),
    pytest.mark.skipif(shutil.which("busybox") is None, reason="busybox is not installed (scripts/test installs it)"),
]

# ptrace needs no /dev/kvm. The network is that of the pod's namespace.
ARGUMENTS = ["--platform=ptrace", "--network=host"]
SERVE = """
echo page > /page; busybox httpd -p 127.0.0.1:8080 -h /; cat /proc/version; exec sleep 600
"""
ASK = """
ask() {
  (printf 'GET /page HTTP/1.0\\r\\n\\r\\n'; sleep 1) | busybox nc 127.0.0.1 8080 >/answer
  busybox grep -q page /answer
}
i=0; until ask; do i=$((i + 1)); [ $i -lt 60 ] || exit 1; sleep 1; done
busybox tail -n 1 /answer; busybox dmesg | busybox grep -c gVisor; printf result > /result.bin; exit 3
"""
"""nc, because wget reads from its socket by read(2), which fails in Debian 12's release of gVisor (ADR 0043). nc exits
with 0 as well if the server was too slow to answer, so that the answer decides whether to ask again."""


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """An engine of these tests' own with gVisor: as the agent needs it, with a network stack of its own, and broken."""
    folder = tmp_path_factory.mktemp("runsc")
    runsc = shutil.which("runsc")
    runtimes = {
        "runsc": {"path": runsc, "runtimeArgs": ARGUMENTS},
        "runsc-alone": {"path": runsc, "runtimeArgs": ARGUMENTS[:1]},
        "runsc-broken": {"path": runsc, "runtimeArgs": ["--platform=none", "--network=host"]},
    }
    config = folder / "daemon.json"
    config.write_text(json.dumps({"runtimes": runtimes}))
    places = DevnetPaths(folder)
    child, address = engine.private_child(places, dict(os.environ))
    child.command.append(f"--config-file={config}")
    try:
        child.start()
        engine.wait_for(child, address)
        yield address
    finally:
        child.stop()
        engine.remove_private_engine(places)


@pytest.fixture(scope="module")
def image(url):
    api = docker.APIClient(base_url=url, version="auto", timeout=60)
    yield case.build_image(api, "sandboxed", more=[("/bin/busybox", shutil.which("busybox"))])
    api.close()


@pytest.fixture
async def driver(url, tmp_path):
    async with image_store(tmp_path, url) as images:
        made = await DockerDriver.connect(url, case.HOST, images, network=False, runtime="runsc")
        try:
            yield made
        finally:
            for lease in await made.leases():
                await made.destroy(lease, keep_data=False)
            await made.close()


def service(name, command, image):
    made = case.a_service(("sh", "-c", command), image, name=name, memory_mib=128)
    return ContainerSpec(made, (), 0)


async def test_a_pod_of_two_containers_runs_under_gvisor(driver, url, image):
    found = await driver.fingerprint()
    assert (found.isolation, found.sandboxed, driver.sandboxed) == (Isolation.GVISOR, True, True)
    spec = case.pod(case.FILE, image)
    spec = case.replaced(spec, containers=(service("main", ASK, image), service("web", SERVE, image)))
    await driver.prepare(spec)
    web = await driver.start(spec, "web", 1)
    handle = await driver.start(spec, "main", 1)
    ending = await case.ended(driver, handle)
    # The one reaches the other at 127.0.0.1, and the file is read from outside.
    assert (ending.exit_code, (await driver.collect(handle, spec.result)).data) == (3, b"result")
    assert (await driver.inspect(web)).running
    log = (await driver.collect(handle, case.pod(case.HELLO, image).result)).data.decode().splitlines()
    assert log == ["page", "1"]
    access = DockerAccess(url, case.HOST)
    try:
        program = await access.exec(spec.lease, "web", ("cat", "/proc/version"), tty=False, rows=1, columns=1)
        printed = b""
        while (piece := await program.read()) is not None:
            printed += piece.data
        # The version that gVisor gives itself.
        assert (await program.exit_code(), b"Linux version 4.4.0 " in printed) == (0, True)
    finally:
        await access.close()


async def asked(access, lease):
    """What the web server of a pod answers; nothing where it closes the connection."""
    stream = await access.dial(lease, 8080)
    try:
        await stream.write(b"GET /page HTTP/1.0\r\n\r\n")
        answer = b""
        while piece := await stream.read():
            answer += piece
    finally:
        await stream.close()
    return answer


async def test_a_port_of_a_pod_under_gvisor_is_reached(driver, url, image):
    spec = case.pod(("sh", "-c", SERVE), image, memory_mib=128)
    handle = await case.up(driver, spec)
    access = DockerAccess(url, case.HOST)
    try:
        while b"Linux version" not in (await driver.collect(handle, spec.result)).data:
            assert (await driver.inspect(handle)).running
        # httpd reads without waiting for what it reads; Debian's gVisor gives it EAGAIN then, and httpd closes.
        async with asyncio.timeout(PATIENCE_S):
            while not (await asked(access, spec.lease)).endswith(b"page\n"):
                assert (await driver.inspect(handle)).running
    finally:
        await access.close()


def test_a_host_announces_the_sandbox_that_its_runtime_is(url):
    assert is_sandboxed(url, "runsc")
    # Pods cannot run under the one, and the other gives them the machine's kernel.
    assert not is_sandboxed(url, "runsc-alone")
    assert not is_sandboxed(url, "runc")
    facts, _ = engine_facts(url, "runsc")
    assert (facts.sandboxed, facts.runtime_trouble) == (True, "")


def test_a_sandbox_that_starts_nothing_is_not_announced(url):
    assert not is_sandboxed(url, "runsc-broken")
    facts, _ = engine_facts(url, "runsc-broken")
    assert (facts.sandboxed, "does not start under it" in facts.runtime_trouble) == (False, True)


@pytest.mark.parametrize(("name", "says"), [("none", "no runtime 'none'"), ("runsc-alone", "--network=host")])
async def test_a_runtime_that_cannot_be_used_is_named(url, image, tmp_path, name, says):  # noqa: ARG001
    async with image_store(tmp_path, url) as images:
        with pytest.raises(DriverError, match=says):
            await DockerDriver.connect(url, case.HOST, images, network=False, runtime=name)
