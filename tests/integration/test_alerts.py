"""An agent that is killed: an alert of Prometheus, on the console's page for operators, and a signed notice."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import ClientSession, web
from playwright.async_api import expect

from offchain.adapters.chain.submit_once import submit_once
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.metrics.prometheus_api import PrometheusApi, PrometheusAway
from offchain.devnet.monitoring import RULES, MonitoringFolder, MonitoringPrograms
from offchain.devnet.paths import ROOT, DevnetError
from offchain.devnet.ports import free
from offchain.gateway.api.server import ApiServer, ApiSettings
from offchain.indexer.notification_rows import SubscriptionRow
from offchain.indexer.queries import open_for_reading
from offchain.schema.chain_types._generated_chain import calls
from offchain.services.notifications.alerts import AlertReceiver
from offchain.services.notifications.sending import SIGNATURE, WebhookSender, signature
from offchain.services.notifications.service import Notifier
from offchain.services.notifications.store import NotificationStore
from tests.support.console_browser import PATIENCE_MS, Console, browser, console
from tests.support.local_network import PATIENCE, STRANGER, Net, engine_url
from tests.support.webhook_receiver import receiving

PROVIDER = from_uri(STRANGER)
OPERATOR = from_uri("//Alice")
SECRET = "the key of the signatures"
INTERVAL = "1s"


@dataclass
class Hooks:
    """What the provider's webhook has received."""

    url: str = ""
    got: asyncio.Queue[tuple[str, bytes]] = field(default_factory=asyncio.Queue)

    async def post(self, request: web.Request) -> web.Response:
        assert (request.method, request.path) == ("POST", "/hook")
        self.got.put_nowait((request.headers[SIGNATURE], await request.read()))
        return web.Response()

    async def notice(self, **wanted: str) -> dict[str, Any]:
        """The next notice with these values; its signature is checked."""
        async with asyncio.timeout(PATIENCE):
            while True:
                header, body = await self.got.get()
                assert header == signature(SECRET, body, int(header.partition(",")[0].removeprefix("t=")))
                found: dict[str, Any] = json.loads(body)
                if wanted.items() <= found.items():
                    return found


