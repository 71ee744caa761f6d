"""The factors of runs: short names and values, for tables and figures.

Each axis has a name of its own, and none that a table has for one of its columns. A factor's name
is its key where that tells it from all others. What belongs to a stream or a competitor has the
flow's name in front where it does not: there are several flows of its sort, another axis has the
same key, or a table of results has such a column. Where even that is the name of another axis, its
place in the experiment stands for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gameway.expansion.specification import canonical
from gameway.experiment.keys.known import PYTHON
from gameway.experiment.tables import Stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

COLUMNS = frozenset({
    "condition", "drop_reason", "event", "fate", "finished", "flow", "frame", "id", "input", "kind",
    "level", "link", "metric", "number", "part", "repeat", "run", "runs", "scope", "seed",
    "segment", "series", "start", "stop", "stream", "thread", "value", "variable", "video",
})  # fmt: skip
"""Columns of tables, and words that mean nothing without the name of a flow.

Other columns end in a unit, which no key does.
"""
FLOWS = ("stream", "competitor")
NAMED = ("stream.", "competitor.", "path.hop.")
"""What has a name of its own, and so a longer name for its keys."""
CONTROLLER = re.compile(r"(stream\.\d+\.)?controller")
"""Path of a controller in the tree of a run: of one stream, or of all that name none."""
OF_A_STREAM = re.compile(r"stream\.\d+\.(\w+)")
CONGESTION_CONTROL = re.compile(r"competitor\.\d+\.congestion_control")
WHOLE = re.compile(
    rf"controller|stream\.\d+\.(controller|feedback|pause|repair)|{CONGESTION_CONTROL.pattern}"
)
"""Paths of what is one value with its options: an option means something to its own kind only."""
ALWAYS = ("controller", "congestion_control", "capacity", "queue_size")
"""Factors that every run names, whether they vary or not."""

Leaves = dict[str, Any]


def factors_of(combinations: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Name what differs between the combinations, and what is always named."""
    leaves = [dict(_leaves(combination)) for combination in combinations]
    paths = list(dict.fromkeys(path for leaf in leaves for path in leaf))
    labels = {path: _labels_at(path, [leaf.get(path) for leaf in leaves]) for path in paths}
    varying = [path for path in paths if _varies(_found(path, leaves))]
    factors = []
    for combination, leaf in zip(combinations, leaves, strict=True):
        names = _names_of(combination, [path for path in varying if path in leaf])
        named = {name: labels[path][canonical(leaf[path])] for path, name in names.items()}
        factors.append(
            named | {name: text for name, text in _usual(leaf, labels) if name not in named}
        )
    return _same_order(factors)


def _found(path: str, leaves: list[Leaves]) -> list[Any]:
    """Give what is found at a path; of a key that some kinds of streams have, by those alone."""
    own = OF_A_STREAM.match(path)
    if own is not None and Stream.kinds_with(own[1]):
        return [leaf[path] for leaf in leaves if path in leaf]
    return [leaf.get(path) for leaf in leaves]


def _varies(found: Iterable[Any]) -> bool:
    return len({canonical(value) for value in found}) > 1


def _same_order(factors: list[dict[str, str]]) -> list[dict[str, str]]:
    """Put the usual factors first, in one order for all runs."""
    names = dict.fromkeys(name for named in factors for name in named)
    order = [name for name in ALWAYS if name in names] + [n for n in names if n not in ALWAYS]
    return [{name: named[name] for name in order if name in named} for named in factors]


def _leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Give each single value by its path; a kind of queue or gateway has its table's path."""
    if WHOLE.fullmatch(path):
        yield path, node
    elif (
        isinstance(node, dict)
        and path
        and not {"trace", "file", "steps", "levels", "wifi"} & set(node)
    ):
        for name, item in node.items():
            own = name == "kind" and path.endswith((".queue", ".gateway"))
            yield from _leaves(item, path if own else f"{path}.{name}")
    elif isinstance(node, dict) and not path:
        for name, item in node.items():
            yield from _leaves(item, name)
    elif isinstance(node, list):
        for index, item in enumerate(node):
            yield from _leaves(item, f"{path}.{index}")
    else:
        yield path, node


def _usual(leaf: Leaves, labels: dict[str, dict[str, str]]) -> Iterator[tuple[str, str]]:
    """Give the factors that every run names."""
    for name, pattern in (
        ("controller", CONTROLLER.pattern),
        ("congestion_control", CONGESTION_CONTROL.pattern),
        ("capacity", r"path\.capacity"),
        ("queue_size", r"path\.queue\.size"),
    ):
        found = [
            labels[path][canonical(leaf[path])] for path in leaf if re.fullmatch(pattern, path)
        ]
        yield name, "+".join(dict.fromkeys(found)) or "none"


