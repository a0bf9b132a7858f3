"""Attestation of a host, and secrets that go to attested hosts only: a real host whose processor has a test root."""

import ssl
from pathlib import Path

import cli_world
import gantry
import pytest
import yaml
from pod_host import CHARLIE, HOST

from node_agent.attestation.port import AttestationUnavailableError
from node_agent.handlers import pod_requests
from offchain.adapters.keys.signer import from_uri
from offchain.errors import GantryError
from offchain.schema.attestation.document import report_data
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.variables import resolve
from tests.support.attestation_roots import NOW_S
from tests.support.chain_records import hosts_params, task_key
from tests.support.snp_samples import DEBUG, MEASUREMENT, SnpMachine

MACHINE = SnpMachine()
EXAMPLE = Path(__file__).parents[3] / "examples" / "confidential.yaml"
ENV = {"GANTRY_DEMO_IMAGE": f"demo@{cli_world.DIGEST}"}
SECRET = b"hunter2"


def manifest(confidential):
    plain = yaml.safe_load(cli_world.MANIFEST)
    plain["x-gantry"]["confidential"] = confidential
    return yaml.safe_dump(plain).encode()


@pytest.fixture
def confidential(world, host, tmp_path):
    """A task that asks for a confidential host, and a host that is one."""
    world.put("Tasks", "Manifests", task_key(0), manifest({"measurements": [MEASUREMENT.hex()]}))
    world.put("Timestamp", "Now", (), NOW_S * 1000)
    (tmp_path / "root.pem").write_text(ssl.DER_cert_to_PEM_cert(MACHINE.root.der))
    (tmp_path / "secret").write_bytes(SECRET)
    host.machine = MACHINE
    return host


@pytest.fixture
def deliver(world, tmp_path):
    return lambda *more: world.run("deliver", "0", "token", tmp_path / "secret", *CHARLIE, *more)


@pytest.fixture
def root(tmp_path):
    return "--test-root", tmp_path / "root.pem"


def test_a_secret_is_sent_to_a_host_that_proves_what_the_manifest_asks_for(confidential, deliver, root):
    status, _, err = deliver(*root)
    assert (status, confidential.delivered) == (0, {"token": SECRET})
    assert "which is confidential by sev-snp, by a test root, which proves nothing about hardware" in err


class Replaying:
    """A host that shows a document that it made before, for another nonce."""

    def document(self, host, _nonce, seal_key):
        return MACHINE.document(host, bytes(32), seal_key)


class OfAnotherHost:
    def document(self, host, nonce, seal_key):
        return MACHINE.document(host, nonce, seal_key, quote=MACHINE.report(report_data(bytes(32), nonce, seal_key)))


class Debugged:
    def document(self, host, nonce, seal_key):
        quote = MACHINE.report(report_data(host, nonce, seal_key), policy=0x30000 | DEBUG)
        return MACHINE.document(host, nonce, seal_key, quote=quote)


class WithOwnSealingKey:
    """A host whose document has another sealing key than the quote."""

    def document(self, host, nonce, seal_key):
        return MACHINE.document(host, nonce, bytes(32), quote=MACHINE.report(report_data(host, nonce, seal_key)))


class Broken:
    def document(self, _host, _nonce, _seal_key):
        raise AttestationUnavailableError("the file x is missing", "Fetch it.")


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (Replaying(), "(binding): the document is for another nonce"),
        (OfAnotherHost(), "(binding): the report was not made for this host's key and this nonce"),
        (WithOwnSealingKey(), "(binding): the report was not made for this host's key and this nonce"),
        (Debugged(), "(debug): debugging is enabled"),
        (SnpMachine(leaf_until_s=NOW_S - 1, root=MACHINE.root), "(certificates): the certificate 'CN=SEV-VCEK'"),
        (SnpMachine(), "(root): the certificate 'CN=ARK-Test' is not the given test root"),
        (Broken(), "cannot prove now that it is confidential: the file x is missing"),
        (None, "This host does not offer attest."),
    ],
)
def test_no_secret_is_sent_to_a_host_that_does_not(confidential, deliver, root, machine, said):
    confidential.machine = machine
    status, _, err = deliver(*root)
    assert (status, confidential.delivered) == (1, {})
    assert said in err


