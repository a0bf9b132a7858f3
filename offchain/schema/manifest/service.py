"""Reading one service of a manifest: image, command, environment, and what other files of this package read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from offchain.schema.manifest import keys
from offchain.schema.manifest.lifecycle import (
    read_dependencies,
    read_healthcheck,
    read_restart,
    read_stop_grace,
    read_stop_signal,
)
from offchain.schema.manifest.mounts import Declared, Mounts, absolute_path, is_refused, read_mounts
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.ports import read_ports
from offchain.schema.manifest.protected_paths import plain_path
from offchain.schema.manifest.resources import Needs, read_needs
from offchain.schema.manifest.types import Dependency, ImageRef, ServiceSpec
from offchain.schema.manifest.values import parse_image

_SERVICE_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_USER = re.compile(r"[a-z0-9_][a-z0-9_-]{0,31}(:[a-z0-9_][a-z0-9_-]{0,31})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Draft:
    """A service as it stands by itself, with the places in the file that rules about the whole pod point to."""

    spec: ServiceSpec
    field: Field
    entries: dict[str, Field]
    needs: Needs
    mounts: Mounts
    dependencies: tuple[tuple[Field, Dependency], ...]

    def at(self, key: str) -> Field:
        """The place of a key, or of the service where it is not written."""
        return self.entries.get(key, self.field)


def read_service(name: str, field: Field, declared: Declared, reader: Reader) -> Draft:
    """The container described by a service."""
    if _SERVICE_NAME.fullmatch(name) is None:
        reader.problem(field, f'"{name}" is not a service name', "Use letters, digits, dots, dashes and underscores")
    entries = reader.mapping(field, keys.SERVICE, keys.SERVICE_REFUSED)
    image = None
    if "image" not in entries:
        reader.problem(field, "the image is missing", "Add image: name@sha256:<64 hex digits>")
    else:
        remedy = "Write name@sha256:<64 hex digits>; docker inspect --format '{{.RepoDigests}}' IMAGE shows it"
        image = reader.parsed(entries["image"], parse_image, remedy)
    deploy = reader.mapping(entries["deploy"], keys.DEPLOY, keys.DEPLOY_REFUSED) if "deploy" in entries else {}
    needs = read_needs(field, deploy, reader)
    mounts = read_mounts(entries, declared, reader)
    dependencies = read_dependencies(entries.get("depends_on"), reader)
    spec = ServiceSpec(
        name=name,
        image=image or ImageRef("", ""),
        command=_words(entries.get("command"), reader),
        entrypoint=_entrypoint(entries, reader),
        environment=_environment(entries.get("environment"), reader),
        cpu_milli=needs.cpu_milli,
        memory_mib=needs.memory_mib,
        pids=needs.pids,
        working_dir=_working_dir(entries.get("working_dir"), reader),
        user=_user(entries.get("user"), reader),
        read_only=bool(reader.boolean(entries["read_only"])) if "read_only" in entries else False,
        tmpfs=tuple(mounts.tmpfs),
        gpu_count=needs.gpu_count,
        volumes=tuple(mounts.volumes),
        ports=read_ports(entries.get("expose"), entries.get("ports"), reader),
        healthcheck=read_healthcheck(entries.get("healthcheck"), reader),
        restart=read_restart(entries.get("restart"), deploy.get("restart_policy"), reader),
        stop_signal=read_stop_signal(entries.get("stop_signal"), reader),
        stop_grace_ms=read_stop_grace(entries.get("stop_grace_period"), reader),
        depends_on=tuple(dependency for _, dependency in dependencies),
        files=tuple(mounts.files),
    )
    return Draft(spec, field, {**entries, **deploy}, needs, mounts, dependencies)


def _working_dir(field: Field | None, reader: Reader) -> str | None:
    """Where a program starts. In /proc/self/fd that could be a folder of the machine which its runtime has open."""
    path = absolute_path(field, reader) if field is not None else None
    return None if field is None or path is None or is_refused(field, path, reader) else path


def _entrypoint(entries: dict[str, Field], reader: Reader) -> tuple[str, ...] | None:
    """The program of a service. What the first word of `command` is depends on the image; its host checks that."""
    field = entries.get("entrypoint")
    words = _words(field, reader)
    if field is not None and words and words[0].startswith("/"):
        is_refused(field, plain_path(words[0]), reader)
    return words


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


def _user(field: Field | None, reader: Reader) -> str | None:
    user = reader.text(field) if field is not None else None
    if field is not None and user is not None and _USER.fullmatch(user) is None:
        reader.problem(field, f'"{user}" is not a user', "Write a name or number, with :group if wanted: 1000:1000")
        return None
    return user
