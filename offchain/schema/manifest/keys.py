"""The keys of a manifest: those Gantry reads, and those of Compose that it refuses, each with what to do instead."""

from __future__ import annotations

_NETWORK = "Remove it; a pod's containers share a network of their own, and gantry forward leads into it"
_HOST = "Remove it; nothing of the host is shared with a task"
_SECURITY = "Remove it; hosts set the container's privileges, and they are the same for every task"
_ENGINE = "Remove it; the host decides this"
_LIMITS = "Use deploy.resources.limits"
_FILES = "Put the files into the image, or send them with x-gantry.inputs"
_TERMINAL = "Remove it; gantry shell opens a terminal of its own"
_START = "Put it into command"

TOP = ("name", "services", "volumes", "secrets", "x-gantry")
TOP_REFUSED = {
    "version": "Remove it; Compose does not use it any more either",
    "networks": _NETWORK,
    "configs": _FILES,
    "include": "Write everything in one file",
    "models": "Put the model into the image",
}

_VOLUME = "Remove it; a volume lies on the host's disk and counts against x-gantry.disk"
VOLUME: tuple[str, ...] = ()
VOLUME_REFUSED = {
    "driver": _VOLUME,
    "driver_opts": _VOLUME,
    "external": "Remove it; to take over the data of an earlier rental use x-gantry.data_from",
    "labels": _ENGINE,
    "name": "Remove it; a volume is known by its key",
}

_SEALED = "Write external: true, and send it to the host with gantry deliver; a manifest is public"
SECRET = ("external",)
SECRET_REFUSED = {
    "file": _SEALED,
    "environment": _SEALED,
    "content": _SEALED,
    "driver": _SEALED,
    "driver_opts": _SEALED,
    "template_driver": _SEALED,
    "labels": _ENGINE,
    "name": "Remove it; a secret is known by its key",
}

SERVICE = (
    "image",
    "command",
    "entrypoint",
    "environment",
    "working_dir",
    "user",
    "read_only",
    "tmpfs",
    "volumes",
    "secrets",
    "expose",
    "ports",
    "healthcheck",
    "restart",
    "stop_signal",
    "stop_grace_period",
    "depends_on",
    "deploy",
)
SERVICE_REFUSED = {
    "annotations": _ENGINE,
    "attach": _ENGINE,
    "blkio_config": _ENGINE,
    "build": "Build the image yourself and give it as image: name@sha256:<digest>",
    "cap_add": _SECURITY,
    "cap_drop": "Remove it; all capabilities are dropped already",
    "cgroup": _HOST,
    "cgroup_parent": _HOST,
    "configs": _FILES,
    "container_name": "Remove it; the host names its containers",
    "cpu_count": _LIMITS,
    "cpu_percent": _LIMITS,
    "cpu_period": _LIMITS,
    "cpu_quota": _LIMITS,
    "cpu_rt_period": _LIMITS,
    "cpu_rt_runtime": _LIMITS,
    "cpu_shares": _LIMITS,
    "cpus": "Use deploy.resources.limits.cpus",
    "cpuset": _LIMITS,
    "credential_spec": _ENGINE,
    "develop": "Remove it; it is for building on your own machine",
    "device_cgroup_rules": _HOST,
    "devices": "For GPUs use deploy.resources.reservations.devices; nothing else of the host is shared",
    "dns": _NETWORK,
    "dns_opt": _NETWORK,
    "dns_search": _NETWORK,
    "domainname": _NETWORK,
    "driver_opts": _NETWORK,
    "env_file": "Write the variables under environment; ${NAME} takes a value from your shell",
    "extends": "Write everything in one file",
    "external_links": _NETWORK,
    "extra_hosts": _NETWORK,
    "gpus": "Use deploy.resources.reservations.devices",
    "group_add": _SECURITY,
    "hostname": "Remove it; a container is named after its pod",
    "init": "Remove it; every container has an init process already",
    "ipc": _HOST,
    "isolation": _ENGINE,
    "label_file": _ENGINE,
    "labels": _ENGINE,
    "links": _NETWORK,
    "logging": "Remove it; read the log with gantry logs",
    "mac_address": _NETWORK,
    "mem_limit": "Use deploy.resources.limits.memory",
    "mem_reservation": _LIMITS,
    "mem_swappiness": _LIMITS,
    "memswap_limit": _LIMITS,
    "models": "Put the model into the image",
    "network_mode": _NETWORK,
    "networks": _NETWORK,
    "oom_kill_disable": _ENGINE,
    "oom_score_adj": _ENGINE,
    "pid": _HOST,
    "pids_limit": "Use deploy.resources.limits.pids",
    "platform": "Remove it; the image's digest says which platform it is for",
    "post_start": _START,
    "pre_stop": "Catch the stop signal in command; stop_signal and stop_grace_period say which and how long",
    "privileged": _SECURITY,
    "profiles": "Write one file for each task",
    "provider": "Remove it; a task runs an image",
    "pull_policy": "Remove it; an image is pulled when the host does not have its digest",
    "runtime": _ENGINE,
    "scale": "Use x-gantry.pods",
    "security_opt": _SECURITY,
    "shm_size": "Use tmpfs: /dev/shm:size=1G",
    "stdin_open": _TERMINAL,
    "storage_opt": "Use x-gantry.disk",
    "sysctls": _SECURITY,
    "tty": _TERMINAL,
    "ulimits": _LIMITS,
    "use_api_socket": _SECURITY,
    "userns_mode": _SECURITY,
    "uts": _HOST,
    "volumes_from": "Name the volumes of the other service under volumes again",
}

