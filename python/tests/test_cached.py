"""What is cached between commands is made once, is whole, and is never needed."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from gameway import cached
from gameway.page import render

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_text_is_made_once_and_made_again_when_it_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "text.js"
    assert cached.text(file, lambda: "é1") == "é1"
    assert cached.text(file, lambda: "2") == "é1"
    assert [path.name for path in file.parent.iterdir()] == ["text.js"]
    file.unlink()
    assert cached.text(file, lambda: "3") == "3"


def test_what_cannot_be_read_or_written_is_made_each_time(tmp_path: Path) -> None:
    (tmp_path / "no-folder").write_text("", encoding="utf-8")
    assert cached.text(tmp_path / "no-folder" / "text.js", lambda: "1") == "1"
    (tmp_path / "bytes.js").write_bytes(b"\xff\xfe")
    assert cached.text(tmp_path / "bytes.js", lambda: "2") == "2"
    assert (tmp_path / "bytes.js").read_text("utf-8") == "2"


def test_scripts_of_pages_are_kept_by_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    render._bundle.cache_clear()
    made = render._bundle()
    (file,) = (tmp_path / "gameway" / "pages").iterdir()
    assert file.read_text("utf-8") == made
    assert version("vl-convert-python") in file.name
    assert "gamewayEmbed" in made
    render._bundle.cache_clear()
