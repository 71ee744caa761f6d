"""The home gateway on a kernel without TCX and with tables of flows: run in a machine of tests.

home -- lan (a port of the bridge house) -- router -- wan -- out

Prints a JSON object of what was seen.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = sys.argv[1]
CONTROL = "/tmp/control.sock"
SAID = Path("/tmp/said")
TABLE = """
table inet fw {
  flowtable ft { hook ingress priority 0; devices = { DEVICES }; }
  chain forward { type filter hook forward priority 0; meta l4proto tcp flow add @ft; }
}
"""


def run(*words: str, text: str | None = None, check: bool = True) -> str:
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if check and done.returncode:
        sys.exit(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def ip(line: str) -> None:
    run("ip", *line.split())


def place() -> None:
    for space in ("home", "out"):
        ip(f"netns add {space}")
    ip("link add house type bridge")
    ip("link add lan type veth peer name eth netns home")
    ip("link add wan type veth peer name eth netns out")
    ip("link set lan master house")
    for line in ("house", "lan", "wan"):
        ip(f"link set {line} up")
    ip("address add 192.168.7.1/24 dev house")
    ip("address add 198.51.100.1/24 dev wan")
    for space, own, gate in (
        ("home", "192.168.7.2", "192.168.7.1"),
        ("out", "198.51.100.2", "198.51.100.1"),
    ):
        ip(f"-n {space} address add {own}/24 dev eth")
        ip(f"-n {space} link set eth up")
        ip(f"-n {space} link set lo up")
        ip(f"-n {space} route add default via {gate}")
    run("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")


def start(interface: str = "house") -> subprocess.Popen[str]:
    words = [PROGRAM, "up", "--home", interface, "--control", CONTROL]
    with SAID.open("w", encoding="utf-8") as said:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=said, text=True)
    assert process.stdout is not None
    if not process.stdout.readline():
        sys.exit(f"it is not attached: {said_so_far()}")
    return process


def said_so_far() -> str:
    return SAID.read_text("utf-8")


def segments() -> int:
    # As of the last second.
    time.sleep(1.5)
    told = json.loads(run(PROGRAM, "status", "--json", "--control", CONTROL))
    return int(told["segments"])


def download() -> None:
    line = "ip netns exec home iperf3 -c 198.51.100.2 -R -n 8M"
    run(*line.split())


def filters() -> list[str]:
    shown = [run("tc", "filter", "show", "dev", "house", way) for way in ("ingress", "egress")]
    return [name for name in ("to_home", "from_home") if any(name in text for text in shown)]


def seen_with(devices: str, interface: str = "house") -> dict[str, object]:
    if devices:
        run("nft", "-f", "-", text=TABLE.replace("DEVICES", devices))
    before = segments()
    download()
    count = segments() - before
    told = json.loads(
        run(PROGRAM, "doctor", "--json", "--home", interface, check=False).splitlines()[0]
    )
    state = next(one["state"] for one in told["checks"] if one["name"] == "flow tables")
    run("nft", "flush", "ruleset")
    return {"segments": count, "doctor": state}


def at_no_bridge() -> dict[str, object]:
    start("wan")
    seen = seen_with("house, wan", "wan")
    run(PROGRAM, "down", "--control", CONTROL)
    return seen


def main() -> None:
    place()
    server = subprocess.Popen(
        ["ip", "netns", "exec", "out", "iperf3", "-s"], stdout=subprocess.DEVNULL, text=True
    )
    time.sleep(1)
    process = start()
    attached, said = filters(), [said_so_far()]
    tables = {one: seen_with(one) for one in sys.argv[2:]}
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = filters()
    # What is left does nothing, and the next start takes it away.
    download()
    run("nft", "-f", "-", text=TABLE.replace("DEVICES", "lan, wan"))
    process = start()
    again = filters()
    said.append(said_so_far())
    run("nft", "flush", "ruleset")
    down = run(PROGRAM, "down", "--control", CONTROL)
    plain = at_no_bridge() if "wan" in tables else None
    server.kill()
    told = {
        "kernel": run("uname", "-r").strip(), "attached": attached, "tables": tables,
        "plain": plain, "left": left, "again": again, "down": down, "after": filters(),
        "said": said,
    }  # fmt: skip
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
