"""`gameway-gateway doctor` on routers that are namespaces; needs root, ip, tc and clang."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from home_fixture import LAN, gateway, lan, program, run, why_not
from live_fixture import needs_live
from nat_fixture import inside, ip

if TYPE_CHECKING:
    from collections.abc import Iterator

REASON = why_not()
pytestmark = [needs_live, pytest.mark.skipif(bool(REASON), reason=REASON)]
NAMES = (
    "kernel", "rights", "data path", "attachment", "own queue", "interface", "other filters",
    "queues", "flow tables", "offloads", "timestamps",
)  # fmt: skip


@pytest.fixture(scope="module")
def space() -> Iterator[str]:
    program()
    with lan("doctor") as made:
        yield made


@contextmanager
def bridge(space: str) -> Iterator[None]:
    """`home` is a bridge of which `lan` is the port."""
    ip("-n", space, "link", "add", "home", "type", "bridge")
    try:
        ip("-n", space, "link", "set", LAN, "master", "home")
        ip("-n", space, "link", "set", "home", "up")
        yield
    finally:
        ip("-n", space, "link", "delete", "home")


def examined(space: str, home: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Give the exit code and all checks by name."""
    words = [*inside(space), program(), "doctor", "--json", "--home", home]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
    checks = json.loads(done.stdout)["checks"]
    return done.returncode, {check["name"]: check for check in checks}


def states(checks: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: check["state"] for name, check in checks.items() if check["state"] != "ok"}


def test_an_interface_at_which_a_gateway_works_has_no_fault(space: str) -> None:
    code, checks = examined(space, LAN)
    assert (code, tuple(checks), states(checks)) == (0, NAMES, {})
    assert checks["interface"]["found"] == f"{LAN} is of the kind veth"
    assert checks["kernel"]["found"].endswith(os.uname().release)
    words = [*inside(space), program(), "doctor", "--home", LAN]
    shown = run(*words).splitlines()
    assert [line[:18].strip() for line in shown if not line.startswith(" ")] == list(NAMES)
    assert all(len(line) <= 80 for line in shown)


def test_a_bridge_is_named_instead_of_its_port(space: str) -> None:
    with bridge(space):
        _, checks = examined(space, "home")
        assert states(checks) == {}
        assert checks["interface"]["found"] == f"home is a bridge of {LAN}"
        code, checks = examined(space, LAN)
        assert (code, states(checks)) == (0, {"interface": "warning"})
        assert checks["interface"]["mend"] == "name home instead"


def test_an_interface_that_is_not_there_or_down_is_told(space: str) -> None:
    code, checks = examined(space, "nowhere")
    assert (code, states(checks)) == (1, {"interface": "fault"})
    assert checks["interface"]["found"].startswith("there is no nowhere; there are lo, ")
    ip("-n", space, "link", "set", LAN, "down")
    try:
        code, checks = examined(space, LAN)
        assert (code, states(checks)) == (0, {"interface": "warning"})
        assert checks["interface"]["found"].endswith("and is down")
    finally:
        ip("-n", space, "link", "set", LAN, "up")


def test_queues_and_filters_of_others_are_told_and_ours_are_none(space: str) -> None:
    tc = (*inside(space), "tc")
    with gateway(space):
        _, checks = examined(space, LAN)
        assert states(checks) == {}
        assert checks["other filters"]["found"].startswith("the programs of a gateway that runs")
    run(*tc, "qdisc", "add", "dev", LAN, "root", "tbf", "rate", "20mbit", "burst", "9kb",
        "latency", "50ms")  # fmt: skip
    run(*tc, "qdisc", "add", "dev", LAN, "clsact")
    try:
        plain = states(examined(space, LAN)[1])
        assert plain == {"queues": "warning"}
        # A program of classic BPF that gives 0.
        run(*tc, "filter", "add", "dev", LAN, "ingress", "bpf", "bytecode", "1,6 0 0 0,")
        _, checks = examined(space, LAN)
        assert states(checks) == {"queues": "warning", "other filters": "warning"}
        assert checks["queues"]["found"].startswith(f"tbf at {LAN}: ")
        assert checks["other filters"]["found"].endswith(": bpf")
    finally:
        for own in ("root", "clsact"):
            run(*tc, "qdisc", "delete", "dev", LAN, own)


def test_without_rights_they_are_the_fault(space: str) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv (util-linux)")
    words = [*inside(space), "setpriv", "--bounding-set=-all", "--inh-caps=-all", program(),
             "doctor", "--json", "--home", LAN]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 1
    found = {one["name"]: one for one in json.loads(done.stdout)["checks"]}
    assert found["rights"]["found"] == "no CAP_BPF, no CAP_PERFMON, no CAP_NET_ADMIN"
    assert (found["rights"]["state"], found["data path"]["state"]) == ("fault", "fault")
