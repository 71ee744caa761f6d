"""The gateway's program as one runs it: configuration, `status`, `down`; needs root and clang."""

from __future__ import annotations

import re
import socket
import stat
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from home_fixture import LAN, ROOT, gateway, home, lan, program, why_not
from live_fixture import needs_live
from nat_fixture import inside, ip
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from witness import of_times

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = ROOT / "packaging" / "gateway.toml"
PATH = ("--capacity", "20 Mb/s", "--rtt", "30 ms", "--size", "250000 B")
"""A queue of 100 ms."""

REASON = why_not()
pytestmark = [needs_live, pytest.mark.skipif(bool(REASON), reason=REASON)]


@pytest.fixture(scope="module")
def space() -> Iterator[str]:
    program()
    with lan("program") as made:
        # As the example has it.
        ip("-n", made, "address", "add", "192.168.1.1/24", "dev", LAN)
        yield made


def said(*words: str, space: str = "") -> subprocess.CompletedProcess[str]:
    line = [*(inside(space) if space else []), program(), *words]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=30)


@contextmanager
def written(text: str, folder: Path) -> Iterator[str]:
    file = folder / "gateway.toml"
    file.write_text(text, "utf-8")
    yield str(file)


def test_the_example_is_a_configuration_and_has_every_key(space: str, tmp_path: Path) -> None:
    done = said("check", str(EXAMPLE))
    assert done.returncode == 0
    assert done.stdout.startswith(f"{EXAMPLE}: fine; home br-lan, mode windows, ")
    # What is commented out is one, too, and runs.
    text = EXAMPLE.read_text("utf-8").replace('"br-lan"', f'"{LAN}"')
    text = text.replace("/run/gameway-gateway/br-lan.sock", str(tmp_path / "a.sock"))
    whole = re.sub(r"^# (\w+ = |\[\[)", r"\1", text, flags=re.MULTILINE)
    file = tmp_path / "gateway.toml"
    file.write_text(whole, "utf-8")
    assert said("check", str(file)).stdout.endswith(
        f"control {tmp_path}/a.sock, 2 rules leave others alone; "
        "games by hand (1, and 1 against), by behaviour\n"
    )
    # An unknown key names all that are known: the example has each.
    file.write_text(whole + "zzz = 1\n", "utf-8")
    known = re.search(r"known are ([\w, ]+)", said("check", str(file)).stderr)
    assert known is not None
    assert set(known[1].split(", ")) == {"address", "name", "port"}
    file.write_text("zzz = 1\n" + whole, "utf-8")
    known = re.search(r"known are ([\w, ]+)", said("check", str(file)).stderr)
    assert known is not None
    assert all(re.search(rf"^\[*{key}\b", whole, re.MULTILINE) for key in known[1].split(", "))
    file.write_text(whole, "utf-8")
    with gateway(space, "--config", str(file)) as running:
        assert running.status()["exceptions"] == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "home: is missing; write for example"),
        ("hom = 'lan'", "hom: is no option; did you mean home? known are"),
        ("home = 'lan'\nwindows.beta = '2 h'", "windows.beta: 2 h is not between 0 s and 1 h"),
        ("home = 'lan'\nshape.rate = '9 Gb'", "shape.rate: "),
        ("home = 'lan'\nmark = 'first'", 'mark: "first" is no DSCP: known are 0 to 63, df, cs0 to'),
        ("home = 'lan'\nno_game = [{}]", "no_game.0: has neither an address nor a port"),
        ("home = 'lan'\nleave_alone = [{address = 'x'}]", 'leave_alone.0.address: "x" is no addre'),
    ],
)
def test_what_is_wrong_is_named_by_file_key_and_value(text: str, told: str, tmp_path: Path) -> None:
    with written(text, tmp_path) as file:
        for words in (("check", file), ("up", "--config", file)):
            done = said(*words)
            assert done.returncode == 2
            assert done.stderr.startswith(f"gameway-gateway: {file}: {told}")


