"""The committed cellular trace is what its program makes, and behaves like recorded ones."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

REPOSITORY = Path(__file__).resolve().parents[2]
TRACE = REPOSITORY / "experiments" / "cellular" / "cellular.trace"
PROGRAM = REPOSITORY / "tools" / "make-cellular-trace" / "make_trace.py"
SEED = 1

# Where the recorded downlinks of three operators lie (tools/make-cellular-trace/README.md), with a
# margin of about a quarter; the rates themselves are this trace's own choice.
BOUNDS = {
    "duration_s": (100.0, 100.0),
    "mean_mbit_per_s": (17.0, 23.0),
    "p05_mbit_per_s": (0.2, 4.0),
    "p95_mbit_per_s": (35.0, 50.0),
    "max_mbit_per_s": (45.0, 75.0),
    "variation_10_ms": (0.75, 1.2),
    "variation_100_ms": (0.5, 0.85),
    "variation_1_s": (0.45, 0.75),
    "autocorrelation_100_ms": (0.7, 0.9),
    "autocorrelation_1_s": (0.35, 0.85),
    "autocorrelation_5_s": (-0.1, 0.6),
    "falls_over_half_within_100_ms": (0.025, 0.1),
    "share_below_1_mbit_per_s": (0.02, 0.1),
    "mean_outage_ms": (150.0, 500.0),
    "max_outage_ms": (400.0, 2000.0),
}


@pytest.fixture(scope="module")
def make_trace() -> ModuleType:
    """Load the program from its file: tools are no package."""
    spec = importlib.util.spec_from_file_location("make_trace", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up while it is being loaded.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def statistics(make_trace: ModuleType) -> object:
    return make_trace.statistics_of(make_trace.read_opportunities(TRACE))


def test_the_committed_trace_is_what_the_seed_makes(make_trace: ModuleType) -> None:
    assert make_trace.trace_text(make_trace.Model(), SEED) == TRACE.read_text()


def test_another_seed_makes_another_trace(make_trace: ModuleType) -> None:
    model = make_trace.Model(duration_ms=2000)
    assert make_trace.trace_text(model, SEED) == make_trace.trace_text(model, SEED)
    assert make_trace.trace_text(model, SEED) != make_trace.trace_text(model, SEED + 1)


@pytest.mark.parametrize("name", BOUNDS)
def test_statistics_lie_where_recorded_traces_lie(statistics: object, name: str) -> None:
    least, most = BOUNDS[name]
    assert least <= getattr(statistics, name) <= most


def test_capacity_keeps_within_its_bounds(make_trace: ModuleType) -> None:
    model = make_trace.Model(duration_ms=20_000)
    capacities = set(make_trace.capacities_bits_per_s(model, make_trace.Generator(SEED)))
    outside_outages = capacities - {model.outage_bits_per_s}
    assert min(outside_outages) >= model.min_bits_per_s
    assert max(outside_outages) <= model.max_bits_per_s
    assert model.outage_bits_per_s in capacities


def test_the_trace_is_in_mahimahis_format(make_trace: ModuleType) -> None:
    opportunities = make_trace.read_opportunities(TRACE)
    assert opportunities[0] >= 1
    assert opportunities[-1] == make_trace.Model().duration_ms
    assert TRACE.read_text().endswith("\n")
    assert TRACE.stat().st_size < 1_000_000
