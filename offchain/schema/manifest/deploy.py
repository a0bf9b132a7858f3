"""The key `deploy` of a service: its resources and its restart policy."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import PlainValidator

from offchain.schema.manifest import compose, types
from offchain.schema.manifest.section import Items, Section, Whole, Word, integer, notation
from offchain.schema.manifest.values import parse_cpus, parse_size
from offchain.schema.manifest.yaml_reader import InvalidValueError, Problems, YamlValue

MAX_GPUS: Final = 16
"""The most devices that one pod can have; the chain's limit."""
_MIB = 1024**2
_U32 = 2**32 - 1


class RestartPolicySection(Section):
    unsupported: ClassVar = compose.RESTART_POLICY
    condition: Annotated[Literal["none", "on-failure", "any"], Word("none", "on-failure", "any")] = "any"
    max_attempts: Annotated[int | None, Whole(1, 1000)] = None

    def policy(self) -> types.RestartPolicy:
        words: dict[str, types.Restart] = {"none": "no", "on-failure": "on-failure", "any": "always"}
        when = words[self.condition]
        return types.RestartPolicy(when, self.max_attempts if when != "no" else None)


def _read_cpus(value: YamlValue) -> int:
    milli = notation(value, parse_cpus, 'Write a number of cores: "1.5"')
    if not 10 <= milli <= _U32:
        raise InvalidValueError(
            f"{value.raw} cores is out of range", f"Write a number from 0.01 to {_U32 // 1000}", value
        )
    return milli


def _read_memory(value: YamlValue) -> int:
    mib = -(-notation(value, parse_size, "Write a size: 512M or 2GiB") // _MIB)
    if not 6 <= mib <= _U32:
        raise InvalidValueError(f'"{value.raw}" is out of range', f"Write a size from 6M to {_U32 >> 10}G", value)
    return mib


class LimitsSection(Section):
    """CPU in thousandths of a core, memory in MiB, processes."""

    required: ClassVar = {"cpus": compose.LIMITS, "memory": compose.LIMITS}
    cpus: Annotated[int, PlainValidator(_read_cpus)] = 0
    memory: Annotated[int, PlainValidator(_read_memory)] = 0
    pids: Annotated[int, Whole(1, 4_194_304)] = 512


def _read_gpu_count(value: YamlValue) -> int:
    if value.raw == "all":
        hint = "Write how many: hosts differ, and so does the price"
        raise InvalidValueError('"all" is not a number of GPUs', hint, value)
    return integer(value, 1, MAX_GPUS)


class DeviceSection(Section):
    unsupported: ClassVar = compose.DEVICE
    required: ClassVar = {
        "capabilities": "Add capabilities: [gpu]",
        "count": "Add count: 1, or how many GPUs a pod needs",
    }
    driver: Annotated[
        str | None,
        Word(
            *("nvidia", "amd", "amdgpu"),
            refused={"cdi": "Write nvidia or amd; the host decides how devices reach the container"},
        ),
    ] = None
    count: Annotated[int, PlainValidator(_read_gpu_count)] = 0
    capabilities: Annotated[tuple[Annotated[str, Word("gpu")], ...], Items()] = ()


class ReservationsSection(Section):
    unsupported: ClassVar = compose.RESERVATIONS
    devices: Annotated[tuple[DeviceSection, ...], Items()] = ()

    def check(self, problems: Problems) -> None:
        for extra in self.devices[1:]:
            problems.add(extra.place(), "GPUs are asked for twice", "Add the counts up in one entry")


class ResourcesSection(Section):
    limits: LimitsSection | None = None
    reservations: ReservationsSection | None = None


class DeploySection(Section):
    unsupported: ClassVar = compose.DEPLOY
    resources: ResourcesSection | None = None
    restart_policy: RestartPolicySection | None = None

    @property
    def has_limits(self) -> bool:
        """Whether limits are written, or cannot be told from a mistake."""
        wrong = self.resources is None and "resources" in self.written
        return wrong or (self.resources is not None and "limits" in self.resources.written)
