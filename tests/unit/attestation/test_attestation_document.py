"""The form of attestation documents and policies: bounded, complete, and bound to one host and nonce."""

import dataclasses
import hashlib
import json
import sys

import pytest

from offchain.core.attestation.verification import verify_attestation
from offchain.errors import OurError
from offchain.schema.attestation import document as form
from offchain.schema.attestation.document import AttestationDocument, EvidenceKind, report_data
from offchain.schema.attestation.policy import (
    AttestationCheck,
    AttestationPolicy,
    SnpTcb,
    parse_measurement,
    parse_snp_tcb,
)
from offchain.schema.protocol.fields import WireError
from tests.support.snp_samples import SnpMachine
from tests.support.tdx_samples import recorded

HOST, NONCE, SEAL_KEY = bytes(range(32)), bytes(32), b"s" * 32
DOCUMENT = AttestationDocument(
    kind=EvidenceKind.TDX, host=HOST, nonce=NONCE, seal_key=SEAL_KEY, quote=b"quote", collateral="{}"
)


def fields(**changed):
    return json.dumps(json.loads(DOCUMENT.encode()) | changed).encode()


def test_a_document_is_read_as_it_was_written():
    assert AttestationDocument.decode(DOCUMENT.encode()) == DOCUMENT


def test_what_the_hardware_signs_is_of_one_host_and_nonce_and_of_one_purpose():
    data = report_data(HOST, NONCE, SEAL_KEY)
    assert data == hashlib.sha256(b"gantry/attestation/v1" + HOST + NONCE + SEAL_KEY).digest() + bytes(32)
    others = {report_data(NONCE, NONCE, SEAL_KEY), report_data(HOST, HOST, SEAL_KEY), report_data(HOST, NONCE, HOST)}
    assert len(others | {data}) == 4


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"v": 2}, "v must be a whole number from 1 to 1"),
        ({"kind": "sgx"}, "kind 'sgx' is none of tdx, sev-snp"),
        ({"host": "00"}, "host must be 64"),
        ({"nonce": None}, "nonce must be text"),
        ({"quote": "***"}, "quote must be base64"),
        ({"quote": "A" * 30_000}, "quote must be text of at most 21848"),
        ({"collateral": "x" * (form.MAX_COLLATERAL + 1)}, "collateral must be text of at most 262144"),
        ({"seal_key": "00" * 31}, "seal_key must be 64"),
        ({"more": 1}, "unknown field 'more'"),
    ],
)
def test_a_wrong_field_is_named_with_its_limit(changed, said):
    with pytest.raises(WireError, match=said.replace("*", r"\*")):
        AttestationDocument.decode(fields(**changed))


def test_a_document_that_is_too_large_is_not_even_parsed():
    with pytest.raises(WireError, match=f"more than {form.MAX_DOCUMENT}"):
        AttestationDocument.decode(b" " * (form.MAX_DOCUMENT + 1))
    with pytest.raises(WireError, match=f"more than {form.MAX_DOCUMENT}"):
        dataclasses.replace(DOCUMENT, collateral="x" * form.MAX_DOCUMENT).encode()


@pytest.mark.parametrize("cut", [0, 1, 20, -1])
def test_a_truncated_or_oversized_document_is_refused_by_a_verification(cut):
    result = verify_attestation(DOCUMENT.encode()[:cut], HOST, NONCE, AttestationPolicy(), 0)
    assert (result.failure.check, result.kind) == (AttestationCheck.DOCUMENT, None)
    large = verify_attestation(bytes(form.MAX_DOCUMENT + 1), HOST, NONCE, AttestationPolicy(), 0)
    assert large.failure.check is AttestationCheck.DOCUMENT


@pytest.mark.parametrize(("document", "package"), [(SnpMachine().document(), "cryptography"), (recorded(), "dcap_qvl")])
def test_a_missing_package_is_named_and_nothing_is_said_about_the_host(monkeypatch, document, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(OurError, match=package.replace("_", "-")) as missing:
        verify_attestation(document.encode(), document.host, document.nonce, AttestationPolicy(), 0)
    assert (missing.value.code, "gantry[confidential]" in missing.value.hint) == ("missing_package", True)


def test_versions_of_firmware_are_compared_part_by_part():
    least = parse_snp_tcb("snp=22, bootloader=4")
    assert least == SnpTcb(bootloader=4, snp=22)
    assert parse_snp_tcb(least.text) == least
    assert SnpTcb(4, 0, 22, 0).reaches(least)
    assert not SnpTcb(9, 9, 21, 9).reaches(least)


@pytest.mark.parametrize("text", ["", "snp", "snp=x", "snp=256", "other=1", "snp=1,snp=2", "snp=1;tee=2"])
def test_malformed_versions_are_refused(text):
    with pytest.raises(ValueError, match="is not NAME=NUMBER"):
        parse_snp_tcb(text)


@pytest.mark.parametrize("text", ["", "00" * 47, "0" * 97, "AB" * 48, "zz" * 48])
def test_a_measurement_has_48_bytes(text):
    assert parse_measurement("ab" * 48) == b"\xab" * 48
    with pytest.raises(ValueError, match="96 lower-case hex digits"):
        parse_measurement(text)
