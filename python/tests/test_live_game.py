"""The recording of a game that live videos show: the option, what it needs, a short one."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import gameway as gw
from gameway.live.video import films, game, recorder
from gameway.live.video.content import Content

if TYPE_CHECKING:
    from pathlib import Path

LEVELS = ((160, 90, 200_000), (320, 180, 500_000))
SHORT = replace(game.PLAN, seconds=2, width=640, height=360)


def lacking() -> str:
    try:
        game.check()
    except gw.GamewayError as error:
        return str(error)
    return ""


LACKING = lacking()
needs_game = pytest.mark.skipif(bool(LACKING), reason=LACKING or "all is there")


def luminance(video: Path) -> list[bytes]:
    """The pictures of a video, grey and small."""
    size = 64 * 36
    command = ["ffmpeg", "-v", "error", "-i", str(video), "-vf", "scale=64:36", "-pix_fmt", "gray",
               "-f", "rawvideo", "-"]  # fmt: skip
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    return [raw[at : at + size] for at in range(0, len(raw), size)]


def difference(one: bytes, other: bytes) -> float:
    """Mean difference of two pictures, of 255."""
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / len(one)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder with a recording of two seconds, and what was told meanwhile."""
    folder = tmp_path_factory.mktemp("films")
    told: list[str] = []
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(game, "PLAN", SHORT)
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_DATA_HOME", str(home))
        game.record(folder, told.append)
    assert list(home.iterdir()) == [], "the game has a home of its own"
    return folder, told


@needs_game
def test_a_recording_shows_the_game_as_it_moves(recorded: tuple[Path, list[str]]) -> None:
    folder, told = recorded
    (video,) = folder.iterdir()
    assert told[0].startswith("recording a game for films, once, about 4 s")
    pictures = luminance(video)
    assert len(pictures) == 2 * 30
    # Neither black nor of one colour.
    for picture in pictures:
        assert 10 < sum(picture) / len(picture) < 200
        assert max(picture) - min(picture) > 40
    assert difference(pictures[0], pictures[-1]) > 5.0
    same, many = recorder.count_duplicates(video)
    assert many == 60
    assert same < 30


@needs_game
def test_pictures_of_nothing_are_told_from_a_game(tmp_path: Path) -> None:
    still = tmp_path / "still.mkv"
    command = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=black:size=640x360:rate=30",
               "-t", "1", "-c:v", "libx264", "-qp", "0", str(still)]  # fmt: skip
    subprocess.run(command, check=True)
    assert recorder.count_duplicates(still) == (29, 30)
    pictures = luminance(still)
    assert sum(pictures[0]) / len(pictures[0]) < 10
    assert difference(pictures[0], pictures[-1]) == 0.0


@needs_game
def test_a_recording_is_made_once_and_films_are_cut_from_it(
    recorded: tuple[Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = recorded
    cache = tmp_path / "gameway" / "films"
    cache.parent.mkdir()
    cache.symlink_to(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(game, "PLAN", SHORT)
    monkeypatch.setattr(recorder, "capture", None)
    told: list[str] = []
    video = game.record(folder, told.append)
    assert told == []
    content = Content.parse("game")
    film = films.Film(LEVELS, 1_000_000_000, 8, endless=False, content=content, content_s=4)
    assert film.key != replace(film, content=Content()).key
    assert str(video) in content.words((320, 180), folder, told.append)
    films.make(film, told.append)
    assert [len(row) for row in films.sizes(film)] == [8, 8]
    # Two seconds again and again: what a game shows differs from one second to the next.
    shown = luminance(films.cache() / film.key / "level-2.mp4")
    assert difference(shown[0], shown[30]) > 5.0
    assert difference(shown[0], shown[60]) < 3.0


@needs_game
def test_the_game_is_told_by_its_data(monkeypatch: pytest.MonkeyPatch) -> None:
    said = game.fact()
    assert said.startswith("game file:freedoom2.wad sha256:")
    assert said.endswith("demo2, 60 s, 1280x720 at 30/s")
    monkeypatch.setattr(game, "PLAN", SHORT)
    assert game.fact() != said


@needs_game
def test_a_recording_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(game, "PLAN", replace(SHORT, demos=("demo9",), seconds=None))
    with pytest.raises(gw.InputError, match=r"freedoom2\.wad.*demo9.*demo1 to demo4"):
        game.record(tmp_path, print)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_game_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.wad"
    text.write_text("not a game")
    with pytest.raises(gw.InputError, match=r"notes\.wad.*is no WAD file: it begins with b'not '"):
        recorder.demo_seconds(text, "demo1")


def test_what_is_missing_is_said_with_its_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "GAME", tmp_path / "crispy-doom")
    monkeypatch.setattr(recorder, "LIBRARIES", tmp_path)
    monkeypatch.setattr(recorder.shutil, "which", lambda _: None)
    monkeypatch.setattr(game, "PLAN", replace(SHORT, game_data=tmp_path / "game.wad"))
    needed = "apt install crispy-doom freedoom xvfb ffmpeg libfaketime"
    with pytest.raises(gw.GamewayError, match=needed):
        Content.parse("game")
    with pytest.raises(gw.InputError, match=r"--film.*give scenes, game or file:VIDEO"):
        Content.parse("doom")
