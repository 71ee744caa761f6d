"""What was run, on what, and how much of it is finished: the head of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.figures.conditions import dimensions, title_of
from gameway.metrics.summary import summary_table
from gameway.metrics.table import METRICS_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gameway.metrics.source import ResultFolder


SEEDS_SHOWN = 5
COMMON = (
    "Overrides", "Seeds", "Gameway", "Commit", "Machine", "Driver", "Host", "Kernel",
    "TCP of the kernel", "Tools", "Result schema", "Metrics version",
)  # fmt: skip
"""Facts that are told of several result folders together, where they differ one after the other."""


EARLY = (
    "The session ended early: its program was killed, or its machine went down. "
    "The tables have what was on the disk by then."
)


@dataclass(frozen=True)
class Head:
    """The texts of a report's head."""

    title: str
    version: str
    runs: str
    warning: str
    experiment: str
    facts: list[tuple[str, str]]


def head_of(results: ResultFolder) -> Head:
    """The head of a result folder's report."""
    manifest = results.manifest
    finished = int(results.runs["finished"].sum())
    missing = results.runs.height - finished
    table = summary_table(results)
    varied = [
        f"{title_of(d.column).lower()} ({', '.join(d.values)})"
        for d in dimensions(table, results.factors)
    ]
    runs = f"{finished} runs of {_conditions(results, table.height)} conditions"
    if varied:
        runs += ", varying " + "; ".join(varied)
    warning = f"{missing} of {results.runs.height} runs are not finished." if missing else ""
    if (manifest.get("live") or {}).get("ended_early"):
        warning = EARLY
    return Head(
        title=str(manifest.get("title") or results.path.name),
        version=str(manifest.get("gameway_version", "")),
        runs=runs + ".",
        warning=warning,
        experiment=str(manifest.get("experiment_text") or ""),
        facts=_facts(results, finished),
    )


def _conditions(results: ResultFolder, of_streams: int) -> int:
    """Conditions of streams, or without streams combinations of factors."""
    return of_streams or results.runs.select("id").height // max(
        results.runs["repeat"].n_unique(), 1
    )


def _facts(results: ResultFolder, finished: int) -> list[tuple[str, str]]:
    manifest = results.manifest
    seeds = results.runs["seed"].unique().sort().to_list() if "seed" in results.runs.columns else []
    facts = {
        "Experiment file": manifest.get("experiment_file"),
        "Overrides": ", ".join(map(str, manifest.get("overrides") or [])),
        "Runs": f"{finished} of {results.runs.height} finished",
        "Seeds": _few(seeds),
        "Base RTT": _distances(manifest.get("runs") or []),
        "Gameway": manifest.get("gameway_version"),
        "Commit": _commit(manifest.get("commit")),
        "Machine": _machine(manifest.get("machine")),
        **_live(manifest.get("live")),
        **_recorded(manifest.get("recorded")),
        "Begun": manifest.get("created"),
        "Completed": manifest.get("completed"),
        "Result schema": manifest.get("schema_version"),
        "Metrics version": METRICS_VERSION,
    }
    return [(name, str(value)) for name, value in facts.items() if value not in {None, ""}]


def _live(live: Any) -> dict[str, str]:
    """What carried out runs on a machine in real time."""
    if not isinstance(live, dict):
        return {}
    tools = live.get("tools") or {}
    return {
        "Driver": "live: real packets in real time",
        "Host": str(live.get("host", "")),
        "Kernel": str(live.get("kernel", "")),
        "TCP of the kernel": ", ".join(live.get("congestion_controls") or []),
        "Tools": ", ".join(f"{name} {version}" for name, version in tools.items()),
    }


def _recorded(recorded: Any) -> dict[str, str]:
    """What a home's gateway recorded."""
    if not isinstance(recorded, dict):
        return {}
    return {
        "Driver": "recorded by a home's gateway: what passed there",
        "Recorded from": str(recorded.get("began", "")),
        "Starts of the gateway": str(recorded.get("sessions", "")),
    }


def common_facts(parts: Mapping[str, ResultFolder]) -> list[tuple[str, str]]:
    """What was run for a page about several result folders, and on what."""
    found: dict[str, list[str]] = {}
    for name, results in parts.items():
        finished = int(results.runs["finished"].sum())
        for fact, value in _facts(results, finished):
            if fact == "Runs":
                found.setdefault(fact, []).append(f"{name} {value.removesuffix(' finished')}")
            elif fact in COMMON:
                found.setdefault(fact, []).append(value)
    return [(fact, ", ".join(dict.fromkeys(values))) for fact, values in found.items()]


def _few(seeds: list[Any]) -> str:
    texts = [str(seed) for seed in seeds]
    shown = ", ".join(texts[:SEEDS_SHOWN])
    return shown if len(texts) <= SEEDS_SHOWN else f"{shown}, ... ({len(texts)})"


def _distances(runs: list[dict[str, Any]]) -> str:
    """Between which base RTTs runs were that have one of their own."""
    given = [run["base_rtt"] for run in runs if "base_rtt" in run]
    if not given:
        return ""
    ordered = sorted(set(given), key=_core.parse_duration)
    return f"each repeat its own, {ordered[0]} to {ordered[-1]}; queues in BDP by the nominal one"


def _commit(commit: Any) -> str:
    if not isinstance(commit, dict):
        return str(commit or "")
    return str(commit.get("id", "")) + (" with local changes" if commit.get("dirty") else "")


def _machine(machine: Any) -> str:
    if not isinstance(machine, dict):
        return str(machine or "")
    return ", ".join(f"{name} {value}" for name, value in machine.items() if value)