def test_a_secret_is_sealed_for_the_key_in_the_document_and_not_for_the_one_on_the_disk(
    confidential, deliver, root, monkeypatch
):
    def refuse(_signer, _sealed):
        raise AssertionError("sealed for the host's key")

    monkeypatch.setattr(pod_requests, "open_as_host", refuse)
    assert deliver(*root)[0] == 0
    assert confidential.delivered == {"token": SECRET}


def test_the_error_says_which_check_failed_for_programs(world, confidential, tmp_path, root):
    world.put("Tasks", "Manifests", task_key(0), manifest({"measurements": ["00" * 48]}))
    status, out, err = world.run("deliver", "0", "token", tmp_path / "secret", *CHARLIE, *root, "--json")
    error = yaml.safe_load(out)["error"]
    assert (status, error["code"], confidential.delivered) == (1, "not_attested", {})
    assert error["attestation"]["findings"][-1]["check"] == "measurement"
    assert "token was not sent" in err
    assert "confidential.measurements" in error["hint"]


def test_a_test_root_has_to_be_given_and_is_refused_by_a_production_network(world, confidential, deliver, root):
    status, _, err = deliver()
    assert (status, "no root of the vendor" in err) == (1, True)
    world.put("Hosts", "Params", (), hosts_params(allow_simulated=False))
    status, _, err = deliver(*root)
    assert (status, "it is a production network" in err) == (1, True)
    status, _, err = world.run("host", "attest", HOST.address, *CHARLIE, *root)
    assert (status, "it is a production network" in err) == (1, True)
    assert confidential.delivered == {}


def test_without_a_manifest_on_the_chain_nothing_is_sent(world, confidential, deliver, root):
    world.chain.storage["Tasks", "Manifests"].clear()
    status, _, err = deliver(*root)
    assert (status, "no manifest of task 0" in err, confidential.delivered) == (1, True, {})


def test_a_host_shows_what_it_proves(world, confidential, root):
    status, out, _ = world.run("host", "attest", HOST.address, *CHARLIE, *root)
    lines = out.splitlines()
    assert status == 0
    assert "proven  binding       the report was made for this host's key and this request" in lines
    assert any(line.startswith("open    measurement") for line in lines)
    assert lines[-1].startswith(f"Host {HOST.address} is confidential by sev-snp, by a test root")
    assert confidential.asked[-1].lease is None
    found = world.json("host", "attest", HOST.address, *CHARLIE, *root, "--measurement", MEASUREMENT.hex())
    assert (found["proven"], found["kind"], found["test_root"]) == (True, "sev-snp", True)


@pytest.mark.usefixtures("confidential")
def test_a_host_is_compared_with_a_manifest(world, root, tmp_path):
    file = tmp_path / "task.yaml"
    file.write_bytes(manifest({"kinds": ["tdx"]}))
    status, out, err = world.run("host", "attest", HOST.address, *CHARLIE, *root, "--manifest", file)
    assert status == 1
    assert "FAILED  kind          the host is confidential by sev-snp, and the policy asks for tdx" in out
    assert "does not prove that it is confidential (kind)" in err
    both = ("--manifest", file, "--measurement", MEASUREMENT.hex())
    assert world.run("host", "attest", HOST.address, *CHARLIE, *both)[0] == 2


@pytest.fixture
def task(tmp_path):
    file = tmp_path / "task.yaml"
    file.write_bytes(manifest("required"))
    return file


def hosts_of(call):
    return tuple(call.args["spec"]["placement"]["hosts"])


@pytest.mark.usefixtures("confidential")
def test_a_confidential_task_may_run_only_on_hosts_that_prove_it(world, pallets, task, root):
    status, _, err = world.run("submit", task, *CHARLIE, *root)
    assert (status, [hosts_of(call) for call in pallets.calls]) == (0, [(HOST.address,)])
    assert f"Confidential: 1 of 1 host that could run it proves it: {HOST.address}. No other host may run it." in err
    _, out, _ = world.run("manifest", "check", task)
    assert "secrets only to hosts with tdx or sev-snp, any software" in out


