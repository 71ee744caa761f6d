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
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gameway.errors import InputError
from gameway.expansion.base_rtt import own_distance
from gameway.expansion.factors import factors_of
from gameway.expansion.specification import canonical, settled, without_defaults
from gameway.experiment.keys import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gameway.experiment import Experiment
    from gameway.experiment.source import Source

MAX_RUNS = 100_000
SLUG_LENGTH = 80
LISTS = {"stream", "competitor", "path.hop", "path.*.hop", "path.change", "path.*.change"}
"""Paths of lists that are no axes: each of their tables is one more part of the run."""
VALUES = (".steps", ".levels")
"""Ends of the paths of lists that are one value."""


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


@dataclass(frozen=True)
class Expansion:
    """An experiment as runs, and what makes it itself."""

    runs: list[Run]
    files_sha256: dict[str, str]
    """Of each file that it names, by its name as written."""
    sha256: str
    """Of all but its title and its number of repeats."""


def expand(experiment: Experiment) -> list[Run]:
    """Give the runs of an experiment, striped over its factors."""
    return expanded(experiment).runs


def expanded(experiment: Experiment) -> Expansion:
    """Give the runs of an experiment with the hashes that tell it from others."""
    source = experiment.source
    tree = experiment.in_file_order()
    digests = _file_digests(tree, source)
    runs = tree.pop("runs")
    tree.pop("title")
    identity = hashlib.sha256(canonical([tree, digests]).encode()).hexdigest()
    return Expansion(_runs_of(tree, runs, source, digests), digests, identity)


def _runs_of(
    tree: dict[str, Any], runs: int, source: Source, digests: Mapping[str, str]
) -> list[Run]:
    base_seed = tree.pop("seed")
    # What a report says about a run does not change the run.
    tree.pop("reference", None)
    _check_size(tree, runs, source)
    combinations = [settled(combination) for combination in _alternatives(tree)]
    factors = factors_of(combinations)
    specs = [without_defaults(_with_controllers(combination)) for combination in combinations]
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


def _file_digests(tree: dict[str, Any], source: Source) -> dict[str, str]:
    """Give the SHA-256 of each file that an experiment names, by its name as written."""
    files = {name: resolve(name, source.base) for name in sorted(set(_file_names(tree)))}
    return {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()}


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


def _check_size(tree: dict[str, Any], runs: int, source: Source) -> None:
    total = _count(tree) * runs
    if total > MAX_RUNS:
        raise InputError(
            f"the matrix has {total} runs, at most {MAX_RUNS} are possible",
            file=source.file,
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
