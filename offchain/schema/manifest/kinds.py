"""What only some kinds of task may say: pods, scaling, results, comparison, logging in, starting again."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import yaml

from offchain.schema.manifest import keys
from offchain.schema.manifest.mounts import absolute_path, mount_path
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.service import Draft
from offchain.schema.manifest.types import (
    Kind,
    RestartPolicy,
    ResultSpec,
    ServiceSpec,
    SpotSpec,
    SshSpec,
    Survival,
    Verification,
)
from offchain.schema.protocol.snapshots import snapshot_name

MAX_PODS = 16
MAX_SSH_KEYS = 16
_KINDS: dict[str, Kind] = {"job": "job", "service": "service", "rental": "rental"}
_ONLY = {
    "result": ("job", "gantry cp fetches files; gantry logs shows the output"),
    "verification": ("job", "only the results of jobs can be compared"),
    "scaling": ("service", "only services have a number of pods that changes"),
    "ssh": ("rental", "gantry shell opens a terminal in any pod"),
    "data_from": ("rental", "only rentals keep their data"),
    "snapshot": ("rental", "only rentals have snapshots"),
}
_CHECKPOINT_SIGNALS = ("SIGUSR1", "SIGUSR2", "SIGHUP")
"""None of those by which engines end containers: whoever ends by one of these did so by itself."""
_SURVIVALS: dict[str, Survival] = {"restart": "restart", "move": "move", "standby": "standby"}
_SEAL = re.compile(r"(?:0x)?([0-9a-fA-F]{64})", re.ASCII)
_SSH_PATH = "/root/.ssh/authorized_keys"
_SSH_PORT = 22
_SSH_TYPES = (
    "ssh-ed25519",
    "sk-ssh-ed25519@openssh.com",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "ssh-rsa",
)
_U64 = 2**64 - 1


def read_kind(entries: dict[str, Field], reader: Reader) -> Kind:
    """The kind; sections that belong to another kind are problems, and are removed from the entries."""
    word = reader.choice(entries["kind"], dict.fromkeys(_KINDS)) if "kind" in entries else "job"
    if word is None:
        for key in _ONLY:
            entries.pop(key, None)
        return "job"
    kind = _KINDS[word]
    for key, (only, why) in _ONLY.items():
        if key in entries and kind != only and not (key == "verification" and _is_word(entries[key], "acceptance")):
            reader.problem(entries.pop(key), f"a {kind} has no {key}", f"Remove it; {why}")
    return kind


def _is_word(field: Field, word: str) -> bool:
    return isinstance(field.node, yaml.ScalarNode) and bool(field.node.value == word)


def check_kind(kind: Kind, drafts: Sequence[Draft], reader: Reader) -> None:
    """A job's first service runs once; what is around it may be started again."""
    if kind != "job" or not drafts:
        return
    main = drafts[0]
    if main.spec.healthcheck is not None:
        remedy = "Remove it; a job is done when its first service ends"
        reader.problem(main.at("healthcheck"), "the first service of a job has no healthcheck", remedy)
    if main.spec.restart.when != "no":
        key = "restart" if "restart" in main.entries else "restart_policy"
        remedy = "Remove it; a job's first service runs once, and is placed anew when its host fails"
        reader.problem(main.at(key), "the first service of a job is not started again", remedy)


def finished(kind: Kind, drafts: Sequence[Draft]) -> tuple[ServiceSpec, ...]:
    """The services with the files they are given, and the restart policy that their kind has where none is written.

    Services and rentals go on until they are stopped, also when their machine was switched off and on. What others wait
    for to complete is started again only when it failed. A job's services run once.
    """
    ends = {d.service for draft in drafts for d in draft.spec.depends_on if d.until == "completed"}
    specs = []
    for draft in drafts:
        spec = replace(draft.spec, files=tuple(draft.mounts.files))
        if kind != "job" and not {"restart", "restart_policy"} & draft.entries.keys():
            spec = replace(spec, restart=RestartPolicy("on-failure" if spec.name in ends else "always", None))
        specs.append(spec)
    return tuple(specs)


def read_pods(
    kind: Kind, field: Field | None, replicas: int | None, scaling: Field | None, reader: Reader
) -> tuple[int, int]:
    """The least and the most pods."""
    if field is not None and field.kind == "map":
        low, high = _pod_range(kind, field, reader)
    else:
        low = high = (reader.integer(field, 1, MAX_PODS) or 1) if field is not None else replicas or 1
    if field is not None and kind == "rental" and high != 1:
        reader.problem(field, "a rental has one pod", "Remove pods, and submit one task for each machine")
    if field is not None and replicas is not None and (low, high) != (replicas, replicas):
        remedy = "Remove pods; each replica is a pod"
        reader.problem(field, f"pods and verification.replicas ({replicas}) differ", remedy)
    if scaling is not None and low == high and kind == "service":
        reader.problem(scaling, f"there is nothing to scale: the service always has {low} pods", _range_remedy(high))
    return low, high


