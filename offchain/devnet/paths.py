"""Paths of the clone, of the state of its local network, and of the cache that clones share."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
_SOCKET_ROOM = 60


class DevnetError(Exception):
    """An error that the user can fix: what happened, and what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def cache_dir() -> Path:
    """Return the folder of files that are slow to make and equal for every clone."""
    named = os.environ.get("GANTRY_CACHE")
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(named) if named else Path(base) / "gantry" if base else Path.home() / ".cache" / "gantry"


@dataclass(frozen=True, slots=True)
class DevnetPaths:
    """The files of one local network."""

    state: Path

    @classmethod
    def here(cls) -> DevnetPaths:
        """Return the paths of this clone's network, or of GANTRY_STATE."""
        named = os.environ.get("GANTRY_STATE")
        return cls(Path(named).absolute() if named else ROOT / ".gantry")

    @property
    def log(self) -> Path:
        """One log file for each process."""
        return self.state / "log"

    @property
    def run(self) -> Path:
        """Records of running processes."""
        return self.state / "run"

    @property
    def node(self) -> Path:
        """The chain's data."""
        return self.state / "node"

    @property
    def workers(self) -> Path:
        """The workers' data."""
        return self.state / "workers"

    @property
    def gateway(self) -> Path:
        """The gateway's key and address; read by the gantry command (offchain.cli.kit.network)."""
        return self.state / "gateway"

    @property
    def index(self) -> Path:
        """The chain's history; read by gantry history (offchain.cli.kit.network)."""
        return self.state / "index"

    @property
    def agent(self) -> Path:
        """The agent's data, its host key among them."""
        return self.state / "agent"

    @property
    def monitoring(self) -> Path:
        """Configuration and data of Prometheus and Alertmanager."""
        return self.state / "monitoring"

    @property
    def engine(self) -> Path:
        """A private Docker engine's data."""
        return self.state / "docker"

    @property
    def shared_engine_file(self) -> Path:
        """The address of an engine that is not the network's own; it exists while that is used."""
        return self.run / "engine"

    @property
    def network_file(self) -> Path:
        """Address, genesis hash and Docker engine, read by the gantry command."""
        return self.state / "network.json"

    @property
    def env_file(self) -> Path:
        """Variables for manifests, read by the gantry command."""
        return self.state / "env"

    @property
    def sockets(self) -> Path:
        """A folder with a short path, because the path of a socket has at most 107 bytes."""
        own = self.state / "sock"
        if len(os.fsencode(own)) <= _SOCKET_ROOM:
            return own
        key = hashlib.sha256(os.fsencode(self.state)).hexdigest()[:12]
        return Path(tempfile.gettempdir()) / f"gantry-{os.getuid()}-{key}"
