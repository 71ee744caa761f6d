"""The home gateway where the home is on Wi-Fi: what waits for a station is in queues of the kernel.

What runs in a machine is `wifi_machine.py`.
"""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from home_fixture import program, why_not
from machine import NEEDS_MACHINE, Kernel, run

if TYPE_CHECKING:
    from pathlib import Path

KERNEL = Kernel("trixie")
"""Linux 6.12: before 6.2 the simulated radio took packets past these queues."""
MODULES = (
    "crc32c_generic", "veth", "sch_ingress", "cls_bpf", "act_gact", "mac80211_hwsim",
)  # fmt: skip
LIMIT_S = 600
pytestmark = [NEEDS_MACHINE, pytest.mark.skipif(bool(why_not()), reason=why_not() or "all there")]


@pytest.mark.long(
    "test_gateway_machine.py::test_a_kernel_without_tcx_takes_it_and_tables_of_flows_pass_ports_by"
)
def test_what_waits_for_a_station_of_wifi_is_seen(tmp_path: Path) -> None:
    KERNEL.bring()
    if shutil.which("iw") is None:
        pytest.skip("needs iw: apt install iw")
    command = ["/usr/bin/python3", "python/tests/wifi_machine.py", program()]
    done = run(tmp_path, command, modules=MODULES, limit_s=LIMIT_S, kernel=KERNEL)
    assert done.code == 0, done.output
    told = json.loads(done.output)
    assert told["doctor"]["Wi-Fi"].startswith("ok: wlan0, with stations: 1; "), told["doctor"]
    # The simulated radio sends at once, and nothing while it looks elsewhere.
    assert all(wait is not None and wait < 1 for wait in told["before"]), told
    assert 20 < max(told["scanning"]) <= 1000, told
    # The downloads went through those queues, by the kernel's own tool.
    rows = re.findall(r"^\s+\d+(?:\s+\d+){9}$", told["iw"], re.MULTILINE)
    assert sum(int(row.split()[8]) for row in rows) > 10e6, told["iw"]
