"""The wheel in an environment of its own, outside of the clone: the command, the SDK, and its example."""

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from offchain.devnet.paths import ROOT
from offchain.gateway.api.templates import templates
from tests.support.local_network import Net, run

BARE = {"PYTHONPATH": "", "GANTRY_STATE": "/nonexistent"}
"""Nothing of the clone is found by itself."""
FIVE_LINES = """
import gantry, sys
with gantry.connect(account="//Charlie") as network:
    task = network.submit(sys.argv[1])
    print(task.wait().text)
    print(task.bill())
"""

TEMPLATES = """
import json
from offchain.gateway.api.templates import FOLDER, templates
print(json.dumps([str(FOLDER), templates(dict).model_dump(mode="json")]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("package")


@pytest.fixture(scope="module")
def built(folder: Path) -> tuple[Path, Path]:
    """The wheel and the source distribution that `python -m build` makes of a copy of the clone."""
    succeed("git", "clone", "-q", str(ROOT), str(folder / "clone"))
    succeed(sys.executable, "-m", "build", "--outdir", str(folder / "dist"), str(folder / "clone"))
    (wheel,), (source,) = (list((folder / "dist").glob(form)) for form in ("*.whl", "*.tar.gz"))
    return wheel, source


@pytest.fixture(scope="module")
def python(folder: Path, built: tuple[Path, Path]) -> Path:
    """The Python of an environment that has the wheel and what it requires."""
    venv.create(folder / "bare", with_pip=True)
    path = folder / "bare" / "bin" / "python"
    succeed(str(path), "-m", "pip", "install", "-q", str(built[0]))
    return path


def succeed(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **BARE})
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_has_the_console_and_not_its_sources(built: tuple[Path, Path]):
    names = zipfile.ZipFile(built[0]).namelist()
    assert "offchain/gateway/console/index.html" in names
    assert any(name.startswith("offchain/gateway/console/assets/") and name.endswith(".js") for name in names)
    assert not [name for name in names if name.startswith("offchain/console/")]


def test_an_installed_wheel_offers_the_templates_of_a_clone(folder: Path, python: Path):
    env = {**os.environ, **BARE}
    command = [str(python), "-c", TEMPLATES]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=env, cwd=folder)
    assert done.returncode == 0, done.stderr
    where, offered = json.loads(done.stdout)
    assert Path(where).is_relative_to(folder / "bare"), where
    assert offered == templates(dict).model_dump(mode="json")
    assert {"primes", "rental", "service"} <= {one["name"] for one in offered["data"]}


async def test_the_command_works_outside_of_the_clone(folder: Path, python: Path, net: Net):
    gantry = str(python.with_name("gantry"))
    done = await run(gantry, "--version", env=BARE, cwd=folder)
    assert done.code == 0, done.said
    done = await run(gantry, "host", "list", "--json", env={**BARE, "GANTRY_URL": net.url}, cwd=folder)
    assert done.code == 0, done.said
    assert done.json["status"] == "Online"
    done = await run(gantry, "doctor", "--json", env={**BARE, "GANTRY_URL": net.url}, cwd=folder)
    assert done.code == 0, "an installed package has no node binary, and needs none: " + done.said


async def test_a_task_in_five_lines_of_the_sdk(folder: Path, python: Path, net: Net):
    script = folder / "five_lines.py"
    script.write_text(FIVE_LINES)
    done = await run(str(python), str(script), str(ROOT / "examples" / "primes.yaml"), env=_env(net), cwd=folder)
    assert done.code == 0, done.said
    assert "protocol fee" in done.out


async def test_the_example_of_the_sdk(folder: Path, python: Path, net: Net):
    before = await net.chain.query("Tasks", "NextTaskId") or 0
    words = (str(ROOT / "examples" / "submit_sdk.py"), str(ROOT / "examples" / "primes.yaml"), "//Charlie")
    done = await run(str(python), *words, env=_env(net), cwd=folder)
    assert done.code == 0, done.said
    await net.assert_paid_once(before)


def _env(net: Net) -> dict[str, str]:
    return {**BARE, "GANTRY_URL": net.url, "LIMIT": "1000", "GANTRY_DEMO_IMAGE": net.variables["GANTRY_DEMO_IMAGE"]}
