"""Network destinations that a tenant's container reaches. Runs there alone, with the standard library only.

Its argument, a JSON object, lists what is tried, all at once: `tcp` and `udp` as [address, port], `ping` as addresses,
`names` to be resolved. It prints a JSON list of what answered.
"""

# ruff: noqa: S606, T201
# What it prints is its answer.

import json
import os
import socket
import struct
import sys
import threading

PATIENCE_S = 2.5
TRIED = set()
"""The ports that are tried."""


def info(address, port, kind):
    found = socket.getaddrinfo(address, port, type=kind, flags=socket.AI_NUMERICHOST)[0]
    return found[0], found[4]


def opened(family, kind):
    """A socket whose own port is not tried: on the container's loopback, one try would answer another."""
    barred = []
    try:
        while True:
            made = socket.socket(family, kind)
            made.settimeout(PATIENCE_S)
            made.bind(("", 0))
            if made.getsockname()[1] not in TRIED:
                return made
            barred.append(made)
    finally:
        for one in barred:
            one.close()


def tcp(address, port):
    family, place = info(address, port, socket.SOCK_STREAM)
    with opened(family, socket.SOCK_STREAM) as made:
        made.connect(place)


def udp(address, port):
    family, place = info(address, port, socket.SOCK_DGRAM)
    with opened(family, socket.SOCK_DGRAM) as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        made.sendto(b"tenant", place)
        made.recvfrom(100)


def ping(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as made:
        made.settimeout(PATIENCE_S)
        made.sendto(struct.pack("!BBHHH", 8, 0, 0xF7FF, 0, 0), (address, 0))
        made.recvfrom(100)


def names(name):
    """Whether the container's name server, the engine's own, knows the name."""
    question = b"".join(bytes((len(part),)) + part.encode() for part in name.split(".")) + b"\0\0\1\0\1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.settimeout(PATIENCE_S)
        made.sendto(b"\1\1\1\0\0\1\0\0\0\0\0\0" + question, ("127.0.0.11", 53))
        answers = struct.unpack("!H", made.recv(512)[6:8])[0]
        if not answers:
            raise OSError("no such name")


def main(wanted):
    reached, lock = [], threading.Lock()

    def look(kind, where):
        try:
            {"tcp": tcp, "udp": udp, "ping": ping, "names": names}[kind](*where)
        except (OSError, ValueError):
            return
        with lock:
            reached.append(" ".join([kind, *map(str, where)]))

    tries = [
        (kind, where if isinstance(where, list) else [where])
        for kind in ("tcp", "udp", "ping", "names")
        for where in wanted.get(kind, ())
    ]
    TRIED.update(port for kind in ("tcp", "udp") for _, port in wanted.get(kind, ()))
    threads = [threading.Thread(target=look, args=one, daemon=True) for one in tries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(sorted(reached)), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
    if len(sys.argv) > 2:
        os.execvp("sleep", ["sleep", sys.argv[2]])
