"""AMD's GPUs through the kernel's files (/sys/class/kfd, /sys/class/drm), without ROCm."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from node_agent.core.devices import DeviceGone, DeviceHealthy, Observation
from node_agent.telemetry.hardware import MAX_MODEL_BYTES, HostDevice
from node_agent.telemetry.ports import FoundDevice

VENDOR = "Amd"
PREFIX = "AMD-"
MIB = 1 << 20
LEAST_VRAM_MIB = 2048
"""GPUs with less are integrated graphics, which are not offered."""
_MAX_FILE = 65_536
_UNCORRECTED = re.compile(r"^ue:\s*(\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Card:
    """One GPU as the compute driver lists it: its files, and the number of its render node."""

    files: Path
    minor: int
    unique_id: str


class AmdSysfs:
    """The amdgpu driver. `root`: root of the machine's file system."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def devices(self) -> tuple[FoundDevice, ...]:
        found = []
        for number, card in enumerate(self._cards()):
            vram_mib = int(_read(card.files / "mem_info_vram_total") or 0) // MIB
            if vram_mib >= LEAST_VRAM_MIB:
                found.append(
                    FoundDevice(number, HostDevice(VENDOR, _model(card.files), vram_mib, PREFIX + card.unique_id))
                )
        return tuple(found)

    def observe(self, uuids: Sequence[str | None]) -> list[Observation]:
        wanted = {index: uuid for index, uuid in enumerate(uuids) if uuid is not None and uuid.startswith(PREFIX)}
        if not wanted:
            return []
        cards = {PREFIX + card.unique_id: card for card in self._cards()}
        return [_health(index, cards.get(uuid)) for index, uuid in wanted.items()]

    def wait(self, uuids: Sequence[str | None], timeout_s: float) -> list[Observation]:
        """Wait. The kernel reports no events."""
        del uuids
        time.sleep(timeout_s)  # called in a thread of its own
        return []

    def close(self) -> None:
        """Do nothing."""

    def files(self, uuids: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the device files that a container needs for these GPUs, and the numbers of their groups.

        Raises LookupError for a missing GPU, OSError for a missing file.
        """
        cards = {PREFIX + card.unique_id: card for card in self._cards()}
        nodes = []
        for uuid in uuids:
            if uuid not in cards:
                raise LookupError(f"the GPU {uuid} is not here")
            nodes.append(f"/dev/dri/renderD{cards[uuid].minor}")
        files = ("/dev/kfd", *nodes) if nodes else ()
        groups = {(self._root / file.removeprefix("/")).stat().st_gid for file in files}
        return files, tuple(str(group) for group in sorted(groups))

    def card_files(self, uuid: str) -> Path | None:
        """Return the folder of the kernel's files of a GPU; None if it is missing."""
        return next((card.files for card in self._cards() if PREFIX + card.unique_id == uuid), None)

    def _cards(self) -> Iterator[_Card]:
        nodes = self._root / "sys/class/kfd/kfd/topology/nodes"
        for node in sorted(nodes.glob("*"), key=lambda path: int(path.name) if path.name.isdecimal() else 0):
            if (_read(node / "gpu_id") or "0") == "0":
                continue  # a processor
            facts = dict(
                line.split(maxsplit=1) for line in (_read(node / "properties") or "").splitlines() if " " in line
            )
            minor = facts.get("drm_render_minor", "")
            files = self._root / "sys/class/drm" / f"renderD{minor}" / "device"
            if not minor.isdecimal() or not files.is_dir():
                continue
            unique_id = _read(files / "unique_id") or _pci_place(facts)
            yield _Card(files, int(minor), unique_id)


def device_files(uuids: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return this machine's device files for a container with these AMD GPUs, and the numbers of their groups."""
    return AmdSysfs().files(uuids)


def _health(index: int, card: _Card | None) -> Observation:
    if card is None:
        return DeviceGone(index, "the driver does not find it any more")
    try:
        (card.files / "mem_info_vram_used").read_bytes()
        counts = [int(count) for file in (card.files / "ras").glob("*_err_count") for count in _counts(file)]
    except OSError as error:
        return DeviceGone(index, f"the driver says: {error.strerror}")
    return DeviceHealthy(index, sum(counts) if counts else None)


def _counts(file: Path) -> list[str]:
    return _UNCORRECTED.findall(_read(file) or "")


def _model(files: Path) -> str:
    name = _read(files / "product_name") or ""
    if not name:
        # The driver has no names for desktop cards.
        name = f"AMD GPU {(_read(files / 'device') or 'unknown').removeprefix('0x')}"
    name = name if name.startswith("AMD") else f"AMD {name}"
    return name.encode()[:MAX_MODEL_BYTES].decode(errors="ignore")


def _pci_place(facts: dict[str, str]) -> str:
    """Return the PCI location, which identifies cards without a number of their own."""
    return f"pci-{int(facts.get('domain', '0')):04x}-{int(facts.get('location_id', '0')):04x}"


def number_in(file: Path) -> int | None:
    """Return the whole number in one of the kernel's files; None if there is none."""
    with contextlib.suppress(OSError, ValueError), file.open("rb") as stream:
        return int(stream.read(64))
    return None


def _read(path: Path) -> str | None:
    with contextlib.suppress(OSError), path.open("rb") as file:
        return file.read(_MAX_FILE).decode(errors="replace").strip()
    return None
