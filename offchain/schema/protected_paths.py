"""Folders of a container that no manifest and no image may mount over or start a program in.

The engine hides parts of /proc and /sys by mounting /dev/null over them, and the agent mounts notices at /run/gantry.
A volume over one of these folders would undo that.
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
    return next((one for one in (*KERNEL, NOTICES) if plain == one or plain.startswith(f"{one}/")), None)
