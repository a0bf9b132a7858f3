"""Evidence of GPUs of NVIDIA: what a verification accepts, and why it refuses everything else."""

import base64
import ctypes
import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from node_agent.attestation.nvidia_gpus import gpu_evidence
from offchain.core.attestation import nvidia
from offchain.core.attestation.certificates import RootKeys
from offchain.core.attestation.nvidia import GpuReport, verify_gpus
from offchain.core.attestation.verification import verify_attestation
from offchain.schema.attestation.document import AttestationDocument, GpuEvidence, gpu_nonce, report_data
from offchain.schema.attestation.policy import AttestationCheck, AttestationPolicy, EvidenceError
from offchain.schema.protocol.fields import WireError
from tests.support.attestation_roots import NOW_S
from tests.support.gpu_samples import FWID, ConfidentialGpu
from tests.support.snp_samples import HOST, NONCE, SEAL_KEY, SnpMachine

RECORDED = json.loads(
    (Path(__file__).parents[2] / "vectors/attestation/nvidia_hopper.json").read_text(encoding="utf-8")
)
RECORDED_S = 1_750_000_000
EVIDENCE = GpuEvidence(report=base64.b64decode(RECORDED["report"]), certificates=RECORDED["certificates"])
VENDOR = RootKeys(nvidia.ROOTS)
GPU = ConfidentialGpu()
TEST = RootKeys(nvidia.ROOTS, GPU.root.der)
WANTED = gpu_nonce(HOST, NONCE, SEAL_KEY)
ASKED = AttestationPolicy(genuine_gpus=True)


def test_a_recorded_report_of_hopper_is_genuine_by_nvidias_root():
    nonce = bytes.fromhex(RECORDED["nonce"])
    text = verify_gpus([EVIDENCE], nonce, VENDOR, RECORDED_S)
    assert text == (
        "1 genuine GPU of NVIDIA answered this request (driver 550.90.07, VBIOS 96.00.9F.00.01); firmware, mode and "
        "revocation are not compared"
    )
    assert GpuReport.parse(EVIDENCE.report).measurements == 64


@pytest.mark.parametrize("place", [3, 4, 36, 45, 400, 3_600, 4_000, len(EVIDENCE.report) - 1])
def test_a_changed_byte_of_a_recorded_report_is_refused(place):
    report = bytearray(EVIDENCE.report)
    report[place] ^= 1
    with pytest.raises(EvidenceError):
        verify_gpus([dataclasses.replace(EVIDENCE, report=bytes(report))], bytes(report[4:36]), VENDOR, RECORDED_S)


def test_every_truncation_of_a_report_is_refused():
    for size in range(0, len(EVIDENCE.report), 7):
        with pytest.raises(EvidenceError):
            GpuReport.parse(EVIDENCE.report[:size])


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ([], "no evidence of GPUs"),
        ([GPU.evidence(bytes(32))], "GPU 0: the report was not made for this host's key and this nonce"),
        ([GPU.evidence(WANTED)] * 2, "GPU 1 is another one once more"),
        ([ConfidentialGpu(root=GPU.root, leaf_until_s=NOW_S - 1).evidence(WANTED)], "is valid from"),
        ([ConfidentialGpu().evidence(WANTED)], "is not the given test root"),
        ([ConfidentialGpu(root=GPU.root, stated_fwid=bytes(48)).evidence(WANTED)], "for another firmware"),
        (
            [GpuEvidence(report=GPU.report(WANTED), certificates=ConfidentialGpu(root=GPU.root).certificates)],
            "not that of the GPU",
        ),
        ([GpuEvidence(report=GPU.report(WANTED), certificates="")], "certificates"),
        ([GpuEvidence(report=GPU.report(WANTED), certificates=GPU.root.pem)], "no chain to a root"),
        ([GpuEvidence(report=GPU.report(WANTED, values=()), certificates=GPU.certificates)], "for another firmware"),
        (
            [GpuEvidence(report=GPU.report(WANTED, values=((20, FWID),) * 2), certificates=GPU.certificates)],
            "field 20 is incomplete, or there twice",
        ),
        ([EVIDENCE], "is not the given test root"),
    ],
)
def test_evidence_that_proves_nothing_is_refused(evidence, said):
    with pytest.raises(EvidenceError) as refused:
        verify_gpus(evidence, WANTED, TEST, NOW_S)
    assert said in str(refused.value)
    assert (refused.value.check, bool(refused.value.hint)) == (AttestationCheck.GPUS, True)


def test_a_key_of_another_curve_is_refused():
    gpu = ConfidentialGpu(root=GPU.root, curve=ec.SECP256R1())
    with pytest.raises(EvidenceError, match="not of the curve P-384"):
        verify_gpus([gpu.evidence(WANTED)], WANTED, TEST, NOW_S)


