"""From an experiment to its runs.

Every list of an experiment is an axis, and the matrix is their cartesian product in the order of
the file (the first axis changes slowest), each combination repeated `runs` times. Runs are striped:
all combinations of repeat 0, then all of repeat 1, so that a sweep that is cut short has seen every
combination.

The seed of a run depends on the experiment's seed and on the repeat, not on the factors: repeat 3
of one controller meets the same random loss, jitter and start times as repeat 3 of another (common
random numbers), and a difference between factors can be tested pair by pair. With `base_rtt_spread`
each repeat has a base RTT of its own (`gameway.expansion.base_rtt`).

A run's id is a readable slug and ten hexadecimal digits of the SHA-256 of its spec in canonical
JSON, where the content of a trace or frame table stands for its name. The same run has the same id
on any machine and in any folder.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gameway.errors import InputError
from gameway.expansion.base_rtt import own_distance
from gameway.expansion.factor_names import names_of
from gameway.expansion.specification import settled, without_defaults
from gameway.experiment.keys import resolve
from gameway.experiment.keys.known import PYTHON
from gameway.experiment.source import in_order
from gameway.experiment.tables import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gameway.experiment import Experiment
    from gameway.experiment.source import Source

MAX_RUNS = 100_000
SLUG_LENGTH = 80
CONTROLLER = re.compile(r"(stream\.\d+\.)?controller")
"""Path of a controller in the tree of a run: of one stream, or of all that name none."""
CONGESTION_CONTROL = re.compile(r"competitor\.\d+\.congestion_control")
WHOLE = re.compile(
    rf"controller|stream\.\d+\.(controller|feedback|pause)|{CONGESTION_CONTROL.pattern}"
)
"""Paths of what is one value with its options: an option means something to its own kind only."""
LISTS = {"stream", "competitor", "path.hop", "path.*.hop"}
VALUES = (".steps", ".levels")
"""Ends of the paths of lists that are one value."""
"""Paths of lists that are no axes: each of their tables is one more part of the run."""

ALWAYS = ("controller", "congestion_control", "capacity", "queue_size")
"""Factors that every run names, whether they vary or not."""

Leaves = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One run of the matrix.

    `factors` are short texts for tables and figures; `spec` is what the simulator gets, with
    absolute paths of files; `recorded` is the same with their names as written.
    """

    id: str
    factors: dict[str, str]
    repeat: int
    seed: int
    spec: dict[str, Any]
    recorded: dict[str, Any]


def expand(experiment: Experiment) -> list[Run]:
    """Give the runs of an experiment, striped over its factors."""
    source = experiment.source
    tree = in_order(plain(experiment), source.positions)
    runs = tree.pop("runs")
    base_seed = tree.pop("seed")
    # What a report says about a run does not change the run.
    tree.pop("title")
    tree.pop("reference", None)
    _check_size(tree, runs, experiment)
    combinations = [settled(combination) for combination in _alternatives(tree)]
    factors = _factors(combinations)
    specs = [without_defaults(_with_controllers(combination)) for combination in combinations]
    digests = file_digests(experiment)
    found: dict[str, Run] = {}
    for repeat in range(runs):
        seed = run_seed(base_seed, repeat)
        for spec, named in zip(specs, factors, strict=True):
            recorded = own_distance({"seed": seed, **spec}, base_seed, repeat)
            run = _make(recorded, named, repeat, source, digests)
            found.setdefault(run.id, run)
    return list(found.values())


def _with_controllers(combination: dict[str, Any]) -> dict[str, Any]:
    """Give each stream that names no controller that of the experiment."""
    spec = dict(combination)
    shared = spec.pop("controller", None)
    if shared is not None:
        spec["stream"] = [{"controller": shared, **stream} for stream in spec["stream"]]
    return spec


def run_seed(base_seed: int, repeat: int) -> int:
    """Derive the seed of a repeat: 48 bits of a hash, exact in any JSON reader."""
    digest = hashlib.sha256(f"gameway seed {base_seed} repeat {repeat}".encode()).digest()
    return int.from_bytes(digest[:6], "big")


