"""Sweeps: resumable after a kill anywhere, the same bytes for any number of jobs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from conftest import SMALL, fake_run_one

import gameway as gw
from gameway import _core
from gameway.results import Results
from gameway.sweep import folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLES = ("frames", "bins", "link", "queue_delay", "pings", "controller", "events", "summary")
SCRIPT = """
import sys, gameway as gw
gw.run(gw.load(sys.argv[1]), sys.argv[2], jobs=int(sys.argv[3]))
"""


def contents(out: Path) -> dict[str, bytes]:
    """Everything under `runs`, by name."""
    files = sorted(file for file in (out / "runs").rglob("*") if file.is_file())
    return {str(file.relative_to(out)): file.read_bytes() for file in files}


def finished(out: Path) -> dict[str, tuple[int, int]]:
    """Finished runs with what would change if they were written anew."""
    runs = (run for run in (out / "runs").glob("*") if run.suffix != ".partial")
    return {run.name: (run.stat().st_ino, run.stat().st_mtime_ns) for run in runs}


def test_a_sweep_writes_every_run_and_a_manifest(small: gw.Experiment, tmp_path: Path) -> None:
    results = gw.run(small, tmp_path / "out")
    assert results.missing == 0
    assert results.runs.height == 8
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["experiment_text"] == SMALL
    assert manifest["experiment_file"] == "small.toml"
    assert manifest["machine"]["cores"] >= 1
    assert manifest["completed"] >= manifest["created"]
    assert [run["id"] for run in manifest["runs"]] == [run.id for run in gw.expand(small)]
    for run in results.finished_ids():
        names = {file.name for file in (tmp_path / "out" / "runs" / run).iterdir()}
        assert names == {"spec.json", *(f"{table}.parquet" for table in TABLES)}


def test_the_number_of_jobs_changes_no_byte(small: gw.Experiment, tmp_path: Path) -> None:
    gw.run(small, tmp_path / "one", jobs=1)
    gw.run(small, tmp_path / "three", jobs=3)
    assert contents(tmp_path / "one") == contents(tmp_path / "three")


def test_a_killed_sweep_is_completed_and_finished_runs_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(SMALL.replace("runs = 2", "runs = 30"), encoding="utf-8")
    out = tmp_path / "out"
    command = [sys.executable, "-c", SCRIPT, str(file), str(out), "2"]
    with subprocess.Popen(command) as sweep:
        wait_until(lambda: sweep.poll() is not None or len(finished(out)) >= 3)
        sweep.kill()
    before = finished(out)
    assert 3 <= len(before) < 120
    (out / "runs" / "stale.partial").mkdir(exist_ok=True)

    results = gw.run(gw.load(file), out)
    assert results.missing == 0
    after = finished(out)
    assert len(after) == 120
    assert {run: after[run] for run in before} == before
    assert not list((out / "runs").glob("*.partial"))
    gw.run(gw.load(file), tmp_path / "uninterrupted")
    assert contents(out) == contents(tmp_path / "uninterrupted")


@pytest.fixture
def listening() -> Iterator[None]:
    """Hear Ctrl-C also where the tests run as a background job, which a shell makes deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
def test_interruption_finishes_runs_in_flight_and_tells_how_to_go_on(
    small: gw.Experiment, tmp_path: Path
) -> None:
    def interrupting(spec: dict[str, Any], recorded: dict[str, Any], target: Path) -> None:
        if len(finished(tmp_path / "out")) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        fake_run_one(spec, recorded, target)

    with pytest.raises(gw.Interrupted, match=r"of 8 runs are finished.*same command") as caught:
        gw.run(small, tmp_path / "out", jobs=1, run_one=interrupting)
    assert "4 of 8" in str(caught.value)
    assert len(finished(tmp_path / "out")) == 4
    assert gw.run(small, tmp_path / "out", run_one=fake_run_one).missing == 0


def test_a_failed_run_is_told_with_its_spec_and_the_others_are_kept(
    small: gw.Experiment, tmp_path: Path
) -> None:
    def failing(spec: dict[str, Any], recorded: dict[str, Any], target: Path) -> None:
        if spec["stream"][0]["controller"] == "pudica":
            raise ValueError("no such thing")
        fake_run_one(spec, recorded, target)

    with pytest.raises(gw.GamewayError, match=r"4 of 8 runs failed") as caught:
        gw.run(small, tmp_path / "out", run_one=failing)
    message = str(caught.value)
    assert "no such thing" in message
    assert '"controller":"pudica"' in message
    assert "and 3 more" in message
    assert Results.open(tmp_path / "out").missing == 4


