"""The services of a manifest, without what is mounted into them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, BeforeValidator, PlainValidator, ValidationInfo

from offchain.schema.durations import HOUR_MS
from offchain.schema.manifest import compose, types
from offchain.schema.manifest.deploy import DeploySection, DeviceSection, LimitsSection
from offchain.schema.manifest.mounts import container_path, read_mount, read_secret, read_tmpfs, unprotected
from offchain.schema.manifest.protected_paths import plain_path
from offchain.schema.manifest.section import (
    MAX_TEXT_BYTES,
    Flag,
    Items,
    Notation,
    Placed,
    Section,
    Whole,
    Word,
    bounded,
    integer,
    problems_of,
    text,
    validate,
)
from offchain.schema.manifest.values import parse_image, parse_span
from offchain.schema.manifest.yaml_reader import InvalidValueError, Problems, YamlValue

MAX_PORTS: Final = 32
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_USER = re.compile(r"[a-z0-9_][a-z0-9_-]{0,31}(:[a-z0-9_][a-z0-9_-]{0,31})?", re.ASCII)
_PORT = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?(?:/(\w+))?", re.ASCII)
_REAL_TIME_SIGNAL = re.compile(r"RTMIN\+([0-9]|1[0-5])", re.ASCII)
_SIGNALS = ("TERM", "INT", "QUIT", "HUP", "KILL", "USR1", "USR2", "WINCH", "PWR")
_MIB = 1024**2
_U32 = 2**32 - 1
_PORT_HINT = "Write the port inside the container: 8080, or 8000-8003"
_TIME_HINT = "Write for example 500ms, 30s or 1m30s"


class PortSection(Section):
    unsupported: ClassVar = compose.PORT
    required: ClassVar = {"target": "Add target: 8080, the port inside the container"}
    target: Annotated[int | None, Whole(1, 65535)] = None
    protocol: Annotated[str, Word("tcp", refused={"udp": compose.ONLY_TCP})] = "tcp"


def _read_port(value: YamlValue, info: ValidationInfo) -> Sequence[int]:
    if value.is_mapping:
        target = PortSection.model_validate(value, context=problems_of(info)).target
        return () if target is None else (target,)
    published, colon, inside = text(value).rpartition(":")
    if not colon:
        return _read_port_range(value)
    local = published.rpartition(":")[2]
    command = f"gantry forward TASK {local}:{inside.partition('/')[0]}" if local else "gantry forward"
    hint = f'Write "{inside}"; {command} opens it on your own machine'
    raise InvalidValueError(f'"{value.raw}" publishes a port of the host', hint, value)


def _read_port_range(value: YamlValue) -> Sequence[int]:
    match = _PORT.fullmatch(text(value))
    if match is None:
        raise InvalidValueError(f'"{value.raw}" is not a port', _PORT_HINT, value)
    first = int(match[1])
    last = int(match[2] or first)
    if match[3] not in (None, "tcp"):
        raise InvalidValueError(f'"{match[3]}" is not supported', compose.ONLY_TCP, value)
    if not 1 <= first <= last <= 65535:
        raise InvalidValueError(f'"{value.raw}" is out of range', _PORT_HINT, value)
    if last - first >= MAX_PORTS:
        hint = f"Keep it to {MAX_PORTS}; all can be forwarded"
        raise InvalidValueError(f"{last - first + 1} ports are too many", hint, value)
    return range(first, last + 1)


def _milliseconds(low: int, high: int) -> PlainValidator:
    return PlainValidator(lambda value: bounded(value, parse_span, _TIME_HINT, low, high))


def _read_test(value: YamlValue) -> tuple[str, ...]:
    """Return a health check's command as words; () for NONE, which switches it off."""
    if not value.is_list:
        return ("/bin/sh", "-c", text(value))
    form, *rest = [text(item, empty=index > 0) for index, item in enumerate(value.items())] or [""]
    if form == "NONE" and not rest:
        return ()
    if form == "CMD" and rest and rest[0]:
        return tuple(rest)
    if form == "CMD-SHELL" and len(rest) == 1 and rest[0]:
        return ("/bin/sh", "-c", rest[0])
    needs = {"CMD": "a program after it", "CMD-SHELL": "exactly one text after it", "NONE": "nothing after it"}
    message = f"{form} takes {needs[form]}" if form in needs else "the test does not begin with CMD, CMD-SHELL or NONE"
    raise InvalidValueError(message, "Write [CMD, /bin/check, -v], or a text for the container's shell", value)


