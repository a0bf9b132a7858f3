"""The stand-in for NVIDIA's library: compiled here, described by a file."""

import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).with_name("nvml_stub.c")
SONAME = "libnvidia-ml.so.1"
WHOLE_GPU = 0xFFFF_FFFF
XID = 8


def compiler() -> str | None:
    """A C compiler of this machine."""
    return next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def build(folder: Path) -> Path:
    """The library, compiled into this folder."""
    library = folder / SONAME
    found = compiler()
    assert found is not None, "there is no C compiler: install gcc"
    command = [found, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", f"-Wl,-soname,{SONAME}"]
    subprocess.run([*command, "-o", str(library), str(SOURCE)], check=True)
    return library


@dataclass
class Gpu:
    """One GPU of the machine. `slices`: (uuid, instance, MiB, name) of each MIG device."""

    uuid: str
    name: str = "NVIDIA H100 80GB HBM3"
    vram_mib: int = 81_559
    state: str = "ok"
    uncorrected: int = 0
    busy_percent: int = 0
    used_mib: int = 0
    slices: list[tuple[str, int, int, str]] = field(default_factory=list)
    sensors: tuple[int, ...] = ()
    """Temperature, power, clocks, PCIe, NVLink and throttle reasons, as in nvml_stub.c; empty: not supported."""
    counters: tuple[int, ...] = ()
    """Replays of PCIe, traffic and errors of each NVLink link, as in nvml_stub.c; empty, or -1: not supported."""


class Machine:
    """A machine whose drivers say what this object says."""

    def __init__(self, path: Path, gpus: list[Gpu]) -> None:
        self.path = path
        self.gpus = gpus
        self.events: list[tuple[str, int, int, int]] = []
        self.write()

    def write(self) -> None:
        lines = ["driver 560.35.03"]
        for gpu in self.gpus:
            lines.append(
                f"gpu {gpu.uuid} {gpu.state} {int(bool(gpu.slices))} {gpu.vram_mib} {gpu.uncorrected} {gpu.name}"
            )
            lines.append(f"load {gpu.uuid} {gpu.busy_percent} {gpu.used_mib}")
            if gpu.sensors:
                lines.append(f"sensors {gpu.uuid} {' '.join(map(str, gpu.sensors))}")
            if gpu.counters:
                lines.append(f"counters {gpu.uuid} {' '.join(map(str, gpu.counters))}")
            lines += [f"mig {gpu.uuid} {uuid} {place} {mib} {name}" for uuid, place, mib, name in gpu.slices]
        lines += [f"event {number} {' '.join(map(str, event))}" for number, event in enumerate(self.events, 1)]
        part = self.path.with_suffix(".part")
        part.write_text("\n".join(lines) + "\n")
        part.replace(self.path)

    def xid(self, gpu: str, code: int, instance: int = WHOLE_GPU) -> None:
        self.events.append((gpu, XID, code, instance))
        self.write()

    def gone(self) -> None:
        self.path.unlink()


def eight() -> list[Gpu]:
    """A machine of eight H100."""
    return [Gpu(f"GPU-{number:08x}-0000-0000-0000-000000000000") for number in range(8)]
