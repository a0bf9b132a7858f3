"""Reading what is mounted into a service: volumes of the pod, memory file systems, files that are delivered."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import yaml

from offchain.schema.manifest import keys
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.protected_paths import AGENT_FILES, NOTICES, plain_path, protected_folder
from offchain.schema.manifest.types import DeliveredFile, TmpfsMount, VolumeMount
from offchain.schema.manifest.values import parse_size

MAX_VOLUMES = 16
MAX_FILES = 32
"""The most secrets or inputs of a pod."""
SECRETS = "/run/secrets"
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}", re.ASCII)
_NAME_REMEDY = "Use letters, digits, dots, dashes and underscores"
_TMPFS_MODE = re.compile(r"[0-7]{3,4}", re.ASCII)
_HOST_PATH = "Declare a volume by name under volumes:, or send files with x-gantry.inputs or gantry cp"


@dataclass(frozen=True, slots=True)
class Declared:
    """The names under the file's top-level `volumes` and `secrets`."""

    volumes: frozenset[str]
    secrets: frozenset[str]


@dataclass(slots=True)
class Mounts:
    """What one service has mounted, each with its place in the file."""

    volumes: list[VolumeMount] = field(default_factory=list)
    tmpfs: list[TmpfsMount] = field(default_factory=list)
    files: list[DeliveredFile] = field(default_factory=list)
    places: list[tuple[Field, str, bool]] = field(default_factory=list)
    """Path, and whether it is a file rather than a folder."""

    def add(self, at: Field, mount: VolumeMount | TmpfsMount | DeliveredFile) -> None:
        """Mount one more."""
        self.places.append((at, mount.path, isinstance(mount, DeliveredFile)))
        match mount:
            case VolumeMount():
                self.volumes.append(mount)
            case TmpfsMount():
                self.tmpfs.append(mount)
            case DeliveredFile():
                self.files.append(mount)


def read_volume_names(top: Field | None, reader: Reader) -> tuple[str, ...]:
    """The volumes of the pod."""
    entries = reader.any_mapping(top) if top is not None and top.kind != "null" else {}
    for entry in entries.values():
        if entry.kind != "null":
            reader.mapping(entry, keys.VOLUME, keys.VOLUME_REFUSED)
    _check_names(entries, "volume", MAX_VOLUMES, reader)
    return tuple(entries)


def read_secret_names(top: Field | None, reader: Reader) -> frozenset[str]:
    """The secrets that the tenant will deliver."""
    entries = reader.any_mapping(top) if top is not None and top.kind != "null" else {}
    for entry in entries.values():
        before = len(reader.problems)
        options = reader.mapping(entry, keys.SECRET, keys.SECRET_REFUSED)
        external = reader.boolean(options["external"]) if "external" in options else False
        if not external and len(reader.problems) == before:
            reader.problem(entry, "the secret is not external", keys.SECRET_REFUSED["content"])
    _check_names(entries, "secret", MAX_FILES, reader)
    return frozenset(entries)


def _check_names(entries: dict[str, Field], what: str, most: int, reader: Reader) -> None:
    for name, entry in entries.items():
        if _NAME.fullmatch(name) is None:
            reader.problem(entry, f'"{name}" is not the name of a {what}', _NAME_REMEDY)
    for extra in list(entries.values())[most : most + 1]:
        reader.problem(extra, f"{len(entries)} {what}s are too many", f"Keep it to {most}")


def read_mounts(service: dict[str, Field], declared: Declared, reader: Reader) -> Mounts:
    """What a service's `volumes`, `tmpfs` and `secrets` mount."""
    mounts = Mounts()
    if "tmpfs" in service:
        _read_tmpfs(service["tmpfs"], mounts, reader)
    for item in reader.sequence(service["volumes"]) if "volumes" in service else []:
        mount = _long_mount(item, declared, reader) if item.kind == "map" else _short_volume(item, declared, reader)
        if mount is not None:
            mounts.add(item, mount)
    for item in reader.sequence(service["secrets"]) if "secrets" in service else []:
        secret = _secret(item, declared, reader)
        if secret is not None:
            mounts.add(item, secret)
    return mounts


def check_places(mounts: Mounts, reader: Reader) -> None:
    """Nothing is mounted over something else, and no file stands where a folder is."""
    places = sorted(mounts.places, key=lambda place: place[0].line)
    for number, (at, path, is_file) in enumerate(places):
        for _, other, other_is_file in places[:number]:
            if path == other:
                reader.problem(at, f"{path} is mounted twice", "Choose another path for one of the two")
            elif (is_file and other.startswith(f"{path}/")) or (other_is_file and path.startswith(f"{other}/")):
                reader.problem(at, f"{path} and {other} cannot both be there", "Choose another path for one of the two")


def absolute_path(at: Field, reader: Reader) -> str | None:
    """A path inside the container that starts at its root and does not climb."""
    path = reader.text(at)
    if path is None:
        return None
    if not path.startswith("/") or ".." in path.split("/") or any(ord(char) < 32 for char in path):
        reader.problem(at, f'"{path}" is not an absolute path', "Write a path that starts with / and has no ..")
        return None
    return path


def mount_path(at: Field, text: str, reader: Reader) -> str | None:
    """Where something may be mounted, written in one way only."""
    path = absolute_path(Field(yaml.ScalarNode("tag:yaml.org,2002:str", text), at.line, at.path), reader)
    if path is None:
        return None
    path = plain_path(path)
    if path == "/":
        reader.problem(at, "/ cannot be mounted over", "Name a folder below it")
        return None
    return None if is_refused(at, path, reader) else path


