"""The network of an operator on an engine of its own, which the tests of this folder share, in their order."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.compose_engine import ComposeEngine, compose_engine, missing
from tests.support.operator_network import EVERYTHING, OperatorNetwork, copy_clone

ALERTMANAGER = """
route: {receiver: operator, group_wait: 1s}
receivers:
  - name: operator
    webhook_configs:
      - url: http://notifier:9466/alerts
        http_config: {authorization: {credentials_file: /run/secrets/alerts-token}}
"""
"""Configuration of Alertmanager, as docs/notifications.md has it for Compose."""

LIMIT_S = 1800
"""Seconds for one test with its fixtures: the first one may have to build all images."""
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(LIMIT_S))


@pytest.fixture(scope="session")
def engine() -> Iterator[ComposeEngine]:
    lacking = missing()
    if lacking:
        pytest.skip(f"no engine with Compose can be started here: this machine lacks {', '.join(lacking)}")
    # Sockets need a short path.
    with tempfile.TemporaryDirectory(prefix="gantry-c-") as folder, compose_engine(Path(folder)) as found:
        yield found


@pytest.fixture(scope="session")
def written(engine: ComposeEngine, tmp_path_factory: pytest.TempPathFactory) -> OperatorNetwork:
    """A copy of the clone with .env, accounts and secrets; nothing is built or started."""
    folder = tmp_path_factory.mktemp("operator")
    copy_clone(folder)
    found = OperatorNetwork(engine, folder)
    settler, token = found.secret("settler-2"), found.secret("alerts-token")
    found.create_account("settler-2", settler)
    (folder / "alertmanager.yaml").write_text(ALERTMANAGER, encoding="utf-8")
    found.write_settings(
        {
            "COMPOSE_PROFILES": EVERYTHING,
            "GANTRY_SETTLER_2_ACCOUNT": "settler-2",
            "GANTRY_SETTLER_2_PASSWORD_FILE": settler,
            "GANTRY_ALERTS_TOKEN_FILE": token,
            "GANTRY_ALERTMANAGER_CONFIG": "./alertmanager.yaml",
        }
    )
    return found


@pytest.fixture(scope="session")
def operator(written: OperatorNetwork, request: pytest.FixtureRequest) -> Iterator[OperatorNetwork]:
    """The running network: every service of both files."""
    written.engine.make_base_image()
    written.compose("build")
    written.compose("up", "--detach", "node")
    written.until_healthy("node")
    written.gantry("account", "transfer", "settler-2", "100", "--account=//Alice")
    bond = ("verifier", "bond", "--account=//Alice//stash")
    written.compose("run", "--rm", "-T", "--no-deps", "verifier", *bond)
    written.compose("up", "--detach")
    try:
        written.until_healthy(*written.services())
        yield written
    finally:
        if request.session.testsfailed:
            sys.stderr.write(written.compose("logs", "--tail=30"))
        written.compose("down", "--volumes", "--timeout=60")
