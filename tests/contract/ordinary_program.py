"""What an ordinary Python program does: threads, processes, pipes, sockets, files, shared memory, timers.

Runs in a container by itself, on the standard library alone, and prints one line for each subject.
"""

# ruff: noqa: PTH104, PTH108, T201  (it makes system calls by their names, and what it prints is its answer)

import ctypes
import fcntl
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time


def threads():
    numbers = []
    several = [threading.Thread(target=numbers.append, args=(number,)) for number in range(8)]
    for one in several:
        one.start()
    for one in several:
        one.join()
    return sum(numbers)


def processes():
    return (
        subprocess.run(["/bin/sh", "-c", "echo child | cat"], capture_output=True, check=True).stdout.decode().strip()
    )


def forked():
    reading, writing = os.pipe()
    with mmap.mmap(-1, 4096) as shared:
        child = os.fork()
        if not child:
            shared[:6] = b"shared"
            os.write(writing, b"sent")
            os._exit(0)
        os.waitpid(child, 0)
        return f"{os.read(reading, 4).decode()}, {shared[:6].decode()}"


def sockets():
    answers = []
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            server = socket.create_server((address, 0), family=family)
        except OSError:
            continue  # a network without IPv6
        with server, socket.create_connection(server.getsockname()[:2]) as client:
            accepted, _ = server.accept()
            with accepted, select.epoll() as events:
                events.register(accepted, select.EPOLLIN)
                client.sendall(b"hello")
                events.poll()
                answers.append(accepted.recv(5))
    one, other = socket.socketpair()
    with one, other, tempfile.TemporaryFile() as file:
        socket.send_fds(one, [b"x"], [file.fileno()])
        answers.append(socket.recv_fds(other, 1, 1)[0])
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as routes:
        routes.bind((0, 0))
    return b" ".join(sorted(set(answers))).decode()


def files():
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"content")
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        os.posix_fallocate(file.fileno(), 0, 4096)
        with mmap.mmap(file.fileno(), 4096) as mapped:
            content = mapped[:7].decode()
        os.link(file.name, file.name + "-link")
        os.rename(file.name + "-link", file.name + "-moved")
        os.unlink(file.name + "-moved")
        os.mkfifo(file.name + "-pipe")
        os.unlink(file.name + "-pipe")
    return content


def memory():
    made = os.memfd_create("of-this-program")
    os.ftruncate(made, 4096)
    with mmap.mmap(made, 4096) as mapped:
        mapped[:4] = b"kept"
        return os.pread(made, 4, 0).decode()


def timers():
    fired = []
    signal.signal(signal.SIGALRM, lambda *_: fired.append(True))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    while not fired:
        time.sleep(0.01)
    return "fired"


def memory_of_a_child():
    """Processes of MPI and UCX copy from each other's memory so."""
    libc = ctypes.CDLL(None, use_errno=True)
    content = ctypes.create_string_buffer(b"of the child")
    child = os.fork()
    if not child:
        signal.pause()
        os._exit(0)
    copy = ctypes.create_string_buffer(len(content))
    local = ctypes.create_string_buffer(struct.pack("=QQ", ctypes.addressof(copy), len(copy)), 16)
    remote = ctypes.create_string_buffer(struct.pack("=QQ", ctypes.addressof(content), len(content)), 16)
    found = libc.process_vm_readv(child, local, ctypes.c_ulong(1), remote, ctypes.c_ulong(1), ctypes.c_ulong(0))
    error = os.strerror(ctypes.get_errno())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return copy.value.decode() if found == len(copy) else error


SUBJECTS = (threads, processes, forked, sockets, files, memory, timers, memory_of_a_child)

if __name__ == "__main__":
    for subject in SUBJECTS:
        print(f"{subject.__name__}: {subject()}", flush=True)
