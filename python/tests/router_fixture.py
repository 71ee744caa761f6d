"""A router that opens ports on request (miniupnpd), between a host and what is outside.

Its address outside is one that the daemon takes: those for documentation it refuses, as no router
of the internet has one. All is in namespaces of the test, and nothing leaves them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from nat_fixture import HOST, INSIDE, inside, ip, rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nat_fixture import Internet

DAEMON = Path("/usr/sbin/miniupnpd")
NEEDS_ROUTER = pytest.mark.skipif(not DAEMON.exists(), reason="needs miniupnpd-nftables")
OUTSIDE, BEYOND = "11.0.0.2", "11.0.0.1"
"""Of the router, and of the network that it is in."""
LIFETIME_S = 6
"""The daemon grants no more by PCP."""
TABLE = """
table inet upnp {
  chain forward { type filter hook forward priority -1; policy accept; jump mapped_forward; }
  chain mapped_forward { }
  chain prerouting { type nat hook prerouting priority -100; policy accept; jump mapped_in; }
  chain mapped_in { }
  chain postrouting { type nat hook postrouting priority 101; policy accept; jump mapped_out; }
  chain mapped_out { }
  chain input { type filter hook input priority 1; policy accept; }
}
"""
CONFIGURATION = """
ext_ifname=outer
listening_ip=inner
ipv6_disable=yes
secure_mode=yes
min_lifetime=2
max_lifetime={lifetime}
upnp_table_name=upnp
upnp_nat_table_name=upnp
upnp_forward_chain=mapped_forward
upnp_nat_chain=mapped_in
upnp_nat_postrouting_chain=mapped_out
uuid=00000000-0000-0000-0000-000000000001
enable_natpmp={datagrams}
enable_upnp=yes
http_port={page}
allow 1024-65535 10.1.1.0/24 1024-65535
deny 0-65535 0.0.0.0/0 0-65535
"""
PAGE = 5000
"""Where the daemon's UPnP is asked."""
OTHER = "10.1.1.3"
"""Another machine beside the host; here an address of the same namespace."""
ASKS = f"""
import http.client
service = "urn:schemas-upnp-org:service:WANIPConnection:1"
given = dict(RemoteHost="", ExternalPort=PORT, Protocol="UDP", InternalPort=PORT, Enabled=1,
             InternalClient="{OTHER}", PortMappingDescription="other", LeaseDuration=60)
given = "".join(f"<New{{key}}>{{value}}</New{{key}}>" for key, value in given.items())
kind = "http://schemas.xmlsoap.org/soap"
action = f'<u:AddPortMapping xmlns:u="{{service}}">{{given}}</u:AddPortMapping>'
names = f'xmlns:s="{{kind}}/envelope/" s:encodingStyle="{{kind}}/encoding/"'
body = f"<s:Envelope {{names}}><s:Body>{{action}}</s:Body></s:Envelope>"
router = http.client.HTTPConnection("{INSIDE[HOST][1]}", {PAGE}, source_address=("{OTHER}", 0))
router.request("POST", "/ctl/IPConn", body, dict(SOAPAction=f'"{{service}}#AddPortMapping"'))
answer = router.getresponse()
assert answer.status == 200, answer.read()
"""
NO_PCP = "udp dport 5351 @th,64,8 2 drop"
"""The version is the first byte behind UDP's header; that of NAT-PMP is 0."""


def move(made: Internet) -> None:
    """Give the host's router its address outside; it translates and forwards nothing yet."""
    router = made.routers[HOST]
    ip("-n", router, "-4", "address", "flush", "dev", "outer")
    ip("-n", router, "address", "add", f"{OUTSIDE}/24", "dev", "outer")
    ip("-n", made.between, "address", "add", f"{BEYOND}/24", "dev", "side0")
    ip("-n", router, "route", "replace", "default", "via", BEYOND)
    # Nobody outside knows the way to the network inside.
    ip("-n", made.between, "route", "delete", "10.1.1.0/24")
    filled(router, rules("cone", None) + TABLE)


def filled(router: str, text: str) -> None:
    subprocess.run([*inside(router), "nft", "-f", "-"], input=text, text=True, check=True)


def mapped(made: Internet) -> set[tuple[str, int]]:
    """Protocol and port of all that the router hands on by request."""
    line = ["nft", "--numeric", "list", "chain", "inet", "upnp", "mapped_in"]
    done = subprocess.run(
        [*inside(made.routers[HOST]), *line], capture_output=True, text=True, check=True
    )
    kinds = {"0x11": "UDP", "17": "UDP", "0x6": "TCP", "0x06": "TCP", "6": "TCP"}
    found = re.findall(rf"@nh,72,8 (\w+) th dport (\d+) dnat ip to {INSIDE[HOST][0]}", done.stdout)
    return {(kinds[kind], int(port)) for kind, port in found}


@contextmanager
def taken(made: Internet, port: int) -> Iterator[None]:
    """Let another machine of the network have this port of UDP outside."""
    end = made.ends[HOST]
    ip("-n", end, "address", "add", f"{OTHER}/24", "dev", "eth0")
    try:
        program = f"PORT = {port}\n{ASKS}"
        subprocess.run([*inside(end), sys.executable, "-c", program], check=True)
        yield
    finally:
        ip("-n", end, "address", "delete", f"{OTHER}/24", "dev", "eth0")


@contextmanager
def opening(made: Internet, folder: Path, by: str) -> Iterator[None]:
    """Run the daemon so that this protocol alone is there, or all from it on."""
    router = made.routers[HOST]
    chains = ("input", "mapped_in", "mapped_forward", "mapped_out")
    filled(router, "".join(f"flush chain inet upnp {one}\n" for one in chains))
    if by == "NAT-PMP":
        filled(router, f"add rule inet upnp input {NO_PCP}\n")
    file = folder / "router.conf"
    file.write_text(
        CONFIGURATION.format(
            lifetime=LIFETIME_S, page=PAGE, datagrams="no" if by == "UPnP" else "yes"
        ), encoding="utf-8",
    )  # fmt: skip
    line = [str(DAEMON), "-d", "-f", str(file), "-P", str(folder / "router.pid")]
    log = folder / "router.log"
    with (
        log.open("w") as said,
        subprocess.Popen([*inside(router), *line], stdout=said, stderr=said) as process,
    ):
        try:
            end = time.monotonic() + 5
            while "HTTP listening" not in log.read_text(errors="replace"):
                assert time.monotonic() < end, log.read_text(errors="replace")
                time.sleep(0.02)
            time.sleep(0.1)
            yield
        finally:
            process.terminate()
