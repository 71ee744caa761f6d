"""Headless Chromium for the parts of a live run, driven by Playwright: one way to start it."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

from gameway.errors import GamewayError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from playwright.sync_api import BrowserContext, Playwright

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-proxy-server",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
)  # fmt: skip
MISSING = "{who} need {what}; install with: {how}"


def why_not(who: str) -> list[str]:
    """What this machine lacks for those who need a browser, each with how to install it."""
    lacking = []
    if shutil.which("chromium") is None:
        lacking.append(MISSING.format(who=who, what="chromium", how="apt install chromium"))
    try:
        import playwright  # noqa: F401, PLC0415 (an extra)
    except ImportError:
        how = "pip install playwright"
        lacking.append(MISSING.format(who=who, what="Playwright", how=how))
    return lacking


def refuse(lacking: Sequence[str]) -> None:
    """Refuse a machine that lacks something; one error names all of it."""
    if lacking:
        raise GamewayError("; ".join(lacking))


def open_browser(  # noqa: PLR0913 (all but two are named)
    playwright: Playwright,
    profile: Path,
    *,
    flags: Sequence[str] = (),
    size: tuple[int, int],
    preferences: Mapping[str, Any] | None = None,
    namespace: str | None = None,
) -> BrowserContext:
    """Open a browser with a profile of its own, on disk: with the cache that a viewer's has.

    In another network namespace its program is a script that enters that first: the process that
    Playwright started, and ends by its number, is the browser either way.
    """
    file = profile / "Default" / "Preferences"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(preferences or {}), encoding="utf-8")
    program = shutil.which("chromium")
    if namespace is not None:
        script = profile / "start"
        words = f'exec nsenter --net={namespace} -- {program} "$@"'
        script.write_text(f"#!/bin/sh\n{words}\n", encoding="utf-8")
        script.chmod(0o700)
        program = str(script)
    return playwright.chromium.launch_persistent_context(
        profile,
        executable_path=program,
        args=[*FLAGS, *flags],
        viewport={"width": size[0], "height": size[1]},
    )
