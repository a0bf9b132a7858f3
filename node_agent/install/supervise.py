"""Supervisor of the agent without systemd. Standard library only: this process outlives updates of the agent.

SIGHUP restarts the agent, SIGTERM ends both. If the supervisor is killed, the kernel ends the agent with it; containers
keep running in any case.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from offchain.processes import write_record
from offchain.supervisor import Child, Supervisor

RECORD = "supervisor.json"
LOCK = "supervisor.lock"
LOG = "logs/agent.log"
LOG_BYTES = 5 << 20
LONGEST_PAUSE_S = 60.0
STEADY_S = 60.0
STOP_S = 30.0
_TO_PARENT = 63
"""The descriptor on which a foreground process waits."""


def supervise(command: list[str], state: Path) -> None:
    """Keep this command of the agent running until SIGTERM."""
    is_stopping = must_restart = False

    def on_signal(number: int, _frame: FrameType | None) -> None:
        nonlocal is_stopping, must_restart
        if number == signal.SIGHUP:
            must_restart = True
        else:
            is_stopping = True

    wake_r, wake_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, on_signal)
    log = (state / LOG).parent
    supervisor = Supervisor(longest_pause_s=LONGEST_PAUSE_S, steady_s=STEADY_S)
    supervisor.add(Child("agent", command, log=log, run=None, env=os.environ, term_s=STOP_S, log_bytes=LOG_BYTES))
    while not is_stopping:
        supervisor.wait(3600, wake_r)
        with contextlib.suppress(BlockingIOError):
            os.read(wake_r, 4096)
        if must_restart:
            must_restart = False
            supervisor.restart()
    supervisor.stop()


def _is_parent() -> bool:
    """Continue in a child with its own session; return True in the parent once the child is up or has ended."""
    from_child, to_parent = os.pipe()
    if os.fork():
        os.close(to_parent)
        os.read(from_child, 1)
        return True
    os.close(from_child)
    os.setsid()
    os.dup2(to_parent, _TO_PARENT)
    os.close(to_parent)
    return False


def _let_parent_go() -> None:
    os.close(_TO_PARENT)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)


def main(argv: list[str]) -> int:
    """Run `python -m node_agent.install.supervise STATE`: supervise this folder unless another process does.

    Goes into the background; the foreground process ends once the supervisor is up.
    """
    state = Path(argv[0]).absolute()
    os.umask(0o077)
    lock = os.open(state / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.stderr.write(f"another supervisor runs for {state}\n")
        return 1
    if _is_parent():
        return 0
    write_record(state / RECORD, os.getpid())
    _let_parent_go()
    try:
        supervise([sys.executable, "-m", "node_agent.install.launch", str(state)], state)
    finally:
        (state / RECORD).unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
