"""The command line of `gameway play --lab`: the lab's own options come first."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gameway.errors import InputError
from gameway.lab.knobs import KNOBS, check_trace, trace_of

if TYPE_CHECKING:
    from collections.abc import Iterator

SWITCH = "--lab"
LONE = {
    SWITCH: "",
    "--here": "here",
    "--keep": "keep",
    "--help": "help",
    "-h": "help",
}
"""Options without a value."""
VALUED = {"--scenario": "scenario", "--capacity-trace": "traces", "--out": "out", "--port": "port"}
OF_KNOBS = {f"--{name}" if name != "size" else "--queue-size": name for name in KNOBS}
"""The option of each knob; --size is that of the picture."""
DEFAULT_OUT = Path("results/played")
DEFAULT_PORT = 8443
MAX_PORT = 65535


@dataclass
class Words:
    """What was typed."""

    knobs: dict[str, str] = field(default_factory=dict)
    traces: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Recorded capacities, by what the knob says."""
    scenario: Path | None = None
    out: Path = DEFAULT_OUT
    keep: bool = False
    """Whether the session is kept from the beginning, as if Record had been pressed."""
    here: bool = False
    """Whether browsers of this machine alone reach the page."""
    port: int = DEFAULT_PORT
    help: bool = False
    """Whether only the options are to be told."""
    play: list[str] = field(default_factory=list)
    """What is `gameway play`'s: its options, and the command."""


def of_lab(words: list[str]) -> Words | None:
    """Read the words behind `gameway play`; None where no lab is asked for."""
    found = Words()
    is_lab = False
    left = list(words)
    while left:
        name, equals, value = left[0].partition("=")
        if name in LONE and not equals:
            left.pop(0)
            is_lab |= name == SWITCH
            if LONE[name]:
                setattr(found, LONE[name], True)
        elif name in VALUED or name in OF_KNOBS:
            left.pop(0)
            if not equals:
                if not left:
                    raise InputError("is missing", file=name, hint="give it behind the option")
                value = left.pop(0)
            _set(found, name, value)
        else:
            break
    found.play = left
    # Without the switch all is as it was: `gameway play` has an --out of its own.
    return found if is_lab else None


def _set(found: Words, name: str, value: str) -> None:
    """Note an option with a value."""
    match name:
        case "--scenario":
            found.scenario = Path(value)
        case "--capacity-trace":
            _add_trace(found, Path(value))
        case "--out":
            found.out = Path(value)
        case "--port":
            found.port = _port(value)
        case _:
            key = OF_KNOBS[name]
            found.knobs[key] = KNOBS[key].read(value, name)


def _add_trace(found: Words, file: Path) -> None:
    """Note a recorded capacity, which is read once."""
    name, capacity = trace_of(file)
    if name in found.traces:
        raise InputError("has the name of another one", file="--capacity-trace", value=str(file))
    try:
        check_trace(capacity)
    except (ValueError, OSError) as error:
        raise InputError(str(error), file="--capacity-trace", value=str(file)) from None
    found.traces[name] = capacity


def _port(value: str) -> int:
    if value.isascii() and value.isdigit() and 0 < int(value) <= MAX_PORT:
        return int(value)
    raise InputError("is no port", file="--port", value=value, hint=f"1 to {MAX_PORT}")


def options() -> Iterator[tuple[str, str]]:
    """Give the lab's options, each with its sentence."""
    yield SWITCH, "First of all options: behind a path of the lab, whose knobs are on the page"
    yield "--scenario FILE", "Steps that the path takes by itself, and questions afterwards"
    yield "--capacity-trace FILE", "A recorded capacity that the knob offers too; several times"
    yield "--keep", "Keep the session from its beginning"
    yield "--out FOLDER", f"Where a session is kept (default: {DEFAULT_OUT})"
    yield "--here", "Only browsers of this machine reach the page"
    yield "--port NUMBER", f"Of the page and of media (default: {DEFAULT_PORT})"
    for option, name in OF_KNOBS.items():
        told, default = KNOBS[name].told, KNOBS[name].default
        yield f"{option} {name.upper()}", f"{told} (default: {default})"
