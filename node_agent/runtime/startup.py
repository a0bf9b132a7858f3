"""Start and end of an agent: opens its parts, runs them, and confirms a release on trial."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any

from node_agent.attestation.machine import MachineAttestation
from node_agent.attestation.sealing_key import SealingKey
from node_agent.chain.challenge_responder import ChallengeResponder
from node_agent.chain.duplicates import other_agent_block, wait_for_silence
from node_agent.challenge.sources import program_source
from node_agent.drivers.docker.access import DockerAccess, end_orphan_programs
from node_agent.drivers.docker.driver import DockerDriver
from node_agent.handlers.attestation_requests import AttestationRequests
from node_agent.handlers.challenge_requests import ChallengeRequests
from node_agent.handlers.evidence_files import EvidenceFiles
from node_agent.handlers.evidence_requests import EvidenceRequests
from node_agent.handlers.receipt_requests import ReceiptRequests
from node_agent.images.docker_engine import DockerImages
from node_agent.images.registry_client import RegistryClient
from node_agent.images.store import ImageInventory, ImageStore
from node_agent.install.launch import RELEASE_VARIABLE
from node_agent.install.releases import Releases
from node_agent.metering.docker import DockerUsageSource
from node_agent.metering.gpus import MachineGpuSource
from node_agent.metering.meter import UsageMeter, steady_time
from node_agent.runtime.agent import NodeAgent
from node_agent.runtime.agent_metrics import AgentMetrics, serve_agent_metrics
from node_agent.runtime.background import trim_heap
from node_agent.runtime.journal import EarningsJournal
from node_agent.runtime.loop_thread import LoopThread, bound_to
from node_agent.runtime.machine_lock import MachineLock
from node_agent.runtime.settings import (
    AgentSettings,
    check_isolation,
    find_hardware,
    listen,
    mirror_of,
    open_pinned_chain,
    rules_of,
)
from node_agent.runtime.state_dir import StateDir
from node_agent.runtime.status_file import StatusFile
from node_agent.telemetry.device_metrics import DeviceMetrics
from node_agent.telemetry.device_readings import DeviceReader
from node_agent.telemetry.hardware import Hardware, current_boot_id
from node_agent.telemetry.network_probe import NetworkProber
from node_agent.telemetry.probe import sources
from node_agent.telemetry.watch import FAULTS, DeviceMonitor
from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.metrics.chain import OutboxMetrics
from offchain.adapters.outbox.intent_values import OutboxCounts
from offchain.adapters.periodic_jobs import PeriodicJobs
from offchain.adapters.span_export import begin_tracing
from offchain.adapters.transport.gateway import GatewayTransport
from offchain.adapters.transport.host_server import Handler
from offchain.adapters.transport.linux_network import raise_fd_limit
from offchain.adapters.transport.routing import RoutedTransport, open_direct, open_host
from offchain.clock import unix_ms
from offchain.errors import OurError
from offchain.ports import ChainPort
from offchain.schema.protocol.messages import Op

OPEN_FILES = 16_384
TRIM_EVERY_S = 60.0
SWITCH_S = 0.001
"""Switch interval in seconds: heartbeats share the interpreter with the thread of the link."""
_NO_FACTS: Mapping[str, Mapping[str, Any]] = {"pods": {}, "devices": {}, "network": {}, "gateways": {}}

log = logging.getLogger(__name__)


async def run_agent(settings: AgentSettings) -> None:
    """Run until SIGTERM or SIGINT. A release on trial that does not become ready in time ends by itself."""
    raise_fd_limit(OPEN_FILES)
    sys.setswitchinterval(SWITCH_S)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    release = os.environ.get(RELEASE_VARIABLE, "")
    releases = Releases(settings.state)
    async with contextlib.AsyncExitStack() as stack:
        state = stack.enter_context(contextlib.closing(StateDir(settings.state)))
        key = state.host_key()
        hardware = find_hardware(settings, state)
        async with open_pinned_chain(settings, state) as first:
            # A wrong address is reported soon; later the agent waits for its node.
            genesis = await first.genesis_hash()
        begin_tracing(genesis, "gantry-agent")
        chain = SubstrateChain(settings.url, expected_genesis=genesis)
        stack.push_async_callback(chain.close)
        lock = stack.enter_context(MachineLock(key.address))
        if not await _may_start(chain, key.address, state, release, stop):
            return
        images = ImageStore(
            DockerImages(settings.docker_host, RegistryClient(rules_of(settings))),
            ImageInventory(settings.state / "images.json"),
            mirror=mirror_of(settings),
            quota_bytes=hardware.image_gib << 30,
            now_ms=unix_ms,
        )
        stack.push_async_callback(images.close)
        driver = await DockerDriver.connect(
            settings.docker_host,
            key.address,
            images,
            network=settings.network,
            files=state.files,
            runtime=settings.runtime,
            gates=settings.state / "gates",
        )
        stack.push_async_callback(driver.close)
        check_isolation(hardware.capabilities, sandboxed=driver.sandboxed, warn=log.info)
        link = LoopThread.start("link")
        stack.push_async_callback(link.close)
        link_chain = SubstrateChain(settings.url, expected_genesis=genesis)
        stack.push_async_callback(lambda: link.run(link_chain.close()))
        transport, by_gateways = await link.run(_open_link(settings, state, key, genesis))
        stack.push_async_callback(lambda: link.run(transport.close()))
        pods = DockerAccess(settings.docker_host, key.address)
        stack.push_async_callback(lambda: link.run(pods.close()))
        await end_orphan_programs(settings.docker_host, key.address)
        watch = DeviceMonitor(
            hardware.devices, sources(), settings.state / FAULTS, now_ms=unix_ms, boot_id=current_boot_id()
        )
        journal = EarningsJournal(state.store)
        gauge, gpus = DockerUsageSource(settings.docker_host, key.address, now_ms=unix_ms), MachineGpuSource()
        stack.push_async_callback(gauge.close)
        stack.callback(gpus.close)
        meter = UsageMeter(
            GantryChain(chain), state.store, key, genesis, gauge, gpus, now_ms=unix_ms, moment=steady_time
        )
        counts, sealing = OutboxCounts(), SealingKey() if settings.confidential else None
        open_way = partial(open_direct, genesis_hash=genesis, signer=key)
        responder = _responder(settings, stack, chain, state, driver, key.address, hardware)
        prober = NetworkProber(open_way, settings.gateways, now_ms=unix_ms)
        agent = NodeAgent(
            chain,
            driver,
            transport,
            state,
            key,
            hardware,
            now_ms=unix_ms,
            pods=pods,
            sandboxed=driver.sandboxed,
            open_host=partial(open_host, genesis_hash=genesis, signer=key),
            beside=(watch.run, responder.run),
            periodic=(journal.add_jobs, prober.add_jobs, meter.add_jobs, responder.add_jobs, _keep_heap_trimmed),
            handlers={
                **ReceiptRequests(asyncio.get_running_loop(), meter).handlers(),
                **ChallengeRequests(asyncio.get_running_loop(), responder.document).handlers(),
                **EvidenceRequests(
                    GantryChain(link_chain), state, bound_to(asyncio.get_running_loop(), meter.newest)
                ).handlers(),
                **EvidenceFiles(GantryChain(link_chain), state.path).handlers(),
                **_attestation(settings, key, sealing),
            },
            link=link,
            link_port=link_chain,
            counts=counts,
            sealing=sealing,
        )
        facts = _facts(agent, lock, watch, prober, by_gateways, responder)
        reader = DeviceReader()
        stack.callback(reader.close)
        await stack.enter_async_context(
            serve_agent_metrics(
                settings.metrics,
                chain,
                OutboxMetrics(state.store, key.address, counts),
                DeviceMetrics(hardware.devices, watch, reader.read),
                AgentMetrics(agent, lambda: facts()["troubles"], by_gateways, journal),
                meter.pod_metrics,
            )
        )
        status_file = StatusFile(settings.state, release, transport.addresses, facts, now_ms=unix_ms)
        await _serve(agent.run(stop), _confirm(releases, release, agent.ready), status_file.run(agent.ready))


def _attestation(settings: AgentSettings, key: Ed25519Signer, sealing: SealingKey | None) -> Mapping[Op, Handler]:
    """Return the handler of requests for attestation documents; none unless the host is said to be confidential."""
    if sealing is None:
        return {}
    return AttestationRequests(MachineAttestation(settings.state), key.public_key, sealing.public).handlers()


def _responder(
    settings: AgentSettings,
    stack: contextlib.AsyncExitStack,
    chain: ChainPort,
    state: StateDir,
    driver: DockerDriver,
    host: str,
    hardware: Hardware,
) -> ChallengeResponder:
    programs = program_source(settings.challenge_image, settings.docker_host, host, state.path)
    stack.push_async_callback(programs.close)
    return ChallengeResponder(chain, state.store, programs, driver, host, hardware)


def _keep_heap_trimmed(_agent: NodeAgent, jobs: PeriodicJobs) -> None:
    gc.collect()
    gc.freeze()  # the present objects stay; later collections need not look through them again
    jobs.add("heap", trim_heap, TRIM_EVERY_S)


async def _open_link(
    settings: AgentSettings, state: StateDir, key: Ed25519Signer, genesis: bytes
) -> tuple[RoutedTransport, GatewayTransport]:
    """Listen directly and at gateways; runs in the loop of the link."""
    direct = await listen(state, key, settings.bind)
    by_gateways = GatewayTransport(direct, key.seed(), genesis_hash=genesis, signer=key)
    by_gateways.listen(settings.gateways)
    return RoutedTransport(direct, by_gateways), by_gateways


async def _may_start(chain: ChainPort, host: str, state: StateDir, release: str, stop: asyncio.Event) -> bool:
    """Wait for the end of another agent of this host if the last run ended because of it.

    Return False if this agent was stopped meanwhile.
    """
    block = other_agent_block(state.store)
    if block is None:
        return True
    message = (
        "this agent waits, and starts nothing, until the heartbeats of another agent with this host's key end; "
        f"that one was seen in block {block}: stop it, or stop this one for good"
    )
    log.warning("%s", message)
    status_file = StatusFile(
        state.path, release, (), lambda: {**_NO_FACTS, "troubles": {"identity": message}}, now_ms=unix_ms
    )
    status_task = asyncio.create_task(status_file.run(asyncio.Event()))
    waiting = asyncio.create_task(wait_for_silence(chain, host, state.store))
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({waiting, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            waiting.result()
    finally:
        for task in (status_task, waiting, stopped):
            task.cancel()
        await asyncio.gather(status_task, waiting, stopped, return_exceptions=True)
    return not stop.is_set()


def _facts(
    agent: NodeAgent,
    lock: MachineLock,
    watch: DeviceMonitor,
    prober: NetworkProber,
    by_gateways: GatewayTransport,
    responder: ChallengeResponder,
) -> Any:
    def facts() -> Mapping[str, Mapping[str, Any]]:
        pods = {str(number): pod.phase.value for number, pod in agent.state.pods.items()}
        devices = {str(index): why for index, why in watch.problems().items()}
        states = by_gateways.states
        gateways = {one.gateway.text: "attached" if one.is_registered else one.problem for one in states}
        network = prober.facts()
        troubles = {**({"identity": lock.trouble} if lock.trouble else {}), **agent.troubles}
        troubles |= {"challenges": responder.trouble} if responder.trouble else {}
        challenge = {"state": responder.state_text, "last": responder.last_text}
        since_ms = agent.suspended_since_ms
        suspension = {} if since_ms is None else {"since_ms": since_ms}
        return {
            "pods": pods,
            "devices": devices,
            "network": network,
            "gateways": gateways,
            "troubles": troubles,
            "suspension": suspension,
            "challenge": {name: text for name, text in challenge.items() if text},
        }

    return facts


async def _serve(
    agent: Coroutine[Any, Any, None], trial: Coroutine[Any, Any, None], status_file: Coroutine[Any, Any, None]
) -> None:
    """Run until the agent ends, or its trial fails, which ends it."""
    agent_task, trial_task, status_task = (asyncio.create_task(work) for work in (agent, trial, status_file))
    try:
        await asyncio.wait({agent_task, trial_task}, return_when=asyncio.FIRST_COMPLETED)
        if trial_task.done():
            trial_task.result()
        await agent_task
    finally:
        for task in (agent_task, trial_task, status_task):
            task.cancel()
        await asyncio.gather(agent_task, trial_task, status_task, return_exceptions=True)


async def _confirm(releases: Releases, release: str, ready: asyncio.Event) -> None:
    """Confirm this release when it is ready; end the program after its time, so that the launcher goes back."""
    trial = releases.trial()
    if trial is None or trial.release != release:
        return
    try:
        async with asyncio.timeout(max(0, trial.until_ms - unix_ms()) / 1000):
            await ready.wait()
    except TimeoutError:
        raise OurError("This release did not become ready in its time.", "The one before it is started.") from None
    releases.confirm(release)