@contextlib.contextmanager
def running(log: Path, command: list[str], **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process for the length of the block; the end of its log is shown where the block fails."""
    with (
        log.open("wb") as out,
        subprocess.Popen(command, env={**os.environ, **env}, cwd=ROOT, stdout=out, stderr=out) as process,
    ):
        try:
            yield process
        except BaseException:
            sys.stderr.write(f"--- {log.name}\n{log.read_text(encoding='utf-8', errors='replace')[-4000:]}\n")
            raise
        finally:
            process.kill()


def quick_rules(file: Path) -> Path:
    """The rules of the product, which fire after a second instead of minutes."""
    found = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    for group in found["groups"]:
        for rule in group["rules"]:
            if "for" in rule:
                rule["for"] = INTERVAL
    file.write_text(yaml.safe_dump(found), encoding="utf-8")
    return file


@contextlib.asynccontextmanager
async def notifying(net: Net, hooks: Hooks, port: int, token: str) -> AsyncIterator[None]:
    """The notifier with the provider's webhook, which is on loopback as no real one may be."""
    with contextlib.closing(open_for_reading(str(net.state / "index" / "index.db"), 10.0)) as db:
        row = SubscriptionRow("a1" * 8, PROVIDER.address, hooks.url, "host_alert", SECRET, 1)
        with db.transaction():
            db.insert(SubscriptionRow, [row])
        async with WebhookSender(public_only=False) as sender:
            notifier = Notifier(NotificationStore(db, [], 0), sender, None)

            async def deliver() -> None:
                while True:
                    await notifier.step()
                    await asyncio.sleep(0.2)

            async with AlertReceiver(token, notifier.take_alerts).listening("127.0.0.1", port):
                delivering = asyncio.create_task(deliver())
                try:
                    yield
                finally:
                    delivering.cancel()
                    await asyncio.gather(delivering, return_exceptions=True)


async def until_up(prometheus: str, instance: str) -> None:
    """Wait until Prometheus has scraped a process."""
    api = PrometheusApi(prometheus)
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                with contextlib.suppress(PrometheusAway):
                    if any(one.value == 1 for one in await api.query(f'up{{instance="{instance}"}}')):
                        return
                await asyncio.sleep(0.2)
    finally:
        await api.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path, for sockets."""
    with tempfile.TemporaryDirectory(prefix="gantry-a-") as made:
        yield Path(made)


@dataclass
class Watched:
    """A network whose second host is watched by a Prometheus of the test's own."""

    files: MonitoringFolder
    hooks: Hooks
    host: str
    measured: str
    """Where the agent of the host serves metrics."""
    command: list[str]
    """Runs the agent."""
    env: dict[str, str]

    def agent(self, log: Path) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
        return running(log, self.command, **self.env)


@pytest.fixture
async def watched(net: Net, folder: Path) -> AsyncIterator[Watched]:
    try:
        programs = MonitoringPrograms.find()
    except DevnetError as missing:
        pytest.skip(f"{missing.message}: scripts/test unpacks it")
    addresses = [f"127.0.0.1:{free()}" for _ in range(4)]
    measured = addresses[3]
    files = MonitoringFolder(folder / "monitoring", *addresses[:3])
    files.write(INTERVAL, quick_rules(folder / "rules.yaml"), "0s")
    own = [f"--url={net.url}", f"--state={folder / 'agent'}", f"--bind=127.0.0.1:{free(socket.SOCK_DGRAM)}"]
    own += ["--simulate=rtx4090", "--share-gpus"]
    registered = await net.check("agent", "register", f"--provider={STRANGER}", "--region=test", "--json", *own)
    host = str(registered.json["host"])
    files.set_targets({"agent": measured}, {measured: host})
    run = [sys.executable, "-m", "offchain.cli", "agent", "run", *own, f"--metrics={measured}"]
    run.append(f"--docker-host={engine_url(net.state)}")
    env = {"GANTRY_STATE": str(net.state), "PYTHONPATH": str(ROOT)}
    async with contextlib.AsyncExitStack() as stack:
        # Other tests have one host only.
        stack.push_async_callback(submit_once, net.chain, PROVIDER, calls.hosts_retire(host=host))
        hooks = Hooks()
        hooks.url = await stack.enter_async_context(receiving(hooks.post)) + "/hook"
        token = files.token_file.read_text(encoding="utf-8").strip()
        port = int(files.notifier.rpartition(":")[2])
        await stack.enter_async_context(notifying(net, hooks, port, token))
        stack.enter_context(running(folder / "alertmanager.log", files.alertmanager_command(programs)))
        stack.enter_context(running(folder / "prometheus.log", files.prometheus_command(programs)))
        yield Watched(files, hooks, host, measured, run, env)


@pytest.fixture
async def here(net: Net, watched: Watched) -> AsyncIterator[Console]:
    """The console of a gateway that reads the Prometheus; Alice is an operator."""
    http = f"127.0.0.1:{free()}"
    settings = ApiSettings(
        host="127.0.0.1",
        port=int(http.rpartition(":")[2]),
        index=str(net.state / "index" / "index.db"),
        requests_per_s=1000,
        domain=http,
        operators=frozenset({OPERATOR.address}),
        prometheus=watched.files.prometheus_url,
        development=True,
    )
    async with ApiServer(settings).listening() as url, browser() as found, console(found, url) as made:
        yield made
        await made.assert_in_order()


async def assert_rules_are_healthy(prometheus: str) -> None:
    """Fail where Prometheus could not evaluate a rule."""
    async with ClientSession() as session, session.get(f"{prometheus}/api/v1/rules") as answer:
        groups = (await answer.json())["data"]["groups"]
    assert {rule["health"] for group in groups for rule in group["rules"]} == {"ok"}


async def test_a_killed_agent_is_an_alert_in_the_console_and_a_signed_notice(
    here: Console, watched: Watched, folder: Path
) -> None:
    page, hooks, measured = here.page, watched.hooks, watched.measured
    with watched.agent(folder / "agent.log") as agent:
        await until_up(watched.files.prometheus_url, measured)
        await here.go("/operator")
        await expect(page.get_by_text("with an account that this gateway knows as an operator")).to_be_visible()
        await here.go("/account")
        await page.get_by_role("button", name="Alice").click()
        await expect(page.get_by_text("signed in as tenant, operator")).to_be_visible()
        await here.go("/operator")
        alerts, processes = (page.get_by_role("table", name=name) for name in ("Alerts", "Processes"))
        process = processes.get_by_role("row").filter(has_text=measured)
        await expect(process).to_contain_text("answers", timeout=PATIENCE_MS)

        agent.kill()

        notice = await hooks.notice(alert="GantryTargetDown", status="firing")
    assert (notice["topic"], notice["account"], notice["host"]) == ("host_alert", PROVIDER.address, watched.host)
    alert = alerts.get_by_role("row").filter(has_text="GantryTargetDown")
    await expect(alert).to_contain_text(f"agent at {measured} does not answer", timeout=PATIENCE_MS)
    await expect(alert).to_contain_text("docs/runbook/processes.md#gantrytargetdown")
    await expect(process).to_contain_text("does not answer", timeout=PATIENCE_MS)
    assert await here.axe() == []
    await assert_rules_are_healthy(watched.files.prometheus_url)

    # The same agent again: the alert is over, and the provider learns it.
    with watched.agent(folder / "again.log"):
        over = await hooks.notice(alert="GantryTargetDown", status="resolved")
        assert over["host"] == watched.host
        await expect(alert).to_have_count(0, timeout=PATIENCE_MS)
