"""Ordinary programs of tenants work under the seccomp profile of their containers, on a real engine."""

import json
import shutil
from pathlib import Path

import driver_cases as case
import ordinary_program
import pytest

from offchain.schema.manifest.types import TmpfsMount

pytestmark = pytest.mark.docker

WEB_SERVER = """
busybox httpd -p 127.0.0.1:8080 -h /www && busybox wget -q -O - http://127.0.0.1:8080/page
busybox ps | busybox grep -c httpd | busybox sed 's/[1-9]/some/'
busybox vi --help 2>&1 | busybox head -c 7
"""
LOGIN = """
cd /workspace && mkdir -p .ssh && chmod 700 .ssh
dropbearkey -t ed25519 -f own >/dev/null && dropbearkey -t ed25519 -f key >said || exit 1
busybox grep ^ssh- said > .ssh/authorized_keys && chmod 600 .ssh/authorized_keys
dropbear -E -s -r own -p 127.0.0.1:2222
dbclient -y -y -T -i key -p 2222 gantry@127.0.0.1 'echo logged in as $(id -un)'
"""
"""The server listens when its first process ends."""
NODE = """
const { Worker } = require("worker_threads");
const { execFileSync } = require("child_process");
const { promises } = require("fs");
const http = require("http");
const server = http.createServer((_, answer) => answer.end("served")).listen(0, "127.0.0.1", async () => {
  const said = await new Promise((done) => http.get({ port: server.address().port, host: "127.0.0.1" },
    (answer) => answer.on("data", (data) => done(String(data)))));
  await promises.writeFile("/tmp/file", said);
  const read = String(await promises.readFile("/tmp/file"));
  const worker = new Worker("require('worker_threads').parentPort.postMessage(6 * 7)", { eval: true });
  const answer = await new Promise((done) => worker.once("message", done));
  console.log(read, answer, String(execFileSync("/bin/sh", ["-c", "echo child"])).trim());
  server.close();
});
"""
NODE_MODULES = tuple(
    Path("/usr/share/nodejs") / name
    for name in (
        "acorn/dist/acorn.js",
        "acorn-walk/dist/walk.js",
        "cjs-module-lexer/dist/lexer.js",
        "cjs-module-lexer/lexer.js",
        "undici/undici-fetch.js",
    )
)
"""Modules of Node.js itself that Debian's package has outside of the program."""
GO_SERVER = """
docker-registry serve /registry.yml >/tmp/log 2>&1 &
i=0
until busybox wget -q -S -O /dev/null http://127.0.0.1:5000/v2/ 2>/tmp/head; do
  i=$((i + 1)); [ $i -lt 600 ] || { cat /tmp/log; exit 1; }
  kill -0 $! || { cat /tmp/log; exit 1; }
  sleep 0.1
done
busybox grep -o "registry/2.0" /tmp/head
"""


def needed(*programs):
    """(path in the image, file here) of programs and their libraries. Skips where this machine has one of them not."""
    files = []
    for program in programs:
        found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
        if found is None:
            pytest.skip(f"this machine has no {program} (scripts/test installs it)")
        files.append((f"/bin/{program}", Path(found).resolve()))
        files += [(library, Path(library).resolve()) for library in case.libraries(Path(found).resolve())]
    return files


async def output(driver, image, command, **service):
    """Return what the program printed; it ended well."""
    spec = case.pod(command, image, **{"pids": 256, "memory_mib": 512, **service})
    handle = await case.up(driver, spec)
    ending = await case.ended(driver, handle)
    printed = (await driver.collect(handle, spec.result)).data.decode()
    assert ending.exit_code == 0, printed
    return printed.splitlines()


async def test_python(driver, docker_api):
    program = ordinary_program.__file__
    files = [*case.python_files(program), ("/program.py", program)]
    with case.an_image(docker_api, more=files) as image:
        assert await output(driver, image, (case.PYTHON, "-I", "-S", "/program.py")) == [
            "threads: 28",
            "processes: child",
            "forked: sent, shared",
            "sockets: hello x",
            "files: content",
            "memory: kept",
            "timers: fired",
            "memory_of_a_child: of the child",
        ]


async def test_a_shell_of_busybox_and_its_web_server(driver, docker_api, tmp_path):
    (tmp_path / "page").write_text("the page\n")
    with case.an_image(docker_api, more=[*needed("busybox"), ("/www/page", tmp_path / "page")]) as image:
        assert await output(driver, image, ("sh", "-c", WEB_SERVER)) == ["the page", "some", "BusyBox"]


async def test_a_login_by_ssh(driver, docker_api, tmp_path):
    (tmp_path / "passwd").write_text("root:x:0:0:root:/:/bin/sh\ngantry:x:1000:1000:gantry:/workspace:/bin/sh\n")
    (tmp_path / "group").write_text("root:x:0:\ngantry:x:1000:\n")
    (tmp_path / "shells").write_text("/bin/sh\n")
    (tmp_path / "empty").mkdir()
    files = [(f"/etc/{name}", tmp_path / name) for name in ("passwd", "group", "shells")]
    files += needed("busybox", "dropbear", "dropbearkey", "dbclient", "chmod")
    with case.an_image(docker_api, more=files) as image:
        home = (TmpfsMount("/workspace", "size=1m,mode=700,uid=1000,gid=1000"),)
        assert await output(driver, image, ("sh", "-c", LOGIN), user="1000:1000", tmpfs=home) == ["logged in as gantry"]


async def test_node(driver, docker_api):
    modules = [(str(one), one.resolve()) for one in NODE_MODULES if one.exists()]
    with case.an_image(docker_api, more=[*needed("node"), *modules]) as image:
        assert await output(driver, image, ("node", "-e", NODE)) == ["served 42 child"]


async def test_a_server_written_in_go(driver, docker_api, tmp_path):
    config = {
        "version": "0.1",
        "storage": {"filesystem": {"rootdirectory": "/data"}},
        "http": {"addr": "127.0.0.1:5000"},
    }
    (tmp_path / "registry.yml").write_text(json.dumps(config))
    files = [*needed("docker-registry", "busybox"), ("/registry.yml", tmp_path / "registry.yml")]
    with case.an_image(docker_api, more=files) as image:
        assert await output(driver, image, ("sh", "-c", GO_SERVER)) == ["registry/2.0"]
