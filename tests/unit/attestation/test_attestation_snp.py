"""Attestation documents of AMD SEV-SNP: what a verification accepts, and the check that refuses everything else."""

import base64
import dataclasses
import json
import warnings
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from offchain.core.attestation import sev_snp
from offchain.core.attestation.verification import verify_attestation
from offchain.schema.attestation.document import AttestationDocument, EvidenceKind, report_data
from offchain.schema.attestation.policy import AttestationCheck, AttestationPolicy, SnpTcb
from tests.support.attestation_roots import DAY_S, NOW_S, YEAR_S, root
from tests.support.snp_samples import DEBUG, HOST, MEASUREMENT, MIGRATION_AGENT, NONCE, SEAL_KEY, SnpMachine

MACHINE = SnpMachine()
ANY = AttestationPolicy()
RECORDED = json.loads(
    (Path(__file__).parents[2] / "vectors/attestation/sev_snp_milan.json").read_text(encoding="utf-8")
)
RECORDED_S = 1_700_000_000
DATA = report_data(HOST, NONCE, SEAL_KEY)


def verified(document=None, policy=ANY, *, machine=MACHINE, now_s=NOW_S, host=HOST, nonce=NONCE):
    data = (document or machine.document()).encode()
    return verify_attestation(data, host, nonce, policy, now_s, test_root=machine.root.der)


def refused_by(result):
    assert result.failure is not None
    assert result.failure.hint
    return result.failure.check


def test_a_document_of_this_host_and_nonce_proves_every_part_that_the_policy_names():
    policy = AttestationPolicy(
        kinds=(EvidenceKind.SEV_SNP,), measurements=(bytes(48), MEASUREMENT), min_snp_tcb=SnpTcb(snp=22)
    )
    result = verified(policy=policy)
    assert result.failure is None
    passed = {one.check for one in result.findings if one.passed}
    assert passed == set(AttestationCheck) - {AttestationCheck.GPUS}
    assert (result.measurement, result.seal_key, result.test_root) == (MEASUREMENT, SEAL_KEY, True)
    assert result.plain()["facts"]["vmpl"] == "0"


def test_parts_that_the_policy_does_not_name_are_not_called_proven():
    result = verified()
    open_checks = {one.check for one in result.findings if one.passed is None}
    assert open_checks == {AttestationCheck.TCB, AttestationCheck.MEASUREMENT, AttestationCheck.GPUS}
    said = {one.check: one.text for one in result.findings}
    assert "any software" in said[AttestationCheck.MEASUREMENT]
    assert MEASUREMENT.hex() in said[AttestationCheck.MEASUREMENT]


@pytest.mark.parametrize("product", ["Genoa-B1", "Turin-B0", "Milan"])
def test_the_firmware_of_each_processor_is_read_by_its_layout(product):
    machine = SnpMachine(
        product=product, tcb=(7, 1, 14, 72), chip=bytes(range(8)) if product == "Turin-B0" else bytes(64)
    )
    assert verified(machine=machine, policy=AttestationPolicy(min_snp_tcb=SnpTcb(7, 1, 14, 72))).failure is None
    too_new = AttestationPolicy(min_snp_tcb=SnpTcb(7, 1, 15, 72))
    assert refused_by(verified(machine=machine, policy=too_new)) is AttestationCheck.TCB


def test_a_document_for_another_nonce_or_host_is_refused():
    other = bytes(32)
    assert refused_by(verified(nonce=other)) is AttestationCheck.BINDING
    assert refused_by(verified(host=other)) is AttestationCheck.BINDING


@pytest.mark.parametrize(("host", "nonce"), [(HOST, bytes(32)), (bytes(32), NONCE)])
def test_a_quote_that_was_made_for_another_nonce_or_host_is_refused_in_a_document_for_this_one(host, nonce):
    replayed = MACHINE.document(quote=MACHINE.report(report_data(host, nonce, SEAL_KEY)))
    assert refused_by(verified(replayed)) is AttestationCheck.BINDING


def test_a_sealing_key_that_the_quote_does_not_name_is_refused():
    """Somebody between tenant and host, who has the host's key, cannot put its own key into a document."""
    result = verified(MACHINE.document(seal_key=bytes(32), quote=MACHINE.report(DATA)))
    assert (refused_by(result), result.seal_key) == (AttestationCheck.BINDING, None)


@pytest.mark.parametrize("policy", [DEBUG, MIGRATION_AGENT])
def test_a_machine_whose_memory_can_be_read_or_copied_is_refused(policy):
    document = MACHINE.document(quote=MACHINE.report(DATA, policy=0x30000 | policy))
    assert refused_by(verified(document)) is AttestationCheck.DEBUG


def test_a_report_that_the_hypervisor_asked_for_is_refused():
    document = MACHINE.document(quote=MACHINE.report(DATA, vmpl=0xFFFFFFFF))
    assert refused_by(verified(document)) is AttestationCheck.DEBUG


def test_an_expired_certificate_is_refused():
    machine = SnpMachine(leaf_until_s=NOW_S - DAY_S)
    result = verified(machine=machine)
    assert refused_by(result) is AttestationCheck.CERTIFICATES
    assert "SEV-VCEK" in result.failure.text
    assert refused_by(verified(now_s=NOW_S + 2 * YEAR_S)) is AttestationCheck.CERTIFICATES
    assert refused_by(verified(now_s=NOW_S - 20 * YEAR_S)) is AttestationCheck.CERTIFICATES


