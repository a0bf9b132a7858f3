"""gantry worker gateway: relay and HTTP API."""

from __future__ import annotations

from pathlib import Path

import click

from offchain.adapters.local_http import parse_address
from offchain.cli.kit import accounts, network, options
from offchain.cli.kit.output import say
from offchain.cli.kit.session import run
from offchain.cli.operator.worker_run import check_network, metrics_address, metrics_option
from offchain.schema.protocol.gateway import DEFAULT_PORT


@click.command()
@options.common(json=False)
@click.option(
    "--bind",
    default=f"0.0.0.0:{DEFAULT_PORT}",
    show_default=True,
    metavar="IP:PORT",
    help="Where to listen: UDP (QUIC) and TCP (secure websockets). Open both in the firewall.",
)
@click.option(
    "--public",
    metavar="HOST:PORT",
    help="Where hosts and tenants reach it, if it listens elsewhere; only shown in the log and the status.",
)
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the gateway's key and status. Else ~/.local/state/gantry/gateway.",
)
@click.option("--show-address", is_flag=True, help="Print the address to give to hosts and tenants, and exit.")
@click.option("--http", metavar="IP:PORT", help="Serve the HTTP API here (docs/api.md). Without it there is none.")
@click.option(
    "--index",
    metavar="ADDRESS",
    help="Index that the API reads: a file, or a postgresql:// address. Else GANTRY_INDEX, else the one that "
    "gantry history uses.",
)
@click.option(
    "--http-requests",
    type=click.FloatRange(min=1),
    default=50,
    show_default=True,
    help="Requests a second to the API from one address; four times as many at once.",
)
@click.option(
    "--http-streams",
    type=click.IntRange(min=1),
    default=32,
    show_default=True,
    help="Event streams of the API to one address at a time.",
)
@click.option(
    "--http-domain",
    metavar="DOMAIN",
    help="Let accounts sign in to the API; the domain at which people reach it, with its port if that is not 443.",
)
@click.option(
    "--http-operator",
    "http_operators",
    multiple=True,
    envvar="GANTRY_HTTP_OPERATOR",
    metavar="NAME",
    help="An account with the role of an operator in the API. May be repeated.",
)
@click.option(
    "--prometheus",
    envvar="GANTRY_PROMETHEUS",
    metavar="URL",
    help="Show the alerts and processes of this Prometheus to operators of the API and its console "
    "(docs/monitoring.md).",
)
@click.option(
    "--scheduler",
    "schedulers",
    multiple=True,
    envvar="GANTRY_SCHEDULER",
    metavar="URL",
    help="Ask this scheduler for its decisions about tasks, and show them in the API and its console; the scheduler "
    "answers with --answers. May be repeated.",
)
@click.option(
    "--http-origin",
    "http_origins",
    multiple=True,
    metavar="ORIGIN",
    help="Let pages of this origin read the API, as https://console.example.org. May be repeated.  [default: none]",
)
@click.option(
    "--development",
    is_flag=True,
    envvar="GANTRY_DEVELOPMENT",
    help="Say in the API that this is a development network, so that consoles offer the accounts whose keys "
    "everybody has.",
)
@metrics_option
def gateway(
    common: options.CommonOptions,
    bind: str,
    public: str | None,
    state_dir: Path | None,
    show_address: bool,
    http: str | None,
    index: str | None,
    http_requests: float,
    http_streams: int,
    http_domain: str | None,
    http_operators: tuple[str, ...],
    prometheus: str | None,
    schedulers: tuple[str, ...],
    http_origins: tuple[str, ...],
    development: bool,
    metrics: str | None,
) -> None:
    """Relay tenants' connections to hosts that cannot be dialled. Needs no account; creates a key of its own.

    A host keeps a stream to the gateway (gantry agent run --gateway ADDRESS) and names it on the chain; tenants'
    commands find it there. The traffic of tenant and host is encrypted from end to end: a gateway cannot read it.

    \b
    Examples:
      gantry worker gateway
      gantry worker gateway --bind 0.0.0.0:443 --public gateway.example.org:443 --url ws://10.0.0.5:9944
      gantry worker gateway --public gateway.example.org:4435 --show-address
      gantry worker gateway --http 127.0.0.1:8080 --index /var/lib/gantry/index.db
    """
    from offchain.gateway.service import GatewaySettings, gateway_address, run_gateway  # noqa: PLC0415  (slow to load)

    folder = state_dir or network.user_state_dir() / "gateway"
    if show_address:
        say(gateway_address(folder, bind, public).text)
        return
    api = None
    if http is not None:
        # Slow to load, and not always wanted.
        from offchain.adapters.metrics.prometheus_api import checked_prometheus_url  # noqa: PLC0415
        from offchain.gateway.api.server import ApiSettings  # noqa: PLC0415
        from offchain.services.scheduler_replies import is_url  # noqa: PLC0415

        if not all(map(is_url, schedulers)):
            raise click.UsageError("A scheduler of a gateway is named by its URL: --scheduler http://10.0.0.5:4437.")

        host, port = parse_address(http, "the API")
        api = ApiSettings(
            host=host,
            port=port,
            index=network.choose_index(index),
            requests_per_s=http_requests,
            streams=http_streams,
            domain=http_domain,
            operators=frozenset(map(accounts.address_of, http_operators)),
            prometheus=None if prometheus is None else checked_prometheus_url(prometheus),
            schedulers=schedulers,
            origins=frozenset(http_origins),
            development=development,
            template_values=_demo_values if development else dict,
        )
    elif index is not None:
        raise click.UsageError("--index is the index of the HTTP API, and there is none. Add --http IP:PORT.")
    run(check_network(common))
    chosen = network.choose_node(common.url)
    run(
        run_gateway(
            GatewaySettings(
                url=chosen.url,
                state_dir=folder,
                bind=bind,
                public=public,
                genesis=chosen.genesis_hash,
                api=api,
                metrics=metrics_address(metrics),
            )
        )
    )


def _demo_values() -> dict[str, str]:
    """Return the variables that a local network sets for its demo, once it has made its image."""
    return {name: value for name, value in network.environment().items() if name.startswith("GANTRY_DEMO_")}
