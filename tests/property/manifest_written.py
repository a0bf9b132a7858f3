"""Any task at all as values, and how a tenant would write it down."""

import base64
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from offchain.schema.manifest import types
from offchain.schema.manifest.values import format_amount

names = st.from_regex(r"[a-z]([a-z0-9_-]{0,10}[a-z0-9])?", fullmatch=True)
words = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x7f"), min_size=1, max_size=12
)
digests = st.binary(min_size=32, max_size=32)
images = st.builds(
    lambda name, digest: types.ImageRef(name.replace("_", "").replace("-", ""), f"sha256:{digest.hex()}"),
    names,
    digests,
)
seconds = st.integers(1, 3600).map(lambda value: value * 1000)


@st.composite
def services(draw: st.DrawFn, name: str, volumes: list[str], taken: set[int], kind: str) -> types.ServiceSpec:
    """A service with everything that only concerns itself. Paths differ by construction."""
    paths = iter([f"/m{number}/{name}" for number in range(12)])
    ports = draw(st.lists(st.integers(1, 65535).filter(lambda port: port not in taken), max_size=3, unique=True))
    taken.update(ports)
    used = draw(st.lists(st.sampled_from(volumes), max_size=3)) if volumes else []
    free = kind != "job"
    when = draw(st.sampled_from(["no", "on-failure", "always"])) if free else "no"
    return types.ServiceSpec(
        name=name,
        image=draw(images),
        command=draw(st.none() | st.lists(words, max_size=3).map(tuple)),
        entrypoint=draw(st.none() | st.lists(words, max_size=2).map(tuple)),
        environment=tuple(
            draw(st.dictionaries(st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), words, max_size=3)).items()
        ),
        cpu_milli=draw(st.integers(10, 64_000)),
        memory_mib=draw(st.integers(6, 1 << 20)),
        pids=draw(st.integers(1, 4096)),
        working_dir=draw(st.none() | st.just("/work")),
        user=draw(st.none() | st.just("1000:1000")),
        read_only=draw(st.booleans()),
        tmpfs=tuple(
            types.TmpfsMount(next(paths), f"size={size}") for size in draw(st.lists(st.integers(1, 2**30), max_size=2))
        ),
        gpu_count=draw(st.integers(0, 4)),
        volumes=tuple(types.VolumeMount(volume, next(paths), draw(st.booleans())) for volume in used),
        ports=tuple(ports),
        healthcheck=draw(st.none() | checks) if free else None,
        restart=types.RestartPolicy(when, draw(st.none() | st.integers(1, 9)) if when == "on-failure" else None),
        stop_signal=draw(st.none() | st.sampled_from(["SIGTERM", "SIGUSR1", "SIGRTMIN+3"])),
        stop_grace_ms=draw(st.integers(0, 60)) * 1000,
        depends_on=(),
        files=tuple(
            types.DeliveredFile(f"{what}-{name}-{number}", next(paths), draw(digests) if what == "in" else None)
            for number, what in enumerate(
                sorted(draw(st.lists(st.sampled_from(["in", "key"]), max_size=3)), reverse=True)
            )
        ),
    )


checks = st.builds(
    types.HealthCheck,
    test=st.lists(words, min_size=1, max_size=3).map(tuple),
    interval_ms=seconds,
    timeout_ms=seconds,
    retries=st.integers(1, 100),
    start_period_ms=st.just(0) | seconds,
)


