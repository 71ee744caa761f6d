"""Wheel and source package, built from nothing and installed by pip into empty environments.

Not part of the tests: `make packages` runs it. It takes minutes and a package index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from packages_fixture import OWN, ROOT, demo, environment, maturin, run

if TYPE_CHECKING:
    from pathlib import Path

LOCK = str(ROOT / "requirements.lock")
OWN_TARGET = {"CARGO_TARGET_DIR": str(ROOT / "target" / "packages")}


@pytest.fixture(scope="module")
def of_the_checkout(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("checkout") / "demo"
    return demo(OWN / "bin" / "python", folder, "--no-report")


@pytest.mark.parametrize("command", ["build --release --locked", "sdist"])
def test_a_package_that_pip_installs_runs_the_demo_as_the_checkout_does(
    command: str, tmp_path: Path, of_the_checkout: dict[str, str]
) -> None:
    package = maturin(*command.split(), folder=tmp_path / "package", more=OWN_TARGET)
    python = environment(tmp_path / "environment", with_pip=True)
    pip = (python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    run(*pip, package, cwd=tmp_path, more={"PIP_CONSTRAINT": LOCK, **OWN_TARGET})
    assert demo(python, tmp_path / "demo") == of_the_checkout
    assert (tmp_path / "demo" / "r" / "report.html").stat().st_size > 100_000
