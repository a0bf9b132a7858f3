"""What pyproject.toml cannot say: the wheel has the manifests of examples/, which gateways offer as templates."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
INSTALLED = Path("offchain") / "gateway" / "examples"
"""Where offchain/gateway/api/templates.py looks first; a clone has no such folder."""


class BuildWithExamples(build_py):
    """Builds the packages, and copies the examples into that of the gateway."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        folder = Path(self.build_lib) / INSTALLED
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted((ROOT / "examples").glob("*.yaml")):
            shutil.copyfile(path, folder / path.name)


setup(cmdclass={"build_py": BuildWithExamples})
