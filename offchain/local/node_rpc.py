"""The few questions the supervisor has for the node, over HTTP."""

from __future__ import annotations

import http.client
import json
from typing import Any


def ask(port: int, method: str, params: list[Any] | None = None) -> Any | None:
    """The node's answer; None where it does not answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or []})
    try:
        connection.request("POST", "/", body, {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    return answer.get("result") if isinstance(answer, dict) else None


def genesis_hash(port: int) -> str | None:
    """The hash of block 0, 0x and hex."""
    found = ask(port, "chain_getBlockHash", [0])
    return found if isinstance(found, str) else None
