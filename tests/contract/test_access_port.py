"""Access to pods: one suite for the fake and for containers of a real Docker engine."""

import asyncio
import contextlib
import io
import os
import tarfile

import access_cases as case
import driver_cases
import pytest
from driver_fixtures import docker_driver

from node_agent.drivers.access_port import AccessRefused, PathHidden
from node_agent.drivers.docker.access import DockerAccess, end_orphan_programs, end_process
from node_agent.drivers.port import PodGone
from offchain.schema.manifest.types import TmpfsMount, VolumeMount

GONE = 1


class Pods:
    """An access with one running pod."""

    def __init__(self, access, lease):
        self.access, self.lease = access, lease

    async def exec(self, argv, *, tty=False, service=None, rows=24, columns=80):
        return await self.access.exec(self.lease, service, argv, tty=tty, rows=rows, columns=columns)


@contextlib.asynccontextmanager
async def real_pod(request):
    request.getfixturevalue("docker_api")
    image = request.getfixturevalue("shell_image")
    url = os.environ["GANTRY_DOCKER_HOST"]
    async with docker_driver(request.getfixturevalue("tmp_path"), network=False) as driver:
        spec = driver_cases.pod(("sleep", "600"), image)
        await driver_cases.up(driver, spec)
        access = DockerAccess(url, driver_cases.HOST)
        yield Pods(access, spec.lease)
        await access.close()


@pytest.fixture(params=["fake", pytest.param("docker", marks=pytest.mark.docker)])
async def pods(request):
    if request.param == "fake":
        yield Pods(case.fake_pods([7]), 7)
        return
    async with real_pod(request) as made:
        yield made


@pytest.fixture
async def real(request):
    async with real_pod(request) as made:
        yield made


async def all_of(program):
    found = {}
    while (output := await program.read()) is not None:
        found[output.channel] = found.get(output.channel, b"") + output.data
    return found, await program.exit_code()


async def test_outputs_are_apart_and_the_exit_code_is_told(pods):
    assert await all_of(await pods.exec(case.OUT_AND_ERR)) == ({1: b"out\n", 2: b"err\n"}, 3)


async def test_input_reaches_the_program_and_its_end_ends_it(pods):
    program = await pods.exec(case.CAT)
    data = os.urandom(300_000)

    async def feed():
        for start in range(0, len(data), 7000):
            await program.write(data[start : start + 7000])
        await program.end_input()

    feeding = asyncio.create_task(feed())
    assert await all_of(program) == ({1: data}, 0)
    await feeding


async def test_much_output_arrives_whole(pods):
    assert await all_of(await pods.exec(case.LOTS)) == ({1: case.LOTS_BYTES}, 0)


async def test_a_program_that_is_not_there(pods):
    try:
        _, code = await all_of(await pods.exec(case.NO_SUCH))
        assert code in (126, 127)
    except AccessRefused as error:  # some engines refuse at once
        assert "no-such-program" in str(error)


async def test_a_program_is_ended(pods):
    program = await pods.exec(case.FOR_EVER)
    assert (await program.read()).data == b"started\n"
    await program.kill()
    await program.kill()


async def test_an_argument_is_passed_on_by_no_shell(pods):
    program = await pods.exec(("cat", "$(id); echo broken"))
    await program.end_input()
    found, _ = await all_of(program)
    assert b"uid=" not in b"".join(found.values())


async def test_a_pod_that_is_not_there(pods):
    access = pods.access
    with pytest.raises(PodGone):
        await access.exec(GONE, None, case.CAT, tty=False, rows=1, columns=1)
    with pytest.raises(PodGone):
        await access.dial(GONE, 80)
    with pytest.raises(PodGone):
        await anext(access.get(GONE, None, "/"))


async def test_a_service_that_is_not_there(pods):
    with pytest.raises(AccessRefused, match="no-such"):
        await pods.exec(case.CAT, service="no-such")


async def test_nobody_listens(pods):
    with pytest.raises(AccessRefused, match=str(case.NOBODY)):
        await pods.access.dial(pods.lease, case.NOBODY)


def tarred(files):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


async def pieces(data):
    for start in range(0, len(data), 5000):
        yield data[start : start + 5000]


async def fetched(pods, path):
    return case.names_in(b"".join([piece async for piece in pods.access.get(pods.lease, None, path)]))


async def test_files_go_in_and_come_out_the_same(pods):
    data = os.urandom(100_000)
    await pods.access.put(pods.lease, None, "/", pieces(tarred({"in.bin": data, "empty": b""})))
    assert await fetched(pods, "/in.bin") == {"in.bin": data}
    assert await fetched(pods, "/empty") == {"empty": b""}


async def test_the_same_file_gives_the_same_bytes(pods):
    await pods.access.put(pods.lease, None, "/", pieces(tarred({"in.bin": b"x" * 9000})))
    once, again = [b"".join([p async for p in pods.access.get(pods.lease, None, "/in.bin")]) for _ in range(2)]
    assert once == again


async def test_places_that_are_not_there(pods):
    with pytest.raises(AccessRefused, match="/nowhere"):
        await fetched(pods, "/nowhere")
    with pytest.raises(AccessRefused, match="/nowhere"):
        await pods.access.put(pods.lease, None, "/nowhere", pieces(tarred({"x": b""})))