def is_refused(at: Field, path: str, reader: Reader) -> bool:
    """Whether a path lies in a folder that is not the tenant's; then there is a problem more."""
    folder = protected_folder(path)
    if folder == NOTICES:
        reader.problem(at, f"{path} is where the host tells containers that they have to leave", "Choose another path")
    elif folder in AGENT_FILES:
        reader.problem(at, f"{path} is a program of the host's agent", "Choose another path")
    elif folder is not None:
        reader.problem(at, f"{path} belongs to the kernel", "Choose a path outside /proc, /sys and /dev")
    return folder is not None


def _read_tmpfs(at: Field, mounts: Mounts, reader: Reader) -> None:
    for item in reader.sequence(at) if isinstance(at.node, yaml.SequenceNode) else [at]:
        text = reader.text(item)
        if text is None:
            continue
        target, _, options = text.partition(":")
        path = mount_path(item, target, reader)
        checked = [_tmpfs_option(item, option, reader) for option in options.split(",") if option]
        if path is not None:
            mounts.add(item, TmpfsMount(path, ",".join(option for option in checked if option)))


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


def _short_volume(item: Field, declared: Declared, reader: Reader) -> VolumeMount | None:
    """NAME:/path, NAME:/path:ro."""
    text = reader.text(item)
    if text is None:
        return None
    source, colon, rest = text.partition(":")
    target, _, options = rest.partition(":")
    if source.startswith(("/", ".", "~")):
        what = f'"{source}" is a path of your machine' if colon else f'"{text}" is a volume without a name'
        reader.problem(item, what, _HOST_PATH if colon else f"Declare a volume and write NAME:{text}")
        return None
    if not colon:
        reader.problem(item, f'"{text}" is not a mount', "Write NAME:/path, or NAME:/path:ro")
        return None
    unknown = [option for option in options.split(",") if option not in ("", "ro", "rw")]
    for option in unknown:
        reader.problem(item, f'"{option}" is not supported as an option of a volume', "Use ro or rw")
    path = mount_path(item, target, reader)
    if path is None or unknown or not _is_declared(item, source, declared, reader):
        return None
    return VolumeMount(source, path, "ro" in options.split(","))


def _is_declared(at: Field, volume: str, declared: Declared, reader: Reader) -> bool:
    if volume in declared.volumes:
        return True
    remedy = f"Add volumes: {{{volume}: }} at the top of the file" if _NAME.fullmatch(volume) else _HOST_PATH
    reader.problem(at, f'there is no volume "{volume}"', remedy)
    return False


def _long_mount(item: Field, declared: Declared, reader: Reader) -> VolumeMount | TmpfsMount | None:
    before = len(reader.problems)
    entries = reader.mapping(item, keys.MOUNT, keys.MOUNT_REFUSED)
    kinds = {"volume": None, "tmpfs": None, "bind": _HOST_PATH, "npipe": _HOST_PATH, "cluster": _HOST_PATH}
    kinds["image"] = keys.MOUNT_REFUSED["image"]
    if "type" not in entries:
        reader.problem(item, "type is missing", "Add type: volume")
    kind = reader.choice(entries["type"], kinds) if "type" in entries else None
    if "target" not in entries:
        reader.problem(item, "target is missing", "Add target: /path")
    target = reader.text(entries["target"]) if "target" in entries else None
    path = mount_path(entries["target"], target, reader) if target is not None else None
    source = reader.text(entries["source"]) if "source" in entries else None
    read_only = bool(reader.boolean(entries["read_only"])) if "read_only" in entries else False
    if kind == "volume" and "source" not in entries:
        reader.problem(item, "source is missing", "Add source: the name of a volume under volumes")
    if kind == "volume" and "tmpfs" in entries:
        reader.problem(entries["tmpfs"], "a volume has no options of a tmpfs", "Remove it, or write type: tmpfs")
    for key in ("source", "read_only"):
        if kind == "tmpfs" and key in entries:
            reader.problem(entries[key], f"a tmpfs has no {key}", "Remove it, or write type: volume")
    options = _long_tmpfs(entries["tmpfs"], reader) if kind == "tmpfs" and "tmpfs" in entries else ""
    if kind == "volume" and source is not None:
        _is_declared(entries["source"], source, declared, reader)
    if path is None or len(reader.problems) > before:
        return None
    return TmpfsMount(path, options) if kind == "tmpfs" else VolumeMount(source or "", path, read_only)


def _long_tmpfs(at: Field, reader: Reader) -> str:
    entries = reader.mapping(at, keys.MOUNT_TMPFS, {})
    texts = [(key, reader.text(entry)) for key, entry in entries.items()]
    found = [_tmpfs_option(entries[key], f"{key}={text}", reader) for key, text in texts if text is not None]
    return ",".join(option for option in found if option)


def _secret(item: Field, declared: Declared, reader: Reader) -> DeliveredFile | None:
    entries: dict[str, Field] = {}
    at = item
    if item.kind == "map":
        entries = reader.mapping(item, keys.SECRET_USE, keys.SECRET_USE_REFUSED)
        if "source" not in entries:
            reader.problem(item, "source is missing", "Add source: the name of a secret under secrets")
            return None
        at = entries["source"]
    name = reader.text(at)
    if name is None:
        return None
    target = reader.text(entries["target"]) if "target" in entries else name
    if target is None:
        return None
    where = entries.get("target", at)
    path = mount_path(where, target if target.startswith("/") else f"{SECRETS}/{target}", reader)
    if name not in declared.secrets:
        reader.problem(at, f'there is no secret "{name}"', f"Add secrets: {{{name}: {{external: true}}}} at the top")
        return None
    return DeliveredFile(name, path, None) if path is not None else None
