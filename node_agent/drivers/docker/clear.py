"""`python -m node_agent.drivers.docker.clear [STATE [ENGINE]]`: remove what a host leaves on its machine.

With its state folder: its tenants' secrets in memory. With the address of a Docker engine: everything that the engine
holds for the host. And the firewall rules that isolate pods, if no pod of any agent is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import docker
from docker.utils import kwargs_from_env

from node_agent.drivers.docker.disks import disks_of, release_volumes
from node_agent.drivers.docker.spec import LABEL_CHALLENGE, LABEL_HOST
from node_agent.drivers.firewall import Firewall
from node_agent.drivers.lease_disks import DiskError
from node_agent.runtime.delivered_files import secrets_folder
from node_agent.runtime.state_dir import HOST_KEY
from offchain.adapters.keys.signer import load_host_key


def clear_engine(url: str | None, host: str, *, data: bool) -> None:
    """Remove a host's containers and networks from an engine, with `data` also its volumes and file systems.

    Raises docker's errors, and :class:`DiskError`.
    """
    wanted = {"label": [f"{LABEL_HOST}={host}"]}
    where: dict[str, Any] = dict(kwargs_from_env()) if url is None else {"base_url": url}
    with contextlib.closing(docker.APIClient(version="auto", timeout=60, **where)) as api:
        disks = disks_of(Path(str(api.info().get("DockerRootDir") or "")), host)
        release_volumes(disks)
        programs = api.containers(all=True, filters={"label": [f"{LABEL_CHALLENGE}={host}"]})
        for container in (*api.containers(all=True, filters=wanted), *programs):
            with contextlib.suppress(docker.errors.NotFound):
                api.remove_container(container["Id"], v=True, force=True)
        for network in api.networks(filters=wanted):
            api.remove_network(network["Id"])
        for volume in (api.volumes(filters=wanted).get("Volumes") or ()) if data else ():
            api.remove_volume(volume["Name"], force=True)
        for image in api.images(filters=wanted) if data else ():
            # Snapshots of rentals have the labels of their containers.
            api.remove_image(image["Id"], force=True)
        for number in disks.numbers() if data else ():
            disks.remove(number)


def forget_secrets(state: Path) -> None:
    """Delete files that tenants delivered; no pod may be left."""
    shutil.rmtree(secrets_folder(state), ignore_errors=True)


def main(arguments: list[str]) -> int:
    """Remove all that can be removed; the exit status tells whether all of it was."""
    status = 0
    if arguments:
        forget_secrets(Path(arguments[0]))
    if len(arguments) == 2 and (key := Path(arguments[0]) / HOST_KEY).exists():
        try:
            clear_engine(arguments[1], load_host_key(key).address, data=True)
        except (docker.errors.DockerException, DiskError) as error:
            sys.stderr.write(f"error: the engine at {arguments[1]} keeps what is labelled {LABEL_HOST}: {error}\n")
            status = 1
    if os.getuid() == 0:
        asyncio.run(Firewall().remove_unused())
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
