"""The keys of Compose that a manifest cannot have, each with what to do instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NETWORK: Final = "Remove it; a pod's containers share a network of their own, and gantry forward leads into it"
HOST: Final = "Remove it; nothing of the host is shared with a task"
HOST_PATH: Final = "Declare a volume by name under volumes:, or send files with x-gantry.inputs or gantry cp"
SEALED: Final = "Write external: true, and send it to the host with gantry deliver; a manifest is public"
ONLY_TCP: Final = "Remove it; only TCP is forwarded"
LIMITS: Final = 'Add deploy: {resources: {limits: {cpus: "1", memory: 512M}}}; the price depends on them'
IMAGE_MOUNT: Final = "Put the files into the service's own image"
_ENGINE = "Remove it; the host decides this"
_FILES = "Put the files into the image, or send them with x-gantry.inputs"
_MODEL = "Put the model into the image"
_ONE_FILE = "Write everything in one file"
_PUBLISHED = "Remove it; gantry forward TASK LOCAL:PORT opens the port on your own machine"


def _by_key(hints: Mapping[str, str]) -> dict[str, str]:
    """Return the hint of each key. `hints`: keys, separated by spaces, by hint."""
    return {key: hint for hint, keys in hints.items() for key in keys.split()}


FILE: Final = _by_key(
    {
        "Remove it; Compose does not use it any more either": "version",
        NETWORK: "networks",
        _FILES: "configs",
        _ONE_FILE: "include",
        _MODEL: "models",
        "This is a file for Kubernetes; write a Docker Compose file with x-gantry": "apiVersion metadata spec",
        "This is a file for schedulers: gantry worker scheduler --queues FILE": "queues",
        "This is a file for schedulers: gantry worker scheduler --reservations FILE": "reservations",
    }
)
SERVICE: Final = _by_key(
    {
        _ENGINE: "annotations attach blkio_config credential_spec isolation label_file labels oom_kill_disable "
        "oom_score_adj runtime",
        "Build the image yourself and give it as image: name@sha256:<digest>": "build",
        "Remove it; hosts set the container's privileges, and they are the same for every task": "cap_add group_add "
        "privileged security_opt sysctls use_api_socket userns_mode",
        "Remove it; all capabilities are dropped already": "cap_drop",
        HOST: "cgroup cgroup_parent device_cgroup_rules ipc pid uts",
        _FILES: "configs",
        "Remove it; the host names its containers": "container_name",
        "Use deploy.resources.limits": "cpu_count cpu_percent cpu_period cpu_quota cpu_rt_period cpu_rt_runtime "
        "cpu_shares cpuset mem_reservation mem_swappiness memswap_limit ulimits",
        "Use deploy.resources.limits.cpus": "cpus",
        "Remove it; it is for building on your own machine": "develop",
        "For GPUs use deploy.resources.reservations.devices; nothing else of the host is shared": "devices",
        NETWORK: "dns dns_opt dns_search domainname driver_opts external_links extra_hosts links mac_address "
        "network_mode networks",
        "Write the variables under environment; ${NAME} takes a value from your shell": "env_file",
        _ONE_FILE: "extends",
        "Use deploy.resources.reservations.devices": "gpus",
        "Remove it; a container is named after its pod": "hostname",
        "Remove it; every container has an init process already": "init",
        "Remove it; read the log with gantry logs": "logging",
        "Use deploy.resources.limits.memory": "mem_limit",
        _MODEL: "models",
        "Use deploy.resources.limits.pids": "pids_limit",
        "Remove it; the image's digest says which platform it is for": "platform",
        "Put it into command": "post_start",
        "Catch the stop signal in command; stop_signal and stop_grace_period say which and how long": "pre_stop",
        "Write one file for each task": "profiles",
        "Remove it; a task runs an image": "provider",
        "Remove it; an image is pulled when the host does not have its digest": "pull_policy",
        "Use x-gantry.pods": "scale",
        "Use tmpfs: /dev/shm:size=1G": "shm_size",
        "Remove it; gantry shell opens a terminal of its own": "stdin_open tty",
        "Use x-gantry.disk": "storage_opt",
        "Name the volumes of the other service under volumes again": "volumes_from",
    }
)
DEPLOY: Final = _by_key(
    {
        NETWORK: "endpoint_mode",
        _ENGINE: "labels",
        "Use x-gantry.pods": "mode replicas",
        "Use x-gantry.placement": "placement",
        "Remove it; gantry service rollback has options for it": "rollback_config",
        "Remove it; gantry service update has options for it": "update_config",
    }
)
VOLUME: Final = _by_key(
    {
        "Remove it; a volume lies on the host's disk and counts against x-gantry.disk": "driver driver_opts",
        "Remove it; to take over the data of an earlier rental use x-gantry.data_from": "external",
        _ENGINE: "labels",
        "Remove it; a volume is known by its key": "name",
    }
)
SECRET: Final = _by_key(
    {
        SEALED: "file environment content driver driver_opts template_driver",
        _ENGINE: "labels",
        "Remove it; a secret is known by its key": "name",
    }
)
SECRET_USE: Final = _by_key(
    {"Remove it; the file belongs to the container's user, who alone can read it": "uid gid mode"}
)
MOUNT: Final = _by_key(
    {
        HOST: "bind",
        _ENGINE: "consistency",
        IMAGE_MOUNT: "image",
        "Remove it; volumes are the same for everybody": "volume",
    }
)
MOUNT_TYPE: Final = _by_key({HOST_PATH: "bind npipe cluster", IMAGE_MOUNT: "image"})
PORT: Final = _by_key(
    {
        _PUBLISHED: "published host_ip mode",
        "Remove it; every protocol over TCP is forwarded": "app_protocol",
        "Remove it; a port is known by its number": "name",
    }
)
HEALTHCHECK: Final = _by_key({"Remove it; interval holds from the start": "start_interval"})
RESTART_POLICY: Final = _by_key(
    {"Remove it; the pause before a restart starts short and grows by itself": "delay window"}
)
DEPENDENCY: Final = _by_key(
    {
        "Remove it; a service is not restarted because another is": "restart",
        "Remove it; every service of a manifest is started": "required",
    }
)
RESERVATIONS: Final = _by_key(
    {
        "Remove it; a pod gets all of deploy.resources.limits.cpus": "cpus",
        "Remove it; a pod gets all of deploy.resources.limits.memory": "memory",
        "Use deploy.resources.limits.pids": "pids",
        "Use devices": "generic_resources",
    }
)
DEVICE: Final = _by_key(
    {
        "Use count; the scheduler chooses the devices": "device_ids",
        "Remove it; use x-gantry.placement for models and memory": "options",
    }
)
