"""A service of the operating system for tests of updates."""

import json
import os

from node_agent.install.releases import Releases
from node_agent.runtime.status_file import NAME as BEACON
from offchain.clock import unix_ms
from offchain.processes import start_time


class FakeService:
    """A service whose agent is this process: it reports what a release reports when it is started.

    `broken`: releases that do not become ready. They are given up at once, or with `hangs` when their trial ends.
    `killed`: the program that restarts the service is killed then.
    """

    kind = "stand-in"

    def __init__(self, state, broken=(), *, hangs=False):
        self.state = state
        self.broken = set(broken)
        self.hangs = hangs
        self.killed = False
        self.started = []

    def running(self):
        return True

    def restart(self):
        if self.killed:
            raise KeyboardInterrupt
        releases = Releases(self.state)
        release = releases.decide(unix_ms()).release
        self.started.append(release)
        if release in self.broken:
            if not self.hangs:
                releases.give_up(release)
                self.restart()
            return
        releases.confirm(release)
        said = {
            "pid": os.getpid(), "start_time": start_time(os.getpid()), "release": release, "ready": True,
            "started_ms": 0, "said_ms": 0, "addresses": [], "pods": {}, "devices": {}, "network": {},
        }  # fmt: skip
        (self.state / BEACON).write_text(json.dumps(said))

    def log(self, lines, *, follow):
        del lines, follow
        yield "the last words"