def test_what_the_simulator_refuses_is_told_before_the_first_run(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    loss = 'loss = [{ kind = "random", probability = "1 %" }, { kind = "bursty", '
    loss += 'probability = "90 %", burst_length = 2.0 }]\nbase_rtt'
    file.write_text(SMALL.replace("base_rtt", loss), encoding="utf-8")
    with pytest.raises(gw.InputError, match=r"path\.loss\.probability: .*66\.7 %") as caught:
        gw.run(gw.load(file), tmp_path / "out")
    assert caught.value.file == str(file)
    assert "fixed" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_each_combination_is_checked_once(
    small: gw.Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []
    monkeypatch.setattr(_core, "check_spec", checked.append)
    results = gw.run(small, tmp_path / "out", run_one=fake_run_one)
    assert len(checked) == len(set(checked)) == results.runs.height // small.runs


def test_more_repeats_keep_the_first_ones(small: gw.Experiment, tmp_path: Path) -> None:
    gw.run(small, tmp_path / "out", run_one=fake_run_one)
    before = finished(tmp_path / "out")
    results = gw.run(small.with_overrides(["runs=3"]), tmp_path / "out", run_one=fake_run_one)
    after = finished(tmp_path / "out")
    assert results.runs.height == 12
    assert {run: after[run] for run in before} == before


def test_a_folder_of_another_experiment_is_refused(small: gw.Experiment, tmp_path: Path) -> None:
    gw.run(small, tmp_path / "out", run_one=fake_run_one)
    before = contents(tmp_path / "out")
    with pytest.raises(gw.InputError, match=r"another experiment .*--out"):
        gw.run(small.with_overrides(["duration=4 s"]), tmp_path / "out", run_one=fake_run_one)
    assert contents(tmp_path / "out") == before


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("schema_version", 999, "result schema 999"),
        ("simulator_sha256", "0", "another build of the simulator"),
    ],
)
def test_a_folder_of_other_code_is_refused(
    key: str, value: object, text: str, small: gw.Experiment, tmp_path: Path
) -> None:
    gw.run(small, tmp_path / "out", run_one=fake_run_one)
    file = tmp_path / "out" / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(manifest | {key: value}), encoding="utf-8")
    with pytest.raises(gw.InputError, match=text):
        gw.run(small, tmp_path / "out", run_one=fake_run_one)


def test_a_folder_with_other_files_is_left_alone(small: gw.Experiment, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").touch()
    with pytest.raises(gw.InputError, match=r"no result folder \(it has thesis\.tex\)"):
        gw.run(small, tmp_path / "home", run_one=fake_run_one)


def test_two_sweeps_cannot_write_one_folder(small: gw.Experiment, tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(spec: dict[str, Any], recorded: dict[str, Any], target: Path) -> None:
        begun.set()
        go_on.wait(10)
        fake_run_one(spec, recorded, target)

    options = {"jobs": 1, "run_one": slow}
    first = threading.Thread(target=gw.run, args=(small, tmp_path / "out"), kwargs=options)
    first.start()
    begun.wait(10)
    with pytest.raises(gw.GamewayError, match="another gameway writes here"):
        gw.run(small, tmp_path / "out", run_one=fake_run_one)
    go_on.set()
    first.join()
    assert Results.open(tmp_path / "out").missing == 0


def test_a_place_that_cannot_be_written_is_named(small: gw.Experiment, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(gw.InputError, match=r"file.*cannot be written: (Not a dir|File exists)"):
        gw.run(small, tmp_path / "file" / "out", run_one=fake_run_one)


def test_tables_carry_run_repeat_and_factors(small: gw.Experiment, tmp_path: Path) -> None:
    results = gw.run(small, tmp_path / "out", run_one=fake_run_one)
    assert results.factors == ["controller", "congestion_control", "capacity", "queue_size"]
    assert results.factor_values("controller") == ["fixed", "pudica"]
    frames = results.frames().collect()
    assert frames.columns == ["run", "repeat", *results.factors, "stream", "frame"]
    assert frames.height == 8 * 3
    assert frames["run"].unique(maintain_order=True).to_list() == results.finished_ids()
    events = results.events().collect()
    assert events["flow"].to_list() == events["capacity"].to_list()
    by_run = {run["id"]: run["seed"] for run in results.manifest["runs"]}
    first = frames.group_by("run").first()
    assert dict(zip(first["run"], first["frame"], strict=True)) == by_run


def test_packets_are_logged_on_request_only(small: gw.Experiment, tmp_path: Path) -> None:
    asked = small.with_overrides(["record.packets=true", "runs=1", "path.capacity=20 Mb/s"])
    packets = gw.run(asked, tmp_path / "asked").packets().collect()
    assert set(packets["kind"].unique()) == {"media", "probe", "tcp", "ping"}
    delivered = packets.filter(pl.col("fate") == "delivered")
    assert delivered["arrived_ns"].null_count() == 0
    results = gw.run(small, tmp_path / "plain", run_one=fake_run_one)
    with pytest.raises(gw.InputError, match=r"no log of packets; set record\.packets = true"):
        results.packets()


def test_results_with_missing_runs_are_read_and_counted(
    small: gw.Experiment, tmp_path: Path
) -> None:
    gw.run(small, tmp_path / "out", run_one=fake_run_one)
    victim = Results.open(tmp_path / "out").finished_ids()[2]
    shutil.rmtree(tmp_path / "out" / "runs" / victim)
    results = Results.open(tmp_path / "out")
    assert results.missing == 1
    assert results.frames().collect()["run"].n_unique() == 7


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(gw.InputError, match=r"no manifest\.json.*gameway run --out"):
        Results.open(tmp_path)
    (tmp_path / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(gw.InputError, match="cannot be read"):
        Results.open(tmp_path)
    (tmp_path / "manifest.json").write_text("[]", encoding="utf-8")
    with pytest.raises(gw.InputError, match="not a manifest"):
        Results.open(tmp_path)


def test_no_finished_run_is_said(small: gw.Experiment, tmp_path: Path) -> None:
    gw.run(small, tmp_path / "out", run_one=fake_run_one)
    shutil.rmtree(tmp_path / "out" / "runs")
    with pytest.raises(gw.InputError, match="no run has finished"):
        Results.open(tmp_path / "out").frames()


def test_a_manifest_is_whole_or_not_there(tmp_path: Path) -> None:
    folder.write_manifest(tmp_path, {"runs": [1]})
    with pytest.raises(TypeError):
        folder.write_manifest(tmp_path, {"runs": object()})
    assert json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8")) == {"runs": [1]}


def wait_until(condition: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)
