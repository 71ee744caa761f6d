"""Ladders: levels of one size, and those of manifests (our texts, in the forms of the field)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gameway as gw
from gameway.experiment.keys.ladders import levels_of
from gameway.experiment.keys.manifests import levels_in

if TYPE_CHECKING:
    from pathlib import Path

EXPERIMENT = """
duration = "20 s"
ping = false
[path]
capacity = "20 Mb/s"
base_rtt = "20 ms"
[[competitor]]
name = "film"
kind = "dash"
ladder = {ladder}
"""
MPD = """<?xml version="1.0"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static">
 <Period>
  <AdaptationSet contentType="audio"><Representation id="a" bandwidth="128000"/></AdaptationSet>
  <AdaptationSet contentType="video" width="640" height="360">
   <Representation id="1" bandwidth="1500000"/>
   <Representation id="0" bandwidth="800000"/>
   <Representation id="2" bandwidth="4000000" width="1280" height="720"/>
  </AdaptationSet>
  <AdaptationSet contentType="video"><Representation id="hevc" bandwidth="3000000" width="1280"
    height="720"/></AdaptationSet>
 </Period>
 <Period><AdaptationSet width="320" height="180"><Representation bandwidth="9"/>
 </AdaptationSet></Period>
</MPD>
"""
PLAYLIST = """#EXTM3U
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="x, RESOLUTION=1x1",URI="a.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=900000,AVERAGE-BANDWIDTH=800000,CODECS="avc1.4d,mp4a",RESOLUTION=640x360
low.m3u8\r
#EXT-X-STREAM-INF:BANDWIDTH=1500000,RESOLUTION=640x360,AUDIO="a"
mid.m3u8
#EXT-X-STREAM-INF:RESOLUTION=1280x720,BANDWIDTH=5000000,AVERAGE-BANDWIDTH=4000000
high.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=128000,CODECS="mp4a"
sound.m3u8
#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=90000,RESOLUTION=640x360,URI="i.m3u8"
"""
WANTED = ((640, 360, 800_000), (640, 360, 1_500_000), (1280, 720, 4_000_000))
LISTED = '{ levels = [["640x360", "800 kb/s"], ["640x360", "1.5 Mb/s"], ["1280x720", "4 Mb/s"]] }'


def experiment(folder: Path, ladder: str) -> gw.Experiment:
    (folder / "x.mpd").write_text(MPD)
    (folder / "x.m3u8").write_text(PLAYLIST)
    (folder / "x.toml").write_text(EXPERIMENT.format(ladder=ladder))
    return gw.load(folder / "x.toml")


@pytest.mark.parametrize("ladder", [LISTED, '{ file = "x.mpd" }', '{ file = "x.m3u8" }'])
def test_two_levels_of_one_size_run_and_report(ladder: str, tmp_path: Path) -> None:
    loaded = experiment(tmp_path, ladder)
    (run,) = gw.expand(loaded)
    assert levels_of(run.spec["competitor"][0]) == WANTED
    results = gw.run(loaded, tmp_path / "out")
    shown = results.segments().collect()["level"].max()
    assert shown == 3, "20 Mb/s carry the highest level, counted from 1"
    gw.report.write(results, tmp_path / "report.html", save_files=False)


def test_ladders_are_an_axis_in_every_form(tmp_path: Path) -> None:
    loaded = experiment(tmp_path, f'[{LISTED}, {{ 320x180 = "1 Mb/s" }}]')
    runs = gw.expand(loaded)
    assert [len(levels_of(run.spec["competitor"][0])) for run in runs] == [3, 1]
    assert "3 levels to 4 Mb/s" in runs[0].factors.values()
    assert runs[0].factors != runs[1].factors


def test_a_recorded_ladder_needs_its_manifest_no_more(tmp_path: Path) -> None:
    (from_file,) = gw.expand(experiment(tmp_path, '{ file = "x.mpd" }'))
    assert "x.mpd" not in str(from_file.spec)


@pytest.mark.parametrize(
    ("ladder", "told"),
    [
        ("{ levels = [] }", ["ladder.levels", "is no list of levels"]),
        ('{ levels = [["640x360"]] }', ["ladder.levels.0", "a size and a bitrate"]),
        ('{ levels = [["big", "1 Mb/s"]] }', ["ladder.levels.0.0", '"big"', "no size"]),
        ('{ levels = [["640x360", "1 MB"]] }', ["ladder.levels.0", "1 MB"]),
        ('{ file = "absent.mpd" }', ["ladder.file", "absent.mpd", "does not exist"]),
        ('{ file = "x.toml" }', ["ladder.file", "x.toml", "neither an MPD nor a playlist"]),
        ('{ file = "x.mpd", more = 1 }', ["ladder.more", "unknown key"]),
        (
            '{ levels = [["640x360", "1 Mb/s"], ["320x180", "2 Mb/s"]] }',
            ["ladder", "no fewer pixels"],
        ),
    ],
)
def test_a_slip_is_told(ladder: str, told: list[str], tmp_path: Path) -> None:
    with pytest.raises(gw.GamewayError) as caught:
        gw.run(experiment(tmp_path, ladder), tmp_path / "out")
    assert all(words in str(caught.value) for words in told), caught.value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "neither an MPD"),
        ("<MPD>", "neither an MPD"),
        ("<html></html>", "is no MPD but <html>"),
        ("<MPD><Period/></MPD>", "no level"),
        ("#EXTM3U\n#EXTINF:4,\nonly.ts\n", "no level"),
        ('<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><MPD>&b;</MPD>', "document type"),
    ],
)
def test_what_is_no_manifest_is_refused(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "x.mpd").write_text(text)
    with pytest.raises(ValueError, match=told):
        levels_in(tmp_path / "x.mpd")
