"""What hosts and clients of a live run's streams are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gameway.live.plan import SIGNALLING_PORT

if TYPE_CHECKING:
    from gameway.live.plan import Place, Plan

SIZE = (1280, 720)
SOURCE = {"kind": "scene"}
"""A stream's pictures: the built-in moving scene, with the frame's counter and clock in them."""


def host_config(plan: Plan, stream: dict[str, Any], place: Place, token: str) -> dict[str, Any]:
    """What the host of a stream is told."""
    address = plan.address(stream["name"])
    return {
        "epoch_ns": place.epoch_ns,
        "seed": plan.spec["seed"],
        "duration": plan.spec["duration"],
        "start": stream.get("start") or "0 s",
        "stop": stream.get("stop"),
        "stream": stream,
        "record": plan.spec.get("record") or {},
        "listen": f"{address}:{SIGNALLING_PORT}",
        "token": token,
        "source": SOURCE,
        "size": list(SIZE),
        "encoder": {},
    }


def client_config(plan: Plan, stream: dict[str, Any], place: Place, token: str) -> dict[str, Any]:
    """What the client of a stream is told."""
    address = plan.address(stream["name"])
    return {
        "epoch_ns": place.epoch_ns,
        "seed": plan.spec["seed"],
        "duration": plan.spec["duration"],
        "stream": stream,
        "connect": f"http://{address}:{SIGNALLING_PORT}/whep",
        "token": token,
    }
