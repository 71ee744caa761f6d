"""The page of `gameway reproduce classifier`: how well games are told from other traffic.

A flow of a run is one case. Truth is its kind: streams, and what OnLive sent, are games. Precision
and recall are those of the parts that are held out; the development's and the adversaries' have
tables of their own.

| figure | definition |
|---|---|
| recognised | it was taken for a game at some time in the run |
| in 2 s | a game, and taken for one at most 2 s after its start |
| precision | of the flows that were recognised, those that are games |
| recall in 2 s | of the games, those that were recognised in 2 s |
| time | mean share of its time, from 2 s after its start on, in which it was taken for a game |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from gameway.figures.facets import plain
from gameway.metrics.presence import presence
from gameway.metrics.quantities import seconds
from gameway.metrics.source import competitors, finished_runs, streams
from gameway.metrics.statistics import wilson_interval
from gameway.metrics.windows import Window
from gameway.page import Page, Section, Table, figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gameway.metrics.source import Run
    from gameway.page import Figure
    from gameway.results import Results

ALLOWED_S = 2.0
HELD_OUT = ("alone", "beside", "others")
EVENT = "recognised"
LEAD = (
    "A queue that treats games better must know them. The classifier looks at sizes and times of "
    "packets only, both ways, and wants two seconds. How often is it right, and how soon? Its "
    "thresholds come from what a stream cannot help being (docs/classifier.md); they were settled "
    "on the development's mix, and precision and recall are of other seeds, rates, frame rates, "
    "queues and round trips."
)
TEXTS = {
    "alone": "Seven controllers at six frame rates; nothing else is on the path.",
    "beside": "The game starts at 5 s, when a download fills the path and a video in segments, "
    "pages of six connections, a call with pictures and a voice are there too.",
    "others": "Thirteen flows at once, at four round trips: among them windows of TCP that come 30 "
    "and 60 times a second. Only OnLive's are games.",
    "adversarial": "What ought to deceive it, and what it is known to miss. Time is what a queue "
    "would see.",
    "development": "What the thresholds were settled on.",
}
ORDER = ("alone", "beside", "others", "adversarial", "development")


def page(parts: dict[str, Results]) -> Page:
    """The page, of the parts that are there."""
    cases = {name: cases_of(parts[name]) for name in ORDER if name in parts}
    held_out = [cases[name] for name in HELD_OUT if name in cases]
    sections = [_whole(pl.concat(held_out))] if held_out else []
    for name, own in cases.items():
        title = str(parts[name].manifest.get("title") or name)
        sections.append(Section(title, TEXTS[name], list(_tables(name, own))))
    told = statements(pl.concat(held_out)) if held_out else []
    return Page("Recognition of games", LEAD, sections, statement=told)


def cases_of(results: Results) -> pl.DataFrame:
    """One row for each flow of each run: what it is, and when it was taken for a game."""
    found = results.events().filter(pl.col("event") == EVENT)
    events = found.select("run", "flow", "time_ns", "value").sort("time_ns").collect()
    by_flow = {
        (str(run), str(flow)): own.select("time_ns", "value").rows()
        for (run, flow), own in events.group_by("run", "flow", maintain_order=True)
    }
    rows = [
        row
        for run in finished_runs(results)
        for row in _cases(run, lambda flow, run=run: by_flow.get((run.id, flow), []))
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


SCHEMA = {
    "run": pl.String, "flow": pl.String, "kind": pl.String, "controller": pl.String,
    "frame_rate": pl.String, "capacity": pl.String, "queue": pl.String, "game": pl.Boolean,
    "after_s": pl.Float64, "time_share": pl.Float64,
}  # fmt: skip


def _cases(run: Run, changes_of: Any) -> Iterator[tuple[Any, ...]]:
    whole = Window(0.0, seconds(run.spec["duration"]))
    path = run.spec["path"]
    for flow in [*streams(run.spec), *competitors(run.spec)]:
        name, kind = str(flow["name"]), kind_of(flow)
        changes = [(time_ns / 1e9, value > 0.0) for time_ns, value in changes_of(name)]
        start = seconds(flow.get("start") or "0 s")
        after = next((at - start for at, game in changes if game), None)
        controller = flow.get("controller")
        controller = controller["kind"] if isinstance(controller, dict) else controller
        yield (
            run.id, name, kind, controller, str(flow.get("frame_rate", "")),
            str(path["capacity"]), str(path["queue"]["kind"]), is_game(kind), after,
            _time_share(flow, whole, changes),
        )  # fmt: skip


def _time_share(flow: dict[str, Any], whole: Window, changes: list[tuple[float, bool]]) -> float:
    """Of the time in which it is there, from 2 s on, the share in which it is taken for a game."""
    start = seconds(flow.get("start") or "0 s")
    there = presence(flow, Window(min(start + ALLOWED_S, whole.stop_s), whole.stop_s))
    begins = [(0.0, False), *changes]
    ends = [at for at, _ in changes] + [whole.stop_s]
    taken = sum(
        max(0.0, min(span.stop_s, end) - max(span.start_s, begin))
        for (begin, game), end in zip(begins, ends, strict=True)
        if game
        for span in there
    )
    present = sum(span.length_s for span in there)
    return taken / present if present else 0.0


def kind_of(flow: dict[str, Any]) -> str:
    """What a flow of a spec is, in words."""
    kind = "stream" if "controller" in flow else str(flow.get("kind", "tcp"))
    return _download(flow) if kind == "tcp" else KINDS[kind]


KINDS = {
    "stream": "game stream",
    "onlive-ut": "OnLive",
    "onlive-rome": "OnLive",
    "short-tcp": "pages",
    "udp": "voice, telemetry, paced UDP",
    "video-chat": "call with pictures",
    "dash": "video in segments",
}


def _download(flow: dict[str, Any]) -> str:
    if flow.get("on_off"):
        return "video in segments"
    if flow.get("rate_limit"):
        return "limited download"
    return "upload" if flow.get("direction") == "up" else "download"


def is_game(kind: str) -> bool:
    """Whether flows of a kind are games."""
    return kind in {"game stream", "OnLive"}


def counted(cases: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Flows by some keys: how many were recognised, at all and in time."""
    in_time = pl.col("after_s") <= ALLOWED_S
    return cases.group_by(*keys, maintain_order=True).agg(
        flows=pl.len(),
        recognised=pl.col("after_s").is_not_null().sum(),
        in_time=in_time.fill_null(value=False).sum(),
        after_s=pl.col("after_s").median(),
        time_share=pl.col("time_share").mean(),
    )


