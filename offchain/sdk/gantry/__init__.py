"""The Python SDK of Gantry: submit tasks to the network, follow them, fetch their results, read their bills.

    import gantry

    with gantry.connect(account="//Charlie") as network:
        task = network.submit("hello.yaml")
        print(task.wait().text)
        print(task.bill())

`connect` chooses the network as the command line does: the argument `url`, else GANTRY_URL, else the local network of
this clone. :func:`connect_async` gives the same with coroutines. A Python function becomes a task with
:func:`function`. Errors are the classes of :mod:`gantry.errors`, each with `message`, `hint` and a stable `code`.

docs/sdk.md has more examples.
"""

from gantry.client import AsyncNetwork, AsyncTask, connect_async
from gantry.errors import (
    CallRefused,
    ChainUnreachable,
    GantryError,
    ProgramFailed,
    ResultUnavailable,
    TaskFailed,
)
from gantry.facade import Network, RemoteTask, connect
from gantry.functions import RemoteFunction, function
from gantry.values import OpenedDispute, PodBill, TaskCost, TaskResult

__all__ = [
    "AsyncNetwork",
    "AsyncTask",
    "CallRefused",
    "ChainUnreachable",
    "GantryError",
    "Network",
    "OpenedDispute",
    "PodBill",
    "ProgramFailed",
    "RemoteFunction",
    "RemoteTask",
    "ResultUnavailable",
    "TaskCost",
    "TaskFailed",
    "TaskResult",
    "connect",
    "connect_async",
    "function",
]