def test_a_confidential_task_is_not_sent_where_no_host_proves_it(world, confidential, pallets, task, root):
    confidential.machine = None
    status, out, err = world.run("submit", task, *CHARLIE, *root, "--json")
    error = yaml.safe_load(out)["error"]
    assert (status, error["code"], pallets.calls) == (1, "not_attested", [])
    assert error["confidential"]["refused"] == {HOST.address: "without attestation"}
    assert "0 of 1 host that could run it proves it; not: 1 without attestation" in err
    confidential.machine = Debugged()
    assert "not: 1 failing the check debug" in world.run("submit", task, *CHARLIE, *root)[2]
    world.put("Hosts", "Params", (), hosts_params(allow_simulated=False))
    assert "it is a production network" in world.run("submit", task, *CHARLIE, *root)[2]
    assert pallets.calls == []


def test_a_confidential_task_that_is_sent_anyway_names_no_host(world, confidential, pallets, task, root):
    confidential.machine = None
    status, _, err = world.run("submit", task, *CHARLIE, *root, "--anyway")
    assert (status, [hosts_of(call) for call in pallets.calls]) == (0, [()])
    assert "Any host may get the task, and nothing is delivered to one." in err


def test_a_dry_run_says_which_hosts_are_confidential(world, confidential, task, root):
    _, out, _ = world.run("submit", task, *CHARLIE, *root, "--dry-run")
    assert "1 of 1 host that could run it proves it" in next(one for one in out.splitlines() if "Confidential" in one)
    found = world.json("submit", task, *CHARLIE, *root, "--dry-run")
    assert found["confidential"] == {"hosts": [HOST.address], "refused": {}, "not_asked": 0}
    confidential.machine = None
    status, _, err = world.run("submit", task, *CHARLIE, *root, "--dry-run")
    assert (status, "no host proves what x-gantry.confidential asks for" in err) == (1, True)


@pytest.mark.usefixtures("confidential")
def test_task_why_says_to_which_hosts_a_confidential_task_is_kept(world):
    assert "its placement names no hosts, so it may be placed on any" in world.json("task", "why", 0)["confidential"]
    world.chain.storage["Tasks", "Specs"][task_key(0),]["spec"]["placement"]["hosts"] = (HOST.address,)
    _, out, _ = world.run("task", "why", 0)
    assert f"placed only on the hosts that its tenant named: {HOST.address}" in " ".join(out.split())
    world.put("Tasks", "Manifests", task_key(0), cli_world.MANIFEST.encode())
    assert world.json("task", "why", 0)["confidential"] is None


async def test_the_sdk_names_the_hosts_of_a_confidential_task(world, confidential, pallets, task):
    network = gantry.AsyncNetwork(world.chain, from_uri("//Charlie"))
    async with cli_world.producing(world.chain):
        await network.submit(task, test_root=MACHINE.root.der)
        assert [hosts_of(call) for call in pallets.calls] == [(HOST.address,)]
        confidential.machine = None
        with pytest.raises(GantryError) as refused:
            await network.submit(task, test_root=MACHINE.root.der)
    assert refused.value.code == "not_attested"


def test_a_file_that_is_no_certificate_is_refused(world, tmp_path):
    for name in ("secret", "none"):
        status, _, err = world.run("host", "attest", HOST.address, *CHARLIE, "--test-root", tmp_path / name)
        assert (status, "is not a certificate in PEM" in err) == (1, True)


def test_the_example_is_met_by_a_machine_with_its_measurement(world, confidential, deliver, root):
    text = resolve(EXAMPLE.read_text(encoding="utf-8"), ENV, source="confidential").encode()
    assert parse_manifest(text).deliveries == ("api_token",)
    world.put("Tasks", "Manifests", task_key(0), text)
    assert deliver(*root)[0] == 0
    confidential.machine = SnpMachine(tcb=(3, 0, 22, 213), root=MACHINE.root)
    assert "(tcb): the firmware is bootloader=3" in deliver(*root)[2]


async def test_the_sdk_attests_before_it_delivers(world, confidential):
    task = gantry.AsyncTask(world.chain, from_uri("//Charlie"), 0, await world.chain.finalized_head())
    assert await task.deliver("token", SECRET, test_root=MACHINE.root.der) == (0,)
    assert confidential.delivered == {"token": SECRET}
    with pytest.raises(GantryError) as refused:
        await task.deliver("other", SECRET)
    assert refused.value.code == "not_attested"
    assert "other" not in confidential.delivered
