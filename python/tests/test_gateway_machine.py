"""The home gateway on Debian's kernel: filters of clsact in place of TCX, and tables of flows.

What runs there is `gateway_machine.py`.
"""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from home_fixture import program, why_not
from machine import NEEDS_MACHINE, run

if TYPE_CHECKING:
    from pathlib import Path

MODULES = (
    "crc32c_generic", "veth", "bridge", "sch_ingress", "cls_bpf", "act_gact", "nf_tables",
    "nft_flow_offload", "nf_flow_table_inet", "nf_conntrack", "nft_ct",
)  # fmt: skip
PYTHON = "/usr/bin/python3"
LACKING = why_not() or next(
    (f"needs {name}" for name in (PYTHON, "iperf3", "nft", "tc") if shutil.which(name) is None), ""
)
pytestmark = [NEEDS_MACHINE, pytest.mark.skipif(bool(LACKING), reason=LACKING)]


TABLES = {"": "ok", "lan, wan": "fault", "house, wan": "ok", "wan": "ok"}
"""The devices of a table of flows, and what the doctor says of it."""
SHORT = ("", "lan, wan")
LONG = pytest.mark.long(
    "test_gateway_machine.py::test_a_kernel_without_tcx_takes_it_and_tables_of_flows_pass_ports_by"
)
"""Always: no table, and the one that is at fault; whole, too, an interface that is no bridge."""


@pytest.mark.parametrize("tables", [SHORT, pytest.param(tuple(TABLES), marks=LONG)])
def test_a_kernel_without_tcx_takes_it_and_tables_of_flows_pass_ports_by(
    tmp_path: Path, tables: tuple[str, ...]
) -> None:
    command = [PYTHON, "python/tests/gateway_machine.py", program(), *tables]
    done = run(tmp_path, command, modules=MODULES, limit_s=240)
    assert done.code == 0, done.output
    told = json.loads(done.output)
    # TCX came with 6.6; Debian's kernel is older, and its verifier is another one.
    version = re.match(r"(\d+)\.(\d+)\.", told["kernel"])
    assert version is not None
    assert (5, 10) <= (int(version[1]), int(version[2])) < (6, 6)
    assert told["attached"] == told["again"] == ["to_home", "from_home"]
    # What kill -9 left, and what the next start made of it.
    assert told["left"] == ["to_home", "from_home"]
    assert told["down"].endswith("has ended; nothing of it is left in the kernel\n")
    assert told["after"] == []
    # One that starts beside a table that takes packets past it says so.
    assert told["said"][0] == ""
    assert told["said"][1].startswith("gameway-gateway: flow tables: ")
    assert "; to do: switch it off" in told["said"][1]
    seen = {devices: one["segments"] for devices, one in told["tables"].items()}
    found = {devices: one["doctor"] for devices, one in told["tables"].items()}
    assert found == {devices: TABLES[devices] for devices in tables}
    assert (told["plain"] is None) == (tables == SHORT)
    plain = [told["plain"]] if told["plain"] else []
    assert [one["doctor"] for one in plain] == ["ok"] * len(plain)
    # Segments that the kernel joined count once: how many differs from run to run.
    assert seen[""] > 100
    assert seen["lan, wan"] < seen[""] / 4
    whole = [seen[one] for one in tables if TABLES[one] == "ok"]
    for all_of_them in (*whole, *(one["segments"] for one in plain)):
        assert seen[""] / 2 < all_of_them < 2 * seen[""]
