"""What `gantry agent change-hardware` says is different, and what the host's key signs for it."""

import hashlib
from dataclasses import replace

from node_agent.chain.registration import hardware_spec
from node_agent.runtime.agent import check_answers
from node_agent.telemetry.hardware import Hardware, HostDevice
from offchain.adapters.chain.registration import change_hardware
from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import from_uri, verify
from offchain.cli.provider.change_hardware import answers_changed, differences
from offchain.schema.chain_types._generated_chain import Capabilities, Tier
from tests.support.chain_records import host_record

A100 = HostDevice("Nvidia", "NVIDIA A100", 81920, "GPU-1")
BEFORE = Hardware(4000, 8192, 100, (A100, replace(A100, uuid="GPU-2")), Tier.DATACENTER)


def test_nothing_is_different_from_itself():
    assert list(differences(BEFORE, BEFORE)) == []


def test_each_difference_is_a_line():
    cut = tuple(HostDevice("Nvidia", "NVIDIA A100 MIG 3g.40gb", 40_960, f"MIG-{n}", mig=True) for n in (1, 2))
    capabilities = Capabilities(
        docker=True, kvm=False, kubernetes=False, cdi=False, mig=True, shares=False, sandboxed=True
    )
    now = Hardware(3500, 4096, 50, (A100, *cut), Tier.CONSUMER, capabilities, 20)
    assert list(differences(BEFORE, now)) == [
        "cores: 4 -> 3.5",
        "memory: 8192 MiB -> 4096 MiB",
        "disk: 100 GiB -> 50 GiB",
        "disk for images: 200 GiB -> 20 GiB",
        "tier: Datacenter -> Consumer",
        "mig: no -> yes",
        "sandboxed: no -> yes",
        "GPU gone: 1 x NVIDIA A100, 81920 MiB (GPU-2)",
        "GPU new: 1 x NVIDIA A100 MIG 3g.40gb, 40960 MiB (MIG-1)",
        "GPU new: 1 x NVIDIA A100 MIG 3g.40gb, 40960 MiB (MIG-2)",
    ]


def test_a_host_that_is_said_to_answer_challenges_and_does_not_is_told(caplog):
    answering = host_record("5P", answers_challenges=True)
    assert list(answers_changed(answering, BEFORE)) == ["answers challenges: yes -> no"]
    assert list(answers_changed(host_record("5P"), BEFORE)) == []
    check_answers(host_record("5P"))
    check_answers(None)
    assert caplog.messages == []
    check_answers(answering)
    assert "this agent answers none" in caplog.text


def test_gpus_in_other_slots_are_told_because_the_chain_counts_them():
    assert list(differences(BEFORE, replace(BEFORE, devices=BEFORE.devices[::-1]))) == ["GPUs: in another order"]


def test_the_hosts_key_signs_for_one_generation_of_one_providers_host():
    host, provider = from_uri("//Host", "ed25519"), from_uri("//Bob").address
    spec = hardware_spec(BEFORE)
    call = change_hardware(host, b"G" * 32, provider, 4, spec)
    content = b"gantry/hardware/v1" + b"G" * 32 + ss58.decode(provider) + b"\5\0\0\0" + spec.scale()
    digest = hashlib.blake2b(content, digest_size=32).digest()
    assert verify(ss58.decode(host.address), "ed25519", digest, call.args["host_signature"])
