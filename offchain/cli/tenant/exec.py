"""gantry exec."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click

from offchain.cli.kit import accounts, options, terminal
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.host_connection import pod_of, pod_option, service_option
from offchain.cli.kit.output import emit, progress
from offchain.cli.kit.session import run
from offchain.schema.protocol.mux import ERR
from offchain.schema.protocol.operations import ExecArgs

if TYPE_CHECKING:
    from offchain.adapters.transport.remote_program import RemoteProgram

_MOST_JSON = 16 << 20


@click.command("exec")
@click.argument("number", metavar="ID", type=click.IntRange(0))
@click.argument("command", metavar="-- CMD", nargs=-1, required=True, type=click.UNPROCESSED)
@pod_option
@service_option
@options.gateway
@options.account
@options.url
@options.as_json
def exec_(
    number: int,
    command: tuple[str, ...],
    pod: int,
    service: str | None,
    account: str | None,
    password_file: str | None,
    url: str | None,
    as_json: bool,
) -> None:
    """Run a program in a pod, with your input and its output; ends with its exit code.

    CMD is passed on as it is, by no shell: for pipes and variables run a shell. Ctrl-C ends the program. When the
    connection is lost, it is made anew, and nothing is lost. For a terminal: gantry shell.

    \b
    Examples:
      gantry exec 7 -- nvidia-smi
      gantry exec 7 -- sh -c 'ls /data | wc -l'
      gantry exec 7 --service db -- psql -U app < dump.sql
    """
    signer = accounts.open_account(account, password_file)

    async def work() -> tuple[int, list[bytes]]:
        async with pod_of(url, number, pod, signer) as found:
            program = await found.client.exec(found.lease.id, ExecArgs(command, service=service))
            program.on_break = lambda reason: progress(f"{reason} Connecting again.")
            outputs = [bytearray(), bytearray()] if as_json else None
            try:
                code = await attached(program, outputs)
            except BaseException:
                await program.kill()
                raise
            return code, [bytes(output) for output in outputs or ()]

    code, outputs = run(work())
    if as_json:
        stdout, stderr = (output.decode(errors="replace") for output in outputs)
        emit({"task": number, "pod": pod, "exit_code": code, "stdout": stdout, "stderr": stderr})
    leave(code)


async def attached(program: RemoteProgram, outputs: list[bytearray] | None) -> int:
    """Pass input and outputs until the program ends; gives its exit code."""
    feeding = asyncio.create_task(_feed(program))
    try:
        while (piece := await program.read()) is not None:
            channel, data = piece
            if outputs is None:
                await terminal.show(data, error=channel == ERR)
                continue
            outputs[channel == ERR].extend(data)
            if sum(map(len, outputs)) > _MOST_JSON:
                raise CliError(
                    f"the program wrote more than the {_MOST_JSON} bytes that --json holds.", "Leave out --json."
                )
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
    assert program.exit_code is not None  # noqa: S101  (it has ended)
    return program.exit_code


def leave(code: int) -> None:
    """End this command with a program's exit code."""
    if code:
        raise click.exceptions.Exit(code & 0xFF or 1)


async def _feed(program: RemoteProgram) -> None:
    source: Any = terminal.typed()
    async with aclosing(source) as pieces:
        async for data in pieces:
            await program.write(data)
    await program.end_input()
