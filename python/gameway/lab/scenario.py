"""A scenario: what the path does by itself while one plays, and what is asked afterwards.

title = "Evening"
blind = true                     # the page shows neither knobs nor figures; default
duration = "120 s"

[trace]                          # recorded capacities, for capacity = "trace drive"
drive = { trace = "drive.csv.gz", rate_unit = "kb/s" }

[start]                          # knobs at the beginning; others have their defaults
capacity = "25 Mb/s"
controller = "pudica"

[[step]]
at = "30 s"
downloads = ["cubic"]

[[question]]                     # those of ITU-T P.809 if none is given
name = "quality"
text = "How do you rate the overall quality?"
answers = ["Bad", "Poor", "Fair", "Good", "Excellent"]
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gameway import _core
from gameway.errors import InputError
from gameway.lab import knobs
from gameway.lab.kinds import KINDS
from gameway.lab.knobs import CONTROLLER, DOWNLOADS, KNOBS

if TYPE_CHECKING:
    from pathlib import Path

SCALE = ("Extremely bad", "Bad", "Poor", "Fair", "Good", "Excellent", "Ideal")
"""The scale with seven points (ITU-T P.851) by which P.809 has the quality of a game rated; answers
are numbers from 1, the worst."""
AGREE = ("Strongly disagree", "Disagree", "Rather disagree", "Undecided", "Rather agree", "Agree",
         "Strongly agree")  # fmt: skip
MAX_ENTRIES = 50
"""Steps or questions of a file."""


class Question(BaseModel):
    """What is asked, and what can be answered, the worst first."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
    text: Annotated[str, Field(min_length=1, max_length=300)]
    answers: Annotated[tuple[str, ...], Field(min_length=2, max_length=11)] = SCALE


QUESTIONS = (
    Question(name="overall", text="How do you rate the overall quality of playing?"),
    Question(name="video", text="How do you rate the quality of the picture?"),
    Question(name="audio", text="How do you rate the quality of the sound?"),
    Question(name="control", text="I could control the game as I wanted.", answers=AGREE),
    Question(name="reaction", text="The game reacted to what I did without delay.", answers=AGREE),
    Question(name="smooth", text="The picture moved smoothly.", answers=AGREE),
    Question(name="accept", text="Would you go on playing under these conditions?",
             answers=("No", "Yes")),
)  # fmt: skip
"""After a scenario that asks nothing of its own: in words of ours, the aspects that ITU-T P.809 has
rated after playing (overall quality, picture, sound, control, responsiveness, fluency), and whether
one would go on."""


class Turned(BaseModel):
    """Knobs, and what they are turned to."""

    model_config = ConfigDict(extra="forbid")

    capacity: str | None = None
    rtt: str | None = None
    loss: str | None = None
    jitter: str | None = None
    queue: str | None = None
    size: str | None = None
    gateway: str | None = None
    controller: str | None = None
    downloads: list[str] | None = None

    def knobs(self) -> dict[str, Any]:
        """Give those that are turned."""
        own = {*KNOBS, CONTROLLER, DOWNLOADS}
        return {name: value for name, value in self.model_dump().items()
                if name in own and value is not None}  # fmt: skip


class Step(Turned):
    """What is turned, and when."""

    at: str


class Scenario(BaseModel):
    """What the file says."""

    model_config = ConfigDict(extra="forbid")

    title: str
    duration: str
    blind: bool = True
    trace: dict[str, dict[str, Any]] = {}
    start: Turned = Turned()
    step: Annotated[list[Step], Field(max_length=MAX_ENTRIES)] = []
    question: Annotated[list[Question], Field(max_length=MAX_ENTRIES)] = []

    @property
    def duration_ns(self) -> int:
        """How long it takes until the questions are asked."""
        return _core.parse_duration(self.duration)

    @property
    def downloads(self) -> set[str]:
        """Those that come."""
        return {name for one in (self.start, *self.step) for name in one.downloads or ()}

    @property
    def traces(self) -> dict[str, dict[str, Any]]:
        """Recorded capacities, by what the knob says."""
        return {knobs.TRACE + name: capacity for name, capacity in self.trace.items()}

    @property
    def steps(self) -> list[tuple[int, dict[str, Any]]]:
        """What is turned when, since the player has come."""
        found = [(_core.parse_duration(step.at), step.knobs()) for step in self.step]
        return sorted(found, key=lambda one: one[0])

    @property
    def questions(self) -> list[Question]:
        """What is asked afterwards."""
        return self.question or list(QUESTIONS)


def load(file: Path) -> Scenario:
    """Read a scenario; InputError that names file, key and value."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        scenario = Scenario.model_validate(table)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is no text"
        raise InputError(f"cannot be read: {why}", file=file) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is no TOML: {error}", file=file) from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(one) for one in first["loc"])
        value = first["input"] if first["type"] != "missing" else None
        raise InputError(first["msg"], file=file, field=key, value=value) from None
    _check_traces(scenario, file)
    _check(scenario, file)
    return scenario


def _check_traces(scenario: Scenario, file: Path) -> None:
    """Read the recorded capacities, whose names are relative to the scenario."""
    for name, capacity in scenario.trace.items():
        key = f"trace.{name}"
        if not isinstance(capacity.get("trace"), str):
            raise InputError("has no file", file=file, field=key, hint='{ trace = "file" }')
        capacity["trace"] = str((file.parent / capacity["trace"]).absolute())
        try:
            knobs.check_trace(capacity)
        except (ValueError, OSError) as error:
            raise InputError(str(error), file=file, field=key) from None


def _check(scenario: Scenario, file: Path) -> None:
    """Refuse what no session can do."""
    whole = _duration(scenario.duration, file, "duration")
    for number, step in enumerate(scenario.step):
        at = _duration(step.at, file, f"step.{number}.at")
        if at >= whole:
            hint = f"before the duration of {scenario.duration}"
            raise InputError("comes too late", file=file, field=f"step.{number}.at",
                             value=step.at, hint=hint)  # fmt: skip
        _check_knobs(step, scenario.traces, file, f"step.{number}")
    _check_knobs(scenario.start, scenario.traces, file, "start")
    names = [one.name for one in scenario.question]
    for number, name in enumerate(names):
        if name in names[:number]:
            key = f"question.{number}.name"
            raise InputError("is the name of another question", file=file, field=key, value=name)


def _duration(text: str, file: Path, key: str) -> int:
    try:
        return _core.parse_duration(text)
    except ValueError as error:
        raise InputError(str(error), file=file, field=key) from None


def _check_knobs(turned: Turned, traces: knobs.Traces, file: Path, at: str) -> None:
    for name, value in turned.knobs().items():
        key = f"{at}.{name}"
        if name == DOWNLOADS:
            for one in value:
                if one not in KINDS:
                    raise InputError("is no download", file=file, field=key, value=one,
                                     hint=f"known are {', '.join(KINDS)}")  # fmt: skip
        elif name in KNOBS and value not in traces:
            try:
                KNOBS[name].parse(value)
            except ValueError as error:
                raise InputError(str(error), file=file, field=key) from None
