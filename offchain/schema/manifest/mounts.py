"""Volumes, memory file systems and files that are mounted into a service, and the paths where that is allowed."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Final, Literal

from pydantic import PlainValidator, ValidationInfo
from pydantic_core import PydanticOmit

from offchain.schema.manifest import compose
from offchain.schema.manifest.protected_paths import AGENT_FILES, NOTICES, plain_path, protected_folder
from offchain.schema.manifest.section import Flag, Placed, Section, Text, Word, problems_of, text
from offchain.schema.manifest.types import DeliveredFile, TmpfsMount, VolumeMount
from offchain.schema.manifest.values import parse_size
from offchain.schema.manifest.yaml_reader import InvalidValueError, Problems, YamlValue

SECRETS: Final = "/run/secrets"
_TMPFS_MODE = re.compile(r"[0-7]{3,4}", re.ASCII)


def container_path(at: YamlValue, written: str | None = None) -> str:
    """Return an absolute path inside a container, as it is written."""
    path = text(at) if written is None else written
    if not path.startswith("/") or ".." in path.split("/") or any(ord(char) < 32 for char in path):
        raise InvalidValueError(
            f'"{path}" is not an absolute path', "Write a path that starts with / and has no ..", at
        )
    return path


def mount_path(at: YamlValue, written: str | None = None) -> str:
    """Return the path at which something may be mounted, in its shortest form."""
    path = plain_path(container_path(at, written))
    if path == "/":
        raise InvalidValueError("/ cannot be mounted over", "Name a folder below it", at)
    return unprotected(path, at)


def unprotected(path: str, at: YamlValue | None = None) -> str:
    """Return `path` unless it lies in a folder that belongs to the kernel or to the agent."""
    folder = protected_folder(path)
    if folder is None:
        return path
    if folder == NOTICES:
        message = f"{path} is where the host writes the notice of a preemption"
    elif folder in AGENT_FILES:
        message = f"{path} is a program of the host's agent"
    else:
        raise InvalidValueError(f"{path} belongs to the kernel", "Choose a path outside /proc, /sys and /dev", at)
    raise InvalidValueError(message, "Choose another path", at)


class VolumeSection(Section):
    unsupported: ClassVar = compose.VOLUME


class SecretSection(Section):
    unsupported: ClassVar = compose.SECRET
    external: Flag = False

    def check(self, problems: Problems) -> None:
        if not self.external and not problems.has(self.place()):
            problems.add(self.place(), "the secret is not external", compose.SEALED)


class TmpfsSection(Section):
    size: Text | None = None
    mode: Text | None = None


def _tmpfs_option(at: YamlValue, name: str, value: str) -> str:
    if name == "size":
        try:
            return f"size={parse_size(value)}"
        except ValueError as error:
            raise InvalidValueError(str(error), "Write size=64M", at) from None
    if name == "mode" and _TMPFS_MODE.fullmatch(value):
        return f"mode={value}"
    option = f"{name}={value}" if value else name
    raise InvalidValueError(f'"{option}" is not supported as an option of tmpfs', "Use size=64M and mode=1777", at)


def _read_tmpfs_options(value: YamlValue, info: ValidationInfo) -> str:
    section = TmpfsSection.model_validate(value, context=problems_of(info))
    options = [(key, getattr(section, key)) for key in section.written]
    return ",".join(_tmpfs_option(section.place(key), key, said) for key, said in options if said is not None)


class MountSection(Section):
    unsupported: ClassVar = compose.MOUNT
    required: ClassVar = {"type": "Add type: volume", "target": "Add target: /path"}
    type: Annotated[Literal["volume", "tmpfs"] | None, Word("volume", "tmpfs", refused=compose.MOUNT_TYPE)] = None
    source: Text | None = None
    target: Annotated[str | None, PlainValidator(mount_path)] = None
    read_only: Flag = False
    tmpfs: Annotated[str, PlainValidator(_read_tmpfs_options)] = ""

    def mount(self, problems: Problems) -> VolumeMount | TmpfsMount | None:
        """Return the mount, None if it has a problem that prevents it."""
        written = self.written
        if self.type == "volume":
            if "source" not in written:
                problems.add(self.place(), "source is missing", "Add source: the name of a volume under volumes")
            if "tmpfs" in written:
                hint = "Remove it, or write type: tmpfs"
                problems.add(self.place("tmpfs"), "a volume has no options of a tmpfs", hint)
        elif self.type == "tmpfs":
            for key in ("source", "read_only"):
                if key in written:
                    problems.add(self.place(key), f"a tmpfs has no {key}", "Remove it, or write type: volume")
        if self.type is None or self.target is None:
            return None
        if self.type == "tmpfs":
            return TmpfsMount(self.target, self.tmpfs)
        return None if self.source is None else VolumeMount(self.source, self.target, self.read_only)


def read_mount(value: YamlValue, info: ValidationInfo) -> Placed[VolumeMount | TmpfsMount]:
    if not value.is_mapping:
        return Placed(_short_volume(value), value, value)
    section = MountSection.model_validate(value, context=problems_of(info))
    mount = section.mount(problems_of(info))
    if mount is None:
        raise PydanticOmit
    return Placed(mount, value, section.place("source"))


def _short_volume(value: YamlValue) -> VolumeMount:
    """Read NAME:/path or NAME:/path:ro."""
    written = text(value)
    source, colon, rest = written.partition(":")
    target, _, options = rest.partition(":")
    if source.startswith(("/", ".", "~")):
        if colon:
            raise InvalidValueError(f'"{source}" is a path of your machine', compose.HOST_PATH, value)
        hint = f"Declare a volume and write NAME:{written}"
        raise InvalidValueError(f'"{written}" is a volume without a name', hint, value)
    if not colon:
        raise InvalidValueError(f'"{written}" is not a mount', "Write NAME:/path, or NAME:/path:ro", value)
    for option in options.split(","):
        if option not in ("", "ro", "rw"):
            raise InvalidValueError(f'"{option}" is not supported as an option of a volume', "Use ro or rw", value)
    return VolumeMount(source, mount_path(value, target), "ro" in options.split(","))


def read_tmpfs(value: YamlValue) -> Placed[TmpfsMount]:
    target, _, options = text(value).partition(":")
    pairs = [option.partition("=")[::2] for option in options.split(",") if option]
    checked = ",".join(_tmpfs_option(value, name, said) for name, said in pairs)
    return Placed(TmpfsMount(mount_path(value, target), checked), value, value)


class SecretUseSection(Section):
    """A secret in a service: its name, or Compose's long form."""

    unsupported: ClassVar = compose.SECRET_USE
    required: ClassVar = {"source": "Add source: the name of a secret under secrets"}
    short_for: ClassVar = "source"
    source: Text | None = None
    target: Text | None = None


def read_secret(value: YamlValue, info: ValidationInfo) -> Placed[DeliveredFile]:
    section = SecretUseSection.model_validate(value, context=problems_of(info))
    if section.source is None:
        raise PydanticOmit
    target = section.target or section.source
    path = target if target.startswith("/") else f"{SECRETS}/{target}"
    file = DeliveredFile(section.source, mount_path(section.place("target", "source"), path), None)
    return Placed(file, value, section.place("source"))
