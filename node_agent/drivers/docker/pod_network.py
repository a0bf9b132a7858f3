"""Networks of pods: bridges, pod sandboxes and isolation.

The kernel's interfaces are examined as well, because an engine that is killed while it creates a network leaves the
bridge behind: it treats it as foreign afterwards, and never removes it. One that is killed while it connects a
container to a network leaves a pair of interfaces.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import socket
import struct
from collections.abc import Collection
from pathlib import Path
from typing import Any

import docker

from node_agent.core.values import PodSpec
from node_agent.drivers.docker.data_volumes import DockerVolumes
from node_agent.drivers.docker.engine import Engine
from node_agent.drivers.docker.orphan_processes import end_orphan_processes
from node_agent.drivers.docker.spec import (
    LABEL_HOST,
    LABEL_LEASE,
    LABEL_ROLE,
    SANDBOX,
    PodContext,
    bridge_name,
    bridge_prefix,
    has_pod_sandbox,
    is_resource_fault,
    pod_labels,
    pod_name,
    pod_sandbox_arguments,
)
from node_agent.drivers.docker.static_programs import has_sandbox_image, sandbox_image
from node_agent.drivers.firewall import Firewall
from node_agent.drivers.port import DriverError, ImageInvalid, PodGone, ResourcesUnavailable

log = logging.getLogger(__name__)

NO_NETWORK = "none"
_BRIDGE = "com.docker.network.bridge.name"
_BRIDGE_NAMES = 4
_TAKEN = "networks have same bridge name"
_INTERFACES = Path("/sys/class/net")
_DELETE_LINK = 17
_ACKNOWLEDGED_REQUEST = 5
_ERROR = 2
_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")
_FLAGS_GET, _FLAGS_SET = 0x8913, 0x8914
_FLAGS = struct.Struct("=16sh14x")
_UP = 1


class PodNetworks:
    """The networks and pod sandboxes of one host's pods."""

    def __init__(self, engine: Engine, host: str, data: DockerVolumes, *, network: bool) -> None:
        self._engine = engine
        self._host = host
        self._data = data
        self.network = network
        """Whether pods have a network."""
        self.architecture = ""
        self._firewall = Firewall()
        self._orphans = OrphanBridges()
        self._making: set[str] = set()
        """Bridges of networks that are being created."""

    async def ensure(self, spec: PodSpec) -> str:
        """Create the pod's network and pod sandbox if missing; return the network mode of its containers."""
        mode = await self._with_network(spec) if self._has_network(spec) else NO_NETWORK
        if not has_pod_sandbox(spec):
            return mode
        return f"container:{await self._sandbox(spec, mode)}"

    async def guard(self) -> None:
        """Put the firewall rules that isolate pods in force. While they are not, the pods' bridges are down.

        Raises :class:`DriverError` if they cannot be put in force.
        """
        own = bridge_prefix(self._host)
        if not self.network and not interface_names(own):
            return
        try:
            await self._firewall.ensure()
        except DriverError as error:
            try:
                set_interfaces_up(own, up=False)
            except OSError as refused:
                raise DriverError(f"{error} The pods' bridges cannot be set down either: {refused.strerror}.") from None
            raise
        with contextlib.suppress(OSError):  # a process that may not set a bridge up did not set it down
            set_interfaces_up(own, up=True)

    async def rejoin(self, spec: PodSpec, identity: str) -> None:
        """Connect a stopped container to the pod's network if the network was created again since its last run.

        Unused networks disappear if somebody prunes them or repairs the engine.
        """
        if self._has_network(spec):
            await self._engine.call(lambda: self._rejoin(pod_name(spec.host, spec.lease), identity))

    def _has_network(self, spec: PodSpec) -> bool:
        return self.network and not spec.is_replica

    async def remove_networks(self, lease: int) -> None:
        """Remove the networks of a lease, if any."""
        await self._engine.call(lambda: self._remove_networks(lease))

    async def sweep(self) -> None:
        """Remove bridges of this host's pods that belong to no network."""
        here = interface_names(bridge_prefix(self._host)) if self.network else frozenset()
        if not here:
            return
        used = await self._engine.call(self._bridges)
        for name in self._orphans.find(here, used | self._making):
            log.info("removing the bridge %s: the engine was ended while it made its network", name)
            _remove_bridge(name)

    async def leases(self) -> frozenset[int]:
        wanted = {"label": [f"{LABEL_HOST}={self._host}"]}
        found = await self._engine.call(lambda: self._engine.api.networks(filters=wanted))
        return frozenset(int(one["Labels"][LABEL_LEASE]) for one in found if LABEL_LEASE in one["Labels"])

    async def _with_network(self, spec: PodSpec) -> str:
        names = [bridge_name(spec.host, spec.lease, other) for other in range(_BRIDGE_NAMES)]
        self._making.update(names)
        try:
            return await self._engine.call(lambda: self._network(spec, names))
        finally:
            self._making.difference_update(names)

    async def _sandbox(self, spec: PodSpec, mode: str) -> str:
        wanted = [
            f"{LABEL_HOST}={spec.host}",
            f"{LABEL_LEASE}={spec.lease}",
            f"{LABEL_ROLE}={SANDBOX}",
        ]
        api = self._engine.api
        found = await self._engine.call(lambda: api.containers(all=True, filters={"label": wanted}))
        identity = str(found[0]["Id"]) if found else await self._make_sandbox(spec, mode)
        if not found or found[0].get("State") != "running":
            if found:
                await asyncio.to_thread(end_orphan_processes, identity)
                await self.rejoin(spec, identity)
            try:
                await self._data.confine(spec, identity)
                await self._engine.call(lambda: api.start(identity))
                await self._data.started(spec, identity)
            except DriverError as error:
                # A sandbox that cannot be started is of no use to a later attempt.
                with contextlib.suppress(DriverError):
                    await self._data.remove_container(identity)
                if is_resource_fault(str(error)) and await self._data.is_full(spec):
                    raise ImageInvalid(f"the lease's disk of {spec.disk_gib} GiB is full: {error}") from None
                if is_resource_fault(str(error)):
                    raise ResourcesUnavailable(str(error)) from None
                raise
        return identity

    async def _make_sandbox(self, spec: PodSpec, mode: str) -> str:
        if not has_sandbox_image(self.architecture):
            raise ResourcesUnavailable(
                f"pods of several containers need an engine on x86_64 or aarch64, not on {self.architecture}"
            )
        image = await load_sandbox_image(self._engine, self.architecture)
        api = self._engine.api
        context = PodContext(network=mode, files={}, volumes={}, cdi=False, runc=False)
        arguments: dict[str, Any] = pod_sandbox_arguments(spec, image=image, context=context)
        host_config = api.create_host_config(**arguments.pop("host_config"))
        created = await self._engine.call(lambda: api.create_container(**arguments, host_config=host_config))
        return str(created["Id"])

    def _network(self, spec: PodSpec, bridge_names: list[str]) -> str:
        api = self._engine.api
        name = pod_name(spec.host, spec.lease)
        if any(network["Name"] == name for network in api.networks(names=[name])):
            return name
        for bridge in bridge_names:
            # From an existing bridge the engine would create a network, but never remove it.
            if bridge in interface_names(bridge):
                _remove_bridge(bridge)
            options = {"com.docker.network.bridge.enable_icc": "false", _BRIDGE: bridge}
            try:
                api.create_network(
                    name, driver="bridge", check_duplicate=True, labels=pod_labels(spec), options=options
                )
            except docker.errors.APIError as error:
                # An engine that was killed while it created this network may hold the bridge's name for ever.
                if _TAKEN not in str(error) or bridge == bridge_names[-1]:
                    raise
            else:
                break
        return name

    def _bridges(self) -> frozenset[str]:
        return frozenset(str((one.get("Options") or {}).get(_BRIDGE)) for one in self._engine.api.networks())

    def _rejoin(self, name: str, identity: str) -> None:
        api = self._engine.api
        inspection = api.inspect_container(identity)
        present = next((network["Id"] for network in api.networks(names=[name]) if network["Name"] == name), None)
        if present is None or inspection["HostConfig"]["NetworkMode"] != name:
            return
        known = inspection["NetworkSettings"]["Networks"].get(name)
        if known is not None and known["NetworkID"] in ("", present):
            return
        if known is not None:
            api.disconnect_container_from_network(identity, name, force=True)
        api.connect_container_to_network(identity, present)

    def _remove_networks(self, lease: int) -> None:
        api = self._engine.api
        wanted = [f"{LABEL_HOST}={self._host}", f"{LABEL_LEASE}={lease}"]
        for network in api.networks(filters={"label": wanted}):
            # All containers are gone; remaining ports were left by an engine that was killed while it connected one.
            with contextlib.suppress(OSError):
                remove_bridge_ports(str((network.get("Options") or {}).get(_BRIDGE)))
            with contextlib.suppress(docker.errors.NotFound):
                api.remove_network(network["Id"])