@st.composite
def manifests(draw: st.DrawFn) -> types.Manifest:
    """A task of any kind."""
    kind = draw(st.sampled_from(["job", "service", "rental"]))
    volumes = draw(st.lists(names, max_size=3, unique=True))
    taken: set[int] = {22}
    found = [
        draw(services(name, volumes, taken, kind))
        for name in draw(st.lists(names, min_size=1, max_size=4, unique=True))
    ]
    verification = draw(st.sampled_from(["acceptance", "audit", 2, 3])) if kind == "job" else "acceptance"
    replicas = {"acceptance": None, "audit": 1}.get(verification, verification)
    if replicas is not None:
        found = [
            replace(service, files=tuple(file for file in service.files if file.digest is not None))
            for service in found
        ]
    gpus = sum(service.gpu_count for service in found)
    milli = (
        draw(st.just(types.WHOLE_GPU) | st.integers(1, 99).map(lambda percent: percent * 10))
        if gpus == 1
        else types.WHOLE_GPU
    )
    low = 1 if kind == "rental" else replicas or draw(st.integers(1, 8))
    high = draw(st.integers(low, 16)) if kind == "service" else low
    scaling = None
    if high > low:
        metric = draw(st.sampled_from(["cpu", "memory", *(["gpu"] if gpus and milli == types.WHOLE_GPU else [])]))
        share = st.builds(types.ScalingSpec, st.just(metric), st.integers(1, 100), seconds)
        own = st.builds(
            types.PodMetric,
            st.integers(1, 65535),
            st.sampled_from(["/metrics", "/", "/a?b=c"]),
            st.sampled_from(["queue", "http:requests_total"]),
            st.integers(1, 999_999_999_999),
        )
        scaling = draw(st.none() | share | st.builds(types.ScalingSpec, own, st.none(), seconds))
    seal = draw(st.none() | digests) if kind == "job" and replicas is None else None
    data_from = draw(st.none() | st.integers(0, 2**64 - 1)) if kind == "rental" and volumes else None
    return types.Manifest(
        name=draw(st.none() | names),
        services=tuple(found),
        kind=kind,
        result=types.ResultSpec("stdout", None, seal),
        gpus=types.GpuRequirements(gpus, milli, 0, ("A100",) if gpus and replicas is not None else ()),
        disk_gib=draw(st.integers(1, 1 << 20)),
        pods=high,
        duration_ms=draw(st.integers(1, 10**9 - 1)) * 1000,
        max_rate_per_hour=draw(st.integers(0, 10**24)),
        billing=draw(st.sampled_from(["second", "hour", "day"])),
        deadline_ms=None,
        priority=draw(st.integers(0, 255)),
        queue=draw(st.sampled_from(["default", "night", "night/video"])),
        verification=verification if isinstance(verification, str) else "redundant",
        placement=types.PlacementSpec(
            *((), (), (), (), ()),
            verified_only=False,
            allow_simulated=draw(st.booleans()),
            min_network_mbps=draw(st.sampled_from((0, 1, 10_000))),
            max_latency_ms=draw(st.sampled_from((0, 1, 1_500, 65_535))),
            spread=draw(st.sampled_from((None, "hosts", "providers"))) if high > 1 else None,
            sandboxed=draw(st.booleans()),
        ),
        pods_min=low,
        volumes=tuple(volumes),
        scaling=scaling,
        ssh=draw(st.none() | logins) if kind == "rental" and not found[0].read_only else None,
        data_from=data_from,
        spot=draw(st.none() | st.builds(types.SpotSpec, st.sampled_from([None, "SIGUSR1", "SIGUSR2", "SIGHUP"])))
        if replicas is None
        else None,
        survival=draw(st.sampled_from(("restart", "move", "standby")))
        if replicas is None and kind != "rental"
        else "restart",
        checkpoint=draw(
            st.none() | st.builds(types.CheckpointSpec, st.just("/ckpt/a"), st.integers(60_000, 86_400_000))
        )
        if kind != "rental" and replicas is None and not found[0].read_only
        else None,
        snapshot=draw(st.none() | st.sampled_from(["before", "20261121-165200"])) if data_from is not None else None,
        registry_login=draw(
            st.none() | st.builds(types.RegistryLogin, st.just(found[-1].image.registry), st.just("registry-login"))
        ),
    )


def _ssh_key(raw: bytes) -> str:
    body = (11).to_bytes(4, "big") + b"ssh-ed25519" + (32).to_bytes(4, "big") + raw
    return f"ssh-ed25519 {base64.b64encode(body).decode()}"


logins = st.builds(
    types.SshSpec,
    authorized_keys=st.lists(digests.map(_ssh_key), min_size=1, max_size=3).map(tuple),
    path=st.just("/root/.ssh/authorized_keys"),
    port=st.just(22),
)


