"""gantry worker notifier: webhooks and e-mail about leases and hosts."""

from __future__ import annotations

from pathlib import Path

import click

from offchain.adapters.keys import secret_file
from offchain.adapters.local_http import parse_address
from offchain.cli.kit import network, options
from offchain.cli.kit.output import progress
from offchain.cli.kit.session import run
from offchain.cli.operator.worker_run import metrics_address, metrics_option
from offchain.errors import OurError

_MOST_SECRET = 4_096


@click.command()
@options.index
@click.option(
    "--before",
    "before_ms",
    type=options.DURATION,
    default="6h",
    show_default=True,
    help="How long before a lease ends, or data is removed, its account is notified.",
)
@click.option(
    "--emails",
    envvar="GANTRY_EMAILS",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Accounts with their e-mail addresses (YAML; docs/notifications.md). Needs --smtp.",
)
@click.option(
    "--smtp",
    envvar="GANTRY_SMTP",
    metavar="HOST:PORT",
    help="Mail server. STARTTLS is required unless it is on this machine.",
)
@click.option("--smtp-from", envvar="GANTRY_SMTP_FROM", metavar="ADDRESS", help="Sender of the e-mails.")
@click.option("--smtp-user", envvar="GANTRY_SMTP_USER", metavar="NAME", help="User of the mail server.")
@click.option(
    "--smtp-password-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File with the password of that user, readable by its owner only.",
)
@click.option(
    "--alerts",
    metavar="IP:PORT",
    help="Receive webhooks of Alertmanager at http://IP:PORT/alerts, for the providers of hosts. Needs "
    "--alerts-token-file.",
)
@click.option(
    "--alerts-token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File with the token that Alertmanager sends, readable by its owner only.",
)
@metrics_option
def notifier(
    index: str | None,
    before_ms: int,
    emails: Path | None,
    smtp: str | None,
    smtp_from: str | None,
    smtp_user: str | None,
    smtp_password_file: Path | None,
    alerts: str | None,
    alerts_token_file: Path | None,
    metrics: str | None,
) -> None:
    """Notify tenants and providers of their leases and hosts, by signed webhooks and e-mail. Needs no account.

    Accounts add webhooks themselves (POST /v1/notifications); e-mail addresses are the operator's list. Run one for an
    index.

    \b
    Examples:
      gantry worker notifier
      gantry worker notifier --emails emails.yaml --smtp mail.example.org:587 --smtp-from gantry@example.org
      gantry worker notifier --alerts 127.0.0.1:9466 --alerts-token-file /run/secrets/alerts-token --metrics 9464
    """
    # Slow to load.
    from offchain.services.notifications.alerts import checked_token  # noqa: PLC0415
    from offchain.services.notifications.sending import SmtpSettings  # noqa: PLC0415
    from offchain.services.notifications.service import NotifierSettings, read_mails, run_notifier  # noqa: PLC0415

    if (smtp is None) != (smtp_from is None) or (emails is not None and smtp is None):
        raise click.UsageError("--smtp and --smtp-from belong together, and --emails needs them.")
    if (alerts is None) != (alerts_token_file is None):
        raise click.UsageError("--alerts and --alerts-token-file belong together.")
    secret = None if alerts_token_file is None else _secret(alerts_token_file)
    token = None if secret is None else checked_token(secret)
    if alerts is not None and token is None:
        progress(f"No alerts are received: there is no token in {alerts_token_file}.")
        alerts = None
    server = None
    if smtp is not None and smtp_from is not None:
        host, port = parse_address(smtp, "the mail server")
        server = SmtpSettings(
            host=host,
            port=port,
            sender=smtp_from,
            user=smtp_user,
            password=None if smtp_password_file is None else _secret(smtp_password_file),
        )
    mails = [] if emails is None else read_mails(emails)
    run(
        run_notifier(
            NotifierSettings(
                index=network.choose_index(index),
                before_ms=before_ms,
                mails=mails,
                smtp=server,
                alerts=None if alerts is None else parse_address(alerts, "alerts"),
                alerts_token=token,
                metrics=metrics_address(metrics),
            )
        )
    )


def _secret(file: Path) -> str | None:
    """Return the secret in a file; None if that is a device, as docker-compose.yml has it at first. Raises OurError."""
    if file.is_char_device():
        return None
    try:
        return secret_file.read(file, _MOST_SECRET)
    except secret_file.OthersMayReadError:
        raise OurError(f"Others may read {file}.", f"Let only you read it: chmod 600 {file}", code="usage") from None
    except OSError as error:
        raise OurError(f"{file} cannot be read: {error.strerror}.", "Name another file.", code="usage") from None
