"""Names of factors: short, one for each axis, and none that a table has for a column of its own.

A factor's name is its key where that tells it from all others. What belongs to a stream or a
competitor has the flow's name in front where it does not: there are several flows of its sort,
another axis has the same key, or a table of results has such a column. Where even that is the name
of another axis, its place in the experiment stands for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def names_of(combination: dict[str, Any], paths: Sequence[str]) -> dict[str, str]:
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
