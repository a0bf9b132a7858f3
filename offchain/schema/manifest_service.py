"""Reading one service of a manifest: image, command, environment, limits, devices."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import yaml

from offchain.schema import manifest_keys as keys
from offchain.schema.manifest_nodes import Field, Reader
from offchain.schema.manifest_types import ImageRef, ServiceSpec, TmpfsMount
from offchain.schema.manifest_values import parse_cpus, parse_image, parse_size

DEFAULT_PIDS = 512
_MIB = 1024**2
_U32 = 2**32 - 1
_SERVICE_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_USER = re.compile(r"[a-z0-9_][a-z0-9_-]{0,31}(:[a-z0-9_][a-z0-9_-]{0,31})?", re.ASCII)
_TMPFS_MODE = re.compile(r"[0-7]{3,4}", re.ASCII)


def read_service(name: str, field: Field, reader: Reader) -> tuple[ServiceSpec | None, int]:
    """The container described by a service, and how many GPUs it asks for."""
    if _SERVICE_NAME.fullmatch(name) is None:
        reader.problem(field, f'"{name}" is not a service name', "Use letters, digits, dots, dashes and underscores")
    entries = reader.mapping(field, keys.SERVICE, keys.SERVICE_REFUSED)
    image = None
    if "image" not in entries:
        reader.problem(field, "the image is missing", "Add image: name@sha256:<64 hex digits>")
    else:
        remedy = "Write name@sha256:<64 hex digits>; docker inspect --format '{{.RepoDigests}}' IMAGE shows it"
        image = reader.parsed(entries["image"], parse_image, remedy)
    cpu_milli, memory_mib, pids, gpu_count = _resources(field, entries.get("deploy"), reader)
    working_dir = absolute_path(entries["working_dir"], reader) if "working_dir" in entries else None
    spec = ServiceSpec(
        name=name,
        image=image or ImageRef("", ""),
        command=_words(entries.get("command"), reader),
        entrypoint=_words(entries.get("entrypoint"), reader),
        environment=_environment(entries.get("environment"), reader),
        cpu_milli=cpu_milli,
        memory_mib=memory_mib,
        pids=pids,
        working_dir=working_dir,
        user=_user(entries.get("user"), reader),
        read_only=bool(reader.boolean(entries["read_only"])) if "read_only" in entries else False,
        tmpfs=_tmpfs(entries.get("tmpfs"), reader),
        gpu_count=gpu_count,
    )
    return (spec if image else None), gpu_count


def _words(field: Field | None, reader: Reader) -> tuple[str, ...] | None:
    """A command: a list is taken as it is, a text is split like a shell would; null means what the image says."""
    if field is None or field.kind == "null":
        return None
    if isinstance(field.node, yaml.SequenceNode):
        words = [reader.text(item, max_bytes=16_384, empty=True) for item in reader.sequence(field)]
        return tuple(word for word in words if word is not None)
    text = reader.text(field, max_bytes=16_384, empty=True)
    if text is None:
        return None
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        reader.problem(field, f"the command cannot be split into words: {error}", "Write it as a list: [sh, -c, '...']")
        return None


def _environment(field: Field | None, reader: Reader) -> tuple[tuple[str, str], ...]:
    if field is None or field.kind == "null":
        return ()
    pairs: dict[str, str] = {}
    for item, name, value in _variables(field, reader):
        if _VARIABLE.fullmatch(name) is None:
            reader.problem(item, f'"{name}" is not a variable name', "Use letters, digits and underscores")
        elif value is None:
            remedy = f'Write {name}: ${{{name}}} to take it from your shell, or {name}: "" for an empty one'
            reader.problem(item, f"{name} has no value", remedy)
        elif name in pairs:
            reader.problem(item, f"{name} is set twice", "Keep one of the two")
        else:
            pairs[name] = value
    return tuple(pairs.items())


def _variables(field: Field, reader: Reader) -> Iterator[tuple[Field, str, str | None]]:
    if isinstance(field.node, yaml.SequenceNode):
        for item in reader.sequence(field):
            text = reader.text(item, max_bytes=16_384)
            if text is not None:
                name, equals, value = text.partition("=")
                yield item, name, value if equals else None
        return
    for key, item in reader.any_mapping(field).items():
        if item.kind == "null":
            yield item, key, None
            continue
        text = reader.text(item, max_bytes=16_384, empty=True)
        if text is not None:
            yield item, key, text


def absolute_path(field: Field, reader: Reader) -> str | None:
    """A path inside the container that starts at its root and does not climb."""
    path = reader.text(field)
    if path is None:
        return None
    if not path.startswith("/") or ".." in path.split("/") or any(ord(char) < 32 for char in path):
        reader.problem(field, f'"{path}" is not an absolute path', "Write a path that starts with / and has no ..")
        return None
    return path


def _user(field: Field | None, reader: Reader) -> str | None:
    user = reader.text(field) if field is not None else None
    if field is not None and user is not None and _USER.fullmatch(user) is None:
        reader.problem(field, f'"{user}" is not a user', "Write a name or number, with :group if wanted: 1000:1000")
        return None
    return user


def _tmpfs(field: Field | None, reader: Reader) -> tuple[TmpfsMount, ...]:
    if field is None:
        return ()
    items = reader.sequence(field) if isinstance(field.node, yaml.SequenceNode) else [field]
    mounts = []
    for item in items:
        text = reader.text(item)
        if text is None:
            continue
        target, _, options = text.partition(":")
        path = absolute_path(Field(yaml.ScalarNode(item.node.tag, target), item.line, item.path), reader)
        checked = [_tmpfs_option(item, option, reader) for option in options.split(",") if option]
        if path is not None and path.rstrip("/"):
            mounts.append(TmpfsMount(path, ",".join(option for option in checked if option)))
        elif path is not None:
            reader.problem(item, "/ cannot be a tmpfs", "Name a folder below it")
    return tuple(mounts)


def _tmpfs_option(item: Field, option: str, reader: Reader) -> str | None:
    name, _, value = option.partition("=")
    if name == "size":
        size = reader.parsed(
            Field(yaml.ScalarNode(item.node.tag, value), item.line, item.path), parse_size, "Write size=64M"
        )
        return f"size={size}" if size is not None else None
    if name == "mode" and _TMPFS_MODE.fullmatch(value):
        return option
    reader.problem(item, f'"{option}" is not supported as an option of tmpfs', "Use size=64M and mode=1777")
    return None


def _resources(service: Field, deploy: Field | None, reader: Reader) -> tuple[int, int, int, int]:
    """CPU milli, memory MiB, pids, GPU count."""
    limits_path = f"{service.path}.deploy.resources.limits"
    nothing = Field(service.node, service.line, limits_path)
    remedy = 'Add deploy: {resources: {limits: {cpus: "1", memory: 512M}}}; the price depends on them'
    entries = reader.mapping(deploy, keys.DEPLOY, keys.DEPLOY_REFUSED) if deploy is not None else {}
    resources = reader.mapping(entries["resources"], keys.RESOURCES, {}) if "resources" in entries else {}
    if "limits" not in resources:
        reader.problem(nothing, "the limits are missing", remedy)
        limits = {}
    else:
        limits = reader.mapping(resources["limits"], keys.LIMITS, {})
        for key in ("cpus", "memory"):
            if key not in limits:
                reader.problem(resources["limits"], f"{key} is missing", remedy)
    cpu_milli = (
        reader.parsed(limits["cpus"], parse_cpus, 'Write a number of cores: "1.5"') if "cpus" in limits else None
    )
    if cpu_milli is not None and not 10 <= cpu_milli <= _U32:
        reader.problem(limits["cpus"], f"{cpu_milli / 1000} cores is out of range", "Write at least 0.01 cores")
    size = reader.parsed(limits["memory"], parse_size, "Write a size: 512M or 2GiB") if "memory" in limits else None
    memory_mib = -(-size // _MIB) if size is not None else None
    if memory_mib is not None and not 6 <= memory_mib <= _U32:
        reader.problem(limits["memory"], f"{memory_mib} MiB is out of range", "Write at least 6M")
    pids = reader.integer(limits["pids"], 1, 4_194_304) if "pids" in limits else DEFAULT_PIDS
    gpu_count = _devices(resources["reservations"], reader) if "reservations" in resources else 0
    return cpu_milli or 0, memory_mib or 0, pids or 0, gpu_count


def _devices(reservations: Field, reader: Reader) -> int:
    entries = reader.mapping(reservations, keys.RESERVATIONS, keys.RESERVATIONS_REFUSED)
    items = reader.sequence(entries["devices"]) if "devices" in entries else []
    for extra in items[1:]:
        reader.problem(extra, "GPUs are asked for twice", "Add the counts up in one entry")
    if not items:
        return 0
    device = items[0]
    fields = reader.mapping(device, keys.DEVICE, keys.DEVICE_REFUSED)
    if "driver" in fields:
        refused = "Only NVIDIA devices are placed so far; remove the driver or write nvidia"
        reader.choice(fields["driver"], {"nvidia": None, "amd": refused, "amdgpu": refused, "cdi": refused})
    if "capabilities" not in fields:
        reader.problem(device, "capabilities is missing", "Add capabilities: [gpu]")
    for capability in reader.sequence(fields["capabilities"]) if "capabilities" in fields else []:
        reader.choice(capability, {"gpu": None})
    if "count" not in fields:
        reader.problem(device, "count is missing", "Add count: 1, or how many GPUs a pod needs")
        return 0
    count = fields["count"]
    if isinstance(count.node, yaml.ScalarNode) and count.node.value == "all":
        reader.problem(count, '"all" is not a number of GPUs', "Write how many: hosts differ, and so does the price")
        return 0
    return reader.integer(count, 1, 16) or 0
