"""What `gantry agent join` tells of a machine that is said to be confidential."""

from dataclasses import replace

import pytest

from node_agent.attestation.port import AttestationUnavailableError
from node_agent.runtime.settings import AgentSettings
from offchain.cli.provider import confidential_check
from offchain.cli.provider.confidential_check import confidential_checks
from offchain.cli.provider.machine_checks import CheckVerdict
from offchain.core.attestation.verification import verify_attestation
from tests.support.attestation_roots import NOW_S
from tests.support.snp_samples import HOST, MEASUREMENT, SnpMachine

MACHINE = SnpMachine()


@pytest.fixture
def settings(tmp_path):
    return AgentSettings(url="ws://node:9944", state=tmp_path, confidential=True)


async def test_a_host_that_is_not_said_to_be_confidential_is_not_checked(settings):
    assert await confidential_checks(replace(settings, confidential=False), HOST) == ()


async def test_an_ordinary_machine_fails_with_what_is_missing(settings):
    (found,) = await confidential_checks(settings, HOST)
    assert (found.check, found.verdict) == ("confidential", CheckVerdict.FAIL)
    assert "TDX or AMD SEV-SNP" in found.hint


async def test_a_document_that_tenants_would_refuse_fails(settings):
    """A test root is none of the vendor."""
    (found,) = await confidential_checks(settings, HOST, MACHINE)
    assert found.verdict is CheckVerdict.FAIL
    assert found.found.startswith("tenants refuse it: the certificate 'CN=ARK-Test' is no root of the vendor")


async def test_a_document_that_proves_the_machine_passes_with_its_measurement(settings, monkeypatch):
    def with_test_root(data, host, nonce, policy, _now_s):
        return verify_attestation(data, host, nonce, policy, NOW_S, test_root=MACHINE.root.der)

    monkeypatch.setattr(confidential_check, "verify_attestation", with_test_root)
    (found,) = await confidential_checks(settings, HOST, MACHINE)
    assert (found.verdict, found.found) == (CheckVerdict.PASS, f"sev-snp, software {MEASUREMENT.hex()}")


async def test_the_source_names_what_its_provider_has_to_do(settings):
    class Broken:
        def document(self, _host, _nonce, _seal_key):
            raise AttestationUnavailableError("the file x is missing", "Fetch it.")

    (found,) = await confidential_checks(settings, HOST, Broken())
    assert (found.verdict, found.found, found.hint) == (CheckVerdict.FAIL, "the file x is missing", "Fetch it.")
