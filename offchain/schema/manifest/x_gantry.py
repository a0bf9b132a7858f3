"""The models of the `x-gantry` section of a manifest."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, Final, Literal, cast

from pydantic import PlainValidator, ValidationInfo

from offchain.schema.attestation.policy import AttestationPolicy
from offchain.schema.durations import DAY_MS, MINUTE_MS
from offchain.schema.manifest import types
from offchain.schema.manifest.confidential import read_confidential
from offchain.schema.manifest.mounts import container_path, mount_path
from offchain.schema.manifest.section import (
    NAME,
    Bytes,
    Flag,
    Items,
    Notation,
    Section,
    Text,
    Whole,
    Word,
    boolean,
    bounded,
    choice,
    integer,
    notation,
    problems_of,
    text,
)
from offchain.schema.manifest.values import (
    MAX_LATENCY_MS,
    check_address,
    parse_amount,
    parse_duration,
    parse_gpu_share,
    parse_latency,
    parse_milli,
    parse_percent,
    parse_size,
    parse_ssh_key,
    parse_time,
)
from offchain.schema.manifest.yaml_reader import InvalidValueError, Problems, YamlValue
from offchain.schema.protocol.snapshots import snapshot_name

MAX_PODS: Final = 16
MAX_FILES: Final = 32
"""The most secrets or inputs of a pod."""
_GIB = 1024**3
_MIB = 1024**2
_U32 = 2**32 - 1
_U64 = 2**64 - 1
_QUEUE = re.compile(r"[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)*", re.ASCII)
_METRIC_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,199}", re.ASCII)
_PAGE = re.compile(r"/[!-~]{0,1023}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SEAL_KEY = re.compile(r"(?:0x)?([0-9a-fA-F]{64})", re.ASCII)
_CHECKPOINT_SIGNALS = ("SIGUSR1", "SIGUSR2", "SIGHUP")
"""None of the signals by which engines end containers: a container that one of these ended has ended by itself."""
_PRICE_HINT = "Write price: {max_per_hour: 2.5 GTY}, the most one pod may cost in an hour"
_SCALING_HINT = "Write scaling: {metric: cpu, target: 70%, stabilisation: 5m}"
_METRIC_HINT = "Write metric: {port: 8080, path: /metrics, name: requests_waiting, target_per_pod: 10}"
_SHARE_HINT = "Write a share in whole percents from 1% to 99%, gpu: {share: 25%}; for a whole GPU remove gpu"
_INPUT_HINT = "Write - {name: data.bin, path: /in/data.bin, sha256: what sha256sum data.bin prints}"
_CHECKPOINT_HINT = "Write checkpoint: {path: /ckpt, every: 10m}"
_LOGIN_HINT = "Write registry_login: {registry: ghcr.io, secret: NAME}"
_PODS_HINT = "Write pods: {min: 1, max: 4}"
_REPLICAS_HINT = (
    "Write verification: {replicas: 2}; or audit: another host repeats the job if the chain draws it; or acceptance: "
    "you accept the result, or the dispute window passes; or deterministic: the same, and in a dispute jurors execute "
    "the job again"
)
_PROVIDER_HINT = "Write a provider's account; gantry host list shows each host's"


def _matched(pattern: re.Pattern[str], wanted: str) -> Any:
    """Return a parser that gives the match of `pattern`; `wanted` completes "x is not ..."."""

    def parse(written: str) -> re.Match[str]:
        match = pattern.fullmatch(written)
        if match is None:
            raise ValueError(f'"{written[:80]}" is not {wanted}')
        return match

    return parse


class PriceSection(Section):
    """The price limit of one pod, in base units an hour."""

    required: ClassVar = {"max_per_hour": _PRICE_HINT}
    max_per_hour: Annotated[int, Notation(parse_amount, _PRICE_HINT)] = 0


class GpuSection(Section):
    """The share of its GPU that a pod has, in thousandths."""

    required: ClassVar = {"share": _SHARE_HINT}
    share: Annotated[int | None, Notation(parse_gpu_share, _SHARE_HINT)] = None


class ProvidersSection(Section):
    allow: Annotated[tuple[Annotated[str, Notation(check_address, _PROVIDER_HINT)], ...], Items(8)] = ()
    deny: Annotated[tuple[Annotated[str, Notation(check_address, _PROVIDER_HINT)], ...], Items(8)] = ()


def _read_vram_mib(value: YamlValue) -> int:
    mib = -(-notation(value, parse_size, "Write a size: 24GiB") // _MIB)
    if mib > _U32:
        raise InvalidValueError(f'"{value.raw}" is out of range', f"Write a size up to {_U32 >> 10}GiB", value)
    return mib


class PlacementSection(Section):
    regions: Annotated[tuple[Annotated[str, Bytes(32)], ...], Items(4)] = ()
    hosts: Annotated[
        tuple[Annotated[str, Notation(check_address, "Write a host's address; gantry host list shows them")], ...],
        Items(8),
    ] = ()
    providers: ProvidersSection | None = None
    tiers: Annotated[tuple[Annotated[types.Tier, Word("consumer", "professional", "datacenter")], ...], Items()] = ()
    verified_only: Flag = False
    allow_simulated: Flag = False
    models: Annotated[tuple[Annotated[str, Bytes(64)], ...], Items(4)] = ()
    min_vram: Annotated[int, PlainValidator(_read_vram_mib)] = 0
    min_network_mbps: Annotated[int, Whole(1, _U32)] = 0
    max_latency: Annotated[int, Notation(parse_latency, f"Write a time from 1ms to {MAX_LATENCY_MS}ms: 50ms")] = 0
    spread: Annotated[Literal["hosts", "providers"] | None, Word("hosts", "providers")] = None
    pack: Flag = False
    isolation: Annotated[Literal["sandboxed"] | None, Word("sandboxed")] = None

    def check(self, problems: Problems) -> None:
        if self.spread and self.pack:
            problems.add(self.place("pack"), "pack and spread exclude each other", "Remove one of them")
        if len(set(self.tiers)) < len(self.tiers):
            problems.add(self.place("tiers"), "a tier is named twice", "Name each once")

    def spec(self) -> types.PlacementSpec:
        return types.PlacementSpec(
            regions=self.regions,
            hosts=self.hosts,
            providers_allowed=self.providers.allow if self.providers is not None else (),
            providers_denied=self.providers.deny if self.providers is not None else (),
            tiers=self.tiers,
            verified_only=self.verified_only,
            allow_simulated=self.allow_simulated,
            min_network_mbps=self.min_network_mbps,
            spread=self.spread,
            pack=self.pack,
            max_latency_ms=self.max_latency,
            sandboxed=self.isolation == "sandboxed",
        )


def _read_result_path(value: YamlValue) -> str:
    path = text(value)
    if path != "stdout" and not path.startswith("/"):
        hint = "Write stdout, or the path of a file in the container: /out/result"
        raise InvalidValueError(f'"{path}" is not a result', hint, value)
    return path if path == "stdout" else container_path(value)


class ResultSection(Section):
    """Where the result is: `stdout`, or the path of a file, and the key for which it is sealed."""

    short_for: ClassVar = "path"
    path: Annotated[str, PlainValidator(_read_result_path)] = "stdout"
    seal_to: Annotated[
        bytes | None,
        Notation(
            lambda written: bytes.fromhex(_matched(_SEAL_KEY, "a key of 64 hex digits")(written)[1]),
            "Write the 64 hex digits that gantry account seal-key prints",
        ),
    ] = None


def _read_input_name(value: YamlValue) -> str:
    name = text(value, max_bytes=255)
    if NAME.fullmatch(name) is not None:
        return name
    last = PurePosixPath(name).name
    hint = "Use letters, digits, dots, dashes and underscores"
    if NAME.fullmatch(last):
        hint = f"Write {last}; gantry deliver takes the file from anywhere"
    raise InvalidValueError(f'"{name}" is not the name of an input', hint, value)


class InputSection(Section):
    """A file that the tenant sends, known by its SHA-256; mounted into the first service unless one is named."""

    required: ClassVar = {"name": _INPUT_HINT, "path": _INPUT_HINT, "sha256": _INPUT_HINT}
    name: Annotated[str | None, PlainValidator(_read_input_name)] = None
    path: Annotated[str | None, PlainValidator(mount_path)] = None
    sha256: Annotated[
        bytes | None,
        Notation(
            lambda written: bytes.fromhex(_matched(_DIGEST, "64 lower-case hex digits")(written)[0]),
            "Write what sha256sum prints",
        ),
    ] = None
    service: Text | None = None


class PodsSection(Section):
    required: ClassVar = {"min": _PODS_HINT, "max": _PODS_HINT}
    min: Annotated[int | None, Whole(1, MAX_PODS)] = None
    max: Annotated[int | None, Whole(1, MAX_PODS)] = None


def _read_pods(value: YamlValue, info: ValidationInfo) -> PodsSection | int:
    if value.is_mapping:
        return PodsSection.model_validate(value, context=problems_of(info))
    return integer(value, 1, MAX_PODS)


class PodMetricSection(Section):
    required: ClassVar = {"port": _METRIC_HINT, "name": _METRIC_HINT, "target_per_pod": _METRIC_HINT}
    port: Annotated[int | None, Whole(1, 65535)] = None
    path: Annotated[
        str, Notation(lambda said: _matched(_PAGE, "the path of a page")(said)[0], "Write a path: /metrics")
    ] = "/metrics"
    name: Annotated[
        str | None,
        Notation(lambda said: _matched(_METRIC_NAME, "the name of a Prometheus metric")(said)[0], _METRIC_HINT),
    ] = None
    target_per_pod: Annotated[int | None, Notation(parse_milli, "Write the target of one pod: 10, or 2.5")] = None


def _read_metric(value: YamlValue, info: ValidationInfo) -> types.Metric | types.PodMetric | None:
    if not value.is_mapping:
        return cast("types.Metric", choice(value, problems_of(info), ("cpu", "gpu", "memory")))
    own = PodMetricSection.model_validate(value, context=problems_of(info))
    if own.port is None or own.name is None or own.target_per_pod is None:
        return None
    return types.PodMetric(own.port, own.path, own.name, own.target_per_pod)


class ScalingSection(Section):
    required: ClassVar = {"metric": _SCALING_HINT}
    metric: Annotated[Any, PlainValidator(_read_metric)] = None
    target: Annotated[int | None, Notation(parse_percent, "Write a share of what a pod has: 70%")] = None
    stabilisation: Annotated[int, Notation(parse_duration, "Write for example 5m")] = 300_000

    def check(self, problems: Problems) -> None:
        own = "metric" in self.written and self.place("metric").is_mapping
        if own and "target" in self.written:
            hint = "Remove it, and write metric.target_per_pod"
            problems.add(self.place("target"), "a metric of the pod's own has no share", hint)
        elif not own and "target" not in self.written:
            problems.add(self.place(), "target is missing", _SCALING_HINT)

    def spec(self) -> types.ScalingSpec:
        return types.ScalingSpec(self.metric, self.target, self.stabilisation)


class SshSection(Section):
    required: ClassVar = {"authorized_keys": "Add authorized_keys: [the line in ~/.ssh/id_ed25519.pub]"}
    authorized_keys: Annotated[
        tuple[Annotated[str, Notation(parse_ssh_key, "Write the line of a public key: ssh-ed25519 AAAA... name")], ...],
        Items(16, "keys"),
    ] = ()
    path: Annotated[str, PlainValidator(mount_path)] = "/root/.ssh/authorized_keys"
    port: Annotated[int, Whole(1, 65535)] = 22

    def check(self, problems: Problems) -> None:
        keys = self.place("authorized_keys")
        if keys.is_list and not keys.items():
            problems.add(keys, "there is no key", "Add the line in ~/.ssh/id_ed25519.pub")

    def spec(self) -> types.SshSpec:
        return types.SshSpec(self.authorized_keys, self.path, self.port)


class VerificationSection(Section):
    """Replicas whose results are compared."""

    required: ClassVar = {"replicas": _REPLICAS_HINT}
    replicas: Annotated[int | None, Whole(2, 3)] = None


def _read_verification(value: YamlValue, info: ValidationInfo) -> int | Literal["deterministic", "audit"] | None:
    """Return the number of replicas that are compared, or another policy; None: the tenant accepts the result."""
    if value.is_mapping:
        return VerificationSection.model_validate(value, context=problems_of(info)).replicas
    if value.raw == "acceptance":
        return None
    if value.raw == "deterministic":
        return "deterministic"
    if value.raw == "audit":
        return "audit"
    found = f'"{value.raw}"' if value.raw else value.shape
    raise InvalidValueError(f"{found} is not a way to verify a result", _REPLICAS_HINT, value)


class SpotSection(Section):
    checkpoint_signal: Annotated[str | None, Word(*_CHECKPOINT_SIGNALS)] = None


def _read_spot(value: YamlValue, info: ValidationInfo) -> types.SpotSpec | None:
    if value.is_mapping:
        return types.SpotSpec(SpotSection.model_validate(value, context=problems_of(info)).checkpoint_signal)
    return types.SpotSpec() if boolean(value) else None


class CheckpointSection(Section):
    required: ClassVar = {"path": _CHECKPOINT_HINT, "every": _CHECKPOINT_HINT}
    path: Annotated[str | None, PlainValidator(mount_path)] = None
    every: Annotated[
        int | None,
        PlainValidator(lambda at: bounded(at, parse_duration, "Write for example 10m or 1h30m", MINUTE_MS, DAY_MS)),
    ] = None

    def spec(self) -> types.CheckpointSpec:
        return types.CheckpointSpec(self.path or "", self.every or 0)


class RegistryLoginSection(Section):
    required: ClassVar = {"registry": _LOGIN_HINT, "secret": _LOGIN_HINT}
    registry: Annotated[str | None, Bytes(255)] = None
    secret: Text | None = None

    def spec(self) -> types.RegistryLogin:
        return types.RegistryLogin(self.registry or "", self.secret or "")


def _read_queue(value: YamlValue) -> str:
    queue = text(value, max_bytes=32)
    if _QUEUE.fullmatch(queue) is None:
        hint = "Use small letters, digits and dashes, and a slash before the part of a queue"
        raise InvalidValueError(f'"{queue}" is not a queue', hint, value)
    return queue


def _read_disk_gib(value: YamlValue) -> int:
    size = notation(value, parse_size, "Write a size: 1GiB")
    gib = -(-size // _GIB)
    if not 1 <= gib <= _U32:
        raise InvalidValueError(f'"{value.raw}" is out of range', f"Write a size from 1GiB to {_U32}GiB", value)
    return gib


class GantrySection(Section):
    required: ClassVar = {
        "price": _PRICE_HINT,
        "duration": "Add the longest time a pod may run, duration: 10m",
    }
    kind: Annotated[types.Kind | None, Word("job", "service", "rental")] = None
    price: PriceSection | None = None
    billing: Annotated[types.Billing, Word("second", "hour", "day")] = "second"
    duration: Annotated[int, Notation(parse_duration, "Write for example 90s, 10m, 1h30m or 2d")] = 0
    deadline: Annotated[int | None, Notation(parse_time, "Write a time with its zone: 2030-01-31T18:00:00Z")] = None
    priority: Annotated[int, Whole(0, 255)] = 100
    queue: Annotated[str, PlainValidator(_read_queue)] = "default"
    verification: Annotated[int | Literal["deterministic", "audit"] | None, PlainValidator(_read_verification)] = None
    placement: PlacementSection | None = None
    gpu: GpuSection | None = None
    result: ResultSection | None = None
    inputs: Annotated[tuple[InputSection, ...], Items(MAX_FILES, "inputs", "; pack them into one archive")] = ()
    pods: Annotated[Any, PlainValidator(_read_pods)] = None
    scaling: ScalingSection | None = None
    disk: Annotated[int, PlainValidator(_read_disk_gib)] = 1
    ssh: SshSection | None = None
    data_from: Annotated[int | None, Whole(0, _U64)] = None
    snapshot: Annotated[
        str | None, Notation(snapshot_name, "Write its name as gantry task snapshot ID --list shows it")
    ] = None
    spot: Annotated[types.SpotSpec | None, PlainValidator(_read_spot)] = None
    survival: Annotated[types.Survival, Word("restart", "move", "standby")] = "restart"
    checkpoint: CheckpointSection | None = None
    registry_login: RegistryLoginSection | None = None
    confidential: Annotated[AttestationPolicy | None, PlainValidator(read_confidential)] = None

    @property
    def replicas(self) -> int | None:
        """The number of replicas whose results are compared; None if results are not compared."""
        return self.verification if isinstance(self.verification, int) else None

    @property
    def is_compared(self) -> bool:
        """Whether results are compared: of replicas, or of an audited job."""
        return self.policy in ("redundant", "audit")

    @property
    def policy(self) -> types.Verification:
        """How a result is verified."""
        if self.verification is None:
            return "acceptance"
        return "redundant" if isinstance(self.verification, int) else self.verification