@pytest.mark.parametrize("path", ["/proc", "/sys/x", "/dev/shm/x", "/dev/shm", "/proc/self/root/etc"])
async def test_no_file_is_copied_below_a_mount_of_the_kernel_or_out_of_one(pods, path):
    with pytest.raises(PathHidden, match=path):
        await pods.access.hidden(pods.lease, None, path)
    with pytest.raises(PathHidden, match=path):
        await fetched(pods, path)


async def test_the_mounts_that_a_folder_holds_are_told(pods):
    assert {"dev", "proc", "sys"} <= set(await pods.access.hidden(pods.lease, None, "/"))
    assert await pods.access.hidden(pods.lease, None, "/etc") == ()


# --- what only a real engine shows --------------------------------------------------------------------------------


@pytest.mark.docker
async def test_a_real_terminal(real):
    script = "test -t 0 && test -t 1 && echo terminal; read line; echo got:$line"
    program = await real.exec(("sh", "-c", script), tty=True)
    await program.write(b"typed\r")
    found, code = await all_of(program)
    assert (b"terminal" in found[0], b"got:typed" in found[0], code) == (True, True, 0)


@pytest.mark.docker
async def test_a_program_has_no_more_rights_than_the_pod(real):
    found, _ = await all_of(await real.exec(("cat", "/proc/self/status")))
    lines = dict(line.split(":", 1) for line in found[1].decode().splitlines() if ":" in line)
    assert (int(lines["CapEff"], 16), int(lines["CapBnd"], 16)) == (0, 0)
    assert (lines["NoNewPrivs"].strip(), lines["Seccomp"].strip()) == ("1", "2")


@pytest.mark.docker
async def test_ctrl_c_reaches_the_program(real):
    script = "trap 'echo caught; exit 9' INT; echo ready; while true; do sleep 1; done"
    program = await real.exec(("sh", "-c", script), tty=True)
    seen = b""
    while b"ready" not in seen:
        seen += (await program.read()).data
    await program.write(b"\x03")
    found, code = await all_of(program)
    assert (b"caught" in found[0], code) == (True, 9)


@pytest.mark.docker
async def test_a_lost_program_is_found_and_ended(real):
    program = await real.exec(case.FOR_EVER)
    assert (await program.read()).data == b"started\n"
    await program._stream.close()  # as when the agent is killed
    url = os.environ["GANTRY_DOCKER_HOST"]
    assert await end_orphan_programs(url, driver_cases.HOST) == 1
    assert await end_orphan_programs(url, driver_cases.HOST) == 0


@pytest.mark.docker
async def test_a_port_on_the_pods_own_loopback_is_reached(real):
    """The image has no server: one of this machine is put into the pod's network, as a program of the pod would be."""
    container = await real.access._container(real.lease, None)
    inspected = await real.access._engine.json("GET", f"/containers/{container}/json")
    script = (
        "import socket\n"
        "s = socket.socket(); s.bind(('127.0.0.1', 8099)); s.listen(); print('up', flush=True)\n"
        "c, _ = s.accept()\n"
        "while d := c.recv(9): c.sendall(d.upper())\n"
    )
    arguments = ["-t", str(inspected["State"]["Pid"]), "-n", "python3", "-c", script]
    server = await asyncio.create_subprocess_exec("nsenter", *arguments, stdout=asyncio.subprocess.PIPE)
    assert await server.stdout.readline() == b"up\n"
    stream = await real.access.dial(real.lease, case.ECHO_PORT)
    await stream.write(b"abc")
    assert await stream.read() == b"ABC"
    await stream.end()
    assert await stream.read() == b""
    await stream.close()
    await server.wait()


@pytest.mark.docker
async def test_a_link_to_a_mount_is_seen_through_and_volumes_are_reached(shell_image, tmp_path):
    async with docker_driver(tmp_path, network=False) as driver:
        script = "ln -s /sys /alias; ln -s alias/kernel /chain; ln -s /data /good; ln -s loop /loop; echo up; sleep 600"
        container = {
            "volumes": (VolumeMount("data", "/data", read_only=False),),
            "tmpfs": (TmpfsMount("/mem", "size=1M"),),
        }
        spec = driver_cases.pod(("sh", "-c", script), shell_image, **container)
        await driver_cases.up(driver, spec)
        access = DockerAccess(os.environ["GANTRY_DOCKER_HOST"], driver_cases.HOST)
        try:
            pods = Pods(access, spec.lease)
            assert await all_of(await pods.exec(("sh", "-c", "until [ -L /loop ]; do :; done")))
            for path in ("/alias", "/alias/kernel", "/chain", "/chain/mm", "/mem", "/mem/x", "/tmp", "/data/../sys"):
                with pytest.raises(PathHidden):
                    await access.hidden(spec.lease, None, path)
            with pytest.raises(PathHidden):
                await fetched(pods, "/alias/kernel")
            assert set(await access.hidden(spec.lease, None, "/")) == {"dev", "mem", "proc", "sys", "tmp"}
            assert await access.hidden(spec.lease, None, "/good") == ()
            assert await access.hidden(spec.lease, None, "/loop/x") == ()  # to copy there is refused by the engine
            with pytest.raises(AccessRefused):
                await access.put(spec.lease, None, "/loop/x", pieces(tarred({"a": b""})))
            await access.put(spec.lease, None, "/good", pieces(tarred({"in.bin": b"seen"})))
            assert (await all_of(await pods.exec(("cat", "/data/in.bin"))))[0] == {1: b"seen"}
        finally:
            await access.close()


async def test_no_process_outside_the_pod_is_ended():
    assert not await end_process(os.getpid(), 1)
    assert not await end_process(os.getppid(), os.getpid() + 1_000_000)
