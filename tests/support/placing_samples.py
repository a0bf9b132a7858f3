"""Small clusters and pods for tests of placing."""

from offchain.core.scheduler.cluster import Cluster, HostSpec
from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.pod_request import PodShape

HOSTS = (
    HostSpec("a", 32_000, 131_072, 4, "red"),
    HostSpec("b", 16_000, 65_536, 2, "red"),
    HostSpec("c", 64_000, 262_144, 8, "blue"),
    HostSpec("d", 64_000, 262_144, 0),
)
WHOLE = PodShape(4_000, 8_192, 1, 1000)
HALF = PodShape(2_000, 4_096, 1, 500)
PAIR = PodShape(8_000, 16_384, 2, 1000)
BLUE = PodShape(4_000, 8_192, 1, 1000, frozenset({"blue"}))
PLAIN = PodShape(8_000, 8_192)
MIX = DemandDistribution.of([WHOLE, WHOLE, HALF, HALF, PAIR, BLUE, PLAIN])

NODES_CSV = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(
    f"{host.name},{host.cpu_milli},{host.memory_mib},{host.gpus},{host.model}\n" for host in HOSTS
)
PODS_CSV = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos
one,4000,8192,1,1000,,LS
two,2000,4096,1,500,,BE
three,8000,16384,2,1000,red|blue,LS
four,8000,8192,0,0,,BE
"""


def cluster(*hosts: HostSpec) -> Cluster:
    """Empty hosts; without any, those above."""
    return Cluster.of(hosts or HOSTS)


def is_feasible(cluster: Cluster, host: int, shape: PodShape) -> bool:
    """Whether a pod is feasible on a host: the readable form of `fullest_devices`."""
    free = cluster.free
    usable = sum(
        bool(free.device[host, index] >= shape.gpu_milli)
        and shape.accepts(cluster.classes[free.device_class[host, index]])
        for index in range(free.gpus[host])
    )
    enough = free.cpu[host] >= shape.cpu_milli and free.memory[host] >= shape.memory_mib
    return bool(enough and free.disk[host] >= shape.disk_gib) and usable >= shape.gpus
