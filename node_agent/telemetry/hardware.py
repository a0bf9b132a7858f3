"""Hardware of a host: values, simulated profiles, and the stored copy of what was registered.

The files are not read by pydantic: the tier and the capabilities are generated types, which decode themselves.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from offchain.errors import OurError
from offchain.files import replace_file
from offchain.schema.chain_types._generated_chain import Capabilities, Tier

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PROFILES = Path(__file__).parent / "profiles"
MAX_DEVICES = 16
MAX_MODEL_BYTES = 64
VENDORS = ("Nvidia", "Amd", "Other")
DOCKER_ONLY = Capabilities(
    docker=True, kvm=False, kubernetes=False, cdi=False, mig=False, shares=False, sandboxed=False
)


@dataclass(frozen=True, slots=True)
class HostDevice:
    """One GPU, or a slice of one. `uuid` is None exactly if it is simulated.

    `mig`: it is a slice; `parent`: the UUID of the GPU that it is a slice of.
    """

    vendor: str
    model: str
    vram_mib: int
    uuid: str | None
    mig: bool = False
    parent: str | None = None

    @property
    def simulated(self) -> bool:
        return self.uuid is None


@dataclass(frozen=True, slots=True)
class Hardware:
    """What a host offers, without what its owner reserves. The chain's `HardwareSpec`."""

    cpu_milli: int
    memory_mib: int
    disk_gib: int
    devices: tuple[HostDevice, ...]
    tier: Tier = Tier.CONSUMER
    capabilities: Capabilities = DOCKER_ONLY
    image_gib: int = 200
    """Disk space for images; not part of `disk_gib`, and not on the chain."""
    answers_challenges: bool = False
    """Whether the agent answers challenges of the devices."""


def profile_names() -> list[str]:
    return sorted(path.stem for path in PROFILES.glob("*.json"))


def load_profile(name_or_path: str) -> tuple[HostDevice, ...]:
    """Load simulated devices from an included profile by name, or from a JSON file."""
    path = PROFILES / f"{name_or_path}.json"
    if "/" in name_or_path or name_or_path.endswith(".json") or not path.exists():
        path = Path(name_or_path)
    try:
        document = json.loads(path.read_text())
        devices = tuple(_simulated(entry, index) for index, entry in enumerate(document["devices"]))
    except FileNotFoundError:
        raise OurError(
            f"There is no hardware profile {name_or_path!r}.",
            f"Give a JSON file, or one of: {', '.join(profile_names())}.",
        ) from None
    except OSError as error:
        raise OurError(f"The hardware profile {path} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise OurError(
            f"The hardware profile {path} is not valid: {error}.",
            'It has to look like {"devices": [{"vendor": "Nvidia", "model": "…", "vram_mib": 81920}]}.',
        ) from None
    if len(devices) > MAX_DEVICES:
        raise OurError(
            f"The hardware profile {path} has {len(devices)} devices.", f"At most {MAX_DEVICES} are possible."
        )
    return devices


def _simulated(entry: Any, index: int) -> HostDevice:
    vendor, model, vram_mib = entry["vendor"], entry["model"], entry["vram_mib"]
    if vendor not in VENDORS:
        raise ValueError(f"device {index}: vendor {vendor!r} is none of {', '.join(VENDORS)}")
    if not isinstance(model, str) or not 0 < len(model.encode()) <= MAX_MODEL_BYTES:
        raise ValueError(f"device {index}: model must be text of 1 to {MAX_MODEL_BYTES} bytes")
    if isinstance(vram_mib, bool) or not isinstance(vram_mib, int) or not 0 < vram_mib < 2**32:
        raise ValueError(f"device {index}: vram_mib must be a whole number above 0")
    return HostDevice(vendor, model, vram_mib, None)


def save(path: Path, hardware: Hardware) -> None:
    """Store what was registered: the order of the devices is the chain's numbering."""
    document = {
        "cpu_milli": hardware.cpu_milli,
        "memory_mib": hardware.memory_mib,
        "disk_gib": hardware.disk_gib,
        "tier": hardware.tier.value,
        "capabilities": hardware.capabilities.encode(),
        "image_gib": hardware.image_gib,
        "devices": [asdict(device) for device in hardware.devices],
        "answers_challenges": hardware.answers_challenges,
    }
    replace_file(path, json.dumps(document, indent=2) + "\n")


def load(path: Path) -> Hardware | None:
    try:
        document = json.loads(path.read_text())
        devices = tuple(
            HostDevice(
                entry["vendor"],
                entry["model"],
                entry["vram_mib"],
                entry["uuid"],
                mig=entry.get("mig", False),
                parent=entry.get("parent"),
            )
            for entry in document["devices"]
        )
        return Hardware(
            document["cpu_milli"],
            document["memory_mib"],
            document["disk_gib"],
            devices,
            # Files of the first release have neither.
            Tier(document.get("tier", Tier.CONSUMER)),
            # Files of earlier releases lack `shares`.
            Capabilities.decode(DOCKER_ONLY.encode() | document.get("capabilities", {})),
            int(document.get("image_gib", 200)),
            document.get("answers_challenges", False) is True,
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OurError(f"{path} cannot be read: {error}.", "Register this host again, or restore the file.") from None


def current_boot_id() -> str:
    """Return an id of the time since the machine's start; empty if the kernel has none."""
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
