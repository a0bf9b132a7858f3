"""A resource of the API that needs a token, changes something or asks a node, and the parts of the API behind it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

from pydantic import BaseModel

from offchain.errors import OurError
from offchain.gateway.api.extrinsics import WalletExtrinsicsApi
from offchain.gateway.api.manifest_checks import ManifestChecks
from offchain.gateway.api.node_records import NodeRecordsApi
from offchain.gateway.api.parameters import Parameters
from offchain.gateway.api.sign_in import SignIn
from offchain.gateway.api.task_placement import TaskPlacementApi

if TYPE_CHECKING:
    from offchain.gateway.api.monitoring import MonitoringApi
    from offchain.gateway.api.notifications import NotificationsApi
    from offchain.gateway.api.state import StateApi
    from offchain.gateway.api.statements import StatementsApi

SMALL_BODY: Final = 4_096
"""Bytes of the body of most requests."""
LARGE_BODY: Final = 512 * 1024
"""Bytes of a body with a manifest, or with a call twice as hexadecimal digits."""
Budget = Literal["sign_in", "build", "submit", "check", "body", "state", "proof", "statement"]
"""What a request of an address counts against."""


class PartOff(OurError):  # noqa: N818
    """A part of the API that this gateway does not have."""


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """An answer that is a file to save."""

    name: str
    data: bytes
    content_type: str = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class NodeParts:
    """What asks a node. `state_if_on`: None where it gives no proofs."""

    extrinsics: WalletExtrinsicsApi
    manifests: ManifestChecks
    records: NodeRecordsApi
    placements: TaskPlacementApi
    state_if_on: StateApi | None = None


@dataclass(frozen=True, slots=True)
class ApiParts:
    """The parts behind actions. `sign_in_if_on`: None where the gateway has no domain; `node`: None without a node.

    `template_values`: returns the values of variables that the network sets.
    """

    sign_in_if_on: SignIn | None = None
    node: NodeParts | None = None
    template_values: Callable[[], Mapping[str, str]] = dict
    notifications_if_on: NotificationsApi | None = None
    monitoring_if_on: MonitoringApi | None = None
    statements_if_on: StatementsApi | None = None

    @property
    def statements(self) -> StatementsApi:
        """Statements of accounts; every server has them."""
        assert self.statements_if_on is not None  # noqa: S101
        return self.statements_if_on

    @property
    def sign_in(self) -> SignIn:
        """Raises PartOff where the gateway has no domain."""
        if self.sign_in_if_on is None:
            raise _sign_in_off()
        return self.sign_in_if_on

    @property
    def notifications(self) -> NotificationsApi:
        """Raises PartOff where the gateway has no domain."""
        if self.notifications_if_on is None:
            raise _sign_in_off()
        return self.notifications_if_on

    @property
    def monitoring(self) -> MonitoringApi:
        """Raises PartOff where the gateway reads no Prometheus."""
        if self.monitoring_if_on is None:
            raise PartOff(
                "This gateway reads no Prometheus.",
                "Start it with its URL (--prometheus), a domain (--http-domain) and operators (--http-operator).",
                code="monitoring_off",
            )
        return self.monitoring_if_on

    @property
    def extrinsics(self) -> WalletExtrinsicsApi:
        """Raises PartOff without a node."""
        return self._of_node().extrinsics

    @property
    def manifests(self) -> ManifestChecks:
        """Raises PartOff without a node."""
        return self._of_node().manifests

    @property
    def records(self) -> NodeRecordsApi:
        """Raises PartOff without a node."""
        return self._of_node().records

    @property
    def state(self) -> StateApi:
        """Raises PartOff without a node that gives proofs."""
        found = self._of_node().state_if_on
        return _no_node() if found is None else found

    @property
    def placements(self) -> TaskPlacementApi:
        """Raises PartOff without a node."""
        return self._of_node().placements

    def _of_node(self) -> NodeParts:
        if self.node is None:
            return _no_node()
        return self.node


def _no_node() -> NoReturn:
    raise PartOff("This server has no node of the chain.", "Use a gateway that has one.", code="no_node")


def _sign_in_off() -> PartOff:
    return PartOff(
        "This gateway has no sign-in.",
        "Start it with the domain at which people reach it (--http-domain).",
        code="sign_in_off",
    )


@dataclass(frozen=True, slots=True)
class ApiAction:
    """A resource with another method than GET, or one that needs a token or a node.

    `asked`: its body, or the parameters of its path and query. `budget`: of requests with a body, and of those that
    cost the node much (`is_costly`).
    """

    method: Literal["GET", "POST", "DELETE"]
    path: str
    name: str
    about: str
    asked: type[Parameters]
    answer: type[BaseModel | FileAnswer]
    act: Callable[[ApiParts, Any, Any], Awaitable[BaseModel | FileAnswer]]
    needs_token: bool = False
    is_costly: bool = False
    budget: Budget = "sign_in"
    most_body: int = SMALL_BODY
    status: HTTPStatus = HTTPStatus.OK

    @property
    def has_body(self) -> bool:
        return self.method == "POST"