def _labels_at(path: str, found: list[Any]) -> dict[str, str]:
    """Give each different value at `path` a short text."""
    algorithms = CONTROLLER.fullmatch(path) or CONGESTION_CONTROL.fullmatch(path)
    return _algorithm_labels(found) if algorithms else _labels(found)


def _algorithm_labels(found: list[Any]) -> dict[str, str]:
    """Give each algorithm its kind, with the options that tell it from others of its kind."""
    tables = {
        canonical(value): value if isinstance(value, dict) else {"kind": value}
        for value in found
        if value is not None
    }
    labels = {}
    for key, table in tables.items():
        same_kind = [other for other in tables.values() if _name(other) == _name(table)]
        telling = [
            f" {name}={value}"
            for name, value in table.items()
            if any(other.get(name) != value for other in same_kind)
        ]
        labels[key] = _name(table) + "".join(telling)
    return labels


def _name(algorithm: dict[str, Any]) -> str:
    """Give the name of an algorithm: its kind, or its class where it is one of the user's."""
    return str(algorithm["class" if algorithm["kind"] == PYTHON else "kind"])


def _labels(found: Iterable[Any]) -> dict[str, str]:
    """Give each different value a short text of its own, by its canonical JSON."""
    labels: dict[str, str] = {}
    for value in found:
        key = canonical(value)
        if key in labels:
            continue
        text = _label(value)
        same = sum(label == text or label.startswith(f"{text} #") for label in labels.values())
        labels[key] = f"{text} #{same + 1}" if same else text
    return labels


def _label(value: Any) -> str:
    return _table_label(value) if isinstance(value, dict) else str(value)


def _table_label(table: dict[str, Any]) -> str:
    if "steps" in table:
        rates = [rate for _, rate in table["steps"]]
        between = f" … ({len(rates)} steps)" if len(rates) > 3 else ""  # noqa: PLR2004 (short)
        return " → ".join(rates[:3]) + between
    if "wifi" in table:
        return _wifi_label(table)
    if "levels" in table:
        return f"{len(table['levels'])} levels to {table['levels'][-1][1]}"
    if "kind" in table:
        return " ".join(str(value) for value in table.values())
    if "from" in table:
        return f"{table['from']} to {table['to']}"
    name = str(table.get("trace", table.get("file")))
    return name.replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0]


def _wifi_label(table: dict[str, Any]) -> str:
    """Give the generation of a Wi-Fi medium, and what of it is not the default."""
    queue = table.get("station_queue")
    given = table | ({"station_queue": f"{queue['kind']} {queue['size']}"} if queue else {})
    others = (f", {key} {item}" for key, item in given.items() if key != "wifi")
    return str(table["wifi"]) + "".join(others)


def _names_of(combination: dict[str, Any], paths: Sequence[str]) -> dict[str, str]:
    """Give the name of the value at each path of a combination: a column of tables."""
    ways = {path: _ways(path, combination) for path in paths}
    names = {path: found[0] for path, found in ways.items()}
    for step in (1, 2):
        unclear = [path for path in paths if _is_unclear(path, names)]
        names |= {path: ways[path][step] for path in unclear}
    return names


def _is_unclear(path: str, names: dict[str, str]) -> bool:
    """Whether a value needs a longer name; beside another one, what is the path's own keeps its."""
    name = names[path]
    same = sum(other == name for other in names.values())
    return name in COLUMNS or (same > 1 and path.startswith(NAMED))


def _ways(path: str, combination: dict[str, Any]) -> tuple[str, str, str]:
    """Give names from short to long; the last one is the path's alone."""
    whole = path.replace(".", "_")
    part, _, rest = path.partition(".")
    if part == "path":
        name = _of_path(rest, combination)
        return name, name, whole
    if part not in FLOWS:
        return whole, whole, whole
    index, _, rest = rest.partition(".")
    flows = combination[part]
    short = rest.replace(".", "_")
    own = f"{flows[int(index)]['name']}_{short}"
    return (own if len(flows) > 1 else short), own, whole


def _of_path(rest: str, combination: dict[str, Any]) -> str:
    hop, _, key = rest.removeprefix("hop.").partition(".")
    if rest.startswith("hop."):
        rest = f"{combination['path']['hop'][int(hop)]['name']}.{key}"
    return rest.replace(".", "_")