def _range_remedy(high: int) -> str:
    return f"Write x-gantry.pods: {{min: 1, max: {max(high, 2)}}}"


def _pod_range(kind: Kind, field: Field, reader: Reader) -> tuple[int, int]:
    entries = reader.mapping(field, keys.PODS, {})
    if kind != "service":
        remedy = "Write pods: 2, or remove it for one" if kind == "job" else "Remove it; a rental has one pod"
        reader.problem(field, f"a {kind} has a fixed number of pods", remedy)
        return 1, 1
    for key in keys.PODS:
        if key not in entries:
            reader.problem(field, f"{key} is missing", "Write pods: {min: 1, max: 4}")
    low = reader.integer(entries["min"], 1, MAX_PODS) if "min" in entries else None
    high = reader.integer(entries["max"], 1, MAX_PODS) if "max" in entries else None
    if low is not None and high is not None and low > high:
        reader.problem(field, f"min {low} is more than max {high}", "Exchange them")
    return low or 1, high or 1


def read_verification(field: Field | None, reader: Reader) -> tuple[Verification, int | None]:
    """How a result is judged, and how many replicas are compared."""
    if field is None:
        return "acceptance", None
    remedy = "Write verification: {replicas: 2}, or acceptance: you accept the result, or the dispute window passes"
    if field.kind != "map":
        if not _is_word(field, "acceptance"):
            said = f'"{field.node.value}"' if isinstance(field.node, yaml.ScalarNode) else field.shape
            reader.problem(field, f"{said} is not a way to verify a result", remedy)
        return "acceptance", None
    entries = reader.mapping(field, keys.VERIFICATION, {})
    if "replicas" not in entries:
        reader.problem(field, "replicas is missing", remedy)
        return "acceptance", None
    return "redundant", reader.integer(entries["replicas"], 2, 3)


def read_spot(field: Field | None, reader: Reader, *, compared: bool) -> SpotSpec | None:
    """Whether it may be told to leave, and the signal that says so, if its containers want one."""
    if field is None:
        return None
    if field.kind != "map":
        spot = SpotSpec() if reader.boolean(field) else None
    else:
        entries = reader.mapping(field, keys.SPOT, {})
        word = None
        if "checkpoint_signal" in entries:
            word = reader.choice(entries["checkpoint_signal"], dict.fromkeys(_CHECKPOINT_SIGNALS))
        spot = SpotSpec(word)
    if spot is not None and compared:
        reader.problem(field, "a job whose results are compared cannot be spot", "Remove it, or verification")
    return spot


def read_survival(field: Field | None, kind: Kind, reader: Reader, *, compared: bool) -> Survival:
    """What becomes of a pod whose host fails, or is about to."""
    word = reader.choice(field, dict.fromkeys(_SURVIVALS)) if field is not None else None
    survival = _SURVIVALS[word or "restart"]
    if field is not None and survival != "restart":
        if kind == "rental":
            remedy = "Remove it; its data lies on its host: gantry task snapshot keeps what is in it"
            reader.problem(field, "the pod of a rental cannot go on at another host", remedy)
        elif compared:
            remedy = "Remove it, or verification"
            reader.problem(field, "the replicas of a job whose results are compared stay where they are", remedy)
    return survival


def read_result(field: Field | None, main: Draft | None, *, compared: bool, reader: Reader) -> ResultSpec:
    """Where a job leaves its result."""
    if field is None:
        return ResultSpec("stdout", None)
    at: Field | None = field
    seal_to = None
    if field.kind == "map":
        entries = reader.mapping(field, keys.RESULT, {})
        at = entries.get("path")
        if "seal_to" in entries:
            remedy = "Write the 64 hex digits that gantry account seal-key prints"
            seal_to = reader.parsed(entries["seal_to"], _seal_key, remedy)
            if compared:
                remedy = "Remove it: no two sealed boxes are the same, so sealed results cannot be compared"
                reader.problem(entries["seal_to"], "compared results cannot be sealed", remedy)
    text = reader.text(at) if at is not None else "stdout"
    if at is None or text in (None, "stdout"):
        return ResultSpec("stdout", None, seal_to)
    if text is not None and not text.startswith("/"):
        reader.problem(
            at, f'"{text}" is not a result', "Write stdout, or the path of a file in the container: /out/result"
        )
        return ResultSpec("stdout", None)
    path = absolute_path(at, reader)
    if path is not None and main is not None:
        _check_result_lasts(at, path, main, reader)
    return ResultSpec("file", path, seal_to)


def _check_result_lasts(at: Field, path: str, main: Draft, reader: Reader) -> None:
    """The file is fetched when the container has ended; what it had in memory is gone then."""
    mounts = [(mount.path, "") for mount in main.spec.volumes if not mount.read_only]
    mounts += [(mount.path, "tmpfs") for mount in main.spec.tmpfs]
    below = [(where, what) for where, what in mounts if path.startswith(f"{where.rstrip('/')}/")]
    remedy = "Write it to a volume, or to a path that is not mounted over"
    if below and max(below)[1] == "tmpfs":
        reader.problem(at, f"{max(below)[0]} is a tmpfs, which is gone when the result is fetched", remedy)
    elif not below and main.spec.read_only:
        remedy = "Mount a volume there, or remove read_only"
        reader.problem(at, f"nothing can be written to {path}, because the container is read_only", remedy)


