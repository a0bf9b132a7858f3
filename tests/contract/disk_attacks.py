"""Runs inside a pod: tries to take more disk than its lease has, in each way that is known, and prints what it took.

`python disk_attacks.py VOLUME IMAGE_VOLUME` prints one line of JSON: for each attack the bytes that it got, and the
error that ended it. Each attack ends by itself at three times the limit, and tidies up for the next. Space is taken by
fallocate, which costs no writing; one attack writes for real.
"""

# ruff: noqa: PTH102, PTH108, PTH118, T201
# It loads as little as possible, and what it prints is its answer.

import contextlib
import errno
import json
import mmap
import os
import shutil
import sys

MIB = 1 << 20
STEP = 8 * MIB
FAR = 3 << 30
MANY = 100_000


def grow(descriptor, offset=0):
    """Take space for a file until that is refused; gives the bytes and the error's name."""
    taken = offset
    step = STEP
    while taken < FAR:
        try:
            os.posix_fallocate(descriptor, taken, step)
        except OSError as error:
            if step == STEP:
                step = 1 << 16  # the last piece exactly
                continue
            return taken - offset, errno.errorcode[error.errno]
        taken += step
    return taken - offset, ""


def file_in(folder):
    path = os.path.join(folder, "big")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        return grow(descriptor)
    finally:
        os.close(descriptor)
        os.unlink(path)


def engine_file(path):
    """A file that the engine mounts into the container."""
    descriptor = os.open(path, os.O_RDWR)
    size = os.fstat(descriptor).st_size
    try:
        return grow(descriptor, size)
    finally:
        os.ftruncate(descriptor, size)
        os.close(descriptor)


def unlinked(*folders):
    """Files without a name, all open at once, in several places."""
    held, sums = [], [0, ""]
    for number, folder in enumerate(folders):
        path = os.path.join(folder, "nameless")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
        os.unlink(path)
        held.append(descriptor)
        if number + 1 < len(folders):
            os.posix_fallocate(descriptor, 0, 64 * MIB)
            sums[0] += 64 * MIB
        else:
            got, sums[1] = grow(descriptor)
            sums[0] += got
    for descriptor in held:
        os.close(descriptor)
    return tuple(sums)


def deep(folder):
    """A file whose path is longer than the kernel takes in one call."""
    here = os.open(folder, os.O_RDONLY)
    name = "d" * 200
    for _ in range(30):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    descriptor = os.open("big", os.O_RDWR | os.O_CREAT, dir_fd=here)
    try:
        return grow(descriptor)
    finally:
        os.close(descriptor)
        os.unlink("big", dir_fd=here)
        os.close(here)


def many(make, folder):
    """The number of things that can be made in a folder, and the error that ended it."""
    os.mkdir(folder)
    count, refused = 0, ""
    while count < MANY:
        try:
            make(f"{folder}/{count}")
        except OSError as error:
            refused = errno.errorcode[error.errno]
            break
        count += 1
    shutil.rmtree(folder)
    return count, refused


def empty_file(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT))


def sparse(folder):
    """A file of a terabyte without content takes nothing; all of its blocks cannot be filled."""
    path = os.path.join(folder, "sparse")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        os.ftruncate(descriptor, 1 << 40)
        return grow(descriptor)
    finally:
        os.close(descriptor)
        os.unlink(path)


def written(folder):
    """Space is left for little; the rest is written, first as usual, then through memory."""
    filler = os.open(os.path.join(folder, "filler"), os.O_RDWR | os.O_CREAT)
    taken, _ = grow(filler)
    os.ftruncate(filler, taken - 48 * MIB)
    taken -= 48 * MIB
    path = os.path.join(folder, "real")
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    piece = os.urandom(MIB)
    refused = ""
    try:
        for _ in range(200):
            taken += os.write(file, piece)
        os.fsync(file)
    except OSError as error:
        refused = errno.errorcode[error.errno]
    os.ftruncate(file, 16 * MIB)
    with mmap.mmap(file, 16 * MIB) as memory:
        memory[:] = b"x" * (16 * MIB)  # these blocks are there: no write through memory beyond them
    os.close(filler)
    os.close(file)
    os.unlink(os.path.join(folder, "filler"))
    os.unlink(path)
    return taken, refused


def attributes(folder):
    """Extended attributes, each as large as the kernel allows for one."""
    path = os.path.join(folder, "attributes")
    taken, refused = 0, ""
    os.mkdir(path)
    for number in range(200):
        name = f"{path}/{number}"
        empty_file(name)
        try:
            os.setxattr(name, "user.big", b"x" * 3000)
        except OSError as error:
            refused = errno.errorcode[error.errno]
            break
        taken += 4096
    shutil.rmtree(path)
    return taken, refused


def main(volume, image_volume):
    for path in (volume, image_volume):
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)
    seen = {
        "layer": file_in("/"),
        "volume": file_in(volume),
        "image volume": file_in(image_volume),
        "hosts": engine_file("/etc/hosts"),
        "hostname": engine_file("/etc/hostname"),
        "resolv.conf": engine_file("/etc/resolv.conf"),
        "unlinked": unlinked("/", volume, image_volume),
        "deep layer": deep("/"),
        "deep volume": deep(volume),
        "sparse": sparse("/"),
        "attributes": attributes(volume),
        "written": written(volume),
        "empty files": many(empty_file, "/empty"),
    }
    print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