def test_a_test_root_proves_nothing_where_it_is_not_given():
    with pytest.raises(EvidenceError, match="is no root of the vendor"):
        verify_gpus([GPU.evidence(WANTED)], WANTED, VENDOR, NOW_S)


# --- documents --------------------------------------------------------------------------------------------------------

MACHINE = SnpMachine(root=GPU.root)


def found(gpus, policy):
    document = dataclasses.replace(MACHINE.document(), gpus=tuple(gpus))
    result = verify_attestation(document.encode(), HOST, NONCE, policy, NOW_S, test_root=GPU.root.der)
    return result, next((one for one in result.findings if one.check is AttestationCheck.GPUS), None)


def test_a_policy_that_asks_for_gpus_is_met_by_genuine_ones_only():
    other = ConfidentialGpu(root=GPU.root)
    result, finding = found([GPU.evidence(WANTED), other.evidence(WANTED)], ASKED)
    assert (result.failure, finding.passed, result.seal_key) == (None, True, SEAL_KEY)
    assert finding.text.startswith("2 genuine GPUs of NVIDIA")
    for gpus in ([], [GPU.evidence(bytes(32))]):
        result, _ = found(gpus, ASKED)
        assert (result.failure.check, result.seal_key) == (AttestationCheck.GPUS, None)


def test_gpus_are_not_called_proven_if_the_policy_does_not_ask_for_them():
    for gpus in ([], [GPU.evidence(bytes(32))], [GPU.evidence(WANTED)]):
        result, finding = found(gpus, AttestationPolicy())
        assert (result.failure, finding.passed) == (None, None)


def test_the_nonce_of_gpus_is_of_one_host_and_request_and_another_than_that_of_the_machine():
    nonces = {WANTED, gpu_nonce(NONCE, NONCE, SEAL_KEY), gpu_nonce(HOST, HOST, SEAL_KEY), gpu_nonce(HOST, NONCE, HOST)}
    assert len(nonces | {report_data(HOST, NONCE, SEAL_KEY)[:32]}) == 5


def test_a_document_has_a_bounded_number_of_gpus_of_bounded_size():
    document = dataclasses.replace(MACHINE.document(), gpus=(GPU.evidence(WANTED),))
    assert AttestationDocument.decode(document.encode()) == document
    plain = json.loads(document.encode())
    for gpus in ([], plain["gpus"] * 17, [{**plain["gpus"][0], "report": "A" * 20_000}], "x"):
        with pytest.raises(WireError):
            AttestationDocument.decode(json.dumps(plain | {"gpus": gpus}).encode())


# --- agent ------------------------------------------------------------------------------------------------------------


class DriverError(Exception):
    pass


class Driver:
    """NVML of a machine with GPUs in confidential mode."""

    NVMLError = DriverError

    def __init__(self, gpus, *, is_confidential=True, breaks_at=""):
        self._gpus, self._is_confidential, self._breaks_at = gpus, is_confidential, breaks_at
        self.opened = 0

    def _check(self, name):
        if name == self._breaks_at:
            raise DriverError(name)

    def nvmlInit(self):  # noqa: N802 - NVML's name, as below
        self._check("init")
        self.opened += 1

    def nvmlShutdown(self):  # noqa: N802
        self.opened -= 1

    def nvmlSystemGetConfComputeState(self):  # noqa: N802
        self._check("state")
        return SimpleNamespace(ccFeature=int(self._is_confidential))

    def nvmlDeviceGetCount(self):  # noqa: N802
        return len(self._gpus)

    def nvmlDeviceGetHandleByIndex(self, index):  # noqa: N802
        return self._gpus[index]

    def nvmlDeviceGetConfComputeGpuAttestationReport(self, gpu, nonce):  # noqa: N802
        self._check("report")
        report = gpu.report(nonce)
        return SimpleNamespace(attestationReport=(ctypes.c_ubyte * 8192)(*report), attestationReportSize=len(report))

    def nvmlDeviceGetConfComputeGpuCertificate(self, gpu):  # noqa: N802
        chain = gpu.certificates.encode() + b"\0"
        return SimpleNamespace(
            attestationCertChain=(ctypes.c_ubyte * 5120)(*chain), attestationCertChainSize=len(chain)
        )


def test_an_agent_shows_a_report_of_each_gpu_for_the_nonce():
    driver = Driver([GPU, ConfidentialGpu(root=GPU.root)])
    text = verify_gpus(gpu_evidence(WANTED, driver), WANTED, TEST, NOW_S)
    assert text.startswith("2 genuine GPUs")
    assert driver.opened == 0


@pytest.mark.parametrize(
    "driver",
    [Driver([GPU], is_confidential=False), *(Driver([GPU], breaks_at=name) for name in ("init", "state", "report"))],
)
def test_an_agent_without_confidential_gpus_shows_none(driver):
    assert gpu_evidence(WANTED, driver) == ()
    assert driver.opened == 0