def _seal_key(text: str) -> bytes:
    match = _SEAL.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text[:80]}" is not a key of 64 hex digits')
    return bytes.fromhex(match[1])


def read_ssh(field: Field | None, drafts: Sequence[Draft], reader: Reader) -> SshSpec | None:
    """How a rental is logged into."""
    if field is None:
        return None
    entries = reader.mapping(field, keys.SSH, {})
    found: tuple[str, ...] = ()
    if "authorized_keys" in entries:
        found = _authorized_keys(entries["authorized_keys"], reader)
    elif field.kind == "map":
        remedy = "Add authorized_keys: [the line in ~/.ssh/id_ed25519.pub]"
        reader.problem(field, "authorized_keys is missing", remedy)
    where = reader.text(entries["path"]) if "path" in entries else _SSH_PATH
    path = mount_path(entries.get("path", field), where, reader) if where is not None else None
    port = reader.integer(entries["port"], 1, 65535) if "port" in entries else _SSH_PORT
    for draft in drafts[1:]:
        if port in draft.spec.ports:
            remedy = "The containers of a pod share one network: give one of the two another port"
            reader.problem(entries.get("port", field), f'port {port} is taken by "{draft.spec.name}"', remedy)
    if path is not None and drafts:
        _check_ssh_path(entries.get("path", field), path, drafts[0], reader)
    if not found or path is None or port is None:
        return None
    return SshSpec(found, path, port)


def _check_ssh_path(at: Field, path: str, main: Draft, reader: Reader) -> None:
    volumes = [mount.path for mount in main.spec.volumes if not mount.read_only]
    if main.spec.read_only and not any(path.startswith(f"{volume}/") for volume in volumes):
        remedy = "Choose a path on a volume, or remove read_only"
        reader.problem(at, f"the keys cannot be written to {path}, because the container is read_only", remedy)
    for _, other, is_file in main.mounts.places:
        if path == other or (is_file and path.startswith(f"{other}/")) or other.startswith(f"{path}/"):
            reader.problem(at, f"{path} is taken by a mount", "Choose another path for the keys")


def _authorized_keys(field: Field, reader: Reader) -> tuple[str, ...]:
    items = reader.sequence(field)
    if not items and isinstance(field.node, yaml.SequenceNode):
        reader.problem(field, "there is no key", "Add the line in ~/.ssh/id_ed25519.pub")
    for extra in items[MAX_SSH_KEYS : MAX_SSH_KEYS + 1]:
        reader.problem(extra, f"{len(items)} keys are too many", f"Keep it to {MAX_SSH_KEYS}")
    remedy = "Write the whole line of a public key: ssh-ed25519 AAAA... name"
    found = [reader.parsed(item, _ssh_key, remedy) for item in items[:MAX_SSH_KEYS]]
    return tuple(key for key in found if key is not None)


def _ssh_key(text: str) -> str:
    """A line of authorized_keys: type, key, comment. The type is repeated inside the key."""
    if "PRIVATE KEY" in text:
        raise ValueError("this is a private key, and a manifest is public")
    if any(ord(char) < 32 or ord(char) == 127 for char in text):
        raise ValueError("the key is more than one line")
    kind, _, rest = text.strip().partition(" ")
    body, _, comment = rest.strip().partition(" ")
    if kind not in _SSH_TYPES:
        raise ValueError(f'"{kind[:40]}" is not a type of key')
    try:
        raw = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f'"{body[:40]}" is not base64') from None
    name = kind.encode()
    if not raw.startswith(len(name).to_bytes(4, "big") + name) or len(raw) <= 4 + len(name):
        raise ValueError(f"the key is not of the type {kind}")
    return f"{kind} {body} {comment.strip()}".rstrip()


def read_data_from(entries: Mapping[str, Field], volumes: tuple[str, ...], reader: Reader) -> int | None:
    """The lease whose data is taken over."""
    field = entries.get("data_from")
    if field is None:
        return None
    if not volumes and "snapshot" not in entries:
        remedy = "Declare under volumes: those of the earlier rental, with their names"
        reader.problem(field, "there is no volume to take data over into", remedy)
    return reader.integer(field, 0, _U64)


def read_snapshot(entries: Mapping[str, Field], reader: Reader) -> str | None:
    """The snapshot, among the data that is taken over, of which the machine is made."""
    field = entries.get("snapshot")
    if field is None:
        return None
    if "data_from" not in entries:
        remedy = "Add data_from with the lease that has the snapshot: gantry task show tells its number"
        reader.problem(field, "a snapshot is part of the data of an earlier rental", remedy)
    return reader.parsed(field, snapshot_name, "Write its name as gantry task snapshot ID --list shows it")
