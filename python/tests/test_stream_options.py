"""What a person types of `gameway host` and `gameway client`, what it means, and what slips get."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gameway as gw
from gameway.live import addresses, stream_command, tokens

TOKEN = "a-token-of-24-characters"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("8443", "0.0.0.0:8443"),
        (":9000", "0.0.0.0:9000"),
        ("127.0.0.1", "127.0.0.1:8443"),
        ("127.0.0.1:9000", "127.0.0.1:9000"),
        ("localhost:9000", "127.0.0.1:9000"),
        ("::1", "[::1]:8443"),
        ("[::1]", "[::1]:8443"),
        ("[::1]:9000", "[::1]:9000"),
        ("[::]:9000", "[::]:9000"),
    ],
)
def test_a_port_an_address_or_both_say_where_to_listen(text: str, meant: str) -> None:
    assert addresses.listen(text) == meant


@pytest.mark.parametrize("text", ["70000", "127.0.0.1:x", "127.0.0.1:", "[::1]:-1", "256.0.0.1:80"])
def test_where_nobody_can_listen_is_told_as_typed(text: str) -> None:
    with pytest.raises(gw.InputError, match="--listen") as error:
        addresses.listen(text)
    assert f'"{text}"' in str(error.value)
    assert "write PORT, ADDRESS or ADDRESS:PORT" in str(error.value)


def test_links_name_what_others_reach_and_which_ports() -> None:
    told = addresses.links(["127.0.0.1:8443", "198.51.100.7:8443"], TOKEN)
    assert told == [
        f"watch at http://198.51.100.7:8443/?token={TOKEN}",
        f"or from this machine: http://127.0.0.1:8443/?token={TOKEN}",
        "port 8443 must be open for TCP (page and signalling) and for UDP (media)",
    ]
    assert addresses.links(["[::1]:80"], TOKEN) == [f"watch at http://[::1]:80/?token={TOKEN}"]


def test_a_token_is_of_the_file_or_of_the_environment_and_else_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n", encoding="utf-8")
    monkeypatch.setenv(tokens.VARIABLE, f"{TOKEN}-of-the-environment")
    assert tokens.of_host(file) == TOKEN
    assert tokens.of_host(None) == f"{TOKEN}-of-the-environment"
    monkeypatch.delenv(tokens.VARIABLE)
    new = {tokens.of_host(None) for _ in range(10)}
    assert len(new) == 10
    assert all(len(token) == 16 for token in new)


@pytest.mark.parametrize(
    "text", ["a", "short-token", "aaaaaaaaaaaaaaaaaaaa", "with spaces in its text"]
)
def test_a_token_that_can_be_guessed_or_typed_wrong_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(gw.InputError, match=r"--token-file .*16 to 128 characters") as error:
        tokens.given(file)
    assert f'"{text}"' not in str(error.value)
    with pytest.raises(gw.InputError, match="--token-file"):
        tokens.given(tmp_path / "none")


def test_a_link_may_have_its_token_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tokens.VARIABLE, TOKEN)
    place = stream_command.Place.parse("http://192.0.2.7:8443")
    assert place == stream_command.Place("http://192.0.2.7:8443/whep", TOKEN)
    monkeypatch.delenv(tokens.VARIABLE)
    with pytest.raises(gw.InputError, match=r"LINK: .*has no token.*GAMEWAY_TOKEN"):
        stream_command.Place.parse("http://192.0.2.7:8443")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"listen": "x"}, '--listen: "x" has no address "x"'),
        ({"duration": "5"}, '--duration: "5" has nothing as unit'),
        ({"size": "large"}, '--size: "large" is no size'),
        ({"frame_rate": 0}, "--frame-rate: 0 is out of range; from 1 to 1000"),
        ({"fec": "500 %"}, '--fec: "500 %" must be at most 100 %'),
        ({"min_bitrate": "3"}, '--min-bitrate: "3" has nothing as unit'),
        (
            {"start_bitrate": "60 Mb/s"},
            '--max-bitrate: "40 Mb/s" must not be below --start-bitrate = 60 Mb/s',
        ),
        ({"controller": "pudicca"}, '--controller: "pudicca" is no controller'),
        ({"folder": Path("/proc/none")}, '--out: "/proc/none" cannot be made'),
        ({"size": "99999x99999"}, "--size: "),
        ({"source": "/none.mkv"}, "--source: "),
        ({"controller": "oracle"}, "--controller: "),
        ({"listen": "192.0.2.1:0"}, '--listen: "192.0.2.1:0" cannot be listened at'),
    ],
)
def test_a_slip_at_the_host_is_told_as_it_was_typed(options: dict[str, Any], told: str) -> None:
    given = {"listen": "127.0.0.1:0", "duration": "10 ms", "audio": False, **options}
    with pytest.raises(gw.InputError) as error:
        stream_command.host_command(**given)
    assert str(error.value).startswith(told)
    assert "column" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"link": "192.0.2.7:8443"}, 'LINK: "192.0.2.7:8443" is no host'),
        ({"inputs": "5"}, '--inputs: "5" has nothing as unit'),
        ({"duration": "5x"}, '--duration: "5x" has "x" as unit'),
    ],
)
def test_a_slip_at_the_client_is_told_as_it_was_typed(options: dict[str, Any], told: str) -> None:
    with pytest.raises(gw.InputError) as error:
        stream_command.client_command(**{"link": f"http://127.0.0.1:1/?token={TOKEN}", **options})
    assert str(error.value).startswith(told)


@pytest.mark.parametrize("controller", ["pudica", "salsify", "sqp", "copa", "gcc", "fixed"])
def test_a_hosts_controller_lowers_its_rate_where_much_is_lost(
    controller: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, Any]] = []

    def carry_out(_part: object, config: dict[str, Any], *_: object) -> dict[str, Any]:
        given.append(config)
        return {"sessions": 1, "cpu": []}

    monkeypatch.setattr(stream_command, "_carry_out", carry_out)
    stream_command.host_command(controller=controller)
    guarded = controller in ("pudica", "salsify", "sqp", "copa")
    expected = {"kind": controller, "reduce_on_loss": "on"} if guarded else controller
    assert given[0]["stream"]["controller"] == expected


def test_no_token_is_seen_among_a_programs_arguments() -> None:
    words = [sys.executable, "-m", "gameway", "host", "--token", TOKEN]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "--token-file" in done.stderr
