"""A trace that is small enough to be worked out by hand, for tests of replays."""

from offchain.core.scheduler.cluster import Cluster, HostSpec
from offchain.core.scheduler.pod_request import PodShape
from offchain.simulator.trace import Arrival, Trace

HOST = HostSpec("a", 16_000, 65_536, 2, "red")
ONE = PodShape(4_000, 8_192, 1, 1000)
TWO = PodShape(8_000, 16_384, 2, 1000)
HALF = PodShape(2_000, 4_096, 1, 500)


def arrivals(*lines: tuple[int, int, PodShape, str] | tuple[int, int, PodShape, str, int]) -> tuple[Arrival, ...]:
    """Each: when it comes and how long it runs, in seconds; its shape, account and, for a gang, pods."""
    return tuple(
        Arrival(
            number=number,
            name=f"task-{number}",
            shape=line[2],
            arrival_ms=1000 * line[0],
            duration_ms=1000 * line[1],
            max_ms=1000 * line[1],
            account=line[3],
            pods=line[4] if len(line) == 5 else 1,
        )
        for number, line in enumerate(lines)
    )


def trace(*lines: tuple[int, int, PodShape, str] | tuple[int, int, PodShape, str, int]) -> Trace:
    return Trace(arrivals(*lines), timed=True)


BY_HAND = trace(
    (0, 10, TWO, "alice"), (1, 10, ONE, "alice"), (2, 6, ONE, "alice"), (3, 4, ONE, "bob"), (12, 4, HALF, "bob")
)

NODES_CSV = "sn,cpu_milli,memory_mib,gpu,model\na,16000,65536,2,red\n"
PODS_CSV = """name,account,cpu_milli,memory_mib,num_gpu,gpu_milli,arrival_ms,duration_ms
one,alice,8000,16384,2,1000,0,10000
two,alice,4000,8192,1,1000,1000,10000
three,alice,4000,8192,1,1000,2000,6000
four,bob,4000,8192,1,1000,3000,4000
five,bob,2000,4096,1,500,12000,4000
"""


def cluster(*hosts: HostSpec) -> Cluster:
    """Empty hosts; without any, the one above."""
    return Cluster.of(hosts or (HOST,))
