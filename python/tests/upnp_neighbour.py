"""A device of the network that claims to be its router: `upnp_neighbour.py ADDRESS ELSEWHERE`.

It answers each search thrice: with a description at ELSEWHERE, then with one of its own without an
end, then with a good one. It prints the path of each request for its own.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

GROUP, PORT = "239.255.255.250", 1900
DEVICE = "urn:schemas-upnp-org:device"
SERVICE = "urn:schemas-upnp-org:service:WANIPConnection:1"
DESCRIPTION = f"""<?xml version="1.0"?><root xmlns="{DEVICE}-1-0"><device>
<deviceType>{DEVICE}:InternetGatewayDevice:1</deviceType><deviceList><device>
<deviceType>{DEVICE}:WANDevice:1</deviceType><deviceList><device>
<deviceType>{DEVICE}:WANConnectionDevice:1</deviceType><serviceList><service>
<serviceType>{SERVICE}</serviceType><controlURL>/control</controlURL><SCPDURL>/actions</SCPDURL>
</service></serviceList></device></deviceList></device></deviceList></device></root>"""
ACTIONS = """<?xml version="1.0"?><scpd xmlns="urn:schemas-upnp-org:service-1-0"><actionList>
<action><name>AddPortMapping</name><argumentList></argumentList></action></actionList></scpd>"""


class Pages(BaseHTTPRequestHandler):
    """Its description."""

    def do_GET(self) -> None:
        print(self.path, flush=True)  # noqa: T201 (this is a program)
        if self.path == "/endless":
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(b"<a>" * 10_000)
        body = (ACTIONS if self.path == "/actions" else DESCRIPTION).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Standard error is for what fails."""


def main(address: str, elsewhere: str) -> None:
    """Answer until this is ended."""
    pages = HTTPServer((address, 0), Pages)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    hears = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    hears.bind((GROUP, PORT))
    member = struct.pack("4s4s", socket.inet_aton(GROUP), socket.inet_aton(address))
    hears.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
    answers = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    answers.bind((address, PORT))
    print("ready", flush=True)  # noqa: T201 (the same)
    while True:
        _, whom = hears.recvfrom(1500)
        own = f"{address}:{pages.server_port}"
        for place in (f"{elsewhere}/device", f"{own}/endless", f"{own}/device"):
            text = f"HTTP/1.1 200 OK\r\nST: {SERVICE}\r\nLOCATION: http://{place}\r\n\r\n"
            answers.sendto(text.encode(), whom)


if __name__ == "__main__":
    main(*sys.argv[1:])