def written(manifest: types.Manifest) -> dict[str, Any]:
    """The file, as plain values."""
    secrets = _secrets(manifest)
    inputs = [
        {"name": file.name, "path": file.path, "sha256": file.digest.hex(), "service": service.name}
        for service in manifest.services
        for file in service.files
        if file.digest is not None
    ]
    least = manifest.placement.min_network_mbps
    network: dict[str, Any] = {"min_network_mbps": least} if least else {}
    longest = manifest.placement.max_latency_ms
    network |= {"max_latency": f"{longest}ms"} if longest else {}
    network |= {"spread": manifest.placement.spread} if manifest.placement.spread else {}
    network |= {"isolation": "sandboxed"} if manifest.placement.sandboxed else {}
    network |= {"models": list(manifest.gpus.models)} if manifest.gpus.models else {}
    gantry: dict[str, Any] = {
        "kind": manifest.kind,
        "price": {"max_per_hour": format_amount(manifest.max_rate_per_hour)},
        "duration": f"{manifest.duration_ms}ms",
        "billing": manifest.billing,
        "disk": f"{manifest.disk_gib}GiB",
        "priority": manifest.priority,
        "queue": manifest.queue,
        "placement": {"allow_simulated": manifest.placement.allow_simulated, **network},
        "inputs": inputs,
        "survival": manifest.survival,
        **({"verification": "audit"} if manifest.verification == "audit" else {}),
    }
    if manifest.gpus.milli < types.WHOLE_GPU:
        gantry["gpu"] = {"share": f"{manifest.gpus.milli // 10}%"}
    if manifest.kind == "service":
        gantry["pods"] = {"min": manifest.pods_min, "max": manifest.pods}
    elif manifest.verification == "redundant":
        gantry["verification"] = {"replicas": manifest.pods}
    else:
        gantry["pods"] = manifest.pods
    if manifest.scaling is not None:
        scaling = manifest.scaling
        gantry["scaling"] = {"stabilisation": f"{scaling.stabilisation_ms}ms"}
        if isinstance(scaling.metric, str):
            gantry["scaling"] |= {"metric": scaling.metric, "target": f"{scaling.target_percent}%"}
        else:
            own = scaling.metric
            whole, part = divmod(own.target_milli, 1000)
            metric = {"port": own.port, "path": own.path, "name": own.name, "target_per_pod": f"{whole}.{part:03}"}
            gantry["scaling"]["metric"] = metric
    if manifest.result.seal_to is not None:
        gantry["result"] = {"seal_to": manifest.result.seal_to.hex()}
    if manifest.ssh is not None:
        gantry["ssh"] = {"authorized_keys": list(manifest.ssh.authorized_keys)}
    if manifest.data_from is not None:
        gantry["data_from"] = manifest.data_from
    gantry |= _leaving(manifest)
    if manifest.snapshot is not None:
        gantry["snapshot"] = manifest.snapshot
    return {
        **({"name": manifest.name} if manifest.name is not None else {}),
        "services": {service.name: _service(service) for service in manifest.services},
        "volumes": dict.fromkeys(manifest.volumes),
        "secrets": {name: {"external": True} for name in secrets},
        "x-gantry": gantry,
    }


def _secrets(manifest: types.Manifest) -> set[str]:
    found = {file.name for service in manifest.services for file in service.files if file.digest is None}
    return found if manifest.registry_login is None else found | {manifest.registry_login.secret}


def _leaving(manifest: types.Manifest) -> dict[str, Any]:
    """Whether it has to leave, from what it goes on then, and how its images are pulled."""
    plain: dict[str, Any] = {}
    if manifest.spot is not None:
        signal = manifest.spot.checkpoint_signal
        plain["spot"] = True if signal is None else {"checkpoint_signal": signal}
    if manifest.checkpoint is not None:
        plain["checkpoint"] = {"path": manifest.checkpoint.path, "every": f"{manifest.checkpoint.every_ms}ms"}
    if manifest.registry_login is not None:
        login = manifest.registry_login
        plain["registry_login"] = {"registry": login.registry, "secret": login.secret}
    return plain


def _service(spec: types.ServiceSpec) -> dict[str, Any]:
    limits = {"cpus": f"{spec.cpu_milli / 1000:.3f}", "memory": f"{spec.memory_mib}MiB", "pids": spec.pids}
    resources: dict[str, Any] = {"limits": limits}
    if spec.gpu_count:
        resources["reservations"] = {"devices": [{"count": spec.gpu_count, "capabilities": ["gpu"]}]}
    policy = spec.restart
    plain: dict[str, Any] = {
        "image": spec.image.reference,
        "environment": dict(spec.environment),
        "read_only": spec.read_only,
        "tmpfs": [f"{mount.path}:{mount.options}" for mount in spec.tmpfs],
        "volumes": [f"{mount.volume}:{mount.path}{':ro' if mount.read_only else ''}" for mount in spec.volumes],
        "secrets": [{"source": file.name, "target": file.path} for file in spec.files if file.digest is None],
        "ports": list(spec.ports),
        "restart": policy.when if policy.attempts is None else f"{policy.when}:{policy.attempts}",
        "stop_grace_period": f"{spec.stop_grace_ms}ms",
        "deploy": {"resources": resources},
    }
    for key in ("command", "entrypoint"):
        if getattr(spec, key) is not None:
            plain[key] = list(getattr(spec, key))
    for key in ("working_dir", "user", "stop_signal"):
        if getattr(spec, key) is not None:
            plain[key] = getattr(spec, key)
    if spec.healthcheck is not None:
        check = spec.healthcheck
        plain["healthcheck"] = {
            "test": ["CMD", *check.test],
            "interval": f"{check.interval_ms}ms",
            "timeout": f"{check.timeout_ms}ms",
            "retries": check.retries,
            "start_period": f"{check.start_period_ms}ms",
        }
    return plain
