"""What users install: the wheel runs the demo as the checkout does, the source package is whole.

Both are made of what is built already, and installed beside what they declare and nothing else.
`make packages` installs both as users do, by pip and from nothing, which takes minutes.
"""

from __future__ import annotations

import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from live_fixture import needs_live
from packages_fixture import (
    BUILT_WITH,
    OWN,
    READ_BY_THE_BUILD,
    build_as_the_checkout,
    demo,
    environment,
    experiments,
    files,
    install_alone,
    lend,
    maturin,
    needed,
    packages_of,
    python_package,
    read_by_the_build,
    run,
)

there = BUILT_WITH.is_file() and READ_BY_THE_BUILD.is_file()
pytestmark = pytest.mark.skipif(not there, reason="needs a build: make setup")

SHORT = (
    "--set", "duration=20 s",
    "--set", "competitor.download.start=5 s",
    "--set", "competitor.download.stop=15 s",
)  # fmt: skip
"""Of the demo; `make packages` runs all of it."""
BESIDES = {"Cargo.lock", "pyproject.toml", "README.md", "LICENSE-APACHE", "LICENSE-MIT"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packages")


@pytest.fixture(scope="module")
def source_package(folder: Path) -> Path:
    return maturin("sdist", folder=folder / "source")


@pytest.fixture(scope="module")
def wheel(folder: Path) -> Path:
    features = BUILT_WITH.read_text("utf-8").strip()
    # The features' libraries are this machine's, and are not copied into the wheel.
    words = ("--release", "--locked", "--features", features, "--auditwheel", "skip",
             "--compression-level", "1")  # fmt: skip
    return maturin("build", *words, folder=folder / "wheel")


@pytest.fixture(scope="module")
def of_the_checkout(folder: Path) -> dict[str, str]:
    checkout = OWN / "bin" / "python"
    return demo(checkout, folder / "of-the-checkout", "--no-report", *SHORT)


def lacking(there: set[str]) -> set[str]:
    return (read_by_the_build() | python_package() | experiments() | BESIDES) - there


def test_the_source_package_has_what_the_build_reads(source_package: Path) -> None:
    assert lacking(files(source_package)) == set()


@pytest.mark.parametrize(
    "name",
    [
        "crates/core/units/src/rate.rs",
        "crates/product/webrtc/src/page.html",
        "crates/core/media/data/doom.gwfr",
        "experiments/demo/experiment.toml",
        "experiments/pudica/page.py",
        "python/gameway/py.typed",
        "LICENSE-MIT",
    ],
)
def test_a_file_that_is_not_in_the_source_package_is_found(name: str, source_package: Path) -> None:
    assert lacking(files(source_package) - {name}) == {name}


@needs_live
def test_the_source_package_is_built_by_pip_and_runs_the_demo(
    source_package: Path, of_the_checkout: dict[str, str], folder: Path
) -> None:
    python = environment(folder / "of-the-source")
    install_alone(build_as_the_checkout(source_package, folder / "source-build"), python)
    (information,) = packages_of(python).glob("gameway-*.dist-info")
    lend(needed(metadata.PathDistribution(information).requires or []), python)
    assert demo(python, folder / "demo-of-the-source", "--no-report", *SHORT) == of_the_checkout


def test_the_wheel_has_the_python_half_and_the_experiments(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        there = {name.removeprefix("gameway/") for name in archive.namelist()}
    python = {name.removeprefix("python/gameway/") for name in python_package()}
    assert (python | experiments()) - there == set()
    assert "experiments/pudica/page.py" in there
    assert not any("tests" in Path(name).parts for name in there)


def test_the_wheel_runs_the_demo_as_the_checkout_does(
    wheel: Path, of_the_checkout: dict[str, str], folder: Path
) -> None:
    python = environment(folder / "alone")
    install_alone(wheel, python)
    (information,) = packages_of(python).glob("gameway-*.dist-info")
    declared = needed(metadata.PathDistribution(information).requires or [])
    lend(declared, python)
    where = run(
        python, "-c", "from gameway import experiments; print(experiments.folder())", cwd=folder
    )
    assert Path(where.strip()) == packages_of(python) / "gameway" / "experiments"

    ours = demo(python, folder / "of-the-wheel", *SHORT)
    assert len(set(ours.values())) > 100  # else equality would say little
    assert (folder / "of-the-wheel" / "r" / "report.html").stat().st_size > 100_000
    assert ours == of_the_checkout

    # So is the code of an experiment, and of another one that it uses.
    page = "from importlib import import_module; import_module('gameway.experiments.%s.page').page"
    for name in ("xu-claypool-dash", "pudica-readings"):
        run(python, "-c", page % name, cwd=folder)

    # The environment has what is declared and nothing else.
    (packages_of(python) / "jinja2").unlink()
    with pytest.raises(AssertionError, match="No module named 'jinja2'"):
        demo(python, folder / "of-the-wheel-without-a-package")
