"""An experiment with one stream that a browser sends."""

from __future__ import annotations

import gameway as gw

ALONE = """
duration = "10 s"
[path]
capacity = "2 Mb/s"
base_rtt = "40 ms"
queue = { kind = "drop-tail", size = "200 ms" }
[[stream]]
kind = "chromium"
controller = "gcc"
frame_rate = 30
min_bitrate = "200 kb/s"
start_bitrate = "1 Mb/s"
max_bitrate = "6 Mb/s"
[ping]
interval = "200 ms"
[record]
controller_interval = "100 ms"
"""


def altered(*lines: str) -> gw.Experiment:
    """The experiment with more keys of its stream."""
    return gw.loads(ALONE.replace('kind = "chromium"', "\n".join(['kind = "chromium"', *lines])))