def test_a_revoked_authority_is_refused():
    crl = MACHINE.root.crl(revoked=(MACHINE.authority,)).public_bytes(Encoding.PEM)
    result = verified(MACHINE.document(collateral=MACHINE.certificates(crl=crl)))
    assert refused_by(result) is AttestationCheck.REVOCATION
    assert "revoked on" in result.failure.text


def test_a_revocation_list_has_to_be_there_valid_and_of_the_root():
    expired = MACHINE.root.crl(until_s=NOW_S - DAY_S)
    foreign = root("ARK-Test", ec.SECP384R1()).crl()
    lists = [b"", expired.public_bytes(Encoding.PEM), foreign.public_bytes(Encoding.PEM)]
    for crl in lists:
        document = MACHINE.document(collateral=MACHINE.certificates(crl=crl))
        assert refused_by(verified(document)) is AttestationCheck.REVOCATION


def test_the_root_is_the_vendors_unless_a_test_root_is_given():
    data = MACHINE.document().encode()
    assert refused_by(verify_attestation(data, HOST, NONCE, ANY, NOW_S)) is AttestationCheck.ROOT
    other = root("ARK-Test", ec.SECP384R1())
    refused = verify_attestation(data, HOST, NONCE, ANY, NOW_S, test_root=other.der)
    assert refused_by(refused) is AttestationCheck.ROOT


def test_certificates_that_do_not_follow_from_each_other_are_refused():
    other = SnpMachine(root=MACHINE.root)
    crl = MACHINE.root.crl().public_bytes(Encoding.PEM).decode()
    chains = [
        other.leaf.pem + MACHINE.authority.pem + MACHINE.root.pem,
        MACHINE.leaf.pem + MACHINE.root.pem,
        MACHINE.leaf.pem * 9,
        "",
        MACHINE.leaf.pem.replace("M", "A", 1) + MACHINE.authority.pem + MACHINE.root.pem,
        # A leaf cannot issue certificates.
        MACHINE.leaf.issue("SEV-VCEK").pem + MACHINE.leaf.pem + MACHINE.root.pem,
    ]
    for chain in chains:
        assert refused_by(verified(MACHINE.document(collateral=chain + crl))) is AttestationCheck.CERTIFICATES


def test_an_altered_report_is_refused():
    quote = MACHINE.report(DATA)
    for place in (0x90, 0x20B, sev_snp.SIGNED_BYTES + 3):
        altered = bytes((*quote[:place], quote[place] ^ 1, *quote[place + 1 :]))
        assert refused_by(verified(MACHINE.document(quote=altered))) is AttestationCheck.SIGNATURE
    assert refused_by(verified(MACHINE.document(quote=MACHINE.report(DATA, algorithm=2)))) is AttestationCheck.SIGNATURE


def test_a_report_of_another_size_or_version_is_refused():
    quote = MACHINE.report(DATA)
    for wrong in (quote[:-1], quote + b"\0", b"", MACHINE.report(DATA, version=9)):
        assert refused_by(verified(MACHINE.document(quote=wrong))) is AttestationCheck.DOCUMENT


def test_the_certificate_has_to_be_that_of_the_processor_and_its_firmware():
    other_chip = MACHINE.document(quote=MACHINE.report(DATA, chip=b"\1" * 64))
    assert refused_by(verified(other_chip)) is AttestationCheck.CERTIFICATES
    older = MACHINE.document(quote=MACHINE.report(DATA, tcb=bytes((3, 0, 0, 0, 0, 0, 22, 213))))
    assert refused_by(verified(older)) is AttestationCheck.TCB
    hidden = MACHINE.document(quote=MACHINE.report(DATA, chip=bytes(64)))
    assert verified(hidden).failure is None


def test_other_software_and_another_kind_than_the_policy_names_are_refused():
    software = AttestationPolicy(measurements=(bytes(48),))
    assert refused_by(verified(policy=software)) is AttestationCheck.MEASUREMENT
    kind = AttestationPolicy(kinds=(EvidenceKind.TDX,))
    assert refused_by(verified(policy=kind)) is AttestationCheck.KIND


def test_a_report_of_a_real_processor_is_verified_with_the_root_of_amd():
    """Its data is not of a host and its machine allows debugging; there is no revocation list with it."""
    document = AttestationDocument(
        kind=EvidenceKind.SEV_SNP,
        host=HOST,
        nonce=NONCE,
        seal_key=SEAL_KEY,
        quote=base64.b64decode(RECORDED["report"]),
        collateral=RECORDED["certificates"],
    )
    result = verify_attestation(document.encode(), HOST, NONCE, ANY, RECORDED_S)
    passed = {one.check: one.text for one in result.findings if one.passed}
    assert passed[AttestationCheck.ROOT] == "the root is that of AMD Milan"
    assert AttestationCheck.CERTIFICATES in passed
    assert refused_by(result) is AttestationCheck.REVOCATION
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Parsed a serial number")
        leaf = sev_snp.load_chain(document.collateral)[0]
        report = sev_snp.SnpReport.parse(document.quote)
        sev_snp.check_signature(report, document.quote, leaf)
        altered = dataclasses.replace(report, chip_id=bytes(range(64)))
        endorsed = sev_snp.Endorsement(leaf)
        sev_snp.check_same_processor(report, endorsed)
        assert endorsed.tcb == SnpTcb(bootloader=2, snp=5, microcode=68)
        with pytest.raises(sev_snp.EvidenceError, match="another processor"):
            sev_snp.check_same_processor(altered, endorsed)
