"""Groups of commands whose modules are imported when a command is used, so that --help is fast."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

CommandTable = Mapping[str, tuple[str, str, str]]
"""[name of a command]: its module, relative to the group's package, its attribute there, and a line of help."""


class LazyGroup(click.Group):
    """A group that imports its commands on use. `package`: the modules of `table` are relative to it."""

    def __init__(self, *args: Any, package: str, table: CommandTable, **extra: Any) -> None:
        super().__init__(*args, **extra)
        self._package = package
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in self.table:
            return None
        module, name, _ = self.table[cmd_name]
        command = getattr(importlib.import_module(f"{self._package}.{module}"), name)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, _, about) in self.table.items()])
