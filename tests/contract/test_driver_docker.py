"""Limits of a tenant's container and other behaviour that only a real engine shows."""

import dataclasses
import fcntl
import io
import os
import socket
import tarfile
from contextlib import AsyncExitStack, aclosing

import driver_cases as case
import pytest
from driver_fixtures import docker_driver, image_store

from node_agent.core.values import ContainerSpec, EndKind
from node_agent.drivers.docker import logs, pod_network
from node_agent.drivers.docker.driver import DockerDriver
from node_agent.drivers.docker.spec import bridge_name, bridge_prefix
from node_agent.drivers.port import EngineBusy, EngineUnreachable
from node_agent.images.docker_engine import DockerImages
from node_agent.runtime.delivered_files import FileStore
from offchain.schema.manifest.types import DeliveredFile, ImageRef, ResultSpec, TmpfsMount

pytestmark = pytest.mark.docker


async def run(driver, image, script, **service):
    """The output and the ending of a shell script."""
    spec = case.pod(("sh", "-c", script), image, **service)
    handle = await case.up(driver, spec)
    ending = await case.ended(driver, handle)
    return (await driver.collect(handle, spec.result)).data.decode(), ending


async def test_no_capabilities_no_new_privileges_and_a_seccomp_filter(driver, shell_image):
    output, _ = await run(driver, shell_image, "cat /proc/self/status")
    status = dict(line.split(":\t", 1) for line in output.splitlines() if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"


async def test_what_a_run_used_is_known_however_often_its_start_is_asked_for(driver, shell_image):
    thrice = (
        "[ -e /burnt ] && exec sleep 600; [ -e /ran ] || { touch /ran; exit 3; }; "
        "touch /burnt; trap 'exit 7' USR1; while :; do :; done"
    )
    spec = case.pod(("sh", "-c", thrice), shell_image)
    mark = (await case.ended(driver, await case.up(driver, spec))).mark
    handle = await driver.start(spec, "main", 2, mark)
    while (await driver.stats(handle)).cpu_ms < 1_000:
        pass  # the engine takes its time for each answer
    await driver.signal(spec.lease, "SIGUSR1")
    ending = await case.ended(driver, handle)
    assert (ending.exit_code, ending.usage.cpu_ms >= 1_000) == (7, True)
    # As after a crash of the agent's other half: that run was made, and ended.
    assert await driver.start(spec, "main", 2, mark) == handle
    assert await case.ended(driver, handle) == ending
    # Of the next run nothing is known of this one; its start alone takes a slow machine some time.
    await driver.start(spec, "main", 3, ending.mark)
    assert (await driver.stats(handle)).cpu_ms < 500


async def test_a_fork_bomb_is_contained_by_the_pid_limit(driver, shell_image):
    bomb = "i=0; while [ $i -lt 200 ]; do sleep 5 & i=$((i+1)); done; echo all started"
    output, ending = await run(driver, shell_image, bomb, pids=16)
    assert "all started" not in output
    assert ending.exit_code != 0


async def test_a_file_cannot_outgrow_the_tmpfs(driver, shell_image):
    fill = "awk 'BEGIN { while (i++ < 100000) print \"xxxxxxxxxxxxxxxx\" }' > /data/f 2>/dev/null; echo code $?"
    mounts = (TmpfsMount("/data", "size=65536"),)
    output, _ = await run(driver, shell_image, fill, tmpfs=mounts)
    assert output.strip() != "code 0"


async def test_a_read_only_root_and_a_writable_tmp(driver, shell_image):
    output, _ = await run(
        driver, shell_image, "touch /x 2>/dev/null || echo root; touch /tmp/x && echo tmp", read_only=True
    )
    assert output.split() == ["root", "tmp"]


async def test_variables_of_the_agent_win_over_the_manifest(driver, shell_image):
    spec = case.pod(
        ("sh", "-c", "echo $FROM_MANIFEST $GANTRY_LEASE $GANTRY_SIMULATED_GPUS $NVIDIA_VISIBLE_DEVICES"), shell_image
    )
    assert (await case.output(driver, spec)).decode().split() == ["1", str(spec.lease), "2", "void"]


async def test_replicas_have_no_network_and_find_nothing_that_tells_them_apart(driver, shell_image):
    script = "cat /etc/hostname; echo $GANTRY_LEASE $GANTRY_TASK $GANTRY_POD $GANTRY_ATTEMPT; ls /sys/class/net"
    spec = case.pod(("sh", "-c", script), shell_image)
    other = case.pod(("sh", "-c", script), shell_image)
    first = await case.output(driver, case.replaced(spec, is_replica=True))
    second = await case.output(driver, case.replaced(other, pod=1, attempt=2, is_replica=True))
    assert first == second == b"pod-7\n0 7 0 0\nlo\n"


async def test_a_program_that_ignores_sigterm_is_killed(driver, shell_image):
    program = "trap '' TERM; echo ready; while :; do sleep 1; done"
    spec = case.pod(("sh", "-c", program), shell_image, stop_grace_ms=1_000)
    handle = await case.up(driver, spec)
    async with aclosing(driver.logs(spec.lease, follow=True)) as log:
        assert b"ready" in await anext(log)
    await driver.stop(spec.lease)
    ending = (await driver.inspect(handle)).ending
    assert ending is not None
    assert ending.exit_code == 137


async def test_an_exit_code_like_a_kill_is_unexplained(driver, shell_image):
    _, ending = await run(driver, shell_image, "exit 137")
    assert (ending.kind, ending.exit_code) == (EndKind.UNEXPLAINED, 137)


async def test_usage_counts_cpu_memory_and_wall_time(driver, shell_image):
    burn = "awk 'BEGIN { s = \"x\"; while (length(s) < 16777216) s = s s; while (i++ < 200000000) ; print length(s) }'"
    _, ending = await run(driver, shell_image, burn)
    assert ending.usage.wall_ms >= 500
    # How much of a core there was is up to the machine; the work is some seconds of one core anywhere.
    assert 300 <= ending.usage.cpu_ms <= ending.usage.wall_ms * 1.2
    assert 15 <= ending.usage.memory_peak_mib <= 64


async def test_a_link_or_a_folder_is_no_result(driver, shell_image):
    spec = case.pod(("sh", "-c", "ln -s /etc/passwd /link; mkdir /folder"), shell_image)
    handle = await case.up(driver, spec)
    await case.ended(driver, handle)
    for path in ("/link", "/folder"):
        collected = await driver.collect(handle, ResultSpec("file", path))
        assert (collected.data, collected.note) == (b"", f"{path} is not a regular file")


async def test_what_is_no_way_to_a_result_is_the_programs_own_doing(driver, shell_image):
    spec = case.pod(("sh", "-c", "ln -s /loop /loop; echo > /file"), shell_image)
    handle = await case.up(driver, spec)
    await case.ended(driver, handle)
    for path in ("/loop/result", "/file/result"):
        collected = await driver.collect(handle, ResultSpec("file", path))
        assert collected.data == b""
        assert path in collected.note


async def test_each_pod_has_a_network_of_its_own_that_goes_with_it(driver, shell_image, docker_api):
    specs = [case.pod(case.SLEEP, shell_image) for _ in range(2)]
    for handle in [await case.up(driver, spec) for spec in specs]:
        settings = docker_api.inspect_container(handle.reference)["NetworkSettings"]["Networks"]
        assert list(settings) == [f"gantry-{case.HOST[1:13]}-{handle.lease}"]
    for spec in specs:
        await driver.destroy(spec.lease, keep_data=False)
    wanted = {"label": [f"gantry.host={case.HOST}"]}
    assert docker_api.networks(filters=wanted) == []
    assert docker_api.containers(all=True, filters=wanted) == []


@pytest.mark.parametrize("helpers", [0, 1])
async def test_a_container_restarts_in_place_after_its_network_was_lost(driver, shell_image, docker_api, helpers):
    spec = case.pod(case.TWICE, shell_image)
    helper = ContainerSpec(case.a_service(case.SLEEP, shell_image, name="helper"), (), 0)
    spec = dataclasses.replace(spec, containers=(*spec.containers, *[helper] * helpers))
    handle = await case.up(driver, spec)
    ending = await case.ended(driver, handle)
    for sandbox in docker_api.containers(filters={"label": [f"gantry.lease={spec.lease}", "gantry.role=holder"]}):
        docker_api.stop(sandbox["Id"], timeout=0)
    # As "docker network prune" does.
    docker_api.remove_network(f"gantry-{case.HOST[1:13]}-{spec.lease}")
    again = await driver.start(spec, "main", 2, ending.mark)
    assert again.reference == handle.reference
    assert (await case.ended(driver, again)).exit_code == 7


def make_bridge(name):
    """What an engine leaves that is killed while it makes a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x89A0, name.encode().ljust(16, b"\0"))


@pytest.mark.skipif(os.getuid() != 0, reason="network bridges need root")
async def test_a_bridge_that_an_engine_left_does_not_outlive_its_pod(driver, shell_image):
    spec = case.pod(case.SLEEP, shell_image)
    bridge = bridge_name(spec.host, spec.lease)
    make_bridge(bridge)
    await case.up(driver, spec)
    assert bridge in pod_network.interface_names(bridge)
    await driver.destroy(spec.lease, keep_data=False)
    assert bridge not in pod_network.interface_names(bridge)


async def test_a_pod_gets_another_bridge_where_the_engine_holds_the_name_of_the_first(driver, shell_image, docker_api):
    spec = case.pod(case.SLEEP, shell_image)
    held = {"com.docker.network.bridge.name": bridge_name(spec.host, spec.lease)}
    other = docker_api.create_network(f"held-{spec.lease}", driver="bridge", options=held)["Id"]
    try:
        await case.up(driver, spec)
        second = bridge_name(spec.host, spec.lease, 1)
        assert second in pod_network.interface_names(second)
    finally:
        docker_api.remove_network(other)


@pytest.mark.skipif(os.getuid() != 0, reason="network bridges need root")
async def test_a_bridge_without_a_network_is_swept_and_others_stay(driver, shell_image):
    spec = case.pod(case.SLEEP, shell_image)
    await case.up(driver, spec)
    orphan = bridge_name(spec.host, spec.lease + 1)
    make_bridge(orphan)
    for _ in range(2):
        assert orphan in pod_network.interface_names(orphan)
        await driver.upkeep()
    assert pod_network.interface_names(bridge_prefix(spec.host)) == {bridge_name(spec.host, spec.lease)}


async def test_an_image_is_found_by_id_whatever_it_is_called(driver, shell_image):
    renamed = ImageRef("another.invalid/name", shell_image.digest)
    spec = dataclasses.replace(case.pod(case.HELLO, renamed))
    assert (await case.ended(driver, await case.up(driver, spec))).exit_code == 0


async def test_no_engine_at_the_address_is_one_clear_message(tmp_path):
    url = f"unix://{tmp_path}/none.sock"
    async with image_store(tmp_path, url) as images:
        with pytest.raises(EngineUnreachable, match="--docker-host"):
            await DockerDriver.connect(url, case.HOST, images)


async def test_a_snapshot_holds_no_secrets_volumes_or_memory(docker_api, shell_image, tmp_path):
    store = FileStore(tmp_path / "agent")
    async with docker_driver(tmp_path, files=store) as driver:
        token = DeliveredFile("token", "/run/secrets/token", None)
        script = (
            "cat /run/secrets/token > /tmp/copy; echo kept-on-the-volume > /data/x; "
            "echo installed-in-the-machine > /program; sleep 600"
        )
        spec = case.pod(("sh", "-c", script), shell_image, files=(token,), volumes=case.DATA)
        spec = dataclasses.replace(spec, keeps_data=True)
        store.put(spec, "token", b"delivered-s3cret")
        handle = await case.up(driver, spec)
        wait = ["sh", "-c", "until [ -s /program ]; do :; done; cat /tmp/copy"]
        assert docker_api.exec_start(docker_api.exec_create(handle.reference, wait)) == b"delivered-s3cret"
        made = await driver.snapshot(spec.lease, "now", 100)
        archive = b"".join([piece async for piece in driver.archive(spec.lease, "now")])
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            files = [tar.extractfile(member) for member in tar if member.isfile()]
            held = b"".join(file.read() for file in files if file is not None)
        assert b"installed-in-the-machine\n" in held
        for absent in (b"delivered-s3cret", b"kept-on-the-volume\n"):
            assert absent not in held
        # Who learns its digest cannot run it: a manifest gets images of registries only.
        images = DockerImages(os.environ["GANTRY_DOCKER_HOST"])
        assert await images.find(ImageRef("snapshot", made.digest)) is None
        assert await images.find(shell_image) is not None
        await images.close()
        await driver.destroy(spec.lease, keep_data=False)
        assert not [image for image in docker_api.images(quiet=True, all=True) if image == made.digest]


async def test_what_snapshots_share_is_counted_once_and_does_not_hide_behind_a_removed_one(driver, shell_image):
    spec = case.pod(case.BIG, shell_image)
    spec = dataclasses.replace(spec, keeps_data=True)
    await case.ended(driver, await case.up(driver, spec))
    await driver.snapshot(spec.lease, "one", 100)
    restored = dataclasses.replace(spec, base="one")
    await case.ended(driver, await driver.start(restored, "main", 2))
    await driver.snapshot(spec.lease, "two", 100)
    used = (await driver.upkeep())[spec.lease]
    assert 6 <= used <= 9  # the container's own layer, and two of snapshots, of which both have the first
    again = await driver.start(dataclasses.replace(spec, base="two"), "main", 3)
    await case.ended(driver, again)
    await driver.remove_snapshot(spec.lease, "one")
    assert (await driver.upkeep())[spec.lease] == used


async def test_programs_read_the_notice_of_their_container_and_cannot_change_it(shell_image, tmp_path):
    script = 'until read said < "$GANTRY_NOTICE"; do sleep 0.1; done; (echo no > "$GANTRY_NOTICE"); echo "$? $said"'
    run = TmpfsMount("/run", "mode=1777")
    async with docker_driver(tmp_path, files=FileStore(tmp_path / "agent")) as driver:
        for options in ({"user": "65534:65534", "read_only": True}, {"user": "0", "tmpfs": (run,)}):
            spec = dataclasses.replace(case.pod(("sh", "-c", script), shell_image, **options), receives_notices=True)
            handle = await case.up(driver, spec)
            await driver.set_notice(spec.lease, b"soon\n")
            await case.ended(driver, handle)
            refused, said = (await driver.collect(handle, spec.result)).data.split()
            assert refused != b"0"
            assert said == b"soon"


async def test_who_follows_one_pod_keeps_no_other_tenant_from_its_log(driver, shell_image, monkeypatch):
    monkeypatch.setattr(logs, "MAX_OF_LEASE", 2)
    monkeypatch.setattr(logs, "MAX_FOLLOWERS", 3)
    mine, other = (case.pod(case.LISTEN, shell_image) for _ in range(2))
    for spec in (mine, other):
        await case.up(driver, spec)
    async with AsyncExitStack() as stack:

        async def follow(spec):
            return await anext(await stack.enter_async_context(aclosing(driver.logs(spec.lease, follow=True))))

        assert b"up" in await follow(mine)
        assert b"up" in await follow(mine)
        with pytest.raises(EngineBusy, match=f"the log of lease {mine.lease}"):
            await follow(mine)
        assert b"up" in await follow(other)
        with pytest.raises(EngineBusy, match="on this host"):
            await follow(other)
        # What is only read, to be kept, is not kept out.
        assert b"up" in b"".join([piece async for piece in driver.logs(mine.lease, follow=False)])
    assert b"up" in await anext(driver.logs(mine.lease, follow=True))
