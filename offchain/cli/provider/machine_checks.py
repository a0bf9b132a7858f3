"""Checks whether a machine can be a host: a verdict on each fact, and a hint for each problem. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from node_agent.drivers.docker.engine_features import RUNTIME_OPTION
from node_agent.telemetry.hardware import HostDevice
from node_agent.telemetry.probe import Reserve
from offchain.cli.provider.advisories import Component, component_advisories, known_advisories, upgrade_hints
from offchain.schema.manifest.values import format_amount

LEAST_ENGINE = (20, 10)
CDI_ENGINE = (25, 0)
LAYERED = "overlay2"
"""The storage driver whose container layers the agent can put onto file systems of leases."""
LEAST_DISK_GIB = 10
LEAST_MEMORY_MIB = 512
CLOCK_WARN_MS = 10_000
CLOCK_FAIL_MS = 60_000
"""Requests of tenants are valid for a minute: a clock with a larger error refuses them all."""


class CheckVerdict(StrEnum):
    """FAIL: the machine cannot be a host. WARN: it can, with a limitation."""

    PASS = "pass"  # noqa: S105  (a verdict)
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check. `hint` is empty exactly if there is nothing to do."""

    check: str
    verdict: CheckVerdict
    found: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """Facts about the Docker engine. `cdi_devices`: full names in its CDI files."""

    version: str
    cgroup_version: int
    cdi: bool
    cdi_devices: frozenset[str]
    runtimes: frozenset[str]
    seccomp: bool = True
    """Whether it can filter system calls of containers; the filter is the agent's own."""
    storage: str = ""
    """The engine's storage driver."""
    runtime: str | None = None
    """The requested runtime; None: runc."""
    runtime_trouble: str = ""
    """Why pods cannot run under that runtime; empty if they can."""
    sandboxed: bool = False
    """Whether a trial showed that pods have their own kernel under that runtime."""
    sandboxes: tuple[str, ...] = ()
    """Runtimes of the engine with better isolation than the kernel's."""
    components: tuple[Component, ...] = ()
    """The engine, containerd and runc."""


@dataclass(frozen=True, slots=True)
class ChainFacts:
    """The node's newest block. `chain_ahead_ms`: its time minus this machine's."""

    url: str
    best: int
    chain_ahead_ms: int
    genesis_differs: str = ""
    """The node's genesis hash if it is not the expected one."""


@dataclass(frozen=True, slots=True)
class FundsFacts:
    """The provider's balance and the least bond for this machine, in base units."""

    provider: str
    spendable: int
    bond: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """Facts about the machine. A string says why a fact is unknown."""

    engine: EngineFacts | str
    devices: tuple[HostDevice, ...] | str
    driver: str = ""
    """Version of the GPU driver."""
    kept_gpus: int = 0
    disk_free_gib: int
    disk_trouble: str = ""
    """Why leases cannot have their own file systems; empty if they can."""
    gate_trouble: str = ""
    """Why containers cannot be held back until their mounts are checked; empty if they can."""
    memory_mib: int
    cores: int
    reserve: Reserve
    addresses: tuple[str, ...] | str
    """Addresses for tenants, after a successful connection to itself."""
    chain: ChainFacts | str
    funds: FundsFacts | None = None
    components: tuple[Component, ...] = ()
    """Detected components that isolate containers."""
    systemd: bool
    root: bool


def check_machine(facts: MachineFacts) -> tuple[CheckResult, ...]:
    """Return the results of all checks in a fixed order."""
    return tuple(_all(facts))


