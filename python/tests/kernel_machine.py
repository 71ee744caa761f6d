"""The home gateway on a kernel of any version and processor: run in a machine of tests.

The place is that of `gateway_machine.py`, with a server beyond the provider's queue:

home -- router -- out (its queue is in front of the home) -- far

Prints a JSON object of what was seen: pings beside a download without the gateway, with it, after
somebody has set the clock, and while it is stopped; datagrams; what `doctor` finds; and what
kill -9 and `down` leave.
"""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from typing import Any

from gateway_machine import CONTROL, PROGRAM, filters, ip, place, run, start
from tcx_program import by_tcx

RATE = "8mbit"
QUEUE = "200kb"
"""204 ms at this rate."""
SERVER = "203.0.113.2"
SECONDS = 6


def attached() -> dict[str, int]:
    return {"tcx": by_tcx("house"), "filters": len(filters())}


def beside_a_download(seconds: int = SECONDS, clock: str = "") -> list[float]:
    """Pings of a download's later two thirds, in ms and in order; first the clock is set."""
    fetch = f"ip netns exec home iperf3 -c {SERVER} -R -t {seconds + 1}"
    with subprocess.Popen(fetch.split(), stdout=subprocess.DEVNULL) as process:
        time.sleep(seconds / 3)
        if clock:
            run("date", "--set", clock)
        line = f"ip netns exec home ping -n -i 0.05 -w {seconds - seconds // 3} {SERVER}"
        waits = sorted(float(one) for one in re.findall(r"time=([\d.]+) ms", run(*line.split())))
        process.wait()
    return waits


def status() -> dict[str, Any]:
    # As of the last second.
    time.sleep(1.5)
    told: dict[str, Any] = json.loads(run(PROGRAM, "status", "--json", "--control", CONTROL))
    return told


def doctor() -> dict[str, str]:
    lines = run(PROGRAM, "doctor", "--json", "--home", "house", check=False).splitlines()
    return {one["name"]: one["state"] for one in json.loads(lines[0])["checks"]}


def place_far() -> None:
    """Have the server beyond the queue: a sender's own one holds back its TCP."""
    place()
    ip("netns add far")
    ip("-n out link add beyond type veth peer name eth netns far")
    ip("-n out address add 203.0.113.1/24 dev beyond")
    ip(f"-n far address add {SERVER}/24 dev eth")
    # A packet of the queue is a packet of the link.
    for line in (
        "out link set beyond up",
        "far link set eth gso_max_segs 1",
        "far link set eth up",
    ):
        ip(f"-n {line}")
    ip("-n far route add default via 203.0.113.1")
    ip("route add 203.0.113.0/24 via 198.51.100.2")
    ip("netns exec out sysctl -q -w net.ipv4.ip_forward=1")
    line = f"tc -n out qdisc add dev eth root tbf rate {RATE} burst 4kb limit {QUEUE}"
    run(*line.split())


def main() -> None:
    place_far()
    server = subprocess.Popen(
        ["ip", "netns", "exec", "far", "iperf3", "-s"], stdout=subprocess.DEVNULL, text=True
    )
    time.sleep(1)
    told: dict[str, Any] = {"kernel": os.uname().release, "processor": platform.machine()}
    told["doctor"] = doctor()
    told["bare"] = beside_a_download()
    process = start()
    told["attached"] = attached()
    told["steered"] = beside_a_download()
    told["set back"] = beside_a_download(clock="2001-01-01")
    told["set forward"] = beside_a_download(clock="2099-01-01")
    told["status"] = status()
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.2)
    told["stopped"] = beside_a_download()
    process.send_signal(signal.SIGCONT)
    told["later"] = status()
    run(*f"ip netns exec home iperf3 -c {SERVER} -R -u -b 2M -t 2".split())
    told["udp"] = status()["datagrams"] - told["later"]["datagrams"]
    process.send_signal(signal.SIGKILL)
    process.wait()
    told["left"] = attached()
    start()
    told["again"] = attached()
    told["down"] = run(PROGRAM, "down", "--control", CONTROL)
    told["after"] = attached()
    server.kill()
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
