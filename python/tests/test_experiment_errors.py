"""Whatever is wrong with an experiment: one message with file, line, field, value and a remedy."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gameway as gw

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """\
title = "Test"
duration = "60 s"
runs = 3

[path]
capacity = "25 Mb/s"
base_rtt = "16 ms"
queue = { kind = "drop-tail", size = "2 bdp" }

[[stream]]
name = "game"
controller = "pudica"

[[competitor]]
name = "download"
congestion_control = "cubic"
start = "10 s"
stop = "20 s"
"""

# what is replaced, by what, line, field, value, texts that the message must hold
CASES = {
    "syntax": ('title = "Test"', "title = ", 1, None, None, ["not valid TOML", "column 9"]),
    "duplicate key": ("runs = 3", "runs = 3\nruns = 4", 4, None, None, ["duplicate key"]),
    "unknown key": (
        "capacity =", "capasity =", 6, "path.capasity", "25 Mb/s",
        ["unknown key", 'did you mean "capacity"', "base_rtt"],
    ),
    "unknown key at the top": (
        "runs = 3", "repeats = 3", 3, "repeats", 3, ["unknown key", "runs", "duration"],
    ),
    "unknown key of a queue": (
        'size = "2 bdp"', 'limit = "2 bdp"', 8, "path.queue.limit", "2 bdp", ["drop-tail", "size"],
    ),
    "unknown option of a controller": (
        '"pudica"', '{ kind = "pudica", gian = 1 }', 12, "stream.0.controller.gian", 1,
        ["unknown key of the controller pudica"],
    ),
    "value of an option": (
        '"pudica"', '{ kind = "fixed", pace_multiplier = [2, 0.5] }', 12,
        "stream.0.controller.pace_multiplier.1", 0.5, ["0.5 is not between 1 and 1000"],
    ),
    "missing key": (
        'duration = "60 s"', "", None, "duration", None, ["is missing", 'duration = "60 s"'],
    ),
    "missing key of a table": (
        'base_rtt = "16 ms"', "", 5, "path.base_rtt", None, ["is missing", 'base_rtt = "16 ms"'],
    ),
    "no switch": (
        'stop = "20 s"\n', 'stop = "20 s"\n\n[record]\npackets = "yes"\n', 21,
        "record.packets", "yes", ["neither true nor false"],
    ),
    "wrong unit": (
        "25 Mb/s", "25 MB/s", 6, "path.capacity", "25 MB/s", ["b/s, kb/s, Mb/s, Gb/s", "25 Mb/s"],
    ),
    "missing unit": ('"16 ms"', '"16"', 7, "path.base_rtt", "16", ["nothing as unit", "ns, us"]),
    "bare number": ('"16 ms"', "16", 7, "path.base_rtt", 16, ["has no unit", '"16 ms"']),
    "negative": ('"16 ms"', '"-16 ms"', 7, "path.base_rtt", "-16 ms", ["above zero"]),
    "negative share": (
        'name = "game"', 'name = "game"\nfec = "-1 %"', 12, "stream.0.fec", "-1 %",
        ["a share cannot be negative"],
    ),
    "share above the whole": (
        'name = "game"', 'name = "game"\nfec = "101 %"', 12, "stream.0.fec", "101 %", ["100 %"],
    ),
    "zero capacity": ("25 Mb/s", "0 Mb/s", 6, "path.capacity", "0 Mb/s", ["above zero"]),
    "stop before start": (
        '"20 s"', '"9 s"', 18, "competitor.0.stop", "9 s", ["after start = 10 s"],
    ),
    "stop at start": ('"20 s"', '"10 s"', 18, "competitor.0.stop", "10 s", ["after start"]),
    "stop before start in one combination": (
        '"20 s"', '["20 s", "9 s"]', 18, "competitor.0.stop.1", "9 s", ["after start"],
    ),
    "start after the end": (
        'start = "10 s"\nstop = "20 s"', 'start = "60 s"', 17, "competitor.0.start", "60 s",
        ["after the end of the run", "ends at 60 s"],
    ),
    "empty axis": ('"25 Mb/s"', "[]", 6, "path.capacity", [], ["empty list"]),
    "value twice": (
        '"25 Mb/s"', '["25 Mb/s", "25Mb/s"]', 6, "path.capacity.1", "25Mb/s", ["twice"],
    ),
    "list in a list": ('"16 ms"', '["1 ms", ["2 ms"]]', 7, "path.base_rtt.1", ["2 ms"], ["text"]),
    "wrong element of an axis": (
        '"25 Mb/s"', '["1 Mb/s",\n "x"]', 7, "path.capacity.1", "x", ["no number in front"],
    ),
    "missing trace": (
        '"25 Mb/s"', '{ trace = "absent.trace" }', 6, "path.capacity.trace", "absent.trace",
        ["does not exist", "absent.trace", "relative to the experiment file"],
    ),
    "trace of an impossible name": (
        '"25 Mb/s"', f'{{ trace = "{"x" * 300}" }}', 6, "path.capacity.trace", "x" * 300,
        ["does not exist"],
    ),
    "trace with garbage": (
        '"25 Mb/s"', '{ trace = "bad.trace" }', 6, "path.capacity.trace", "bad.trace",
        ["bad.trace", "line 3", "milliseconds"],
    ),
    "missing frame table": (
        'name = "game"', 'name = "game"\nvideo = { file = "absent.gwfr" }', 12,
        "stream.0.video.file", "absent.gwfr", ["does not exist"],
    ),
    "damaged frame table": (
        'name = "game"', 'name = "game"\nvideo = { file = "bad.gwfr" }', 12,
        "stream.0.video.file", "bad.gwfr", ["bad.gwfr: frames, byte 20", "gameway frames"],
    ),
    "unknown video": (
        'name = "game"', 'name = "game"\nvideo = "dom"', 12, "stream.0.video", "dom",
        ['did you mean "doom"', "steady"],
    ),
    "unknown controller": (
        '"pudica"', '"pudcia"', 12, "stream.0.controller", "pudcia",
        ["is no controller", 'did you mean "pudica"', "known are", "fixed, gcc"],
    ),
    "unknown queue": (
        '"drop-tail"', '"droptail"', 8, "path.queue.kind", "droptail",
        ["is no queue", 'did you mean "drop-tail"'],
    ),
    "unknown congestion control": (
        '"cubic"', '"qubic"', 16, "competitor.0.congestion_control", "qubic",
        ['did you mean "cubic"', "bbr, bbr2, bbr3, bic, cubic, newreno, prague, vegas"],
    ),
    "unknown classifier": (
        'capacity = "25 Mb/s"', 'capacity = "25 Mb/s"\nclassifier = "ports"', 7,
        "path.classifier", "ports", ["is no classifier", "behaviour, none"],
    ),
    "video without a bitrate": (
        'name = "download"', 'name = "download"\non_off = { segment = "4 s" }', 16,
        "competitor.0.on_off.bitrate", None, ["is missing", 'bitrate = "5 Mb/s"'],
    ),
    "picture of a download": (
        'name = "download"', 'name = "download"\nbitrate = "4 Mb/s"', 16,
        "competitor.0.bitrate", "4 Mb/s", ['only kind = "video-chat" has it'],
    ),
    "uneven spacing": (
        'congestion_control = "cubic"', 'kind = "onlive-ut"\nspacing = "uneven"', 17,
        "competitor.0.spacing", "uneven", ["is no spacing", "even, exponential"],
    ),
    "unknown competitor": (
        'name = "download"', 'name = "download"\nkind = "hls"', 16, "competitor.0.kind", "hls",
        ["known are dash, onlive-rome, onlive-ut, quic, short-tcp, tcp, udp"],
    ),
    "unknown feedback": (
        'name = "game"', 'name = "game"\nfeedback = "often"', 12, "stream.0.feedback", "often",
        ["native, per-frame", '{ kind = "rfc8888"'],
    ),
    "no runs": ("runs = 3", "runs = 0", 3, "runs", 0, ["from 1 to"]),
    "half a run": ("runs = 3", "runs = 1.5", 3, "runs", 1.5, ["whole number"]),
    "true as a number": ("runs = 3", "runs = true", 3, "runs", True, ["whole number"]),
    "same name twice": (
        '"download"', '"game"', 15, "competitor.0.name", "game", ["is the name of another flow"],
    ),
    "two unnamed streams": (
        'name = "game"\ncontroller = "pudica"',
        'controller = "gcc"\n[[stream]]\ncontroller = "gcc"', 12, "stream.1.name", "game",
        ["name of another flow"],
    ),
    "reserved name": ('"download"', '"ping"', 15, "competitor.0.name", "ping", ["not free"]),
    "min above max bitrate": (
        'name = "game"', 'name = "game"\nmin_bitrate = "60 Mb/s"\nmax_bitrate = "50 Mb/s"', 13,
        "stream.0.max_bitrate", "50 Mb/s", ["below min_bitrate = 60 Mb/s"],
    ),
    "start above max bitrate": (
        'name = "game"', 'name = "game"\nmax_bitrate = "4 Mb/s"', 12, "stream.0.max_bitrate",
        "4 Mb/s", ["below start_bitrate = 5 Mb/s"],
    ),
    "queue of nothing": ('"2 bdp"', '"0 bdp"', 8, "path.queue.size", "0 bdp", ["hold something"]),
    "queue without unit": ('"2 bdp"', "2", 8, "path.queue.size", 2, ["2 bdp", "packets"]),
    "steps not from zero": (
        '"25 Mb/s"', '{ steps = [["1 s", "1 Mb/s"]] }', 6, "path.capacity.steps.0.0", "1 s",
        ["0 s"],
    ),
    "steps back in time": (
        '"25 Mb/s"', '{ steps = [["0 s", "1 Mb/s"], ["0 s", "2 Mb/s"]] }', 6,
        "path.capacity.steps.1.0", "0 s", ["after 0 s"],
    ),
    "step without rate": (
        '"25 Mb/s"', '{ steps = [["0 s"]] }', 6, "path.capacity.steps.0", ["0 s"],
        ["a time and a rate"],
    ),
    "burst length missing": (
        'base_rtt = "16 ms"', 'base_rtt = "16 ms"\nloss = { kind = "bursty", probability = "1 %" }',
        8, "path.loss.burst_length", None, ["burst_length = 3.0"],
    ),
    "burst length of random loss": (
        'base_rtt = "16 ms"',
        'base_rtt = "16 ms"\nloss = { probability = "1 %", burst_length = 3.0 }',
        8, "path.loss.burst_length", 3.0, ["bursty"],
    ),
    "forward delay above base RTT": (
        'base_rtt = "16 ms"', 'base_rtt = "16 ms"\nforward_delay = "17 ms"', 7, "path.base_rtt",
        "16 ms", ["below forward_delay = 17 ms"],
    ),
    "frame rate": (
        'name = "game"', 'name = "game"\nframe_rate = 0', 12, "stream.0.frame_rate", 0,
        ["from 1 to 1000"],
    ),
    "unknown kind of jitter": (
        'base_rtt = "16 ms"', 'base_rtt = "16 ms"\njitter = { kind = "periodc" }', 8,
        "path.jitter.kind", "periodc", ['did you mean "periodic"', "half-normal, normal"],
    ),
    "jitter without deviation": (
        'base_rtt = "16 ms"', 'base_rtt = "16 ms"\njitter = { mean = "1 ms" }', 8,
        "path.jitter.deviation", None, ["is missing", 'normal jitter needs deviation = "2 ms"'],
    ),
    "mean of half-normal jitter": (
        'base_rtt = "16 ms"',
        'base_rtt = "16 ms"\njitter = { kind = "half-normal", mean = "1 ms", deviation = "5 ms" }',
        8, "path.jitter.mean", "1 ms", ["has no meaning here", 'only kind = "normal" has it'],
    ),
    "periodic jitter without interval": (
        'base_rtt = "16 ms"',
        'base_rtt = "16 ms"\njitter = { kind = "periodic", delay = "1 ms" }',
        8, "path.jitter.interval", None, ['interval = "500 ms"'],
    ),
    "periodic jitter that never lets go": (
        'base_rtt = "16 ms"',
        'base_rtt = "16 ms"\njitter = { kind = "periodic", delay = "9 ms", interval = "9 ms" }',
        8, "path.jitter.interval", "9 ms", ["must be above delay = 9 ms"],
    ),
    "marking without a unit": (
        'size = "2 bdp"', "mark_above = 5", 8, "path.queue.mark_above", 5, ["has no unit"],
    ),
    "cake faster than any link": (
        '"drop-tail", size = "2 bdp"', '"cake", bandwidth = "9000 Gb/s"', 8, "path.queue.bandwidth",
        "9000 Gb/s", ["is not possible", "9000 Gb/s is not between 512 b/s and 1000 Gb/s"],
    ),
    "less overhead than tc takes": (
        '"drop-tail", size = "2 bdp"', '"cake", overhead = "-80 B"', 8, "path.queue.overhead",
        "-80 B", ["is not possible", "-80 B is not between -64 B and 256 B"],
    ),
    "overhead as tc has it": (
        '"drop-tail", size = "2 bdp"', '"cake", overhead = -4', 8, "path.queue.overhead",
        -4, ["has no unit", '"-4 B"'],
    ),
    "a negative size": (
        'size = "2 bdp"', 'size = "-18 B"', 8, "path.queue.size", "-18 B", ["negative"],
    ),
    "no tins of that name": (
        '"drop-tail", size = "2 bdp"', '"cake", diffserv = "diffserv5"', 8, "path.queue.diffserv",
        "diffserv5", ["diffserv4", "diffserv8", "precedence"],
    ),
    "no framing of that name": (
        '"drop-tail", size = "2 bdp"', '"cake", framing = "pppoe-ptm vlan"', 8,
        "path.queue.framing", "pppoe-ptm vlan", ['"vlan" is no framing', "ether-vlan", "docsis"],
    ),
    "no round trip of that name": (
        '"drop-tail", size = "2 bdp"', '"cake", rtt = "moon"', 8, "path.queue.rtt", "moon",
        ["is not possible"],
    ),
    "reordering earlier and later": (
        'base_rtt = "16 ms"',
        'base_rtt = "16 ms"\nreorder = { probability = "1 %", earlier = "1 ms", later = "2 s" }',
        8, "path.reorder.later", "2 s", ["has no meaning beside earlier"],
    ),
    "reordering without a gap": (
        'base_rtt = "16 ms"', 'base_rtt = "16 ms"\nreorder = { probability = "1 %", gap = 0 }',
        8, "path.reorder.gap", 0, ["1 to 1000000"],
    ),
    "duplication without a share": (
        'base_rtt = "16 ms"', 'base_rtt = "16 ms"\nduplicate = { correlation = "1 %" }', 8,
        "path.duplicate.probability", None, ['add probability = "1 %"'],
    ),
    "a TCP that says what UDP does": (
        'congestion_control = "cubic"', 'congestion_control = "cubic"\necn = "ect1"', 17,
        "competitor.0.ecn", "ect1", ['kind = "tcp"', "off, classic, accurate"],
    ),
    "no isolation of that name": (
        '"drop-tail", size = "2 bdp"', '"cake", isolation = "none"', 8, "path.queue.isolation",
        "none", ["triple-isolate", "dual-srchost", "flowblind"],
    ),
    "unknown key of the way back": (
        'base_rtt = "16 ms"', 'base_rtt = "16 ms"\nback = { base_rtt = "1 ms" }', 8,
        "path.back.base_rtt", "1 ms",
        ["unknown key", "capacity, duplicate, jitter, loss, queue, reorder"],
    ),
    "queue of a way back without a bottleneck": (
        "[[stream]]", '[path.back]\nqueue = "drop-tail"\n[[stream]]', 11,
        "path.back.queue", {"kind": "drop-tail", "size": "300 ms"}, ["add capacity"],
    ),
    "burst length of random loss on the way back": (
        "[[stream]]",
        '[path.back.loss]\nprobability = "1 %"\nburst_length = 2.0\n[[stream]]', 12,
        "path.back.loss.burst_length", 2.0, ['only kind = "bursty" has it'],
    ),
    "hop without a capacity": (
        'base_rtt = "16 ms"', 'base_rtt = "16 ms"\n[[path.hop]]\nname = "access"', 8,
        "path.hop.0.capacity", None, ["is missing", "add capacity"],
    ),
    "hop of a name that means something": (
        'base_rtt = "16 ms"', 'base_rtt = "16 ms"\n[[path.hop]]\nname = "all"', 9,
        "path.hop.0.name", "all", ["is not free as a name", "all, path, back"],
    ),
    "two hops of one name": (
        "[[stream]]",
        '[[path.hop]]\nname = "a"\ncapacity = "1 Mb/s"\n' * 2 + "[[stream]]", 14,
        "path.hop.1.name", "a", ["is the name of another hop"],
    ),
    "a hop of a place that is none": (
        "[[stream]]",
        '[[path.hop]]\nname = "a"\ncapacity = "1 Mb/s"\nplace = "infront"\n[[stream]]', 13,
        "path.hop.0.place", "infront", ["is no place", "in-front"],
    ),
    "a change that changes nothing": (
        "[[stream]]", '[[path.change]]\nat = "1 s"\n[[stream]]', 11,
        "path.change.0.at", "1 s", ["changes nothing"],
    ),
    "a change before the one before it": (
        "[[stream]]",
        '[[path.change]]\nat = "2 s"\ncapacity = "1 Mb/s"\n' * 2 + "[[stream]]", 14,
        "path.change.1.at", "2 s", ["must be after 2 s"],
    ),
    "a change to Wi-Fi": (
        "[[stream]]",
        '[[path.change]]\nat = "2 s"\ncapacity = { wifi = "802.11n" }\n[[stream]]', 12,
        "path.change.0.capacity.wifi", "802.11n", ["cannot be a Wi-Fi medium"],
    ),
    "a change after the end": (
        "[[stream]]", '[[path.change]]\nat = "200 s"\ncapacity = "1 Mb/s"\n[[stream]]', 11,
        "path.change.0.at", "200 s", ["is after the end of the run"],
    ),
    "one hop as a table": (
        "[[stream]]", '[path.hop]\nname = "a"\ncapacity = "1 Mb/s"\n[[stream]]', 10,
        "path.hop", {"name": "a", "capacity": "1 Mb/s"}, ["write [[path.hop]]"],
    ),
    "via an unknown hop": (
        'name = "game"', 'name = "game"\nvia = ["path", "acces"]', 12, "stream.0.via.1", "acces",
        ["is no bottleneck", "known are all, path"],
    ),
    "no direction": (
        'name = "game"', 'name = "game"\ndirection = "upwards"', 12, "stream.0.direction",
        "upwards", ["is no direction", "down, up"],
    ),
    "no use of ECN": (
        'name = "game"', 'name = "game"\necn = "ect2"', 12, "stream.0.ecn", "ect2",
        ["ect0, ect1, native, none"],
    ),
    "pause without an end": (
        'name = "game"', 'name = "game"\npause = { from = "1 s" }', 12, "stream.0.pause",
        {"from": "1 s"}, ["has no to"],
    ),
    "pause back in time": (
        'name = "game"', 'name = "game"\npause = { from = "2 s", to = ["3 s", "1 s"] }', 12,
        "stream.0.pause.to.1", "1 s", ["must be after from = 2 s"],
    ),
    "pause after the end": (
        'name = "game"', 'name = "game"\npause = { from = "60 s", to = "61 s" }', 12,
        "stream.0.pause.from", "60 s", ["after the end of the run", "ends at 60 s"],
    ),
    "pause before the start": (
        'name = "game"', 'name = "game"\nstart = "9 s"\npause = { from = "1 s", to = "9 s" }', 13,
        "stream.0.pause.to", "9 s", ["must be after start = 9 s"],
    ),
    "pause after the stop": (
        'name = "game"',
        'name = "game"\nstop = ["9 s", "4 s"]\npause = { from = "4 s", to = "8 s" }', 13,
        "stream.0.pause.from", "4 s", ["must be before stop = 4 s"],
    ),
    "reports without end": (
        'name = "game"', 'name = "game"\nfeedback = { kind = "rfc8888", interval = "999 us" }', 12,
        "stream.0.feedback.interval", "999 us", ["must be at least 1 ms"],
    ),
    "reports without end at an interval": (
        'name = "game"', 'name = "game"\nfeedback = "1 us"', 12, "stream.0.feedback", "1 us",
        ["must be at least 1 ms"],
    ),
    "negative jitter": (
        'base_rtt = "16 ms"', 'base_rtt = "16 ms"\njitter = { deviation = "-1 ms" }', 8,
        "path.jitter.deviation", "-1 ms", ["must not be negative"],
    ),
    "clock without a unit": (
        'name = "game"', 'name = "game"\nclock_drift = 50', 12, "stream.0.clock_drift", 50,
        ["whole ppm", '"-50 ppm"'],
    ),
    "clock in parts of a ppm": (
        'name = "game"', 'name = "game"\nclock_drift = "0.5 ppm"', 12, "stream.0.clock_drift",
        "0.5 ppm", ["whole ppm"],
    ),
    "clock out of this world": (
        'name = "game"', 'name = "game"\nclock_drift = "-1001 ppm"', 12, "stream.0.clock_drift",
        "-1001 ppm", ["out of range", "from -1000 to 1000"],
    ),
    "unknown format of reports": (
        'name = "game"', 'name = "game"\nfeedback = { kind = "rfc888", interval = "5 ms" }', 12,
        "stream.0.feedback.kind", "rfc888", ['did you mean "rfc8888"', "transport-wide"],
    ),
    "reports of two formats at no interval": (
        'name = "game"',
        'name = "game"\nfeedback = { kind = ["rfc8888", "transport-wide"] }', 12,
        "stream.0.feedback.interval", None,
        ["rfc8888 has 10 ms, transport-wide has 60 ms: write one for all of them"],
    ),
    "a deadline where nothing is sent again": (
        'name = "game"',
        'name = "game"\nrepair = { kind = ["adaptive", "fec"], deadline = "80 ms" }', 12,
        "stream.0.repair.deadline", "80 ms", ["has no meaning here", "fec has goal, kind"],
    ),
    "unknown key of reports": (
        'name = "game"',
        'name = "game"\nfeedback = { kind = "transport-wide", intervall = "5 ms" }', 12,
        "stream.0.feedback.intervall", "5 ms", ["unknown key", 'did you mean "interval"'],
    ),
    "rate of a download": (
        'name = "download"', 'name = "download"\nrate = "1 Mb/s"', 16, "competitor.0.rate",
        "1 Mb/s", ["has no meaning here", 'only kind = "udp" has it'],
    ),
    "congestion control of constant traffic": (
        'congestion_control = "cubic"', 'kind = "udp"\ncongestion_control = "bbr"', 17,
        "competitor.0.congestion_control", "bbr",
        ['only kind = "tcp" or "short-tcp" or "dash" or "quic" has it'],
    ),
    "option of a congestion control that it does not have": (
        'congestion_control = "cubic"',
        'congestion_control = ["bbr", { kind = "cubic", hystat = "off" }]', 16,
        "competitor.0.congestion_control.1.hystat", "off",
        ["unknown key of the congestion control cubic", 'did you mean "hystart"'],
    ),
    "option of a congestion control that cannot be": (
        'congestion_control = "cubic"',
        'congestion_control = { kind = "cubic", hystart = ["on", "none"] }', 16,
        "competitor.0.congestion_control.hystart.1", "none",
        ["hystart: unknown variant `none`, expected one of `on`, `off`, `rfc9406`"],
    ),
    "feedback that Prague cannot work with": (
        'congestion_control = "cubic"',
        'congestion_control = ["cubic", "prague"]\necn = ["accurate", "off"]', 17,
        "competitor.0.ecn.1", "off",
        ['does not go with congestion_control = "prague"', 'prague needs ecn = "accurate"'],
    ),
    "unknown ECN": (
        'congestion_control = "cubic"', 'congestion_control = "cubic"\necn = "clasic"', 17,
        "competitor.0.ecn", "clasic", ["is no ECN mode", 'did you mean "classic"'],
    ),
    "ECN of constant traffic": (
        'congestion_control = "cubic"', 'kind = "udp"\nrate = "1 Mb/s"\necn = "classic"', 18,
        "competitor.0.ecn", "classic", ['kind = "udp"', "none, ect0, ect1"],
    ),
    "constant traffic of no rate": (
        'congestion_control = "cubic"', 'kind = ["tcp", "udp"]', 14, "competitor.0.rate", None,
        ["is missing", 'udp competitor needs rate = "1 Mb/s"'],
    ),
    "packets of no size": (
        'congestion_control = "cubic"',
        'kind = "udp"\nrate = "1 Mb/s"\npacket_size = "1501 B"', 18, "competitor.0.packet_size",
        "1501 B", ["at most 1500 B"],
    ),
    "a window that no TCP has": (
        'congestion_control = "cubic"', 'receive_window = ["auto", "4 kB"]', 16,
        "competitor.0.receive_window.1", "4 kB", ["must be at least 4 KiB"],
    ),
    "an MSS above that of Ethernet": (
        'congestion_control = "cubic"', 'mss = "1461 B"', 16, "competitor.0.mss", "1461 B",
        ["at most 1460 B"],
    ),
    "an MTU above that of Ethernet": (
        'controller = "pudica"', 'controller = "pudica"\nmtu = "9 kB"', 13, "stream.0.mtu", "9 kB",
        ["at most 1500 B"],
    ),
    "a window of constant traffic": (
        'congestion_control = "cubic"', 'kind = "udp"\nrate = "1 Mb/s"\nreceive_window = "1 MB"',
        18, "competitor.0.receive_window", "1 MB",
        ['only kind = "tcp" or "short-tcp" or "dash" has it'],
    ),
    "least above greatest": (
        'congestion_control = "cubic"', 'kind = "short-tcp"\nmin_size = "60 kB"', 14,
        "competitor.0.max_size", "50 kB", ["below min_size = 60 kB"],
    ),
    "nothing to run": (
        GOOD[GOOD.index("[[stream]]"):], "", None, "stream", None, ["nothing would be sent"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_error_names_file_line_field_and_what_is_allowed(
    case: tuple[str, str, int | None, str | None, object, list[str]], tmp_path: Path
) -> None:
    old, new, line, field, value, texts = case
    assert old in GOOD
    (tmp_path / "bad.trace").write_text("1\n2\nthree\n", encoding="utf-8")
    (tmp_path / "bad.gwfr").write_bytes(b"GWFR\x01\0\x01\0\x3c\0\0\0\x01\0\0\0\x80\2\x68\1\x01\0")
    file = tmp_path / "test.toml"
    file.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(gw.InputError) as caught:
        gw.load(file)
    error = caught.value
    message = str(error)
    assert (error.line, error.field) == (line, field)
    assert message.startswith(f"{file}, line {line}: " if line else f"{file}: ")
    if field is not None and value is not None and field != "other":
        assert error.value == value
    assert "\n" not in message
    for text in [*texts, *([field] if field else [])]:
        assert text in message


def test_the_good_file_is_good(tmp_path: Path) -> None:
    file = tmp_path / "test.toml"
    file.write_text(GOOD, encoding="utf-8")
    assert gw.load(file).runs == 3


def test_a_missing_file_is_named() -> None:
    with pytest.raises(gw.InputError, match=r"absent\.toml: cannot be read: No such file"):
        gw.load("absent.toml")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "binary.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(gw.InputError, match="not UTF-8"):
        gw.load(file)


def test_building_in_python_is_checked_alike() -> None:
    with pytest.raises(gw.InputError, match=r"^controller = \"gc\" is no controller; did you mean"):
        gw.Stream(controller="gc")
    path = gw.Path(capacity="5 Mb/s", base_rtt="10 ms")
    with pytest.raises(gw.InputError, match=r"stream\.0\.start .*after the end"):
        gw.Experiment(duration="5 s", path=path, stream=[gw.Stream(controller="gcc", start="6 s")])
    with pytest.raises(gw.InputError, match=r"path\.capacity.*no unit"):
        gw.Experiment(duration="5 s", path={"capacity": 5, "base_rtt": "1 ms"})


def test_an_override_is_named_as_the_culprit(tmp_path: Path) -> None:
    file = tmp_path / "test.toml"
    file.write_text(GOOD, encoding="utf-8")
    experiment = gw.load(file)
    with pytest.raises(gw.InputError, match=r"^--set path\.capacity=5: path\.capacity = 5 has no"):
        experiment.with_overrides(["path.capacity=5"])
    for bad, text in {
        "runs": "write FIELD=VALUE",
        "=3": "write FIELD=VALUE",
        "stream.gaem.controller=gcc": r"not in stream; .* from 0 to 0 or a name \(game\)",
        "stream.7.controller=gcc": "not in stream",
        "path.capacity.x=1": "path.capacity is one value",
        "path.capasity=1 Mb/s": 'did you mean "capacity"',
    }.items():
        with pytest.raises(gw.InputError, match=text) as caught:
            experiment.with_overrides([bad])
        assert str(caught.value).startswith(f"--set {bad}: ")


def test_an_override_in_a_list_without_names_asks_for_an_index() -> None:
    paths = gw.loads(GOOD.replace("[path]", "[[path]]"))
    with pytest.raises(gw.InputError, match=r"give an index from 0 to 0$"):
        paths.with_overrides(["path.capacity=5 Mb/s"])
    (changed,) = {
        run.spec["path"]["capacity"]
        for run in gw.expand(paths.with_overrides(["path.0.capacity=5 Mb/s"]))
    }
    assert changed == "5 Mb/s"


@given(st.text())
def test_any_text_is_an_experiment_or_an_input_error(text: str) -> None:
    _load_or_refuse(text)


LINES = GOOD.splitlines()
SCALARS = st.one_of(
    st.integers(), st.floats(), st.booleans(), st.text(max_size=8).map(repr),
    st.sampled_from(["[]", "{}", "[[]]", '"1 s"', '"9e9 s"', "1979-05-27", "[1, [2, {a = []}]]"]),
)  # fmt: skip


# A matrix of thousands of runs takes its time.
@settings(deadline=None)
@given(st.integers(0, len(LINES) - 1), SCALARS)
def test_any_value_in_any_place_is_taken_or_refused(line: int, value: object) -> None:
    lines = list(LINES)
    lines[line] = f"{lines[line].partition('=')[0]} = {value}"
    _load_or_refuse("\n".join(lines))


@given(st.lists(st.sampled_from(LINES), max_size=30))
def test_any_order_of_lines_is_taken_or_refused(lines: list[str]) -> None:
    _load_or_refuse("\n".join(lines))


@given(
    st.text(), st.sampled_from(["path.", "stream.game.", "", "competitor.0.stop", "path.queue."])
)
def test_any_override_is_taken_or_refused(text: str, start: str) -> None:
    experiment = gw.loads(GOOD)
    with suppress(gw.InputError):
        experiment.with_overrides([start + text])


def _load_or_refuse(text: str) -> None:
    try:
        experiment = gw.loads(text)
    except gw.InputError:
        return
    assert experiment.runs >= 1
    assert len(gw.expand(experiment)) >= experiment.runs
