"""The gateway's own queue where the kernel has FQ-CoDel and CAKE: run in a machine of tests.

The place is that of `gateway_machine.py`. Prints a JSON object of what was seen, much of it by tc.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gateway_machine import CONTROL, PROGRAM, place, run

RATE_MBPS = 10
FLOOD_MBPS = 15
SECONDS = 5
CONFIG = Path("/tmp/queue.toml")
GAMES = """
table ip games {
  chain out {
    type filter hook postrouting priority 0
    ip dscp ef meta priority set 4757:4
  }
}
"""


def start(queue: str) -> subprocess.Popen[str]:
    shape = f'shape = {{ rate = "{RATE_MBPS} Mb/s", queue = "{queue}" }}'
    CONFIG.write_text(f'home = "house"\nmode = "shape"\n{shape}\n', "utf-8")
    words = [PROGRAM, "up", "--config", str(CONFIG), "--control", CONTROL]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if not process.stdout.readline():
        sys.exit(f"no queue of the kind {queue}")
    return process


def queues() -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(run("tc", "-s", "-j", "qdisc", "show", "dev", "house"))
    return [one for one in told if one["kind"] != "clsact"]


def status() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(run(PROGRAM, "status", "--json", "--control", CONTROL))
    return told


def ping(seconds: int, *options: str) -> list[float]:
    line = f"ip netns exec home ping -n -i 0.05 -w {seconds} {' '.join(options)} 198.51.100.2"
    return sorted(float(one) for one in re.findall(r"time=([\d.]+) ms", run(*line.split())))


def flooded(*options: str) -> dict[str, Any]:
    """Pings beside a flood of UDP, and what waits, passes and was counted then."""
    flood = f"ip netns exec home iperf3 -c 198.51.100.2 -R -u -b {FLOOD_MBPS}M -t {SECONDS + 2}"
    with subprocess.Popen(flood.split(), stdout=subprocess.DEVNULL) as process:
        time.sleep(2)
        before = status()
        waits = ping(SECONDS - 1, *options)
        after, seen = status(), queues()
        process.wait()
    seconds = after["time_s"] - before["time_s"]
    sent = [told["own_queue"]["others"]["sent_bytes"] for told in (before, after)]
    mbps = (sent[1] - sent[0]) * 8e-6 / seconds
    return {"waits": waits, "own": after["own_queue"], "seen": seen, "mbps": mbps}


def gone() -> bool:
    """Whether only the kernel's own queue is there, within a second."""
    for _ in range(50):
        if [(one["kind"], one["handle"]) for one in queues()] == [("noqueue", "0:")]:
            return True
        time.sleep(0.02)
    return False


def seen_of(queue: str) -> dict[str, Any]:
    process = start(queue)
    told: dict[str, Any] = {
        "installed": queues(),
        "classes": run("tc", "-d", "class", "show", "dev", "house"),
        "games": flooded("-Q", "0xb8"),
        "others": flooded(),
    }
    process.send_signal(signal.SIGKILL)
    process.wait()
    told["gone after kill"] = gone()
    start(queue)
    told["again"] = [one["kind"] for one in queues()]
    told["down"] = run(PROGRAM, "down", "--control", CONTROL)
    told["gone after down"] = gone()
    return told


def main() -> None:
    place()
    run("nft", "-f", "-", text=GAMES)
    server = subprocess.Popen(
        ["ip", "netns", "exec", "out", "iperf3", "-s"], stdout=subprocess.DEVNULL, text=True
    )
    time.sleep(1)
    doctor = run(PROGRAM, "doctor", "--json", "--home", "house", check=False).splitlines()[0]
    told = {queue: seen_of(queue) for queue in sys.argv[2:]}
    server.kill()
    found = {one["name"]: one for one in json.loads(doctor)["checks"]}
    sys.stdout.write(json.dumps(told | {"doctor": found["own queue"], "empty": ping(1)}))


if __name__ == "__main__":
    main()
