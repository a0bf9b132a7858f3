"""Questions to a node over HTTP."""

from __future__ import annotations

import http.client
import json
from typing import Any

LOOPBACK = "127.0.0.1"
_PATIENCE_SECONDS = 120.0
_ASK_SECONDS = 3.0


class RefusedError(Exception):
    """The node answered that it will not; the text says what it was asked, and what it said."""


class Rpc:
    """JSON-RPC over one kept connection."""

    def __init__(self, port: int, host: str = LOOPBACK, *, seconds: float = _PATIENCE_SECONDS) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=seconds)

    def call(self, method: str, *params: Any) -> Any:
        """The result. Raises RefusedError, and OSError or HTTPException where nobody answers."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        try:
            self._connection.request("POST", "/", body, {"Content-Type": "application/json"})
            answer = json.loads(self._connection.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError):
            self.close()
            raise
        if not isinstance(answer, dict) or "result" not in answer:
            raise RefusedError(f"{method}: {answer}")
        return answer["result"]

    def close(self) -> None:
        """Give the connection up; the next call makes another."""
        self._connection.close()


def ask(port: int, method: str, *params: Any, host: str = LOOPBACK) -> Any | None:
    """The node's answer; None where it does not answer or refuses."""
    rpc = Rpc(port, host, seconds=_ASK_SECONDS)
    try:
        return rpc.call(method, *params)
    except (OSError, http.client.HTTPException, ValueError, RefusedError):
        return None
    finally:
        rpc.close()


def genesis_hash(port: int) -> str | None:
    """The hash of block 0, 0x and hex."""
    found = ask(port, "chain_getBlockHash", 0)
    return found if isinstance(found, str) else None
