"""Requests to a node over HTTP."""

from __future__ import annotations

import http.client
import json
from typing import Any

LOOPBACK = "127.0.0.1"
_PATIENCE_SECONDS = 120.0
_ASK_SECONDS = 3.0


class RpcRefusedError(Exception):
    """The node refused a request; the text has the request and the answer."""


class NodeRpc:
    """JSON-RPC over one persistent connection."""

    def __init__(self, port: int, host: str = LOOPBACK, *, seconds: float = _PATIENCE_SECONDS) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=seconds)

    def call(self, method: str, *params: Any) -> Any:
        """Return the result. Raises RpcRefusedError, and OSError or HTTPException if the node does not answer."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        try:
            self._connection.request("POST", "/", body, {"Content-Type": "application/json"})
            answer = json.loads(self._connection.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError):
            self.close()
            raise
        if not isinstance(answer, dict) or "result" not in answer:
            raise RpcRefusedError(f"{method}: {answer}")
        return answer["result"]

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        self._connection.close()


def ask(port: int, method: str, *params: Any, host: str = LOOPBACK) -> Any | None:
    """Return the node's answer; None if it does not answer, or refuses."""
    rpc = NodeRpc(port, host, seconds=_ASK_SECONDS)
    try:
        return rpc.call(method, *params)
    except (OSError, http.client.HTTPException, ValueError, RpcRefusedError):
        return None
    finally:
        rpc.close()


def genesis_hash(port: int) -> str | None:
    """Return the hash of block 0 as 0x and hex digits."""
    found = ask(port, "chain_getBlockHash", 0)
    return found if isinstance(found, str) else None
