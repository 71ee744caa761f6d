"""Classes, their rules and headers of flows: what they mean, and what is refused where."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import gameway as gw
from gameway import _core

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """\
title = "Test"
duration = "10 s"

[path]
capacity = "50 Mb/s"
base_rtt = "30 ms"

[path.queue]
kind = "htb"
rate = "50 Mb/s"
default = "rest"

[path.queue.class.rest]
rate = "20Mb/s"
ceil = "50 Mb/s"
priority = 1
queue = { kind = "drop-tail", size = "20 ms" }

[path.queue.class.game]
rate = "30 Mb/s"
ceil = "50 Mb/s"
match = { protocol = "UDP", port = "5004" }

[[stream]]
controller = "scream"
max_bitrate = "15 Mb/s"
header = { client = "192.168.0.20", port = 5004, dscp = "EF" }

[[competitor]]
congestion_control = "cubic"
"""


def queue_of(text: str) -> dict[str, Any]:
    (run,) = gw.expand(gw.loads(text))
    _core.check_spec(json.dumps(run.spec))
    queue: dict[str, Any] = run.spec["path"]["queue"]
    return queue


def test_words_and_quantities_have_a_normal_form() -> None:
    assert queue_of(GOOD) == {
        "kind": "htb", "size": "1000 packets", "rate": "50 Mb/s", "default": "rest",
        "class": {
            "rest": {
                "order": 0, "rate": "20 Mb/s", "ceil": "50 Mb/s", "priority": 1,
                "queue": {"kind": "drop-tail", "size": "20 ms"},
            },
            "game": {
                "order": 1, "rate": "30 Mb/s", "ceil": "50 Mb/s",
                "match": {"protocol": "udp", "port": "5004"},
            },
        },
    }  # fmt: skip
    same = GOOD.replace('"UDP"', '"udp"').replace('"5004"', '"5004-5004"').replace('"EF"', "46")
    (one,), (other,) = gw.expand(gw.loads(GOOD)), gw.expand(gw.loads(same))
    assert one.id == other.id


def test_the_order_of_classes_is_that_of_the_file_and_part_of_the_run() -> None:
    head, path, queue, rest, game = GOOD.split("\n[path")
    game, flows = game.split("\n[[stream]]")
    parts = [head, path, queue, game, rest]
    swapped = "\n[path".join(parts) + "\n[[stream]]" + flows
    classes = queue_of(swapped)["class"]
    assert {name: one["order"] for name, one in classes.items()} == {"game": 0, "rest": 1}
    ids = {gw.expand(gw.loads(text))[0].id for text in (GOOD, swapped)}
    assert len(ids) == 2
    # An experiment that went through Python keeps its order.
    again = gw.loads(swapped).with_overrides(["path.queue.class.game.priority=2"])
    assert gw.expand(again)[0].spec["path"]["queue"]["class"]["game"]["order"] == 0


def test_axes_work_inside_classes_rules_and_headers() -> None:
    text = GOOD.replace('"20Mb/s"', '["10 Mb/s", "20 Mb/s"]').replace(
        '"20 ms"', '["1 bdp", "9 kB"]'
    )
    text = text.replace('port = "5004"', 'port = ["5004", 5005]').replace('"EF"', '["ef", "le"]')
    runs = gw.expand(gw.loads(text))
    assert len(runs) == len({run.id for run in runs}) == 16
    for run in runs:
        _core.check_spec(json.dumps(run.spec))
    names = {name for run in runs for name in run.factors}
    assert {"queue_class_rest_rate", "queue_class_rest_queue_size", "queue_class_game_match_port",
            "header_dscp"} <= names  # fmt: skip


def test_queues_with_and_without_classes_are_an_axis() -> None:
    inner = '{ kind = "htb", default = "in", class = { in = { rate = "5 Mb/s" } } }'
    outer = f'{{ all = {{ rate = "20 Mb/s", queue = {inner} }} }}'
    queue = f'queue = ["drop-tail", {{ kind = "htb", default = "all", class = {outer} }}]\n'
    head, _, tail = GOOD.partition("[path.queue]")
    flows = tail[tail.index("[[stream]]") :]
    kinds = [run.spec["path"]["queue"]["kind"] for run in gw.expand(gw.loads(head + queue + flows))]
    assert kinds == ["drop-tail", "htb"]


# what is replaced, by what, line, field, texts that the message must hold
CASES = {
    "unknown key": (
        "priority = 1", "prio = 1", 16, "class.rest.prio",
        ["unknown key of a class", 'did you mean "priority"'],
    ),
    "no rate": ('rate = "30 Mb/s"\n', "", 19, "class.game.rate", ['add rate = "30 Mb/s"']),
    "priority beyond 7": ("priority = 1", "priority = 8", 16, "class.rest.priority", ["0 to 7"]),
    "no rate at all": (
        '"30 Mb/s"', '"0 b/s"', 20, "class.game.rate", ["must be above zero"],
    ),
    "negative rate": ('"30 Mb/s"', '"-3 Mb/s"', 20, "class.game.rate", ["-3 Mb/s"]),
    "no quantum": ("priority = 1", 'quantum = "0 B"', 16, "class.rest.quantum", ["above zero"]),
    "ceiling below the rate": (
        'ceil = "50 Mb/s"\nmatch', 'ceil = ["50 Mb/s", "29 Mb/s"]\nmatch', 21, "class.game.ceil.1",
        ["29 Mb/s is less than its rate (30 Mb/s)"],
    ),
    "ceiling above the parent's": (
        'ceil = "50 Mb/s"\nmatch', 'ceil = "51 Mb/s"\nmatch', 21, "class.game.ceil",
        ["never reached", "50 Mb/s"],
    ),
    "more assured than there is": (
        '"30 Mb/s"', '["30 Mb/s", "31 Mb/s"]', 10, "rate", ["children are assured", "51 Mb/s"],
    ),
    "more overhead than there is": (
        'default = "rest"', 'default = "rest"\noverhead = ["40 B", "300 B"]', 12, "overhead.1",
        ["300 B is not between -64 B and 256 B"],
    ),
    "no link layer of that name": (
        'default = "rest"', 'default = "rest"\nlinklayer = "ptm"', 12, "linklayer",
        ["ethernet", "atm", "adsl"],
    ),
    "unknown parent": (
        "priority = 1", 'parent = "gaem"', 16, "class.rest.parent", ["known are rest, game"],
    ),
    "a circle": (
        'priority = 1\nqueue = { kind = "drop-tail", size = "20 ms" }', 'parent = "rest"', 16,
        "class.rest.parent", ["leads back"],
    ),
    "unknown default": (
        'default = "rest"', 'default = ["rest", "rset"]', 11, "default.1", ["is no class"],
    ),
    "no default": ('default = "rest"\n', "", 8, "default", ["an htb needs default"]),
    "a class that nothing leads to": (
        'match = { protocol = "UDP", port = "5004" }\n', "", 19, "class.game.match", ["no packet"],
    ),
    "an empty rule": (
        '{ protocol = "UDP", port = "5004" }', "{}", 22, "class.game.match", ["must be a table"],
    ),
    "unknown key of a rule": (
        "port =", "prot =", 22, "class.game.match.prot", ['did you mean "port"'],
    ),
    "no port": ('"5004"', '"5100-5004"', 22, "class.game.match.port", ["5000-5100"]),
    "no address": (
        'port = "5004"', 'source = "10.0.0.1/8"', 22, "class.game.match.source", ["behind its"],
    ),
    "no code point": (
        'port = "5004"', 'dscp = "gold"', 22, "class.game.match.dscp", ["0 to 63", "ef"],
    ),
    "no kind of traffic": (
        'port = "5004"', 'traffic = "web"', 22, "class.game.match.traffic", ["game, other"],
    ),
    "a rule that never matches": (
        '{ protocol = "UDP", port = "5004" }',
        '{ a = { port = "5000-5100" }, b = { port = [5101, 5004] } }', 22, "class.game.match.b",
        ["can never match"],
    ),
    "a queue of a class": (
        '"20 ms"', '"0 ms"', 17, "class.rest.queue.size", ["hold something"],
    ),
    "an option of a queue of a class": (
        '{ kind = "drop-tail", size = "20 ms" }', '{ kind = "pie", alpha = -1.0 }', 17,
        "class.rest.queue.alpha", ["-1"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_cannot_be_is_refused_where_it_stands(
    case: tuple[str, str, int, str, list[str]], tmp_path: Path
) -> None:
    old, new, line, field, texts = case
    assert old in GOOD
    file = tmp_path / "test.toml"
    file.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(gw.InputError) as caught:
        gw.load(file)
    found = (caught.value.line, str(caught.value.field).removeprefix("path.queue."))
    assert found[0] == line, caught.value
    assert found[1].startswith(field), caught.value
    for text in texts:
        assert text in str(caught.value)


HEADERS = {
    "address": ('"192.168.0.20"', '"192.168.0.256"', "client", ["is no address"]),
    "port": ("port = 5004,", "port = 0,", "port", ["1 to 65535"]),
    "code point": ('"EF"', '"fast"', "dscp", ["0 to 63", "voice-admit"]),
    "key": ("client =", "clint =", "clint", ['did you mean "client"']),
}


@pytest.mark.parametrize("case", HEADERS.values(), ids=HEADERS.keys())
def test_headers_that_cannot_be_are_refused(case: tuple[str, str, str, list[str]]) -> None:
    old, new, key, texts = case
    with pytest.raises(gw.InputError) as caught:
        gw.loads(GOOD.replace(old, new, 1))
    assert (caught.value.line, caught.value.field) == (27, f"stream.0.header.{key}")
    for text in texts:
        assert text in str(caught.value)


def test_a_game_in_its_class_is_spared(tmp_path: Path) -> None:
    # Two frames may go at once: else a frame leaves at the rate of its class.
    settings = ["path.queue.class.game.burst=64 kB", "duration=20 s"]
    results = gw.run(gw.loads(GOOD).with_overrides(settings), tmp_path / "out")
    delays = results.queue_delay().collect()
    game = delays.filter(delays["flow"] == "game")
    assert results.missing == 0
    assert 0 < game["sum_ns"].sum() / game["packets"].sum() < 2e6