def test_one_runs_at_an_interface_and_ends_when_it_is_asked(space: str, tmp_path: Path) -> None:
    with gateway(space) as running:
        place = Path(running.control).stat()
        assert stat.S_ISSOCK(place.st_mode)
        assert stat.S_IMODE(place.st_mode) == 0o600
        told = running.status()
        assert (told["process"], told["home"]) == (running.process.pid, LAN)
        assert (told["limited"], told["connections"], told["wait_ms"]) == (0, [], None)
        shown = said("status", "--control", running.control).stdout
        assert shown.startswith(f"gateway at {LAN}, process {running.process.pid}, for ")
        # Another one is refused, with the process that is in its way, wherever its socket would be.
        second = said("up", "--home", LAN, "--control", str(tmp_path / "b.sock"), space=space)
        assert second.returncode == 1
        assert f"a gateway is at {LAN} already (process {running.process.pid})" in second.stderr
        done = said("down", "--control", running.control, space=space)
        assert done.stdout.endswith("has ended; nothing of it is left in the kernel\n")
        assert running.process.wait(10) == 0
        assert not Path(running.control).exists()
        again = said("down", "--control", running.control, space=space)
        assert again.returncode == 1
        assert again.stderr == f"gameway-gateway: no gateway runs at {running.control}\n"
    # The twin: at an interface whose gateway has ended, another one starts.
    with gateway(space) as running:
        running.end()


def test_what_a_killed_one_left_is_taken_over(space: str, tmp_path: Path) -> None:
    place = tmp_path / "left.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(place))
    with gateway(space, "--config", str(EXAMPLE)):
        assert place.exists()
    words = [*inside(space), program(), "up", "--quiet", "--home", LAN, "--control", str(place)]
    with subprocess.Popen(words) as process:
        try:
            deadline = time.monotonic() + 20
            while said("status", "--control", str(place)).returncode:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        finally:
            process.terminate()
    assert process.returncode == 0


def test_what_is_no_gateway_is_told_so(tmp_path: Path) -> None:
    place = tmp_path / "other.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(place))
        other.listen()
        with subprocess.Popen(
            [program(), "status", "--control", str(place)], stderr=subprocess.PIPE, text=True
        ) as asking:
            stream, _ = other.accept()
            with stream:
                stream.sendall(b"\x00\xff{]\n")
            assert "is no gateway of this version" in asking.communicate(timeout=20)[1]
    assert asking.returncode == 1


@pytest.mark.timed
@pytest.mark.light
def test_downloads_are_shown_and_those_of_a_rule_are_left_alone(tmp_path: Path) -> None:
    seconds = 7
    with home(*PATH) as place:
        with place.gateway() as running, place.download(seconds, "-P", "4"):
            time.sleep(seconds - 2)
            steered = running.status()
        rule = f'home = "{LAN}"\n[[leave_alone]]\nport = 5201\n'
        with (
            written(rule, tmp_path) as file,
            place.gateway("--config", file) as running,
            place.download(seconds, "-P", "4"),
        ):
            time.sleep(seconds - 2)
            alone = running.status()
    with of_times():
        # The four, and perhaps iperf3's own connection.
        assert 4 <= steered["limited"] <= 5
        assert 15e6 < steered["to_home_bps"] < 22e6
        fastest = steered["connections"][0]
        assert fastest["sender"] == f"{place.server}:5201"
        assert 1e6 < fastest["rate_bps"] < steered["to_home_bps"]
        assert 2000 < fastest["limit_bytes"] < 500_000
        assert 0.5 < fastest["limited_s"] < seconds
        assert steered["wait_minute"]["median_ms"] < steered["wait_minute"]["p99_ms"] < 110
    # The twin: seen, and nothing is done to them.
    assert (alone["limited"], alone["lowered"]) == (0, 0)
    assert alone["segments"] > 1000
    assert all(one["left_alone"] for one in alone["connections"])
    assert not any(one["left_alone"] for one in steered["connections"])


def test_a_monitor_reads_the_status(space: str) -> None:
    with gateway(space) as running:
        done = said("status", "--openmetrics", "--control", running.control)
        status = running.status()
    families = {one.name: one for one in text_string_to_metric_families(done.stdout)}
    values = {
        sample.name.removeprefix("gameway_gateway_"): sample.value
        for family in families.values()
        for sample in family.samples
    }
    assert families["gameway_gateway_segments"].type == "counter"
    assert 0 <= values["segments_total"] <= status["segments"]
    assert 0 < values["running_seconds"] <= status["time_s"] < 60
    assert values["limited_connections"] == values["windows_lowered_total"] == 0
    # Nobody downloads: what nobody can tell is not there.
    assert "wait_seconds" not in values


def test_an_interface_that_is_not_there_is_named(space: str) -> None:
    ip("-n", space, "link", "show", LAN)
    done = said("up", "--home", "nowhere", space=space)
    assert done.returncode == 1
    assert "cannot be attached to nowhere: there is no such interface" in done.stderr
