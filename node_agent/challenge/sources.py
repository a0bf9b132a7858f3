"""Form of the challenge program on this host: a container if its provider named an image, else a child process."""

from __future__ import annotations

from pathlib import Path

from node_agent.challenge.child_process import ChildPrograms
from node_agent.challenge.container import ContainerPrograms
from node_agent.challenge.container_options import CHALLENGE
from node_agent.challenge.program_port import ProgramSource


def program_source(
    image: str | None, docker_host: str | None, host: str, folder: Path, role: str = CHALLENGE
) -> ProgramSource:
    """Return what starts the program. `folder`: for the archive of a child process; `role`: of a container."""
    if image is None:
        return ChildPrograms(folder)
    return ContainerPrograms(docker_host, host, image, role)
