"""GPU models: what their vendors state, and the rates that a challenge expects of them.

To add a model, add a row. Sources: public data sheets of NVIDIA and AMD. Rates of 16-bit products are dense, with sums
in 32 bits (GeForce: half of the rate with 16-bit sums). An MI250X has two dies, each a device of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

EXPECTED_READ_SHARE: Final = 0.6
"""Share of the stated memory bandwidth that chains of reads reach at least."""


@dataclass(frozen=True, slots=True)
class GpuModel:
    """One model. `name`: as the vendor's tool prints it, without the vendor.

    `vram_gib`: memory as sold; `tflops`: dense 16-bit products, 10^12 operations a second; `bandwidth_gbs`: 10^9 bytes
    a second; `product_share`: share of `tflops` that the vendor's library reaches at least in long products, with the
    device's power limit.
    """

    name: str
    vram_gib: int
    tflops: float
    bandwidth_gbs: float
    product_share: float

    @property
    def expected_flops(self) -> float:
        """Operations a second that are expected at least."""
        return self.tflops * 1e12 * self.product_share

    @property
    def expected_read_rate(self) -> float:
        """Bytes a second that chains of reads are expected to reach at least."""
        return self.bandwidth_gbs * 1e9 * EXPECTED_READ_SHARE


_SXM, _CARD, _AMD = 0.65, 0.5, 0.35

MODELS: Final = (
    GpuModel("B200", 180, 2250, 7700, _SXM),
    GpuModel("H200", 141, 989, 4800, _SXM),
    GpuModel("H200 NVL", 141, 835, 4800, _CARD),
    GpuModel("GH200 480GB", 96, 989, 4000, _SXM),
    GpuModel("H100 80GB HBM3", 80, 989, 3350, _SXM),
    GpuModel("H100 NVL", 94, 835, 3900, _CARD),
    GpuModel("H100 PCIe", 80, 756, 2039, _CARD),
    GpuModel("A100-SXM4-80GB", 80, 312, 2039, _SXM),
    GpuModel("A100-SXM4-40GB", 40, 312, 1555, _SXM),
    GpuModel("A100 80GB PCIe", 80, 312, 1935, _SXM),
    GpuModel("A100-PCIE-40GB", 40, 312, 1555, _SXM),
    GpuModel("A40", 48, 150, 696, _CARD),
    GpuModel("A30", 24, 165, 933, _CARD),
    GpuModel("A10", 24, 125, 600, _CARD),
    GpuModel("A10G", 24, 70, 600, _CARD),
    GpuModel("L40S", 48, 362, 864, _CARD),
    GpuModel("L40", 48, 181, 864, _CARD),
    GpuModel("L4", 24, 121, 300, 0.35),
    GpuModel("V100-SXM2-32GB", 32, 125, 900, _CARD),
    GpuModel("V100-SXM2-16GB", 16, 125, 900, _CARD),
    GpuModel("T4", 16, 65, 320, 0.3),
    GpuModel("RTX PRO 6000 Blackwell Server Edition", 96, 504, 1597, _CARD),
    GpuModel("RTX 6000 Ada Generation", 48, 364, 960, _CARD),
    GpuModel("RTX A6000", 48, 155, 768, _CARD),
    GpuModel("RTX A5000", 24, 111, 768, _CARD),
    GpuModel("GeForce RTX 5090", 32, 210, 1792, _SXM),
    GpuModel("GeForce RTX 4090", 24, 165, 1008, _SXM),
    GpuModel("GeForce RTX 4080", 16, 97, 717, _SXM),
    GpuModel("GeForce RTX 3090 Ti", 24, 80, 1008, _SXM),
    GpuModel("GeForce RTX 3090", 24, 71, 936, _SXM),
    GpuModel("Instinct MI355X", 288, 2516, 8000, _AMD),
    GpuModel("Instinct MI325X", 256, 1307, 6000, _AMD),
    GpuModel("Instinct MI300X", 192, 1307, 5300, _AMD),
    GpuModel("Instinct MI250X", 64, 191, 1638, _AMD),
    GpuModel("Instinct MI210", 64, 181, 1638, _AMD),
    GpuModel("Radeon RX 7900 XTX", 24, 122, 960, _AMD),
)
_VENDORS = ("nvidia ", "tesla ", "amd ")


def normal_name(name: str) -> str:
    """Return the name in lower case, without the vendor."""
    name = " ".join(name.lower().split())
    for vendor in _VENDORS:
        name = name.removeprefix(vendor)
    return name


_BY_NAME = {normal_name(model.name): model for model in MODELS}


def model_named(name: str) -> GpuModel | None:
    """Return the model with this name, as a device's record has it; None for models that the table does not have."""
    return _BY_NAME.get(normal_name(name))