def failed(findings: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the results that keep this machine from being a host."""
    return [finding for finding in findings if finding.verdict is CheckVerdict.FAIL]


def _all(facts: MachineFacts) -> Iterator[CheckResult]:
    yield from _engine(facts.engine)
    for component in facts.components:
        yield _vulnerabilities(component)
    if isinstance(facts.engine, EngineFacts):
        yield _isolation(facts.engine)
    yield from _gpus(facts)
    yield _disk(facts)
    if isinstance(facts.engine, EngineFacts):
        yield _disk_limits(facts.disk_trouble, facts.engine.storage)
        yield _mount_checks(facts.gate_trouble)
    yield _memory(facts)
    yield _network(facts.addresses)
    yield from _chain(facts.chain)
    if facts.funds is not None:
        yield _funds(facts.funds)
    yield _service(facts)


def _engine(engine: EngineFacts | str) -> Iterator[CheckResult]:
    if isinstance(engine, str):
        yield CheckResult(
            "Docker", CheckVerdict.FAIL, engine,
            "Install and start it (sudo apt-get install -y docker.io), or name another with --docker-host. "
            "If it is installed and ends as soon as it starts: sudo gantry doctor says why.",
        )  # fmt: skip
        return
    if version_of(engine.version) < LEAST_ENGINE:
        least = ".".join(map(str, LEAST_ENGINE))
        yield CheckResult("Docker", CheckVerdict.FAIL, f"version {engine.version}", f"Upgrade it to {least} or newer.")
    elif not engine.seccomp:
        yield CheckResult(
            "Docker", CheckVerdict.FAIL, "it cannot filter containers' system calls (seccomp)",
            "Use a kernel with CONFIG_SECCOMP_FILTER and an engine that is built with seccomp.",
        )  # fmt: skip
    else:
        yield CheckResult("Docker", CheckVerdict.PASS, f"version {engine.version}")
    if engine.cgroup_version >= 2:
        yield CheckResult("cgroups", CheckVerdict.PASS, f"version {engine.cgroup_version}")
    else:
        yield CheckResult(
            "cgroups", CheckVerdict.WARN, "version 1: memory peaks of tasks are not measured",
            "Boot with systemd.unified_cgroup_hierarchy=1, or use a newer distribution.",
        )  # fmt: skip


def _isolation(engine: EngineFacts) -> CheckResult:
    if engine.runtime_trouble:
        return CheckResult(
            "isolation", CheckVerdict.FAIL, engine.runtime_trouble,
            f"Correct the runtimes in /etc/docker/daemon.json and restart the engine, or change {RUNTIME_OPTION}. "
            "See docs/providers.md.",
        )  # fmt: skip
    if engine.runtime is not None:
        kernel = ", in a sandbox with a kernel of its own" if engine.sandboxed else ", on the machine's kernel"
        found = f"tenants' containers run under the runtime {engine.runtime}{kernel}"
        return CheckResult("isolation", CheckVerdict.PASS, found)
    more = f"; {RUNTIME_OPTION} {engine.sandboxes[0]} isolates better" if engine.sandboxes else ""
    return CheckResult("isolation", CheckVerdict.PASS, f"tenants' containers use the machine's kernel{more}")


def _vulnerabilities(component: Component) -> CheckResult:
    """Check the version of one component. FAIL if an image suffices for an exploit and the agent cannot prevent it."""
    check = f"vulnerabilities of {component.name}"
    state = component_advisories(component, known_advisories())
    shown = f"version {component.version}" + (f", package {component.package}" if component.package else "")
    if not state.understood:
        return CheckResult(
            check, CheckVerdict.WARN, f"unknown: {component.version!r} is not a version",
            "Compare it with the advisories of its maker. See docs/providers.md.",
        )  # fmt: skip
    if state.open:
        listed = "; ".join(f"{one.id} ({one.severity}): {one.about}" for one in state.open)
        verdict = CheckVerdict.FAIL if any(one.refuse for one in state.open) else CheckVerdict.WARN
        return CheckResult(check, verdict, f"{shown} has {listed}", upgrade_hints()[component.name])
    if state.unclear:
        listed = "; ".join(f"{one.id} ({one.severity}): {one.about}" for one in state.unclear)
        changelog = "is not here" if component.package_fixes is None else "does not name them"
        found = f"{shown}, unknown whether the package fixes these, its changelog {changelog}: {listed}"
        return CheckResult(check, CheckVerdict.WARN, found, upgrade_hints()[component.name])
    return CheckResult(check, CheckVerdict.PASS, f"{shown}, none of the known ones")


def _gpus(facts: MachineFacts) -> Iterator[CheckResult]:
    devices = facts.devices
    if isinstance(devices, str):
        yield CheckResult(
            "GPUs", CheckVerdict.FAIL, devices, "Repair the driver, and check it with nvidia-smi or rocm-smi."
        )
        return
    real = [device for device in devices if not device.simulated]
    if not devices:
        kept = f"{facts.kept_gpus} kept by you, none" if facts.kept_gpus else "none"
        yield CheckResult(
            "GPUs", CheckVerdict.WARN, f"{kept} to offer: this host offers only cores, memory and disk",
            "If there is one, install its driver (sudo apt-get install -y nvidia-driver) and run this again.",
        )  # fmt: skip
        return
    if not real:
        yield CheckResult(
            "GPUs", CheckVerdict.WARN, f"{device_names(devices)}, simulated: permanently marked on the chain",
            "Leave out --simulate on a machine with a GPU.",
        )  # fmt: skip
        return
    driver = f", driver {facts.driver}" if facts.driver else ""
    kept = f", {facts.kept_gpus} more kept by you" if facts.kept_gpus else ""
    yield CheckResult("GPUs", CheckVerdict.PASS, f"{device_names(devices)}{driver}{kept}")
    if isinstance(facts.engine, EngineFacts):
        yield from _access(facts.engine, [device for device in real if device.vendor == "Nvidia"])


def _access(engine: EngineFacts, devices: list[HostDevice]) -> Iterator[CheckResult]:
    """Check how containers get NVIDIA's GPUs. AMD's are plain device files, which every engine supports."""
    if not devices:
        return
    install = "Install NVIDIA's container toolkit (nvidia-container-toolkit), then run: "
    generate = "sudo nvidia-ctk cdi generate --device-name-strategy=uuid --output=/etc/cdi/nvidia.yaml"
    if engine.cdi:
        missing = [device for device in devices if f"nvidia.com/gpu={device.uuid}" not in engine.cdi_devices]
        if not missing:
            yield CheckResult("GPU access", CheckVerdict.PASS, f"by CDI, {len(devices)} devices by their UUID")
            return
        if "nvidia" not in engine.runtimes:
            yield CheckResult(
                "GPU access", CheckVerdict.FAIL, f"CDI has no device {missing[0].uuid} ({missing[0].model})",
                f"{install}{generate}",
            )  # fmt: skip
            return
    if "nvidia" in engine.runtimes:
        yield CheckResult("GPU access", CheckVerdict.PASS, "by NVIDIA's runtime of the engine")
        return
    if version_of(engine.version) >= CDI_ENGINE:
        hint = f'{install}{generate}; put {{"features": {{"cdi": true}}}} into /etc/docker/daemon.json; restart it.'
    else:
        hint = f"{install}sudo nvidia-ctk runtime configure --runtime=docker; restart the engine."
    yield CheckResult("GPU access", CheckVerdict.FAIL, "the engine cannot give GPUs to containers", hint)


def _disk(facts: MachineFacts) -> CheckResult:
    left = facts.disk_free_gib - facts.reserve.disk_gib
    found = f"{facts.disk_free_gib} GiB free, {facts.reserve.disk_gib} kept by you"
    if left <= 0:
        return CheckResult(
            "disk", CheckVerdict.FAIL, found, "Free some space, or reserve less with --reserve-disk-gib."
        )
    if left < LEAST_DISK_GIB:
        return CheckResult(
            "disk", CheckVerdict.WARN, f"{found}: few images fit", f"Free up {LEAST_DISK_GIB} GiB or more."
        )
    return CheckResult("disk", CheckVerdict.PASS, found)


def _disk_limits(trouble: str, storage: str) -> CheckResult:
    if not trouble and storage not in ("", LAYERED):
        trouble = f"the engine's storage driver is {storage}, so containers' own layers are elsewhere"
    if not trouble:
        return CheckResult("disk limits", CheckVerdict.PASS, "each lease gets a file system of its own size")
    return CheckResult(
        "disk limits", CheckVerdict.WARN, f"only measured every 10 s: {trouble}",
        "Run the agent as root beside an engine with the storage driver overlay2, with e2fsprogs and loop devices. "
        "Until then a pod can take more disk than its lease has, and fill yours.",
    )  # fmt: skip


def _mount_checks(trouble: str) -> CheckResult:
    if not trouble:
        return CheckResult(
            "mount checks", CheckVerdict.PASS, "each container's mounts are checked before its program starts"
        )
    return CheckResult(
        "mount checks", CheckVerdict.WARN, f"not before a program starts: {trouble}",
        "Run the agent beside the engine, in the same PID namespace, with docker-init or tini installed, and "
        "its folder on a file system without noexec. Until then a tenant may see what the engine hides of the kernel's "
        "files.",
    )  # fmt: skip


def _memory(facts: MachineFacts) -> CheckResult:
    left = facts.memory_mib - facts.reserve.memory_mib
    cores = facts.cores * 1000 - facts.reserve.cpu_milli
    found = (
        f"{facts.memory_mib} MiB and {facts.cores} cores, {facts.reserve.memory_mib} MiB and "
        f"{facts.reserve.cpu_milli / 1000:g} cores kept by you"
    )
    if left < LEAST_MEMORY_MIB or cores <= 0:
        return CheckResult(
            "memory and cores", CheckVerdict.FAIL, found, "Reserve less (--reserve-memory-mib, --reserve-cpus)."
        )
    return CheckResult("memory and cores", CheckVerdict.PASS, found)


def _network(addresses: tuple[str, ...] | str) -> CheckResult:
    if isinstance(addresses, str):
        return CheckResult(
            "UDP", CheckVerdict.FAIL, addresses,
            "Choose another address with --bind, and let UDP through the machine's firewall.",
        )  # fmt: skip
    shown = ", ".join(addresses)
    if any(_is_public(address) for address in addresses):
        return CheckResult("UDP", CheckVerdict.PASS, f"tenants dial {shown}")
    return CheckResult(
        "UDP", CheckVerdict.WARN, f"only {shown}: not reachable from outside this network",
        "Forward a UDP port of your router to this machine and give it with --bind 0.0.0.0:PORT, or be reached through "
        "a gateway (--gateway). Not needed where tenants are in the same network.",
    )  # fmt: skip


def _chain(chain: ChainFacts | str) -> Iterator[CheckResult]:
    if isinstance(chain, str):
        yield CheckResult("node", CheckVerdict.FAIL, chain, "Name a node of the network with --url.")
        return
    if chain.genesis_differs:
        yield CheckResult(
            "node", CheckVerdict.FAIL, f"{chain.url} serves another chain: its genesis is {chain.genesis_differs}",
            "Connect to the right network with --url, or correct --genesis; a state folder belongs to one chain.",
        )  # fmt: skip
        return
    yield CheckResult("node", CheckVerdict.PASS, f"{chain.url}, block {chain.best}")
    off = abs(chain.chain_ahead_ms)
    if chain.chain_ahead_ms < 0:
        found = f"the newest block is {off / 1000:.1f} s old by this machine's clock"
        hint = "Set the clock (sudo timedatectl set-ntp true); if it is right, the node is behind or makes no blocks."
    else:
        found = f"this machine's clock is {off / 1000:.1f} s behind the chain's"
        hint = "Set the clock: sudo timedatectl set-ntp true."
    if off >= CLOCK_FAIL_MS:
        yield CheckResult("clock", CheckVerdict.FAIL, found, hint)
    elif off >= CLOCK_WARN_MS:
        yield CheckResult("clock", CheckVerdict.WARN, found, hint)
    else:
        yield CheckResult("clock", CheckVerdict.PASS, found)


def _funds(funds: FundsFacts) -> CheckResult:
    found = f"{funds.provider} can spend {format_amount(funds.spendable)}; the bond is {format_amount(funds.bond)}"
    if funds.spendable <= funds.bond:
        return CheckResult("bond", CheckVerdict.FAIL, found, "Send that account the bond and a little for fees first.")
    return CheckResult("bond", CheckVerdict.PASS, found)


def _service(facts: MachineFacts) -> CheckResult:
    if facts.systemd and facts.root:
        return CheckResult("service", CheckVerdict.PASS, "systemd keeps the agent running")
    if facts.systemd:
        return CheckResult(
            "service", CheckVerdict.WARN, "without root its own supervisor keeps the agent running until reboot",
            "Run this with sudo to have systemd start it at boot.",
        )  # fmt: skip
    return CheckResult(
        "service", CheckVerdict.WARN, "no systemd: a supervisor of its own keeps the agent running until reboot",
        "Have this run at boot: gantry agent join",
    )  # fmt: skip


def version_of(text: str) -> tuple[int, int]:
    """Return the first two numbers of a version; zeros if there are none."""
    parts = [*text.split("."), "0", "0"][:2]
    major, minor = ("".join(char for char in part if char.isdecimal()) for part in parts)
    return int(major or 0), int(minor or 0)


def device_names(devices: Sequence[HostDevice]) -> str:
    """Return the models with their counts, in order."""
    counts: dict[str, int] = {}
    for device in devices:
        counts[device.model] = counts.get(device.model, 0) + 1
    return ", ".join(f"{count} x {model}" if count > 1 else model for model, count in counts.items())


def _is_public(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.rpartition(":")[0].strip("[]")).is_global
    except ValueError:
        return False
