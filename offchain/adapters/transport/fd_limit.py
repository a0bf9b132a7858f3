"""How many files and connections this process may have open."""

from __future__ import annotations

import resource


def have_open_files(wanted: int) -> None:
    """So many, or as many as this machine lets us: each connection is one, and the usual limit is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
