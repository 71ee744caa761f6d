"""The runs of result folders, put together by what was the same but for the controller.

A scenario is everything that a run's specification says, without controllers and seed. Runs of
several folders that agree in it stand beside each other, so that a controller can be added later
in a folder of its own. Repeats whose base RTTs `base_rtt_spread` draws are of one scenario.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.compare.measures import MEASURES, MOS, RATED, measure
from gameway.errors import InputError
from gameway.expansion.base_rtt import SPREAD, named_distance
from gameway.expansion.specification import canonical
from gameway.figures.conditions import title_of
from gameway.metrics.source import Run, finished_runs
from gameway.metrics.table import per_run_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gameway.results import Results

UNTOLD = ("seed", "record")
"""Keys of a specification that make no other scenario."""
CONTROLLER = "controller"
SCHEMA = {
    "controller": pl.String,
    "seed": pl.UInt64,
    **{one.name: pl.Float64 for one in MEASURES},
    RATED: pl.Float64,
}


@dataclass(frozen=True)
class Scenario:
    """One scenario and what each controller did in it, run by run."""

    name: str
    part: str
    """The part of a suite that it is of; else the title of the experiment."""
    competes: bool
    """Whether something else than streams is there."""
    several: bool
    """Whether there are several streams."""
    runs: pl.DataFrame
    """One row per controller and seed, with all measures."""

    @property
    def controllers(self) -> list[str]:
        """The controllers, in the order of the experiments."""
        found: list[str] = self.runs["controller"].unique(maintain_order=True).to_list()
        return found


@dataclass
class _Gathered:
    """What is known of a scenario while folders are read."""

    part: str
    factors: dict[str, str | None]
    spec: dict[str, Any]
    rows: list[tuple[str, str, Run]] = field(default_factory=list)
    """Folder, controller and run."""
    scores: dict[str, float] = field(default_factory=dict)
    """Opinion score by the folder of the run."""


def scenarios_of(parts: Mapping[str, Results]) -> list[Scenario]:
    """The scenarios of several result folders, by the names of the folders."""
    found: dict[str, _Gathered] = {}
    for name, results in parts.items():
        _gather(name, results, found)
    if not found:
        raise InputError("no run with a stream has finished", file=", ".join(parts))
    names = _names(list(found.values()))
    measured = _measured(run for one in found.values() for _, _, run in one.rows)
    return [_scenario(names[index], one, measured) for index, one in enumerate(found.values())]


def _gather(name: str, results: Results, found: dict[str, _Gathered]) -> None:
    digests = results.manifest.get("files_sha256") or {}
    scores, telling = _opinion_scores(results), _telling(results)
    for run in finished_runs(results):
        if not run.spec.get("stream"):
            continue
        key = canonical([_without_controller(run.spec, digests), run.factors.get(SPREAD)])
        if key not in found:
            factors = {name: run.factors[name] for name in telling if run.factors[name]}
            found[key] = _Gathered(_part(name, results), factors, run.spec)
        found[key].rows.append((name, _controller(run), run))
        found[key].scores[str(run.folder)] = scores.get(run.id, math.nan)


def _telling(results: Results) -> list[str]:
    """The fewest factors that tell scenarios apart; first those that all runs have."""
    others = [name for name in results.factors if not _names_controller(name)]
    found: list[str] = []
    for name in sorted(others, key=lambda name: results.runs[name].null_count() > 0):
        before = results.runs.select(found).unique().height if found else 1
        if results.runs.select(*found, name).unique().height > before:
            found.append(name)
    return [name for name in results.factors if name in found]


def _opinion_scores(results: Results) -> dict[str, float]:
    """Mean opinion score of each run over its streams, in the competition where there is one."""
    competing, whole = (pl.col(f"{scope}_mos").fill_nan(None) for scope in ("competing", "run"))
    scores = per_run_table(results).group_by("run").agg(pl.coalesce(competing, whole).mean())
    return {run: math.nan if score is None else score for run, score in scores.iter_rows()}


def _part(name: str, results: Results) -> str:
    return str(results.manifest.get("title") or name)


def _names_controller(factor: str) -> bool:
    return factor == CONTROLLER or factor.endswith(f"_{CONTROLLER}")


def _controller(run: Run) -> str:
    """The controller of a run in words; those of several streams, if they differ."""
    each = [
        value for name, value in run.factors.items() if name.endswith(f"_{CONTROLLER}") and value
    ]
    if len(set(each)) > 1:
        return "+".join(each)
    return str(run.factors.get(CONTROLLER) or "none")


def _without_controller(spec: dict[str, Any], digests: Mapping[str, str]) -> dict[str, Any]:
    kept = {name: value for name, value in named_distance(spec).items() if name not in UNTOLD}
    kept[CONTROLLER] = None
    kept["stream"] = [{**stream, CONTROLLER: None} for stream in kept["stream"]]
    content: dict[str, Any] = _by_content(kept, digests)
    return content


def _by_content(node: Any, digests: Mapping[str, str]) -> Any:
    """Files by what they hold, so that a folder may lie elsewhere."""
    if isinstance(node, dict):
        return {
            name: digests.get(value, value)
            if name in {"trace", "file"}
            else _by_content(value, digests)
            for name, value in node.items()
        }
    if isinstance(node, list):
        return [_by_content(item, digests) for item in node]
    return node


def _names(found: list[_Gathered]) -> list[str]:
    """A name for each scenario: its part and what varies within the part."""
    texts = [
        ", ".join([one.part, *(f"{_small(title_of(n))} {v}" for n, v in one.factors.items())])
        for one in found
    ]
    return [
        text if texts.count(text) == 1 else f"{text} #{texts[: index + 1].count(text)}"
        for index, text in enumerate(texts)
    ]


def _small(title: str) -> str:
    """A title inside a sentence: "Capacity" is "capacity", "RTT" stays."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def _measured(runs: Iterable[Run]) -> dict[str, dict[str, float]]:
    """The measures of all runs by their folder."""
    wanted = {str(run.folder): run for run in runs}
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return dict(zip(wanted, pool.map(measure, wanted.values()), strict=True))


def _scenario(name: str, one: _Gathered, measured: dict[str, dict[str, float]]) -> Scenario:
    """Put the runs of a scenario into one table; a controller of two folders is two."""
    folders: dict[str, set[str]] = {}
    for folder, controller, _ in one.rows:
        folders.setdefault(controller, set()).add(folder)
    rows = [
        {
            "controller": controller
            if len(folders[controller]) == 1
            else f"{controller} ({folder})",
            "seed": run.spec["seed"],
            **measured[str(run.folder)],
            MOS.name: one.scores[str(run.folder)],
        }
        for folder, controller, run in one.rows
    ]
    return Scenario(
        name=name,
        part=one.part,
        competes=bool(one.spec.get("competitor")),
        several=len(one.spec["stream"]) > 1,
        runs=pl.DataFrame(rows, schema=SCHEMA),
    )
