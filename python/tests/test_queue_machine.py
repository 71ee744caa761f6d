"""The gateway's own queue on Debian's kernel, HTB with FQ-CoDel and CAKE, as its tc reads them.

What runs there is `queue_machine.py`.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from home_fixture import program, why_not
from machine import NEEDS_MACHINE, run
from witness import of_times

if TYPE_CHECKING:
    from pathlib import Path

MODULES = (
    "crc32c_generic", "veth", "bridge", "sch_ingress", "cls_bpf", "act_gact", "nf_tables",
    "nf_conntrack", "sch_htb", "sch_fq_codel", "sch_cake",
)  # fmt: skip
PYTHON = "/usr/bin/python3"
LACKING = why_not() or next(
    (f"needs {name}" for name in (PYTHON, "iperf3", "nft", "tc") if shutil.which(name) is None), ""
)
pytestmark = [NEEDS_MACHINE, pytest.mark.skipif(bool(LACKING), reason=LACKING)]
LONG = pytest.mark.long(
    "test_queue_machine.py::test_htb_and_cake_are_as_tc_shows_them_and_go_again"
)
"""Always: CAKE, of which `auto` takes it; HTB is in test_live_own_queue.py, too."""
KINDS = {"auto": "cake", "htb": "htb"}
RATE_MBPS = 10
"""As there; a flood of UDP has half as much more."""
MIN_SHARES = {"cake": 0.3, "htb": 0.7}
"""Of the rate, that pass of the flood. CAKE had 0.43 to 0.98, as it drops what it has room for."""
MAX_WAIT_MS = 30
"""Of nine pings in ten beside it, with a processor that is emulated."""


def check_htb(told: dict[str, Any]) -> None:
    """What tc shows of the queues, and of the classes."""
    installed = {one["handle"]: one for one in told["installed"]}
    assert [one["kind"] for one in installed.values()] == ["htb", "fq_codel", "fq_codel"]
    assert installed["4757:"]["root"]
    assert installed["4757:"]["options"]["default"] == "0x20"
    for handle, parent in (("4758:", "4757:4"), ("4759:", "4757:20")):
        assert installed[handle]["parent"] == parent
        assert installed[handle]["options"]["ecn"] is True
        assert installed[handle]["options"]["target"] in (4999, 5000)
    for words in (
        "class htb 4757:1 root rate 10Mbit ceil 10Mbit ",
        "class htb 4757:4 parent 4757:1 leaf 4758: prio 0 quantum 1514 rate 7500Kbit ceil 10Mbit ",
        "class htb 4757:20 parent 4757:1 leaf 4759: prio 1 quantum 1514 rate 2500Kbit ceil 10Mbit ",
    ):
        assert words in told["classes"]
    # What the program reads is what tc reads, as of the last second.
    seen = {one["handle"]: one for one in told["others"]["seen"]}
    own = told["others"]["own"]["others"]
    assert 0 < own["drops"] <= seen["4759:"]["drops"]
    assert 0 < own["sent_bytes"] <= seen["4759:"]["bytes"]


def check_cake(told: dict[str, Any]) -> None:
    (installed,) = told["installed"]
    assert (installed["kind"], installed["handle"], installed["root"]) == ("cake", "4757:", True)
    wanted = {
        "bandwidth": RATE_MBPS * 125_000, "diffserv": "diffserv4", "flowmode": "dual-dsthost",
        "ingress": False, "split_gso": True, "nat": False,
    }  # fmt: skip
    assert {key: installed["options"][key] for key in wanted} == wanted
    (seen,) = told["others"]["seen"]
    own = told["others"]["own"]["others"]
    assert 0 < own["drops"] <= seen["drops"]
    assert 0 < own["sent_bytes"] <= seen["bytes"]
    # The fourth tin is Voice, in which the marked pings were.
    assert seen["tins"][3]["sent_packets"] == told["others"]["own"]["game"]["sent_packets"]


@pytest.mark.timed
@pytest.mark.parametrize("queues", [("auto",), pytest.param(("auto", "htb"), marks=LONG)])
def test_htb_and_cake_are_as_tc_shows_them_and_go_again(
    tmp_path: Path, queues: tuple[str, ...]
) -> None:
    command = [PYTHON, "python/tests/queue_machine.py", program(), *queues]
    done = run(tmp_path, command, modules=MODULES, limit_s=240)
    assert done.code == 0, done.output
    told = json.loads(done.output)
    assert told["doctor"]["state"] == "ok"
    assert told["doctor"]["found"].startswith('mode "shape" would use CAKE: ')
    check_cake(told["auto"])
    for queue in queues:
        kind, seen = KINDS[queue], told[queue]
        assert seen["gone after kill"]
        assert seen["again"][0] == kind
        assert seen["down"].endswith("has ended; nothing of it is left in the kernel\n")
        assert seen["gone after down"]
        # Games are counted as such, and as nothing else.
        marked, others = (seen[name]["own"]["game"]["sent_packets"] for name in ("games", "others"))
        assert 30 < marked <= others < 1.5 * len(seen["games"]["waits"])
        for name in ("games", "others"):
            flooded = seen[name]
            waits = flooded["waits"]
            assert flooded["own"]["others"]["drops"] > 100
            assert flooded["mbps"] < 1.02 * RATE_MBPS
            with of_times():
                assert waits[len(waits) * 9 // 10] < MAX_WAIT_MS
                assert flooded["mbps"] > MIN_SHARES[kind] * RATE_MBPS
    if "htb" not in queues:
        return
    check_htb(told["htb"])
    # What waits of the flood would be seconds of one queue for all.
    waiting = told["htb"]["others"]["own"]["others"]["backlog_bytes"]
    with of_times():
        assert waiting * 8e-3 / RATE_MBPS > 200
