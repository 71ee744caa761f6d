"""The home gateway on Debian's kernels from 5.10 on, and on other processors, which are emulated.

What runs there is `kernel_machine.py` and `queue_machine.py`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from home_fixture import ROOT, program, why_not
from machine import NEEDS_MACHINE, Kernel, run
from test_queue_machine import check_cake, check_htb
from witness import of_times

if TYPE_CHECKING:
    from pathlib import Path

MODULES = (
    "crc32c_generic", "veth", "bridge", "sch_ingress", "cls_bpf", "act_gact", "nf_tables",
    "nf_conntrack", "sch_htb", "sch_fq_codel", "sch_cake", "sch_tbf",
)  # fmt: skip
KERNELS = {
    Kernel("bullseye"): (5, 10),
    Kernel("trixie"): (6, 12),
    # What is newest.
    Kernel("sid"): (6, 18),
}
"""And their oldest versions."""
RUST = {"arm64": "aarch64-unknown-linux-musl", "armhf": "armv7-unknown-linux-musleabihf"}
PYTHON = "/usr/bin/python3"
LIMIT_S = 900
"""Others may have the machine, too."""
QUEUE_MS = 204
"""That of the provider."""
pytestmark = [NEEDS_MACHINE, pytest.mark.skipif(bool(why_not()), reason=why_not() or "all there")]
LONG = pytest.mark.long(
    "test_gateway_machine.py::test_a_kernel_without_tcx_takes_it_and_tables_of_flows_pass_ports_by"
)


def named(kernel: Kernel) -> str:
    return f"{kernel.release}-{kernel.architecture}"


def check(told: dict[str, Any]) -> None:
    """What holds on each kernel."""
    assert set(told["doctor"].values()) == {"ok"}, told["doctor"]
    major, minor = re.match(r"(\d+)\.(\d+)", told["kernel"]).groups()  # type: ignore[union-attr]
    has_tcx = (int(major), int(minor)) >= (6, 6)
    both = {"tcx": 2, "filters": 0} if has_tcx else {"tcx": 0, "filters": 2}
    none = {"tcx": 0, "filters": 0}
    assert told["attached"] == told["again"] == both
    assert told["left"] == (none if has_tcx else both)
    assert told["down"].endswith("has ended; nothing of it is left in the kernel\n")
    assert told["after"] == none
    seen, later = told["status"], told["later"]
    assert seen["lowered"] > 100
    assert seen["lost_records"] == 0
    # Packets pass a program that is stopped, and none is changed.
    assert later["segments"] > seen["segments"] + 100
    assert later["lowered"] - seen["lowered"] < seen["lowered"] / 4
    assert 100 < told["udp"] < 1000
    steered = ("steered", "set back", "set forward")
    medians = {name: told[name][len(told[name]) // 2] for name in ("bare", *steered, "stopped")}
    with of_times():
        assert QUEUE_MS / 2 < medians["bare"] < 2 * QUEUE_MS
        for name in steered:
            assert medians[name] < medians["bare"] / 3, name
        assert medians["stopped"] > medians["bare"] / 2


def seen_on(kernel: Kernel, folder: Path, own: str, python: str = PYTHON) -> dict[str, Any]:
    command = [python, "python/tests/kernel_machine.py", own]
    done = run(folder, command, modules=MODULES, limit_s=LIMIT_S, kernel=kernel)
    assert done.code == 0, done.output
    told: dict[str, Any] = json.loads(done.output)
    return told


@LONG
@pytest.mark.timed
@pytest.mark.parametrize("kernel", KERNELS, ids=named)
def test_kernels_take_it_windows_are_lowered_and_a_silent_program_lowers_none(
    tmp_path: Path, kernel: Kernel
) -> None:
    told = seen_on(kernel, tmp_path, program())
    version = tuple(int(one) for one in told["kernel"].split(".")[:2])
    assert version[:1] == KERNELS[kernel][:1] or kernel.release == "sid"
    assert version >= KERNELS[kernel]
    check(told)


@LONG
@pytest.mark.parametrize("kernel", KERNELS, ids=named)
def test_kernels_have_its_own_queue_with_htb_and_cake(tmp_path: Path, kernel: Kernel) -> None:
    command = [PYTHON, "python/tests/queue_machine.py", program(), "auto", "htb"]
    done = run(tmp_path, command, modules=MODULES, limit_s=LIMIT_S, kernel=kernel)
    assert done.code == 0, done.output
    told = json.loads(done.output)
    assert told["doctor"]["found"].startswith('mode "shape" would use CAKE: ')
    check_cake(told["auto"])
    check_htb(told["htb"])
    for queue in ("auto", "htb"):
        assert told[queue]["gone after kill"]
        assert told[queue]["gone after down"]


@LONG
@pytest.mark.timed
@pytest.mark.parametrize("architecture", RUST)
def test_another_processor_takes_it_windows_are_lowered_and_a_silent_program_lowers_none(
    tmp_path: Path, architecture: str
) -> None:
    target = RUST[architecture]
    there = subprocess.run(
        ["rustup", "target", "list", "--installed"], capture_output=True, text=True, check=False
    )
    if shutil.which("rustup") is None or target not in there.stdout.split():
        pytest.skip(f"needs Rust's library for {target}: rustup target add {target}")
    subprocess.run(["make", "--silent", "gateway", f"TARGET={target}"], cwd=ROOT, check=True)
    own = ROOT / "target" / target / "release" / "gameway-gateway"
    told = seen_on(Kernel("bookworm", architecture), tmp_path, str(own), "/usr/bin/python3")
    assert told["processor"] == {"arm64": "aarch64", "armhf": "armv7l"}[architecture]
    check(told)
