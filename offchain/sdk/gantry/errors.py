"""Errors of the SDK. All derive from :class:`GantryError`, with `message`, `hint` and a stable `code`."""

from __future__ import annotations

from offchain.errors import CallFailed as CallRefused
from offchain.errors import ChainUnreachable, GantryError

__all__ = ["CallRefused", "ChainUnreachable", "GantryError", "ProgramFailed", "ResultUnavailable", "TaskFailed"]


class TaskFailed(GantryError):  # noqa: N818
    """A task ended without a result: cancelled, expired, or all its attempts failed. `reason`: the code of why."""

    code = "task_failed"

    def __init__(self, task: int, state: str, reason: str | None) -> None:
        because = f" ({reason})" if reason else ""
        super().__init__(f"Task {task} ended without a result: {state}{because}.", f"See gantry task show {task}.")
        self.task = task
        self.state = state
        self.reason = reason


class ProgramFailed(GantryError):  # noqa: N818
    """The program of a pod ended with an error. `output`: its result, if it arrived."""

    code = "program_failed"

    def __init__(self, task: int, pod: int, exit_code: int, output: bytes | None) -> None:
        super().__init__(
            f"The program of pod {pod} of task {task} ended with exit code {exit_code}.",
            f"See gantry task logs {task}.",
        )
        self.task = task
        self.pod = pod
        self.exit_code = exit_code
        self.output = output


class ResultUnavailable(GantryError):  # noqa: N818
    """A result was reported and could not be fetched from its host now."""

    code = "result_unavailable"

    def __init__(self, task: int, pod: int) -> None:
        super().__init__(
            f"The result of pod {pod} of task {task} could not be fetched from its host.",
            f"Try later: AsyncTask.result, or gantry task result {task}.",
        )
        self.task = task
        self.pod = pod
