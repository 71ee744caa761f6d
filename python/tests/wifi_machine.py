"""The home gateway where the home is on Wi-Fi: run in a machine of tests.

home -- wlan1 ~ wlan0 -- router -- wan -- out

The kernel simulates the radios (mac80211_hwsim). Prints a JSON object of what was seen: what
`doctor` says, what the kernel's own tool counts, and what packets wait for the station during
downloads, before and while the radio looks at other channels, when it sends nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from gateway_machine import CONTROL, PROGRAM, ip, run, start

SERVER = "198.51.100.2"
CELL = ("gameway", "2412", "HT20", "fixed-freq", "02:ca:ff:ee:ba:01")
"""With its number said, neither radio has to look for the other's."""
SECONDS = 8


def place() -> None:
    for space in ("home", "out"):
        ip(f"netns add {space}")
    ip("link add wan type veth peer name eth netns out")
    # The first radio is the router's.
    first, second = sorted(
        line.split()[1] for line in run("iw", "list").splitlines() if line.startswith("Wiphy")
    )
    own, others = (
        next(line.split()[1] for line in dev(radio) if line.split()[:1] == ["Interface"])
        for radio in (first, second)
    )
    assert (own, others) == ("wlan0", "wlan1"), (own, others)
    run("iw", "phy", second, "set", "netns", "name", "home")
    for prefix, interface in ((), "wlan0"), (("ip", "netns", "exec", "home"), "wlan1"):
        run(*prefix, "iw", "dev", interface, "set", "type", "ibss")
        run(*prefix, "ip", "link", "set", interface, "up")
        run(*prefix, "iw", "dev", interface, "ibss", "join", *CELL)
    ip("address add 192.168.7.1/24 dev wlan0")
    ip("-n home address add 192.168.7.2/24 dev wlan1")
    ip("-n home route add default via 192.168.7.1")
    ip("address add 198.51.100.1/24 dev wan")
    ip("link set wan up")
    ip(f"-n out address add {SERVER}/24 dev eth")
    for name in ("eth", "lo"):
        ip(f"-n out link set {name} up")
    ip("-n out route add default via 198.51.100.1")
    run("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")


def dev(radio: str) -> list[str]:
    """What the tool says of a radio's interfaces."""
    found = run("iw", "dev").split("phy#")
    return next(part for part in found if part.startswith(radio.removeprefix("phy"))).splitlines()


def reach() -> None:
    """Wait until the two have found each other."""
    line = f"ip netns exec home ping -n -c 1 -W 1 {SERVER}".split()
    for _ in range(20):
        if subprocess.run(line, capture_output=True, check=False).returncode == 0:
            return
    sys.exit("the radios do not find each other: " + run("iw", "dev"))


def waits() -> list[float | None]:
    """What packets waited behind the gateway during a download, as `status` says each second."""
    fetch = f"ip netns exec home iperf3 -c {SERVER} -R -t {SECONDS} -b 20M"
    found = []
    with subprocess.Popen(fetch.split(), stdout=subprocess.DEVNULL) as process:
        for _ in range(SECONDS - 1):
            time.sleep(1)
            told = json.loads(run(PROGRAM, "status", "--json", "--control", CONTROL))
            found.append(told["wait_behind_ms"])
        process.wait()
    return found


def main() -> None:
    place()
    reach()
    server = subprocess.Popen(
        ["ip", "netns", "exec", "out", "iperf3", "-s"], stdout=subprocess.DEVNULL
    )
    start("wlan0")
    time.sleep(1)
    told: dict[str, Any] = {"before": waits()}
    scan = "while true; do iw dev wlan0 scan > /dev/null; done"
    scanning = subprocess.Popen(["sh", "-c", scan])
    told["scanning"] = waits()
    scanning.kill()
    said = run(PROGRAM, "doctor", "--json", "--home", "wlan0", check=False)
    checks = json.loads(said.splitlines()[0])["checks"]
    told["doctor"] = {one["name"]: f"{one['state']}: {one['found']}" for one in checks}
    told["iw"] = run("iw", "dev", "wlan0", "station", "dump", "-v")
    sys.stdout.write(json.dumps(told))
    server.kill()


if __name__ == "__main__":
    main()
