"""An executor for tests that count turns of the event loop instead of waiting for threads."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from offchain.adapters.outbox.store import Store


class Inline(ThreadPoolExecutor):
    """Runs each call at once, in the thread of the caller. For `loop.set_default_executor`."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  (whoever waits for it gets it)
            done.set_exception(error)
        return done


def write_inline(store: Store) -> None:
    """Let the store change its file in the thread of the event loop, at once."""
    store._thread = Inline()
