"""gantry exec and gantry shell: programs in pods."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click

from offchain.adapters.background_tasks import BackgroundTasks
from offchain.cli.kit import options, terminal
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.host_connection import PodConnection, pod_option, run_at_pod, service_option
from offchain.cli.kit.output import emit, progress
from offchain.schema.protocol.mux import ERR
from offchain.schema.protocol.operations import ExecArgs
from offchain.schema.terminal_escaping import line

if TYPE_CHECKING:
    from offchain.adapters.transport.remote_program import RemoteProgram

_MOST_JSON = 16 << 20
_DEFAULT = ("sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash -l; else exec sh -l; fi")


@click.command("exec")
@click.argument("number", metavar="ID", type=options.TASK)
@click.argument("command", metavar="-- CMD", nargs=-1, required=True, type=click.UNPROCESSED)
@pod_option
@service_option
@options.gateway
@options.common(account=True)
def exec_(number: int, command: tuple[str, ...], pod: int, service: str | None, common: options.CommonOptions) -> None:
    """Run a program in a pod, with your input and its output, and exit with its exit code.

    CMD is not interpreted by a shell: for pipes and variables run a shell. Ctrl-C ends the program. A lost connection
    is restored without loss. For a terminal: gantry shell.

    \b
    Examples:
      gantry exec 7 -- nvidia-smi
      gantry exec 7 -- sh -c 'ls /data | wc -l'
      gantry exec 7 --service db -- psql -U app < dump.sql
    """

    async def work(found: PodConnection) -> tuple[int, list[bytes]]:
        program = await found.client.exec(found.lease.id, ExecArgs(command, service=service))
        program.on_break = lambda reason: progress(f"{reason} Connecting again.")
        outputs = [bytearray(), bytearray()] if common.as_json else None
        try:
            code = await attach(program, outputs)
        except BaseException:
            await program.kill()
            raise
        return code, [bytes(output) for output in outputs or ()]

    code, outputs = run_at_pod(common, number, pod, work)
    if common.as_json:
        stdout, stderr = (output.decode(errors="replace") for output in outputs)
        emit({"task": number, "pod": pod, "exit_code": code, "stdout": stdout, "stderr": stderr})
    exit_with(code)


async def attach(program: RemoteProgram, outputs: list[bytearray] | None) -> int:
    """Pass input and outputs until the program ends, and return its exit code."""
    feeding = asyncio.create_task(_feed(program))
    try:
        while (piece := await program.read()) is not None:
            channel, data = piece
            if outputs is None:
                await terminal.write_output(data, error=channel == ERR)
                continue
            outputs[channel == ERR].extend(data)
            if sum(map(len, outputs)) > _MOST_JSON:
                raise CliError(
                    f"the program wrote more than {_MOST_JSON} bytes, the limit of --json.", "Leave out --json."
                )
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
    assert program.exit_code is not None  # noqa: S101  (it has ended)
    return program.exit_code


def exit_with(code: int) -> None:
    """End this command with the exit code of a program."""
    if code:
        raise click.exceptions.Exit(code & 0xFF or 1)


async def _feed(program: RemoteProgram) -> None:
    source: Any = terminal.read_input()
    async with aclosing(source) as pieces:
        async for data in pieces:
            await program.write(data)
    await program.end_input()


@click.command()
@click.argument("number", metavar="ID", type=options.TASK)
@click.argument("command", metavar="[-- CMD]", nargs=-1, type=click.UNPROCESSED)
@pod_option
@service_option
@options.gateway
@options.common(account=True, json=False)
def shell(number: int, command: tuple[str, ...], pod: int, service: str | None, common: options.CommonOptions) -> None:
    """Open a terminal in a pod: bash if it is there, else sh, or the program you name.

    Ctrl-C and every other key go to the pod. To leave a shell that does not respond, press Enter, ~ and a dot. If your
    connection is lost, it is restored within a minute, with the same shell. A shell does not survive a restart of the
    host's agent; the pod does.

    \b
    Examples:
      gantry shell 7 --account //Charlie
      gantry shell 7 --service db
      gantry shell 7 -- python3
    """
    if not terminal.is_terminal():
        raise CliError(
            "standard input or output is not a terminal.",
            f"Run a program instead: gantry exec {number} -- CMD.",
            code="no_terminal",
        )

    async def work(found: PodConnection) -> int:
        rows, columns = terminal.size()
        args = ExecArgs(command or _DEFAULT, tty=True, service=service, rows=rows, columns=columns)
        program = await found.client.exec(found.lease.id, args)
        program.on_break = _tell_break
        try:
            return await _attached(program)
        except BaseException:
            await program.kill()
            raise

    exit_with(run_at_pod(common, number, pod, work))


def _tell_break(reason: str) -> None:
    # The terminal is in raw mode, so each line needs a carriage return.
    sys.stderr.write(f"\r\n[{line(reason)} Connecting again; ~. leaves]\r\n")
    sys.stderr.flush()


async def _attached(program: RemoteProgram) -> int:
    """Pass keys and screen output until the shell ends, and return its exit code."""
    resizes = BackgroundTasks()

    def resize() -> None:
        resizes.run(program.resize(*terminal.size()))

    with terminal.raw(), terminal.on_resize(resize):
        showing = asyncio.create_task(_show(program))
        typing = asyncio.create_task(_type(program))
        try:
            await asyncio.wait({showing, typing}, return_when=asyncio.FIRST_COMPLETED)
            if typing.done() and not showing.done() and typing.result():
                await program.kill()
                return 0
            await showing
        finally:
            for task in (showing, typing):
                task.cancel()
            await asyncio.gather(showing, typing, return_exceptions=True)
            await resizes.close()
    return program.exit_code or 0


async def _show(program: RemoteProgram) -> None:
    while (piece := await program.read()) is not None:
        await terminal.write_output(piece[1])


async def _type(program: RemoteProgram) -> bool:
    """Send what is typed; return whether the user asked to leave."""
    escape = terminal.DisconnectKeys()
    source: Any = terminal.read_input()
    async with aclosing(source) as pieces:
        async for keys in pieces:
            send, left = escape.feed(keys)
            if left:
                return True
            if send:
                await program.write(send)
    await program.end_input()
    return False
