"""What this machine has: values, and how they are kept in a file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from offchain.errors import OurError
from offchain.schema.chain_types._generated_chain import Capabilities, Tier

PROFILES = Path(__file__).parent / "profiles"
MAX_DEVICES = 16
MAX_MODEL_BYTES = 64
VENDORS = ("Nvidia", "Amd", "Other")
DOCKER_ONLY = Capabilities(
    docker=True, kvm=False, kubernetes=False, cdi=False, mig=False, shares=False, sandboxed=False
)


@dataclass(frozen=True, slots=True)
class HostDevice:
    """One GPU, or a slice of one. `uuid` is None exactly where it is simulated.

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
        """True for a device from a profile."""
        return self.uuid is None


@dataclass(frozen=True, slots=True)
class Hardware:
    """What a host offers, what its owner keeps already taken off. The chain's `HardwareSpec`."""

    cpu_milli: int
    memory_mib: int
    disk_gib: int
    devices: tuple[HostDevice, ...]
    tier: Tier = Tier.CONSUMER
    capabilities: Capabilities = DOCKER_ONLY
    image_gib: int = 200
    """What of the disk is for images; not part of `disk_gib`, and not on the chain."""


def profile_names() -> list[str]:
    """The profiles that come with the agent."""
    return sorted(path.stem for path in PROFILES.glob("*.json"))


def load_profile(name_or_path: str) -> tuple[HostDevice, ...]:
    """Simulated devices from a profile: one that comes with the agent by name, or a JSON file. Always simulated."""
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
    """Keep what was registered: the order of the devices is the chain's numbering."""
    document = {
        "cpu_milli": hardware.cpu_milli,
        "memory_mib": hardware.memory_mib,
        "disk_gib": hardware.disk_gib,
        "tier": hardware.tier.value,
        "capabilities": hardware.capabilities.encode(),
        "image_gib": hardware.image_gib,
        "devices": [asdict(device) for device in hardware.devices],
    }
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(document, indent=2) + "\n")
    part.replace(path)


def load(path: Path) -> Hardware | None:
    """What was kept; None where nothing was."""
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
            # A folder of the first release has neither; its host is registered already.
            Tier(document.get("tier", Tier.CONSUMER)),
            # Nor did earlier ones know of shares.
            Capabilities.decode(DOCKER_ONLY.encode() | document.get("capabilities", {})),
            int(document.get("image_gib", 200)),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OurError(f"{path} cannot be read: {error}.", "Register this host again, or restore the file.") from None
