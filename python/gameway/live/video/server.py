"""The web server of a video: nginx, one process, on an address of its own.

What it does not know, which congestion control its connections have, their route says
(`congctl`): by a table of routes of each server's own, since all go to the same client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gameway.live import offers
from gameway.live.plan import CLIENT, DEVICE, HTTP_PORT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gameway.live.plan import Plan

NAME = "web"
FIRST_TABLE = 100
"""Of routes; those that Linux knows by name are above 252."""
CONFIGURATION = """\
daemon off;
master_process off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 64; }}
http {{
  types {{ application/dash+xml mpd; video/mp4 mp4 m4s; }}
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body;
  sendfile on;
  tcp_nopush on;
  expires 1h;
  server {{ listen {address}:{port}; root {film}; }}
}}
"""
"""Of what is not said here nginx has its defaults: a connection is kept for 75 s. Segments may be
kept by the browser's cache, as those of videos may."""


def command(plan: Plan, competitor: dict[str, Any], film: Path, folder: Path) -> list[str]:
    """Write the configuration of a video's server; give its command."""
    address = plan.address(competitor["name"])
    # nginx takes relative paths from its own prefix.
    folder, film = folder.absolute(), film.absolute()
    words = CONFIGURATION.format(folder=folder, address=address, port=HTTP_PORT, film=film)
    file = folder / "nginx.conf"
    file.write_text(words, encoding="utf-8")
    return ["nginx", "-e", "stderr", "-p", str(folder), "-c", str(file)]


def routes(plan: Plan, competitor: dict[str, Any]) -> Iterator[list[str]]:
    """Give the commands, in the server's namespace, that choose the congestion control."""
    address = plan.address(competitor["name"])
    table = str(FIRST_TABLE + int(address.rpartition(".")[2]))
    algorithm = offers.kernel_name(competitor["congestion_control"])
    yield ["ip", "route", "add", f"{CLIENT}/32", "dev", DEVICE, "src", address, "table", table,
           "congctl", algorithm]  # fmt: skip
    yield ["ip", "rule", "add", "from", address, "table", table]
