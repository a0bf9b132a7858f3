"""A registry on loopback, Debian's docker-registry, and images put into it through its own API."""

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
import requests

from offchain.devnet import ports
from offchain.schema.manifest.types import ImageRef

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
PATIENCE_S = 30
TRIES = 3
"""Somebody else may take the port before the registry has it."""

USERS = {"anna": "pass-a", "ben": "pass-b"}
"""Of a closed registry, with their passwords."""
HASHES = """\
anna:$2b$05$abcdefghijklmnopqrstuuq4/0350nEUJXpob2ZLDmn6s.qvLIvz2
ben:$2b$05$abcdefghijklmnopqrstuuzocQ8tfDj6qX.OvZ9p6OfyWcp4rSUS.
"""
"""The same as htpasswd writes it (bcrypt, which crypt(3) makes)."""


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class Registry:
    """One registry with a folder of its own. Started when made; `stop` ends it. `closed`: only for USERS."""

    def __init__(self, folder: Path, *, closed: bool = False) -> None:
        program = shutil.which("docker-registry")
        if program is None:
            pytest.skip("docker-registry is not installed (scripts/test unpacks its package)")
        folder.mkdir(parents=True)
        self._http = requests.Session()
        users = folder / "users"
        users.write_text(HASHES)
        auth = {"auth": {"htpasswd": {"realm": "closed", "path": str(users)}}} if closed else {}
        self._http.auth = next(iter(USERS.items())) if closed else None
        self._storage = folder / "storage"
        self._log = (folder / "log").open("wb")
        for _ in range(TRIES):
            self.address = f"127.0.0.1:{ports.free()}"
            config = {
                "version": "0.1",
                "log": {"accesslog": {"disabled": True}, "level": "error"},
                "storage": {"filesystem": {"rootdirectory": str(self._storage)}},
                "http": {"addr": self.address},
                **auth,
            }
            (folder / "config.yml").write_text(json.dumps(config))
            self._process = subprocess.Popen(
                [program, "serve", str(folder / "config.yml")], stdout=self._log, stderr=self._log, env=os.environ | {}
            )
            if self._is_up():
                return
            self._process.kill()
            self._process.wait()
        raise AssertionError((folder / "log").read_text())

    def _is_up(self) -> bool:
        limit = time.monotonic() + PATIENCE_S
        while time.monotonic() < limit and self._process.poll() is None:
            if self._answers():
                return True
            time.sleep(0.05)
        return False

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        self._http.close()
        self._log.close()

    def _answers(self) -> bool:
        try:
            return self._http.get(f"http://{self.address}/v2/", timeout=5).ok
        except requests.RequestException:
            return False

    def publish(self, path: str, *, size: int = 1024, architecture: str = "amd64") -> ImageRef:
        """A new image of random content; the reference as a manifest names it."""
        manifest = self._image(path, size, architecture)
        self._put_manifest(path, manifest, MANIFEST)
        return ImageRef(f"{self.address}/{path}", sha256(manifest))

    def publish_list(self, path: str, architectures: tuple[str, ...]) -> ImageRef:
        """A list of images for several platforms."""
        entries = []
        for architecture in architectures:
            manifest = self._image(path, 1024, architecture)
            self._put_manifest(path, manifest, MANIFEST)
            platform = {"os": "linux", "architecture": architecture}
            entry = {"mediaType": MANIFEST, "size": len(manifest), "digest": sha256(manifest), "platform": platform}
            entries.append(entry)
        index = json.dumps({"schemaVersion": 2, "mediaType": LIST, "manifests": entries}).encode()
        self._put_manifest(path, index, LIST)
        return ImageRef(f"{self.address}/{path}", sha256(index))

    def copy_to(self, other: "Registry", image: ImageRef) -> None:
        """The same image under the same path in another registry."""
        path = image.name.partition("/")[2]
        found = self._http.get(
            f"http://{self.address}/v2/{path}/manifests/{image.digest}",
            headers={"Accept": MANIFEST},
            timeout=PATIENCE_S,
        )
        manifest = found.json()
        for part in (manifest["config"], *manifest["layers"]):
            blob = self._http.get(f"http://{self.address}/v2/{path}/blobs/{part['digest']}", timeout=PATIENCE_S).content
            other._put_blob(path, blob)
        other._put_manifest(path, found.content, MANIFEST)

    def parts(self, image: ImageRef) -> tuple[bytes, bytes, bytes]:
        """Manifest, configuration and layer of an image with one layer."""
        path = image.name.partition("/")[2]
        url = f"http://{self.address}/v2/{path}"
        manifest = self._http.get(
            f"{url}/manifests/{image.digest}", headers={"Accept": MANIFEST}, timeout=PATIENCE_S
        ).content
        found = json.loads(manifest)
        digests = (found["config"]["digest"], found["layers"][0]["digest"])
        config, layer = (self._http.get(f"{url}/blobs/{digest}", timeout=PATIENCE_S).content for digest in digests)
        return manifest, config, layer

    def spoil(self, image: ImageRef) -> None:
        """Other bytes where the image's layer is kept."""
        path = image.name.partition("/")[2]
        found = self._http.get(
            f"http://{self.address}/v2/{path}/manifests/{image.digest}",
            headers={"Accept": MANIFEST},
            timeout=PATIENCE_S,
        )
        (layer,) = found.json()["layers"]
        hexdigits = layer["digest"].partition(":")[2]
        blob = self._storage / "docker/registry/v2/blobs/sha256" / hexdigits[:2] / hexdigits / "data"
        blob.write_bytes(_layer(os.urandom(layer["size"]))[1][: layer["size"]].ljust(layer["size"], b"\0"))

    def _image(self, path: str, size: int, architecture: str) -> bytes:
        plain, packed = _layer(os.urandom(size))
        config = json.dumps(
            {
                "architecture": architecture,
                "os": "linux",
                "config": {"Cmd": ["/data"]},
                "rootfs": {"type": "layers", "diff_ids": [sha256(plain)]},
            }
        ).encode()
        self._put_blob(path, packed)
        self._put_blob(path, config)
        layer = {
            "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
            "size": len(packed),
            "digest": sha256(packed),
        }
        about = {
            "mediaType": "application/vnd.docker.container.image.v1+json",
            "size": len(config),
            "digest": sha256(config),
        }
        return json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": about, "layers": [layer]}).encode()

    def _put_blob(self, path: str, data: bytes) -> None:
        begun = self._http.post(f"http://{self.address}/v2/{path}/blobs/uploads/", timeout=PATIENCE_S)
        done = self._http.put(begun.headers["Location"], params={"digest": sha256(data)}, data=data, timeout=PATIENCE_S)
        done.raise_for_status()

    def _put_manifest(self, path: str, data: bytes, kind: str) -> None:
        done = self._http.put(
            f"http://{self.address}/v2/{path}/manifests/{sha256(data)}",
            data=data,
            headers={"Content-Type": kind},
            timeout=PATIENCE_S,
        )
        done.raise_for_status()


def _layer(data: bytes) -> tuple[bytes, bytes]:
    """A layer with one file: as it is, and packed."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        entry = tarfile.TarInfo("data")
        entry.size, entry.mode = len(data), 0o755
        tar.addfile(entry, io.BytesIO(data))
    return out.getvalue(), gzip.compress(out.getvalue(), mtime=0)
