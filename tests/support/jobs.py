"""Jobs whose end a test decides: tests/integration/manifests/until_signal.yaml."""

import time
from typing import Any, Final

OUTPUT: Final = b"begun\nended\n"
"""What such a job prints."""
_START_SECONDS: Final = 120.0


def end_job(container: Any) -> None:
    """Have the job in this container (of the docker package) end by itself, once its program waits for the signal.

    To follow the log instead would leave a socket of the docker package open.
    """
    limit = time.monotonic() + _START_SECONDS
    while b"begun" not in container.logs():
        assert time.monotonic() < limit, f"container {container.id} never began: {container.logs()!r}"
        time.sleep(0.05)
    container.kill(signal="SIGUSR1")
