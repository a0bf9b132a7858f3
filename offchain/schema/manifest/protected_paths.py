"""Folders of a container that no manifest and no image may mount over or start a program in.

The engine hides parts of /proc and /sys by mounting /dev/null over them, and the agent mounts notices at /run/gantry
and its own programs at the root. A volume over one of these paths would undo that.
"""

from __future__ import annotations

import posixpath
from typing import Final

KERNEL: Final = ("/proc", "/sys", "/dev")
"""What the engine mounts into each container by itself."""
SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108  (a path inside containers)
"""The one folder in these that a tenant may mount over: nothing that the engine hides depends on it."""
NOTICES: Final = "/run/gantry"
"""Where containers find what their host tells them."""
GATE: Final = "/.gantry-gate"
"""The first program of each container. It waits until the agent has checked the container's mounts."""
INIT: Final = "/.gantry-init"
"""The program that the gate executes then. It starts the tenant's program and reaps its orphans."""
AGENT_FILES: Final = (GATE, INIT)
"""Programs of the agent that are mounted into each container.

They are files directly below the root, so no folder that is mounted anywhere can hide them.
"""


def plain_path(text: str, folder: str = "/") -> str:
    """Return the absolute path that `text` names, in its shortest form.

    A relative path starts at `folder`. No link is followed, and ``..`` never leads above the root.
    """
    return "/" + posixpath.normpath(posixpath.join("/", folder, text)).lstrip("/")


def protected_folder(path: str) -> str | None:
    """Return the protected folder in which `path` lies or which it is; None if there is none.

    `path` may be relative to the root and in any form.
    """
    plain = plain_path(path)
    if plain == SHARED_MEMORY:
        return None
    return next((one for one in (*KERNEL, NOTICES, *AGENT_FILES) if plain == one or plain.startswith(f"{one}/")), None)