def file_digests(experiment: Experiment) -> dict[str, str]:
    """Give the SHA-256 of each file that the experiment names, by its name as written."""
    base = experiment.source.base
    names = sorted(set(_file_names(plain(experiment))))
    return {name: hashlib.sha256(resolve(name, base).read_bytes()).hexdigest() for name in names}


def canonical(value: object) -> str:
    """Give JSON that is the same for equal values: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _make(
    recorded: dict[str, Any],
    factors: dict[str, str],
    repeat: int,
    source: Source,
    digests: Mapping[str, str],
) -> Run:
    by_content = _with_files(recorded, lambda name: f"sha256:{digests[name]}")
    spec = _with_files(recorded, lambda name: str(resolve(name, source.base).resolve()))
    digest = hashlib.sha256(canonical(by_content).encode()).hexdigest()[:10]
    slug = re.sub(r"[^a-z0-9.]+", "-", "_".join(factors.values()).lower()).strip("-.")
    name = f"{slug[:SLUG_LENGTH].rstrip('-.')}_r{repeat:02}_{digest}"
    return Run(name, factors, repeat, recorded["seed"], spec, recorded)


def _is_axis(path: str, node: object) -> bool:
    return isinstance(node, list) and path not in LISTS and not path.endswith(VALUES)


def _count(node: Any, path: str = "") -> int:
    """Count the combinations below a node."""
    if _is_axis(path, node):
        return sum(_count(item, f"{path}.*") for item in node)
    if isinstance(node, list) and not path.endswith(VALUES):
        return math.prod(_count(item, f"{path}.*") for item in node)
    if isinstance(node, dict):
        return math.prod(_count(item, f"{path}.{name}".strip(".")) for name, item in node.items())
    return 1


def _alternatives(node: Any, path: str = "") -> Iterator[Any]:
    """Give each combination below a node; the first axis changes slowest."""
    if _is_axis(path, node):
        for item in node:
            yield from _alternatives(item, f"{path}.*")
    elif isinstance(node, list) and not path.endswith(VALUES):
        parts = [list(_alternatives(item, f"{path}.*")) for item in node]
        yield from (list(chosen) for chosen in itertools.product(*parts))
    elif isinstance(node, dict):
        parts = [
            list(_alternatives(item, f"{path}.{name}".strip("."))) for name, item in node.items()
        ]
        yield from (dict(zip(node, chosen, strict=True)) for chosen in itertools.product(*parts))
    else:
        yield node


def _check_size(tree: dict[str, Any], runs: int, experiment: Experiment) -> None:
    total = _count(tree) * runs
    if total > MAX_RUNS:
        raise InputError(
            f"the matrix has {total} runs, at most {MAX_RUNS} are possible",
            file=experiment.source.file,
            hint="shorten its lists, or split it into several experiments",
        )


def _file_names(node: Any) -> Iterator[str]:
    """Give the names of all traces and frame tables."""
    if isinstance(node, list):
        for item in node:
            yield from _file_names(item)
    elif isinstance(node, dict):
        for name, item in node.items():
            if name in {"trace", "file"}:
                yield from item if isinstance(item, list) else [item]
            else:
                yield from _file_names(item)


def _with_files(node: Any, name_of: Any) -> Any:
    if isinstance(node, list):
        return [_with_files(item, name_of) for item in node]
    if isinstance(node, dict):
        return {
            name: name_of(item) if name in {"trace", "file"} else _with_files(item, name_of)
            for name, item in node.items()
        }
    return node


def _factors(combinations: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Name what differs between the combinations, and what is always named."""
    leaves = [dict(_leaves(combination)) for combination in combinations]
    paths = list(dict.fromkeys(path for leaf in leaves for path in leaf))
    labels = {path: _labels_at(path, [leaf.get(path) for leaf in leaves]) for path in paths}
    varying = [path for path in paths if _varies(leaf.get(path) for leaf in leaves)]
    factors = []
    for combination, leaf in zip(combinations, leaves, strict=True):
        names = names_of(combination, [path for path in varying if path in leaf])
        named = {name: labels[path][canonical(leaf[path])] for path, name in names.items()}
        factors.append(
            named | {name: text for name, text in _usual(leaf, labels) if name not in named}
        )
    return _same_order(factors)


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
        return f"{table['kind']} {table['interval']}"
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
