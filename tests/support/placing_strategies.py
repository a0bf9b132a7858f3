"""Hypothesis strategies for placing: hosts with several GPU models and accounts with shares, and requests for them."""

from __future__ import annotations

from hypothesis import strategies as st

from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import Capacity, Device, DeviceSpec, GpuRequest, Host, Resources, Vendor
from tests.support.chain_records import placement
from tests.support.scheduler_world import gpu_host, job

MODELS = (b"A100", b"T4", b"L4")
ACCOUNTS = ("alice", "bob", "carol")

usage = st.tuples(st.integers(0, 990), st.sampled_from((*ACCOUNTS, None)))
"""What is free of a device, and the account with shares of it; None: not known."""


@st.composite
def hosts(draw: st.DrawFn) -> list[Host]:
    """Hosts with devices that are free, partly used, or out of order."""
    devices = st.builds(
        lambda model, used, healthy, attested: Device(
            DeviceSpec(Vendor.NVIDIA, model, 40_960, simulated=False), *used, attested, healthy
        ),
        st.sampled_from(MODELS),
        st.just((1000, None)) | st.just((1000, None)) | usage,
        st.sampled_from((True, True, True, False)),
        st.booleans(),
    )
    rows = st.tuples(st.integers(0, 64), st.integers(0, 256), st.integers(0, 9), st.lists(devices, max_size=6))
    return [
        gpu_host(f"h{number}", 0, free=Capacity(500 * cores, 512 * memory, disk), devices=tuple(on))
        for number, (cores, memory, disk, on) in enumerate(draw(st.lists(rows, min_size=1, max_size=7)))
    ]


@st.composite
def requests(draw: st.DrawFn) -> PodRequest:
    """Requests for no GPU, shares, whole GPUs and several, of some models or all."""
    gpus = draw(st.sampled_from((0, 1, 1, 1, 1, 2, 3)))
    milli = draw(st.sampled_from((100, 190, 320, 470, 500, 810, 1000, 1000, 1000)))
    models = tuple(draw(st.lists(st.sampled_from(MODELS), max_size=2, unique=True)))
    resources = Resources(
        draw(st.sampled_from((500, 1000, 3000, 4100, 8000))),
        draw(st.sampled_from((512, 2048, 5000, 16_384))),
        draw(st.sampled_from((0, 0, 1, 4))),
        GpuRequest(gpus, milli, 0, models),
    )
    where = placement(verified_only=draw(st.sampled_from((False, False, True))))
    return PodRequest.of(job(1, resources=resources, placement=where, tenant=draw(st.sampled_from(ACCOUNTS))))
