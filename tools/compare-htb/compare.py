"""Compare HTB of this machine's kernel with Gameway's: who gets how much of a shaped link.

Needs Linux with sch_htb and cls_u32, `tc` of iproute2, and the right to make a network namespace:

    unshare -rn python tools/compare-htb/compare.py      # with gameway installed

Each case sets up the same classes twice: on the loopback interface of the namespace, fed by UDP
senders that always have more, and in an experiment, fed by UDP competitors above what the link
carries.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import gameway as gw

SECONDS = 6
SECOND = 1_000_000_000
PAYLOAD = 1400
HEADERS = 42
"""UDP, IP and Ethernet: what tc counts; Gameway counts the same sizes on the wire."""
FIRST_PORT = 6000
DEVICE = "lo"


@dataclass(frozen=True)
class Class:
    """A class in Mb/s; `parent` is its number among the inner ones of the case."""

    rate: float
    ceil: float
    priority: int = 0
    parent: int | None = None
    quantum: int | None = None


@dataclass(frozen=True)
class Case:
    """Leaves below inner classes below a root, and which leaves have packets."""

    title: str
    total: float
    leaves: tuple[Class, ...]
    busy: tuple[int, ...]
    inner: tuple[Class, ...] = ()
    stab: tuple[str, ...] = ()
    """Words of tc-stab(8); the kernel's overhead counts from the Ethernet frame on."""
    payload: int = PAYLOAD


CASES = (
    Case("priority first", 8, (Class(2, 8, 0), Class(2, 8, 1)), (0, 1)),
    Case("equals by quantum", 8, (Class(1, 8), Class(2, 8)), (0, 1)),
    Case("equals, same quantum", 8, (Class(1, 8, quantum=3000), Class(2, 8, quantum=3000)), (0, 1)),
    Case("a ceiling", 8, (Class(1, 3), Class(1, 8)), (0, 1)),
    Case("priority up to a ceiling", 8, (Class(2, 5, 0), Class(2, 8, 1)), (0, 1)),
    Case("alone", 8, (Class(2, 8), Class(2, 8)), (1,)),
    Case("the sibling first", 8, (Class(3, 8, 0, 0), Class(1, 8, 0, 0), Class(4, 8)), (1, 2),
         (Class(4, 8),)),
    Case("all three", 8, (Class(3, 8, 0, 0), Class(1, 8, 0, 0), Class(4, 8)), (0, 1, 2),
         (Class(4, 8),)),
    Case("an inner class that may not borrow", 8, (Class(1, 3, 0, 0), Class(2, 8)), (0, 1),
         (Class(3, 3),)),
    Case("ATM cells", 8, (Class(2, 8), Class(6, 8)), (0, 1),
         stab=("overhead", "10", "linklayer", "atm")),
    Case("ATM cells, small packets", 2, (Class(1, 2),), (0,),
         stab=("overhead", "-4", "linklayer", "atm"), payload=100),
    Case("a least frame", 2, (Class(1, 2),), (0,),
         stab=("overhead", "24", "mpu", "160"), payload=40),
    Case("overhead alone", 8, (Class(2, 8), Class(6, 8)), (0, 1), stab=("overhead", "100")),
)  # fmt: skip


def command(*words: object, check: bool = True) -> None:
    """Run a command."""
    subprocess.run([str(word) for word in words], check=check, capture_output=True)  # noqa: S603


def tc(*words: object, check: bool = True) -> None:
    """Run `tc`."""
    command("tc", *words, check=check)


def kernel(case: Case) -> list[float]:
    """Mb/s of each leaf in the kernel."""
    tc("qdisc", "del", "dev", DEVICE, "root", check=False)
    stab = ("stab", *case.stab) if case.stab else ()
    tc("qdisc", "add", "dev", DEVICE, "root", "handle", "1:", *stab, "htb", "default", "fff")
    add_class("1:", "1:1", Class(case.total, case.total))
    for number, one in enumerate(case.inner):
        add_class("1:1", f"1:{10 + number}", one)
    for number, leaf in enumerate(case.leaves):
        parent = "1:1" if leaf.parent is None else f"1:{10 + leaf.parent}"
        add_class(parent, f"1:{100 + number}", leaf)
        tc("filter", "add", "dev", DEVICE, "protocol", "ip", "parent", "1:", "prio", 1, "u32",
           "match", "ip", "dport", FIRST_PORT + number, "0xffff",
           "flowid", f"1:{100 + number}")  # fmt: skip
    return rates_of_senders(case)


def add_class(parent: str, name: str, one: Class) -> None:
    """Add a class with tc's defaults."""
    quantum = () if one.quantum is None else ("quantum", one.quantum)
    tc("class", "add", "dev", DEVICE, "parent", parent, "classid", name, "htb",
       "rate", f"{one.rate}mbit", "ceil", f"{one.ceil}mbit", "prio", one.priority,
       *quantum)  # fmt: skip


