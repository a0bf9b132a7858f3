"""The kernel's files of a machine with AMD GPUs, in a folder that stands for the machine."""

import shutil
from pathlib import Path

NODES = "sys/class/kfd/kfd/topology/nodes"


def add_processor(root: Path, node: int) -> None:
    """A processor: the compute driver lists it among the GPUs, with no GPU number."""
    folder = root / NODES / str(node)
    folder.mkdir(parents=True)
    (folder / "gpu_id").write_text("0\n")
    (folder / "properties").write_text("cpu_cores_count 32\nsimd_count 0\n")


def add_gpu(root: Path, node: int, *, unique_id: str = "", product: str = "", vram_mib: int = 196_592) -> Path:
    """A GPU; gives the folder of its files."""
    folder = root / NODES / str(node)
    folder.mkdir(parents=True)
    minor = 127 + node
    (folder / "gpu_id").write_text(f"{4000 + node}\n")
    for file in (root / "dev/kfd", root / f"dev/dri/renderD{minor}"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (folder / "properties").write_text(
        f"cpu_cores_count 0\ndomain 0\nlocation_id {256 * node}\ndrm_render_minor {minor}\n"
    )
    files = root / "sys/class/drm" / f"renderD{minor}" / "device"
    (files / "ras").mkdir(parents=True)
    (files / "device").write_text("0x74a1\n")
    (files / "mem_info_vram_total").write_text(f"{vram_mib << 20}\n")
    (files / "mem_info_vram_used").write_text("0\n")
    (files / "ras/umc_err_count").write_text("ue: 0\nce: 3\n")
    (files / "ras/gfx_err_count").write_text("ue: 0\nce: 0\n")
    if unique_id:
        (files / "unique_id").write_text(f"{unique_id}\n")
    if product:
        (files / "product_name").write_text(f"{product}\n")
    return files


def unplug(root: Path, node: int) -> None:
    shutil.rmtree(root / NODES / str(node))
    shutil.rmtree(root / "sys/class/drm" / f"renderD{127 + node}")
