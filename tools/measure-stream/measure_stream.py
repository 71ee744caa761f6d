"""Measure a live stream on an idle link: latency by part, displayed frames, processor time by part.

Needs what a live run needs (root, see docs/live.md):

    sudo .venv/bin/python tools/measure-stream/measure_stream.py            # one run of 30 s
    sudo .venv/bin/python tools/measure-stream/measure_stream.py --runs 5

The latency from capture to decoded is that of a frame's number and clock, read from the decoded
picture. Its parts: *encoding* until the first packet leaves (drawing, stamp and packets included),
*network* until the last packet is there, of which a packet's way is propagation and the rest
pacing, and *decoding*. The bound is propagation + pacing + 12 ms. All of it is of this machine
while it does what else it does: state its load with the figures.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import polars as pl

import gameway as gw
from gameway.metrics.source import Run, finished_runs

SECONDS = 30
SETTLED_S = 2
"""The first frames meet a decoder and an encoder that have just been opened."""
RTT_MS = 20
FRAME_RATE = 60
ALLOWED_MS = 12.0
EXPERIMENT = f"""
title = "A stream on an idle link"
duration = "{SECONDS} s"

[path]
capacity = "30 Mb/s"
base_rtt = "{RTT_MS} ms"
queue = {{ kind = "drop-tail", size = "2 bdp" }}

[[stream]]
name = "game"
controller = "pudica"
max_bitrate = "20 Mb/s"
"""
PARTS = {
    "encoding": ("captured_ns", "first_sent_ns"),
    "network": ("first_sent_ns", "complete_ns"),
    "decoding": ("complete_ns", "decoded_ns"),
    "capture to decoded": ("captured_ns", "decoded_ns"),
}
QUANTILES = (0.5, 0.9, 0.99)


def main() -> int:
    """Measure and print; exit code 1 if a median is above the bound."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=1, help="runs of 30 s (default: 1)")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        experiment = gw.loads(EXPERIMENT).with_overrides([f"runs={runs}"])
        results = gw.run(experiment, Path(folder) / "idle", on="live")
        held = [_print(run) for run in finished_runs(results)]
    return 0 if all(held) else 1


def _print(run: Run) -> bool:
    frames = run.table("frames").join(run.table("pictures"), on=["stream", "frame"])
    shown = frames.filter(pl.col("captured_ns") >= SETTLED_S * 1_000_000_000)
    medians = {}
    print(f"\n{'ms':24}" + "".join(f"{f'p{round(100 * at)}':>8}" for at in QUANTILES))
    for part, (begin, end) in PARTS.items():
        took = ((shown[end] - shown[begin]) / 1e6).drop_nulls()
        values = [float(took.quantile(at, "linear") or 0.0) for at in QUANTILES]
        medians[part] = values[0]
        print(f"{part:24}" + "".join(f"{value:8.1f}" for value in values))
    bound = medians["network"] + ALLOWED_MS
    latency = medians["capture to decoded"]
    pacing = medians["network"] - RTT_MS / 2
    print(
        f"bound {bound:.1f} ms = propagation {RTT_MS / 2:.1f} + pacing {pacing:.1f} + {ALLOWED_MS}"
    )
    captured = shown["captured_ns"].to_list()
    a_second = (len(captured) - 1) / (captured[-1] - captured[0]) * 1e9
    known = frames.filter(pl.col("picture_frame") == pl.col("frame")).height
    print(f"frames {frames.height}, decoded with their own number {known}, "
          f"lost packets {frames['lost_packets'].sum()}, "
          f"{a_second:.1f} captured a second of {FRAME_RATE}")  # fmt: skip
    for part, thread, cpu_ns in run.table("cpu").select("part", "thread", "cpu_ns").rows():
        if cpu_ns > SECONDS * 1e6:
            print(f"{part + ', ' + thread:24}{cpu_ns / SECONDS / 1e7:6.1f} % of a core")
    return latency <= bound


if __name__ == "__main__":
    sys.exit(main())
