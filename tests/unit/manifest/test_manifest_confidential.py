"""What a manifest may ask of hosts before they get secrets."""

import pytest
from manifest_builders import Change, gantry, parse, refused

from offchain.schema.attestation.document import EvidenceKind
from offchain.schema.attestation.policy import AttestationPolicy, SnpTcb

MEASUREMENT = "ab" * 48


def test_without_the_key_secrets_go_to_any_host() -> None:
    assert parse(gantry()).confidential is None


def test_a_policy_is_the_word_required_or_names_what_is_accepted() -> None:
    assert parse(gantry(confidential="required")).confidential == AttestationPolicy()
    firmware = "snp=22,microcode=213"
    named = {"kinds": ["sev-snp"], "measurements": [MEASUREMENT], "min_snp_tcb": firmware, "gpus": "genuine"}
    assert parse(gantry(confidential=named)).confidential == AttestationPolicy(
        kinds=(EvidenceKind.SEV_SNP,),
        measurements=(bytes.fromhex(MEASUREMENT),),
        min_snp_tcb=SnpTcb(snp=22, microcode=213),
        genuine_gpus=True,
    )
    assert parse(gantry(confidential={})).confidential == AttestationPolicy()


@pytest.mark.parametrize(
    ("change", "path", "message", "hint"),
    [
        (gantry(confidential="yes"), "", '"yes" is not a requirement', "confidential: required"),
        (gantry(confidential=["tdx"]), "", "is not a requirement", "confidential: required"),
        (gantry(confidential={"kinds": ["sgx"]}), ".kinds[0]", 'unknown value "sgx"', "tdx or sev-snp"),
        (gantry(confidential={"kinds": []}), ".kinds", "kinds has no entry", "name one"),
        (gantry(confidential={"measurements": []}), ".measurements", "measurements has no entry", "name one"),
        (gantry(confidential={"measurements": ["ab"]}), ".measurements[0]", "is not a measurement", "host attest"),
        (
            gantry(confidential={"measurements": [MEASUREMENT] * 17}),
            ".measurements[16]",
            "17 measurements are too many",
            "Keep it to 16",
        ),
        (gantry(confidential={"min_snp_tcb": "snp"}), ".min_snp_tcb", "is not NAME=NUMBER", "microcode=213"),
        (gantry(confidential={"gpus": "required"}), ".gpus", 'unknown value "required"', "genuine"),
        (gantry(confidential={"debug": True}), ".debug", 'unknown key "debug"', ""),
    ],
)
def test_a_policy_that_cannot_be_met_is_refused(change: Change, path: str, message: str, hint: str) -> None:
    found_path, found_message, found_hint = refused(change)
    assert found_path == f"x-gantry.confidential{path}"
    assert message in found_message
    assert hint in found_hint