class HealthcheckSection(Section):
    """A health check, with Compose's defaults. One that is disabled has no other keys that count."""

    unsupported: ClassVar = compose.HEALTHCHECK
    test: Annotated[tuple[str, ...], PlainValidator(_read_test)] = ()
    interval: Annotated[int, _milliseconds(1000, HOUR_MS)] = 30_000
    timeout: Annotated[int, _milliseconds(100, HOUR_MS)] = 30_000
    retries: Annotated[int, Whole(1, 100)] = 3
    start_period: Annotated[int, _milliseconds(0, 24 * HOUR_MS)] = 0
    disable: Flag = False

    @classmethod
    def _check_keys(cls, value: YamlValue, problems: Problems) -> dict[str, YamlValue]:
        entries = super()._check_keys(value, problems)
        if "disable" in entries and entries["disable"].raw.lower() == "true":
            return {"disable": entries["disable"]}
        if "test" not in entries:
            problems.add(value, "test is missing", "Add test: [CMD, /bin/check], or disable: true")
        return entries

    def spec(self) -> types.HealthCheck | None:
        """Return the check, None if it is switched off."""
        if self.disable or not self.test:
            return None
        return types.HealthCheck(self.test, self.interval, self.timeout, self.retries, self.start_period)


def _read_restart(value: YamlValue) -> types.RestartPolicy:
    # An unquoted no is a boolean to YAML 1.1, and what everybody writes.
    words: dict[str, types.Restart] = {
        "no": "no", "on-failure": "on-failure", "always": "always", "unless-stopped": "always"
    }  # fmt: skip
    word, colon, number = value.raw.partition(":")
    if word not in words or (colon and word != "on-failure"):
        found = f'"{value.raw}"' if value.raw else value.shape
        raise InvalidValueError(f"{found} is not a restart policy", 'Write "no", on-failure, on-failure:3 or always')
    return types.RestartPolicy(words[word], integer(value, 1, 1000, written=number) if colon else None)


class DependencySection(Section):
    unsupported: ClassVar = compose.DEPENDENCY
    required: ClassVar = {"condition": "Add condition: service_started"}
    condition: Annotated[str, Word("service_started", "service_healthy", "service_completed_successfully")] = (
        "service_started"
    )


def _read_dependencies(value: YamlValue, info: ValidationInfo) -> tuple[Placed[types.Dependency], ...]:
    found: dict[str, Placed[types.Dependency]] = {}
    if value.is_list:
        for item in value.items():
            name = text(item)
            if name in found:
                problems_of(info).add(item, f'"{name}" is named twice', "Name each service once")
            found[name] = Placed(types.Dependency(name, "started"), item, item)
        return tuple(found.values())
    states: dict[str, types.DependencyState] = {
        "service_healthy": "healthy",
        "service_completed_successfully": "completed",
    }
    for name, entry in problems_of(info).entries(value).items():
        section = validate(DependencySection, entry, problems_of(info))
        condition = section.condition if section is not None else "service_started"
        found[name] = Placed(types.Dependency(name, states.get(condition, "started")), entry, entry)
    return tuple(found.values())


def _split_command(value: YamlValue) -> Sequence[YamlValue | str] | None:
    """Take a list as it is and split a text like a shell would; null means the image's own."""
    if value.kind == "null":
        return None
    if value.is_list:
        return value.items()
    try:
        return shlex.split(text(value, max_bytes=MAX_TEXT_BYTES, empty=True))
    except InvalidValueError:
        raise
    except ValueError as error:
        hint = "Write it as a list: [sh, -c, '...']"
        raise InvalidValueError(f"the command cannot be split into words: {error}", hint, value) from None


def _read_word(word: YamlValue | str) -> str:
    return word if isinstance(word, str) else text(word, max_bytes=MAX_TEXT_BYTES, empty=True)


