"""Other programs in the place of the challenge program: broken ones, and one that tells what it sees."""

import io
import textwrap
import zipfile
from collections.abc import Callable


def archive(body: str) -> Callable[[], bytes]:
    """An archive of another program, whose text has the modules json, os, sys and a function `answer`."""
    head = """
    import json, os, socket, sys, time
    def answer(kind, **fields):
        sys.stdout.write(json.dumps({"type": kind, **fields}) + "\\n")
        sys.stdout.flush()
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as made:
        made.writestr("__main__.py", textwrap.dedent(head) + textwrap.dedent(body))
    return content.getvalue


INSIDE = """
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
def tried(action):
    try:
        action()
    except OSError as error:
        return error.strerror
    return "done"
def read(path):
    return open(path).read().strip() if os.path.exists(path) else ""
def connect(address):
    with socket.create_connection(address, 5):
        pass
def program():
    with open("/tmp/program", "w") as file:
        file.write("#!/bin/true")
    os.chmod("/tmp/program", 0o755)
    os.execv("/tmp/program", ["program"])
def gpus():
    try:
        import cupy
    except ImportError:
        return None
    runtime = cupy.cuda.runtime
    return [runtime.getDeviceProperties(one)["name"].decode() for one in range(runtime.getDeviceCount())]
sys.stdin.buffer.readline()
found = {
    "interfaces": [name for _, name in socket.if_nameindex()],
    "internet": tried(lambda: connect(("192.0.2.1", 80))),
    "machine": tried(lambda: connect((sys.argv[1] if len(sys.argv) > 1 else "172.17.0.1", 80))),
    "names": tried(lambda: socket.getaddrinfo("example.org", 80)),
    "user": (os.getuid(), os.getgid()),
    "capabilities": {status[name].strip() for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")},
    "no_new_privileges": status["NoNewPrivs"].strip(),
    "seccomp": status["Seccomp"].strip(),
    "root": tried(lambda: open("/file", "w")),
    "devices": [name for name in os.listdir("/dev") if name.startswith(("nvidia", "kfd", "dri", "sd", "vd", "loop"))],
    "memory": read("/sys/fs/cgroup/memory.max") or read("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    "processes": read("/sys/fs/cgroup/pids.max") or read("/sys/fs/cgroup/pids/pids.max"),
    "scratch": os.statvfs("/tmp").f_blocks * os.statvfs("/tmp").f_frsize >> 20,
    "execute": tried(program),
    "environment": sorted(os.environ),
    "pid": os.getpid(),
    "gpus": gpus(),
}
answer("ready", device=json.dumps(found, default=list), probes={})
sys.stdin.buffer.read()
"""
"""Answers the first order with what the program sees of its machine, as JSON in the field `device`."""