def _remove_bridge(name: str) -> None:
    with contextlib.suppress(OSError):  # it is gone already, or this process may not remove it
        remove_bridge(name)


async def load_sandbox_image(engine: Engine, architecture: str) -> str:
    """Load the image of pod sandboxes into the engine if missing, and return its id."""
    image, archive = sandbox_image(architecture)
    try:
        await engine.call(lambda: engine.api.inspect_image(image))
    except PodGone:
        await engine.call(lambda: list(engine.api.load_image(archive)))
    return image


def interface_names(prefix: str) -> frozenset[str]:
    return frozenset(name for _, name in socket.if_nameindex() if name.startswith(prefix))


def remove_bridge(bridge: str) -> None:
    """Remove a bridge with its ports. Raises OSError if it does not exist or this process may not."""
    remove_bridge_ports(bridge)
    _delete_interface(bridge)


def remove_bridge_ports(bridge: str) -> None:
    """Remove the interfaces of a bridge, each with its peer. Does nothing if the bridge does not exist."""
    folder = _INTERFACES / bridge / "brif"
    for port in sorted(path.name for path in folder.iterdir()) if folder.is_dir() else ():
        if (_INTERFACES / port).exists():  # not the peer of one that was just deleted
            _delete_interface(port)


def set_interfaces_up(prefix: str, *, up: bool) -> None:
    """Set all interfaces with this prefix up or down. A bridge that is down passes no packets.

    Raises OSError if the kernel refuses that for one of them, after all were tried.
    """
    refused: OSError | None = None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as kernel:
        for name in sorted(interface_names(prefix)):
            with contextlib.suppress(OSError):
                raw, flags = _FLAGS.unpack(fcntl.ioctl(kernel, _FLAGS_GET, _FLAGS.pack(name.encode(), 0)))
                if bool(flags & _UP) == up:
                    continue
                try:
                    fcntl.ioctl(kernel, _FLAGS_SET, _FLAGS.pack(raw, flags ^ _UP))
                except OSError as error:
                    refused = error
    if refused is not None:
        raise refused


def _delete_interface(name: str) -> None:
    """Delete an interface (rtnetlink's RTM_DELLINK)."""
    link = _LINK.pack(socket.AF_UNSPEC, 0, socket.if_nametoindex(name), 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.bind((0, 0))
        kernel.send(_HEADER.pack(_HEADER.size + len(link), _DELETE_LINK, _ACKNOWLEDGED_REQUEST, 1, 0) + link)
        answer = kernel.recv(4096)
    _, kind, *_ = _HEADER.unpack_from(answer)
    code = struct.unpack_from("=i", answer, _HEADER.size)[0]
    if kind != _ERROR or code != 0:
        raise OSError(-code, f"the interface {name} could not be removed: {os.strerror(-code)}")


class OrphanBridges:
    """Finds bridges without a network: those in two successive calls, because a network may be in creation."""

    def __init__(self) -> None:
        self._seen: frozenset[str] = frozenset()

    def find(self, here: frozenset[str], used: Collection[str]) -> frozenset[str]:
        """Return the orphans. `here`: existing bridges; `used`: bridges of networks."""
        unused = here.difference(used)
        found, self._seen = unused & self._seen, unused
        return found
