"""Attestation documents of Intel TDX: what a verification accepts, and the check that refuses everything else."""

import json
import struct

import pytest

from offchain.core.attestation.tdx import parse_tdx
from offchain.core.attestation.verification import verify_attestation
from offchain.schema.attestation.document import EvidenceKind, report_data
from offchain.schema.attestation.policy import AttestationCheck, AttestationPolicy
from tests.support import tdx_samples
from tests.support.attestation_roots import DAY_S, NOW_S, YEAR_S
from tests.support.snp_samples import HOST, NONCE, SEAL_KEY
from tests.support.tdx_samples import RECORDED, TdxMachine, recorded

MACHINE = TdxMachine()
MEASUREMENT = parse_tdx(tdx_samples.RECORDED_QUOTE).measurement
ANY = AttestationPolicy()
DATA = report_data(HOST, NONCE, SEAL_KEY)


def verified(document=None, policy=ANY, *, machine=MACHINE, now_s=NOW_S, host=HOST, nonce=NONCE):
    data = (document or machine.document()).encode()
    return verify_attestation(data, host, nonce, policy, now_s, test_root=machine.root.der)


def refused_by(result):
    assert result.failure is not None
    assert result.failure.hint
    return result.failure.check


def test_a_document_of_this_host_and_nonce_proves_every_part_that_the_policy_names():
    policy = AttestationPolicy(kinds=(EvidenceKind.TDX,), measurements=(MEASUREMENT,))
    result = verified(policy=policy)
    assert result.failure is None
    passed = {one.check for one in result.findings if one.passed}
    assert passed == set(AttestationCheck) - {AttestationCheck.GPUS}
    assert result.measurement == MEASUREMENT
    assert len(result.plain()["facts"]["rtmr3"]) == 96


def test_a_quote_of_a_real_processor_is_genuine_and_not_of_this_host():
    result = verify_attestation(recorded().encode(), HOST, NONCE, ANY, RECORDED["now_s"])
    assert refused_by(result) is AttestationCheck.BINDING
    passed = {one.check: one.text for one in result.findings if one.passed}
    assert passed[AttestationCheck.ROOT] == "the root is that of Intel"
    assert AttestationCheck.SIGNATURE in passed


def test_old_collateral_of_a_real_quote_is_refused():
    now_s = RECORDED["now_s"]
    early = verify_attestation(recorded().encode(), HOST, NONCE, ANY, now_s - YEAR_S)
    late = verify_attestation(recorded().encode(), HOST, NONCE, ANY, now_s + 200 * DAY_S)
    assert refused_by(early) is AttestationCheck.CERTIFICATES
    assert refused_by(late) in (AttestationCheck.CERTIFICATES, AttestationCheck.REVOCATION)


def test_the_root_is_intels_unless_a_test_root_is_given():
    result = verify_attestation(MACHINE.document().encode(), HOST, NONCE, ANY, NOW_S)
    assert result.failure is not None
    assert not any(one.check is AttestationCheck.ROOT and one.passed for one in result.findings)
    other = verify_attestation(MACHINE.document().encode(), HOST, NONCE, ANY, NOW_S, test_root=TdxMachine().root.der)
    assert other.failure is not None
    with_test_root = verify_attestation(
        recorded().encode(), HOST, NONCE, ANY, RECORDED["now_s"], test_root=MACHINE.root.der
    )
    assert with_test_root.failure is not None
    assert not any(one.check is AttestationCheck.ROOT and one.passed for one in with_test_root.findings)


@pytest.mark.parametrize(("host", "nonce"), [(HOST, bytes(32)), (bytes(32), NONCE)])
def test_a_quote_that_was_made_for_another_nonce_or_host_is_refused_in_a_document_for_this_one(host, nonce):
    replayed = MACHINE.document(quote=MACHINE.quote(report_data(host, nonce, SEAL_KEY)))
    assert refused_by(verified(replayed)) is AttestationCheck.BINDING
    assert refused_by(verified(host=bytes(32))) is AttestationCheck.BINDING
    assert refused_by(verified(nonce=bytes(32))) is AttestationCheck.BINDING


@pytest.mark.parametrize("bits", [1 << 0 | 1 << 28, 1 << 3 | 1 << 28, 1 << 29 | 1 << 28, 0])
def test_a_machine_that_can_be_examined_or_migrated_is_refused(bits):
    """Bit 0: debugging; 29: migration; without 28 the hypervisor can provoke exceptions in the machine."""
    document = MACHINE.document(quote=MACHINE.quote(DATA, attributes=struct.pack("<Q", bits)))
    assert refused_by(verified(document)) is AttestationCheck.DEBUG


def test_firmware_that_intel_does_not_call_current_is_refused():
    for status in ("OutOfDate", "ConfigurationNeeded"):
        result = verified(MACHINE.document(collateral=MACHINE.collateral(status=status)))
        assert refused_by(result) is AttestationCheck.TCB
        assert status in result.failure.text


def test_a_revoked_certificate_is_refused():
    for revoked in (MACHINE.leaf, MACHINE.platform):
        document = MACHINE.document(collateral=MACHINE.collateral(revoked=(revoked,)))
        assert refused_by(verified(document)) is AttestationCheck.REVOCATION


def test_expired_parts_are_refused():
    expired = TdxMachine(leaf_until_s=NOW_S - DAY_S)
    assert refused_by(verified(machine=expired)) is AttestationCheck.CERTIFICATES
    old_list = MACHINE.document(collateral=MACHINE.collateral(crl_until_s=NOW_S - DAY_S))
    assert refused_by(verified(old_list)) is AttestationCheck.REVOCATION
    old_information = MACHINE.document(collateral=MACHINE.collateral(until_s=NOW_S - DAY_S))
    assert refused_by(verified(old_information)) is AttestationCheck.CERTIFICATES


def test_altered_parts_are_refused():
    quote = MACHINE.quote(DATA)
    for place in (60, 300, 700, 800, 1000):
        altered = bytes((*quote[:place], quote[place] ^ 1, *quote[place + 1 :]))
        result = verified(MACHINE.document(quote=altered))
        assert result.failure is not None, place
    collateral = json.loads(MACHINE.collateral())
    collateral["tcb_info"] = (
        collateral["tcb_info"].replace("OutOfDate", "UpToDate").replace('"version": 3', '"version":  3')
    )
    assert refused_by(verified(MACHINE.document(collateral=json.dumps(collateral)))) is AttestationCheck.SIGNATURE


@pytest.mark.parametrize("cut", [0, 10, 40, 200, 635, 700])
def test_a_truncated_quote_is_malformed(cut):
    assert refused_by(verified(MACHINE.document(quote=MACHINE.quote(DATA)[:cut]))) is AttestationCheck.DOCUMENT


@pytest.mark.parametrize("collateral", ["", "{}", "[]", "null", '{"tcb_info": 1}'])
def test_malformed_collateral_is_refused(collateral):
    assert refused_by(verified(MACHINE.document(collateral=collateral))) is AttestationCheck.CERTIFICATES


def test_other_software_and_another_kind_than_the_policy_names_are_refused():
    assert refused_by(verified(policy=AttestationPolicy(measurements=(bytes(48),)))) is AttestationCheck.MEASUREMENT
    assert refused_by(verified(policy=AttestationPolicy(kinds=(EvidenceKind.SEV_SNP,)))) is AttestationCheck.KIND