def rates_of_senders(case: Case) -> list[float]:
    """Send to the ports of the busy leaves for a while; Mb/s that came, after the first second."""
    stop = threading.Event()
    counts = [0] * len(case.leaves)
    threads = []
    for number in case.busy:
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind(("127.0.0.1", FIRST_PORT + number))
        receiver.settimeout(0.2)
        threads.append(threading.Thread(target=receive, args=(receiver, stop, counts, number)))
        threads.append(
            threading.Thread(target=send, args=(FIRST_PORT + number, case.payload, stop))
        )
    for thread in threads:
        thread.start()
    time.sleep(1)
    before, begin = list(counts), time.monotonic()
    time.sleep(SECONDS)
    after, end = list(counts), time.monotonic()
    stop.set()
    for thread in threads:
        thread.join()
    packets = (last - first for first, last in zip(before, after, strict=True))
    return [count * (case.payload + HEADERS) * 8 / (end - begin) / 1e6 for count in packets]


def receive(receiver: socket.socket, stop: threading.Event, counts: list[int], number: int) -> None:
    """Count what comes."""
    while not stop.is_set():
        try:
            receiver.recv(2048)
        except TimeoutError:
            continue
        counts[number] += 1
    receiver.close()


def send(port: int, payload: int, stop: threading.Event) -> None:
    """Always have more: a blocking socket waits for room in its buffer of a few packets."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32_768)
    sender.settimeout(0.2)
    while not stop.is_set():
        try:
            sender.sendto(bytes(payload), ("127.0.0.1", port))
        except TimeoutError:
            continue
    sender.close()


def simulated(case: Case) -> list[float]:
    """Mb/s of each leaf in an experiment."""
    classes: dict[str, object] = {}
    for number, one in enumerate(case.inner):
        classes[f"inner-{number}"] = table_of(one, None)
    for number, leaf in enumerate(case.leaves):
        rule = {"match": {"port": FIRST_PORT + number}}
        classes[f"leaf-{number}"] = table_of(leaf, leaf.parent) | rule
    rate, total = f"{case.total} Mb/s", case.total + 1
    queue: dict[str, object] = {
        "kind": "htb",
        "rate": rate,
        "default": "leaf-0",
        "size": "50 packets",
        "class": classes,
    }
    if case.stab:
        queue |= link_layer(case.stab)
    flows = [
        gw.Competitor(name=f"flow-{number}", kind="udp", rate=f"{total} Mb/s",
                      packet_size=f"{case.payload + HEADERS} B",
                      header={"port": FIRST_PORT + number})
        for number in case.busy
    ]  # fmt: skip
    path = gw.Path(capacity="1 Gb/s", base_rtt="1 ms", queue=queue)
    experiment = gw.Experiment(duration=f"{SECONDS + 1} s", path=path, competitor=flows, ping=False)
    with tempfile.TemporaryDirectory() as folder:
        bins = gw.run(experiment, Path(folder) / "out").bins()
        late = bins.filter(pl.col("bin_start_ns") >= SECOND)
        sums = dict(late.group_by("flow").agg(pl.col("received_bytes").sum()).collect().rows())
    return [sums.get(f"flow-{n}", 0) * 8 / SECONDS / 1e6 for n in range(len(case.leaves))]


def link_layer(stab: tuple[str, ...]) -> dict[str, object]:
    """Give the words of a stab as keys: sizes are here those that tc counts."""
    words = dict(zip(stab[::2], stab[1::2], strict=True))
    amounts = {key: f"{words[key]} B" for key in ("overhead", "mpu") if key in words}
    return amounts | ({"linklayer": words["linklayer"]} if "linklayer" in words else {})


def table_of(one: Class, parent: int | None) -> dict[str, object]:
    """Give a class as an experiment has it; only leaves have priorities and quanta."""
    table: dict[str, object] = {"rate": f"{one.rate} Mb/s", "ceil": f"{one.ceil} Mb/s"}
    if one.priority:
        table["priority"] = one.priority
    if one.quantum:
        table["quantum"] = f"{one.quantum} B"
    return table if parent is None else table | {"parent": f"inner-{parent}"}


def main() -> None:
    """Print a line for each case; more than 5 % of the link apart is an error."""
    command("ip", "link", "set", DEVICE, "up")
    worst = 0.0
    for case in CASES:
        ours, theirs = simulated(case), kernel(case)
        apart = max(abs(one - other) for one, other in zip(ours, theirs, strict=True)) / case.total
        worst = max(worst, apart)
        shown = json.dumps({"gameway": [round(x, 2) for x in ours],
                            "kernel": [round(x, 2) for x in theirs]})  # fmt: skip
        print(f"{case.title:36} {shown}  apart {apart:.1%} of the link", flush=True)
    sys.exit(worst > 0.05)  # noqa: PLR2004 (see above)


if __name__ == "__main__":
    main()
