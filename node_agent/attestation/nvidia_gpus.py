"""Reports of the machine's GPUs of NVIDIA in confidential mode, from the driver through NVML."""

from __future__ import annotations

import logging
from typing import Any

from node_agent.telemetry.nvml import bindings
from offchain.schema.attestation.document import MAX_GPUS, GpuEvidence

log = logging.getLogger(__name__)


def gpu_evidence(nonce: bytes, nvml: Any = None) -> tuple[GpuEvidence, ...]:
    """Return a report of each GPU for the nonce, 32 bytes; none without a driver or without confidential mode.

    `nvml`: the bindings; None: those of this machine. Blocks up to some seconds.
    """
    library = bindings() if nvml is None else nvml
    if library is None:
        return ()
    try:
        library.nvmlInit()
    except library.NVMLError:
        return ()
    try:
        if not library.nvmlSystemGetConfComputeState().ccFeature:
            return ()
        count = min(library.nvmlDeviceGetCount(), MAX_GPUS)
        return tuple(_evidence(library, library.nvmlDeviceGetHandleByIndex(index), nonce) for index in range(count))
    except library.NVMLError as error:
        log.warning("the NVIDIA driver makes no attestation report: %s", error)
        return ()
    finally:
        library.nvmlShutdown()


def _evidence(library: Any, handle: Any, nonce: bytes) -> GpuEvidence:
    made = library.nvmlDeviceGetConfComputeGpuAttestationReport(handle, nonce)
    chain = library.nvmlDeviceGetConfComputeGpuCertificate(handle)
    return GpuEvidence(
        report=bytes(made.attestationReport[: made.attestationReportSize]),
        certificates=bytes(chain.attestationCertChain[: chain.attestationCertChainSize])
        .rstrip(b"\0")
        .decode("ascii", "replace"),
    )
