"""The keys of a manifest: those Gantry reads, and those of Compose that it refuses, each with what to do instead."""

from __future__ import annotations

_NETWORK = "Remove it; a job's container has a network of its own and nothing reaches into it"
_HOST = "Remove it; nothing of the host is shared with a task"
_SECURITY = "Remove it; hosts set the container's privileges, and they are the same for every task"
_ENGINE = "Remove it; the host decides this"
_LIMITS = "Use deploy.resources.limits"
_FILES = "Put the files into the image"

TOP = ("name", "services", "x-gantry")
TOP_REFUSED = {
    "version": "Remove it; Compose does not use it any more either",
    "networks": _NETWORK,
    "volumes": _FILES,
    "configs": _FILES,
    "secrets": "Remove it; a manifest is public",
    "include": "Write everything in one file",
    "models": "Put the model into the image",
}

SERVICE = ("image", "command", "entrypoint", "environment", "working_dir", "user", "read_only", "tmpfs", "deploy")
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
    "depends_on": "Remove it; a task has one service",
    "develop": "Remove it; it is for building on your own machine",
    "device_cgroup_rules": _HOST,
    "devices": "For GPUs use deploy.resources.reservations.devices; nothing else of the host is shared",
    "dns": _NETWORK,
    "dns_opt": _NETWORK,
    "dns_search": _NETWORK,
    "domainname": _NETWORK,
    "driver_opts": _NETWORK,
    "env_file": "Write the variables under environment; ${NAME} takes a value from your shell",
    "expose": _NETWORK,
    "extends": "Write everything in one file",
    "external_links": _NETWORK,
    "extra_hosts": _NETWORK,
    "gpus": "Use deploy.resources.reservations.devices",
    "group_add": _SECURITY,
    "healthcheck": "Remove it; a job is done when its command ends",
    "hostname": _NETWORK,
    "init": _ENGINE,
    "ipc": _HOST,
    "isolation": _ENGINE,
    "label_file": _ENGINE,
    "labels": _ENGINE,
    "links": _NETWORK,
    "logging": "Remove it; read the log with: gantry task logs",
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
    "ports": _NETWORK,
    "post_start": "Put it into command",
    "pre_stop": "Put it into command",
    "privileged": _SECURITY,
    "profiles": "Write one file for each task",
    "provider": "Remove it; a task runs an image",
    "pull_policy": "Remove it; an image is pulled when the host does not have its digest",
    "restart": "Remove it; a job runs once and is placed anew when its host fails",
    "runtime": _ENGINE,
    "scale": "Use x-gantry.pods",
    "secrets": "Remove it; a manifest is public",
    "security_opt": _SECURITY,
    "shm_size": "Use tmpfs: /dev/shm:size=1G",
    "stdin_open": "Remove it; a job has no terminal",
    "stop_grace_period": _ENGINE,
    "stop_signal": _ENGINE,
    "storage_opt": "Use x-gantry.disk",
    "sysctls": _SECURITY,
    "tty": "Remove it; a job has no terminal",
    "ulimits": _LIMITS,
    "use_api_socket": _SECURITY,
    "userns_mode": _SECURITY,
    "uts": _HOST,
    "volumes": _FILES,
    "volumes_from": _FILES,
}

DEPLOY = ("resources",)
DEPLOY_REFUSED = {
    "endpoint_mode": _NETWORK,
    "labels": _ENGINE,
    "mode": "Use x-gantry.pods",
    "placement": "Use x-gantry.placement",
    "replicas": "Use x-gantry.pods",
    "restart_policy": "Remove it; a job runs once and is placed anew when its host fails",
    "rollback_config": "Remove it; a job is not updated",
    "update_config": "Remove it; a job is not updated",
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
    "result",
    "pods",
    "disk",
)
PRICE = ("max_per_hour",)
PLACEMENT = ("regions", "hosts", "providers", "tiers", "verified_only", "allow_simulated", "models", "min_vram")
PROVIDERS = ("allow", "deny")
