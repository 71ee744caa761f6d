"""What hosts and clients of a live run's streams are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gameway.live.plan import SIGNALLING_PORT

if TYPE_CHECKING:
    from gameway.live.plan import Place, Plan

SIZE = (1280, 720)
INPUT_INTERVAL = "250 ms"
"""From input to input of the scripted player: each shows how long its way to a picture is."""


def host_config(
    plan: Plan, stream: dict[str, Any], place: Place, token: str, source: str
) -> dict[str, Any]:
    """What the host of a stream is told; `source` is where its pictures come from."""
    address = plan.address(stream["name"])
    record = plan.spec.get("record") or {}
    return {
        "epoch_ns": place.epoch_ns,
        "seed": plan.spec["seed"],
        "duration": plan.spec["duration"],
        "stream": stream,
        "observe_interval": record.get("controller_interval"),
        "listen": f"{address}:{SIGNALLING_PORT}",
        "token": token,
        "source": source,
        "stamped": True,
        # The simulator's stream has no sound, and the two are to be compared.
        "audio": False,
        "size": f"{SIZE[0]}x{SIZE[1]}",
    }


def client_config(plan: Plan, stream: dict[str, Any], place: Place, token: str) -> dict[str, Any]:
    """What the client of a stream is told."""
    address = plan.address(stream["name"])
    return {
        "epoch_ns": place.epoch_ns,
        "duration": plan.spec["duration"],
        "stream": stream["name"],
        "input_interval": INPUT_INTERVAL,
        "connect": f"http://{address}:{SIGNALLING_PORT}/whep",
        "token": token,
    }
