"""Health checks run in pods: whose exit code counts, and what is no answer."""

import asyncio
import contextlib
from dataclasses import replace

import pytest

from offchain.adapters.transport.port import HostUnreachable
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.protocol.operations import ExecArgs
from offchain.services.health_probe import HealthProbe
from tests.support.service_world import MANIFEST, ServiceWorld


class Program:
    """Ends with this exit code; None: never."""

    def __init__(self, ends):
        self.ends, self.exit_code, self.killed = ends, None, False
        self.output = [(1, b"well")]

    async def read(self):
        if self.output:
            return self.output.pop()
        if self.ends is None:
            await asyncio.Event().wait()
        self.exit_code = self.ends
        return None

    async def kill(self):
        self.killed = True


class Host:
    def __init__(self, *ends):
        self.asked, self.programs = [], [Program(end) for end in ends]

    async def exec(self, lease, args):
        self.asked.append((lease, args))
        if len(self.asked) > len(self.programs):
            raise HostUnreachable("nobody is there")
        return self.programs[len(self.asked) - 1]


async def asked(host, text=MANIFEST, *, within_ms=2_000):
    world = ServiceWorld()
    task = await world.typed.task(world.submit(MANIFEST))
    manifest = parse_manifest(text, source="test")
    quick = tuple(
        replace(one, healthcheck=one.healthcheck and replace(one.healthcheck, timeout_ms=within_ms))
        for one in manifest.services
    )
    checks = HealthProbe(world.typed, lambda _record, _host: contextlib.nullcontext(host))
    return await checks(task.leases[0], replace(manifest, services=quick)), task.leases[0].id


async def test_the_check_in_the_manifest_is_run_and_its_exit_code_decides():
    for code, well in ((0, True), (1, False)):
        host = Host(code)
        assert (found := await asked(host))[0] is well
        assert host.asked == [(found[1], ExecArgs(("wget", "http://127.0.0.1:8080/"), service="web"))]
        assert not host.programs[0].killed


async def test_a_check_beyond_its_timeout_fails_and_is_killed():
    host = Host(None)
    assert (await asked(host, within_ms=0))[0] is False
    assert host.programs[0].killed


async def test_an_unreachable_host_gives_no_answer():
    assert (await asked(Host()))[0] is None


@pytest.mark.parametrize("codes", [(0, 0), (0, 3)])
async def test_every_container_must_be_healthy(codes):
    side = b"""\
  side:
    image: demo/web@sha256:%s
    healthcheck: {test: /bin/side}
    deploy: {resources: {limits: {cpus: "0.5", memory: 64M}}}
x-gantry:""" % (b"1" * 64)
    host = Host(*codes)
    assert (await asked(host, MANIFEST.replace(b"x-gantry:", side)))[0] is not any(codes)
    assert [args.service for _, args in host.asked] == ["web", "side"]


async def test_without_a_check_the_host_is_not_asked():
    text = b"\n".join(line for line in MANIFEST.split(b"\n") if b"healthcheck" not in line)
    host = Host()
    assert (await asked(host, text))[0] is True
    assert host.asked == []