DEPLOY = ("resources", "restart_policy")
DEPLOY_REFUSED = {
    "endpoint_mode": _NETWORK,
    "labels": _ENGINE,
    "mode": "Use x-gantry.pods",
    "placement": "Use x-gantry.placement",
    "replicas": "Use x-gantry.pods",
    "rollback_config": "Remove it; gantry service rollback has options for it",
    "update_config": "Remove it; gantry service update has options for it",
}

RESTART_POLICY = ("condition", "max_attempts")
_PAUSES = "Remove it; the pause before a restart starts short and grows by itself"
RESTART_POLICY_REFUSED = {"delay": _PAUSES, "window": _PAUSES}

HEALTHCHECK = ("test", "interval", "timeout", "retries", "start_period", "disable")
HEALTHCHECK_REFUSED = {"start_interval": "Remove it; interval holds from the start"}

DEPENDENCY = ("condition",)
DEPENDENCY_REFUSED = {
    "restart": "Remove it; a service is restarted for its own sake only",
    "required": "Remove it; every service of a manifest is started",
}

MOUNT = ("type", "source", "target", "read_only", "tmpfs")
MOUNT_REFUSED = {
    "bind": _HOST,
    "consistency": _ENGINE,
    "image": "Put the files into the service's own image",
    "volume": "Remove it; volumes are the same for everybody",
}
MOUNT_TMPFS = ("size", "mode")

_OWNER = "Remove it; the file belongs to the container's user, who alone can read it"
SECRET_USE = ("source", "target")
SECRET_USE_REFUSED = {"uid": _OWNER, "gid": _OWNER, "mode": _OWNER}

_PUBLISHED = "Remove it; gantry forward TASK LOCAL:PORT opens the port on your own machine"
PORT = ("target", "protocol")
PORT_REFUSED = {
    "published": _PUBLISHED,
    "host_ip": _PUBLISHED,
    "mode": _PUBLISHED,
    "app_protocol": "Remove it; whatever speaks TCP is forwarded",
    "name": "Remove it; a port is known by its number",
}

RESOURCES = ("limits", "reservations")
LIMITS = ("cpus", "memory", "pids")
RESERVATIONS = ("devices",)
RESERVATIONS_REFUSED = {
    "cpus": "Remove it; a pod gets all of deploy.resources.limits.cpus",
    "memory": "Remove it; a pod gets all of deploy.resources.limits.memory",
    "pids": "Use deploy.resources.limits.pids",
    "generic_resources": "Use devices",
}
DEVICE = ("driver", "count", "capabilities")
DEVICE_REFUSED = {
    "device_ids": "Use count; the scheduler chooses the devices",
    "options": "Remove it; use x-gantry.placement for models and memory",
}

GANTRY = (
    "kind",
    "price",
    "billing",
    "duration",
    "deadline",
    "priority",
    "queue",
    "verification",
    "placement",
    "gpu",
    "result",
    "inputs",
    "pods",
    "scaling",
    "disk",
    "ssh",
    "data_from",
    "snapshot",
    "spot",
    "survival",
    "checkpoint",
    "registry_login",
)
VERIFICATION = ("replicas",)
SPOT = ("checkpoint_signal",)
CHECKPOINT = ("path", "every")
REGISTRY_LOGIN = ("registry", "secret")
PODS = ("min", "max")
SCALING = ("metric", "target", "stabilisation")
POD_METRIC = ("port", "path", "name", "target_per_pod")
SSH = ("authorized_keys", "path", "port")
RESULT = ("path", "seal_to")
INPUT = ("name", "path", "sha256", "service")
PRICE = ("max_per_hour",)
GPU = ("share",)
PLACEMENT = (
    *("regions", "hosts", "providers", "tiers", "verified_only", "allow_simulated"),
    *("models", "min_vram", "min_network_mbps", "max_latency", "spread", "pack", "isolation"),
)
PROVIDERS = ("allow", "deny")