def shown(rows: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """The counts as texts, with the intervals of their shares."""
    lines = []
    for row in rows.iter_rows(named=True):
        line = {key.replace("_", " "): row[key] for key in keys}
        line["flows"] = str(row["flows"])
        line["recognised"] = of(row["recognised"], row["flows"])
        line["in 2 s"] = of(row["in_time"], row["flows"])
        line["median, s"] = "" if row["after_s"] is None else f"{row['after_s']:.2f}"
        line["time, %"] = f"{100.0 * row['time_share']:.1f}"
        lines.append(line)
    return pl.DataFrame(lines)


def of(count: int, total: int) -> str:
    """A count, and the 95 % interval of its share in percent."""
    low, high = wilson_interval(count, total)
    return f"{count} ({100.0 * low:.1f} to {100.0 * high:.1f} %)"


def _whole(cases: pl.DataFrame) -> Section:
    rows = counted(cases, "kind", "game").sort("game", descending=True, maintain_order=True)
    words = rows.with_columns(
        truth=pl.when(pl.col("game")).then(pl.lit("game")).otherwise(pl.lit("other"))
    )
    table = Table(
        "What each kind is taken for (95 % intervals by Wilson)", shown(words, "kind", "truth"),
        "classifier-kinds", file_frame=rows, main=True,
    )  # fmt: skip
    text = "All parts that are held out. Of what is no game, recognised is an error."
    return Section("Held out", text, [table], list(_figures(cases)))


def _tables(name: str, cases: pl.DataFrame) -> Iterator[Table]:
    if name == "adversarial":
        rows = counted(cases, "flow", "game")
        yield Table("Each flow", shown(rows, "flow"), f"classifier-{name}", file_frame=rows)
        return
    games = cases.filter(kind="game stream")
    for keys in (("controller", "frame_rate"), ("controller", "capacity", "queue")):
        if games.is_empty():
            continue
        rows = counted(games, *keys)
        title = f"Games by {' and '.join(key.replace('_', ' ') for key in keys)}"
        file = f"classifier-{name}-{'-'.join(keys[1:])}"
        yield Table(title, shown(rows, *keys), file, file_frame=rows)
    rows = counted(cases.filter(pl.col("kind") != "game stream"), "flow", "kind")
    if rows.height:
        yield Table("Other flows", shown(rows, "flow", "kind"), f"classifier-{name}-others",
                    file_frame=rows)  # fmt: skip


def _figures(cases: pl.DataFrame) -> Iterator[Figure]:
    games = cases.filter(pl.col("game")).with_columns(
        who=pl.coalesce("controller", "kind"), after=pl.col("after_s").fill_null(float("inf"))
    )
    curves = games.with_columns(
        share=100.0 * pl.col("after").rank("max").over("who") / pl.len().over("who")
    ).filter(pl.col("after").is_finite())
    if curves.is_empty():
        return
    chart = (
        alt.Chart(plain(curves.select("who", "after", "share").unique().sort("who", "after")))
        .mark_line(interpolate="step-after", strokeWidth=1.5, clip=True)
        .encode(
            alt.X("after:Q", title="Time from start to recognition (s)",
                  scale=alt.Scale(domain=[1.5, 6.0])),
            alt.Y("share:Q", title="Games (%)", scale=alt.Scale(domain=[0, 100])),
            alt.Color("who:N", title=None),
        )
        .properties(width=560, height=230)
    )  # fmt: skip
    yield figure(
        "classifier-time", "Time to recognition", chart,
        caption="Cumulative; the game starts at zero, and 1.54 s is the earliest possible.",
        description="Share of games recognised over time since their start, by controller.",
    )  # fmt: skip


def statements(cases: pl.DataFrame) -> list[str]:
    """Precision, recall and their counts, one sentence each."""
    games = cases.filter(pl.col("game"))
    recognised = cases.filter(pl.col("after_s").is_not_null())
    right = recognised.filter(pl.col("game")).height
    in_time = games.filter(pl.col("after_s") <= ALLOWED_S).height
    others = cases.height - games.height
    wrong = recognised.height - right
    precise, soon = _share(right, recognised.height), _share(in_time, games.height)
    found, mistaken = _share(right, games.height), _share(wrong, others)
    return [
        f"Precision: of {recognised.height} flows that were taken for games, {precise} are.",
        f"Recall: of {games.height} games, {soon} were recognised in 2 s, {found} at some time.",
        f"Of {others} other flows, {mistaken} were taken for games at some time.",
    ]


def _share(count: int, total: int) -> str:
    if total == 0:
        return "none"
    low, high = wilson_interval(count, total)
    share = 100.0 * count / total
    return f"{count} ({share:.1f} %, 95 % interval {100 * low:.1f} to {100 * high:.1f} %)"
