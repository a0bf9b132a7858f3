"""Jobs whose result is something else than a plain file of the pod, on a running network."""

import asyncio
from pathlib import Path

import jobs

from tests.support.local_network import TENANT, Net, Pods, memory_kib, sha256

NOT_REGULAR = "is not a regular file"
ATTACKS = {
    "a link to the machine's shadow file": ("ln -s /etc/shadow /r", NOT_REGULAR),
    "a link to the environment of a process": ("ln -s /proc/self/environ /r", NOT_REGULAR),
    "a link to an endless device": ("ln -s /dev/zero /r", NOT_REGULAR),
    "a link to itself": ("ln -s r /r", "left no way to a file"),
    "a folder": ("mkdir /r", NOT_REGULAR),
    "a pipe": ("mkfifo /r", NOT_REGULAR),
    "nothing": ("true", "left no file"),
}
TOO_LARGE = 153


async def test_what_is_no_plain_file_gives_an_empty_result_and_a_note(net: Net, pods: Pods, tmp_path: Path) -> None:
    """The job ends as its program did, is paid once, and its log says what was wrong with the result."""
    numbers = {}
    for name, (script, _) in ATTACKS.items():
        numbers[name] = await jobs.submit(net, tmp_path, script, result="/r")
    for name, number in numbers.items():
        await net.until(number, {"Reported", "Settled"})
        (lease,) = await net.leases(number)
        assert lease.result is not None, name
        assert (lease.result.exit_code, lease.result.digest.hex()) == (0, sha256(b"")), name
        log = await jobs.told(net, "logs", str(number))
        assert ATTACKS[name][1] in log.out, f"{name}: {log.said}"
    await _ended(net, pods, numbers.values())


async def test_a_result_beyond_the_limit_is_not_read(net: Net, pods: Pods, tmp_path: Path) -> None:
    """A sparse file of a tebibyte takes no time, no memory and no disk of the agent."""
    before = memory_kib(net.pid("agent"))
    number = await jobs.submit(net, tmp_path, "truncate -s 1024G /r", result="/r")
    await net.until(number, {"Reported", "Settled"})
    (lease,) = await net.leases(number)
    assert lease.result is not None
    assert lease.result.exit_code == TOO_LARGE
    log = await jobs.told(net, "logs", str(number))
    assert f"{1 << 40} bytes" in log.out, log.said
    assert memory_kib(net.pid("agent")) < before + (64 << 10)
    await _ended(net, pods, [number])


async def test_a_copy_below_a_mount_is_refused(net: Net, pods: Pods, tmp_path: Path) -> None:
    number = await jobs.submit(net, tmp_path, "ln -s /sys /alias; echo up; sleep 600")
    await net.until(number, {"Running"})
    (tmp_path / "x").write_text("x")
    try:
        for folder in ("/sys/x", "/dev/shm/x", "/proc/x", "/tmp/x", "/alias/x"):
            done = await jobs.told(net, "cp", tmp_path / "x", f"{number}:{folder}")
            assert (done.code, "a mount whose files cannot be copied" in done.err) == (1, True), done.said
            out = await jobs.told(net, "cp", f"{number}:{folder}", tmp_path / "out")
            assert (out.code, "a mount whose files cannot be copied" in out.err) == (1, True), out.said
        copied = await jobs.told(net, "cp", tmp_path / "x", f"{number}:/x")
        assert copied.code == 0, copied.said
    finally:
        await net.gantry("task", "cancel", str(number), "--account", TENANT)
    await _ended(net, pods, [number])


async def _ended(net: Net, pods: Pods, numbers: object) -> None:
    """Wait until no container of these tasks is left."""
    for number in numbers:  # type: ignore[attr-defined]

        async def gone(task: int = number) -> bool:
            return await asyncio.to_thread(pods.gone, task)

        await net.each_block(gone, f"the containers of task {number} to be removed")