def _check_program(words: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Refuse a protected program. The first word of `command` depends on the image; its host checks that."""
    if words and words[0].startswith("/"):
        unprotected(plain_path(words[0]))
    return words


Command = Annotated[tuple[Annotated[str, PlainValidator(_read_word)], ...] | None, BeforeValidator(_split_command)]


def _read_environment(value: YamlValue, info: ValidationInfo) -> tuple[tuple[str, str], ...]:
    problems = problems_of(info)
    pairs: dict[str, str] = {}
    if value.kind == "null":
        return ()
    for key, at in [("", item) for item in value.items()] if value.is_list else problems.entries(value).items():
        try:
            has_value = at.kind != "null" or value.is_list
            content = text(at, max_bytes=MAX_TEXT_BYTES, empty=not value.is_list) if has_value else ""
        except InvalidValueError as error:
            problems.add_error(error, at)
            continue
        name = key
        if value.is_list:
            name, equals, content = content.partition("=")
            has_value = bool(equals)
        if _VARIABLE.fullmatch(name) is None:
            problems.add(at, f'"{name}" is not a variable name', "Use letters, digits and underscores")
        elif not has_value:
            hint = f'Write {name}: ${{{name}}} to take it from your shell, or {name}: "" for an empty one'
            problems.add(at, f"{name} has no value", hint)
        elif name in pairs:
            problems.add(at, f"{name} is set twice", "Keep one of the two")
        else:
            pairs[name] = content
    return tuple(pairs.items())


def _read_user(user: str) -> str:
    if _USER.fullmatch(user) is None:
        raise ValueError(f'"{user}" is not a user')
    return user


def _read_stop_signal(value: YamlValue) -> str:
    name = text(value).removeprefix("SIG")
    if name not in _SIGNALS and _REAL_TIME_SIGNAL.fullmatch(name) is None:
        hint = f"Write one of {', '.join(f'SIG{known}' for known in _SIGNALS)}, SIGRTMIN+3"
        raise InvalidValueError(f'"{value.raw}" is not a signal that stops a container', hint, value)
    return f"SIG{name}"


def _list_or_one(value: YamlValue) -> list[YamlValue]:
    return value.items() if value.is_list else [value]


class ServiceSection(Section):
    unsupported: ClassVar = compose.SERVICE
    required: ClassVar = {"image": "Add image: name@sha256:<64 hex digits>"}
    image: Annotated[
        types.ImageRef | None,
        Notation(
            parse_image,
            "Write name@sha256:<64 hex digits>; docker inspect --format '{{.RepoDigests}}' IMAGE shows it",
        ),
    ] = None
    command: Command = None
    entrypoint: Annotated[Command, AfterValidator(_check_program)] = None
    environment: Annotated[tuple[tuple[str, str], ...], PlainValidator(_read_environment)] = ()
    working_dir: Annotated[str | None, PlainValidator(lambda value: unprotected(container_path(value), value))] = None
    user: Annotated[str | None, Notation(_read_user, "Write a name or number, with :group if wanted: 1000:1000")] = None
    read_only: Flag = False
    tmpfs: Annotated[tuple[Annotated[Any, PlainValidator(read_tmpfs)], ...], BeforeValidator(_list_or_one)] = ()
    volumes: Annotated[tuple[Annotated[Any, PlainValidator(read_mount)], ...], Items()] = ()
    secrets: Annotated[tuple[Annotated[Any, PlainValidator(read_secret)], ...], Items()] = ()
    expose: Annotated[tuple[Annotated[Any, PlainValidator(_read_port_range)], ...], Items()] = ()
    ports: Annotated[tuple[Annotated[Any, PlainValidator(_read_port)], ...], Items()] = ()
    healthcheck: HealthcheckSection | None = None
    restart: Annotated[types.RestartPolicy | None, PlainValidator(_read_restart)] = None
    stop_signal: Annotated[str | None, PlainValidator(_read_stop_signal)] = None
    stop_grace_period: Annotated[int, _milliseconds(0, 60_000)] = 10_000
    depends_on: Annotated[Any, PlainValidator(_read_dependencies)] = ()
    deploy: DeploySection | None = None

    def check(self, problems: Problems) -> None:
        deploy, at = self.deploy, self.place()
        if "deploy" not in self.written or (deploy is not None and not deploy.has_limits):
            limits = YamlValue(at.node, at.line, f"{at.path}.deploy.resources.limits")
            problems.add(limits, "the limits are missing", compose.LIMITS)
        if "restart" in self.written and deploy is not None and "restart_policy" in deploy.written:
            message = "restart and deploy.restart_policy say the same thing"
            problems.add(deploy.place("restart_policy"), message, "Keep restart")

    @property
    def devices(self) -> DeviceSection | None:
        """The GPUs of the service."""
        resources = self.deploy.resources if self.deploy is not None else None
        devices = resources.reservations.devices if resources is not None and resources.reservations is not None else ()
        return devices[0] if devices else None

    @property
    def restart_policy(self) -> types.RestartPolicy | None:
        """The policy in either form; None where the file has none."""
        long = self.deploy.restart_policy if self.deploy is not None else None
        return self.restart or (long.policy() if long is not None else None)

    def spec(self, name: str, inputs: Sequence[types.DeliveredFile]) -> types.ServiceSpec:
        """Return the container, with the inputs that are mounted into it."""
        resources = self.deploy.resources if self.deploy is not None else None
        limits = (resources.limits if resources is not None else None) or LimitsSection.model_construct()
        mounts = [mount.value for mount in (*self.tmpfs, *self.volumes)]
        return types.ServiceSpec(
            name=name,
            image=self.image or types.ImageRef("", ""),
            command=self.command,
            entrypoint=self.entrypoint,
            environment=self.environment,
            cpu_milli=limits.cpus,
            memory_mib=limits.memory,
            pids=limits.pids,
            working_dir=self.working_dir,
            user=self.user,
            read_only=self.read_only,
            tmpfs=tuple(mount for mount in mounts if isinstance(mount, types.TmpfsMount)),
            gpu_count=self.devices.count if self.devices is not None else 0,
            volumes=tuple(mount for mount in mounts if isinstance(mount, types.VolumeMount)),
            ports=tuple(dict.fromkeys(port for ports in (*self.expose, *self.ports) for port in ports)),
            healthcheck=self.healthcheck.spec() if self.healthcheck is not None else None,
            restart=self.restart_policy or types.RestartPolicy("no", None),
            stop_signal=self.stop_signal,
            stop_grace_ms=self.stop_grace_period,
            depends_on=tuple(dependency.value for dependency in self.depends_on),
            files=(*(secret.value for secret in self.secrets), *inputs),
        )
