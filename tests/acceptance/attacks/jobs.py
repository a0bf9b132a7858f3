"""Jobs that attack: one container of the demonstration image, without a GPU, that runs a script."""

import json
from pathlib import Path

from tests.support.local_network import TENANT, Done, Net

_MANIFEST = """
name: attack
services:
  {service}:
    image: ${{GANTRY_DEMO_IMAGE:?scripts/demo-image builds the image and prints its name}}
    command: {command}
    deploy:
      resources:
        limits: {{cpus: "{cpus}", memory: 64M, pids: 32}}
x-gantry:
  kind: job
  price: {{max_per_hour: 2.5 GTY}}
  duration: 10m
  disk: 2GiB
  placement: {{allow_simulated: true}}
  result: {result}
"""


async def submit(
    net: Net, folder: Path, script: str, *, result: str = "stdout", service: str = "main", cpus: str = "0.2"
) -> int:
    """Submit a job that runs the script with sh; return the task's number."""
    command = json.dumps(["sh", "-c", script.replace("$", "$$")])
    file = folder / "attack.yaml"
    file.write_text(_MANIFEST.format(service=service, command=command, result=result, cpus=cpus), encoding="utf-8")
    done = await net.check("submit", file, "--account", TENANT, "--json")
    return int(done.json["task"])


async def told(net: Net, *command: str | Path) -> Done:
    """Run a command of the tenant."""
    return await net.gantry(*command, "--account", TENANT)
