"""The verifiers, and for each scenario accounts and hosts of its own, so that scenarios run at the same time."""

from collections.abc import Iterable
from dataclasses import dataclass

from offchain.adapters.keys.signer import from_uri
from offchain.ports import Signer
from offchain.schema.chain_types._generated_chain import Capabilities, DeviceSpec, HardwareSpec, Tier, Vendor
from tests.support.chain_records import ask

GTY = 10**12
MINUTE_MS = 60_000
SUDO = from_uri("//Alice")
ANYONE = from_uri("//Ferdie")
VERIFIERS = {signer.address: signer for signer in (from_uri(f"//Verifier{number}") for number in range(16))}
GENESIS = {
    "hosts": {"params": {"verificationRequired": True, "heartbeatPeriodMs": 300, "absenceLimitMs": 20 * MINUTE_MS}},
    "tasks": {
        "params": {
            "disputeWindowMs": 36_000,
            "maxReplicas": 3,
            "startTimeoutMs": 36_000,
            "reportGraceMs": 6_000,
            "maxRefusals": 3,
        }
    },
    "verification": {
        "params": {
            "jurySize": 3,
            "appealJurySize": 5,
            "challengeRestMs": 10 * MINUTE_MS,
            "missPeriodMs": 60 * MINUTE_MS,
            "answerMs": 36_000,
            "challengeCommitMs": 36_000,
            "challengeRevealMs": 36_000,
            "resultRevealMs": 36_000,
            "resultCommitMs": 36_000,
            "hearingMs": 18_000,
            "disputeCommitMs": 36_000,
            "disputeRevealMs": 36_000,
            "appealMs": 36_000,
            "unbondingMs": 4_000,
        }
    },
}
"""Periods in which who acts at once is in time also on a busy machine, and nobody waits long for one that does not."""


@dataclass(frozen=True)
class Roles:
    """The accounts of one scenario.

    Each host has a provider of its own. `hosts_pay`: hosts have coins, which they need for wrong calls alone.
    """

    hosts_pay: bool
    tenant: Signer
    providers: tuple[Signer, ...]
    hosts: tuple[Signer, ...]


def make_roles(scenario: str, hosts: int, *, hosts_pay: bool) -> Roles:
    return Roles(
        hosts_pay,
        from_uri(f"//{scenario}//tenant"),
        tuple(from_uri(f"//{scenario}//provider{number}") for number in range(hosts)),
        tuple(from_uri(f"//{scenario}//host{number}", "ed25519") for number in range(hosts)),
    )


def endowed(roles_of: Iterable[Roles]) -> dict[str, int]:
    """The coins that everybody has in the beginning."""
    people = list(VERIFIERS.values())
    for roles in roles_of:
        people += [roles.tenant, *roles.providers, *(roles.hosts if roles.hosts_pay else ())]
    return dict.fromkeys([who.address for who in people], 10_000 * GTY)


GPU = DeviceSpec(vendor=Vendor.NVIDIA, model=b"SIM-1", vram_mib=24_576, simulated=True)
HARDWARE = HardwareSpec(
    tier=Tier.CONSUMER,
    capabilities=Capabilities(
        docker=True, kvm=False, kubernetes=False, cdi=False, mig=False, shares=False, sandboxed=False
    ),
    answers_challenges=True,
    cpu_milli=8_000,
    memory_mib=16_384,
    disk_gib=100,
    network_mbps_down=100,
    network_mbps_up=100,
    devices=(GPU,),
)
ASK = ask(gpu_per_hour=3_600 * GTY, hour_ppm=0, day_ppm=0)
"""One coin for each second of the device, and nothing else."""
BOND = 10 * GTY
"""Of a consumer's host with one device."""
