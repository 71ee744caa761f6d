"""Records the headers by which the classifier is tested: crates/core/gateway/tests/recorded.

    sudo .venv/bin/python tools/record-headers/record_headers.py [SCENE...]

Real programs talk through an emulated path; of each flow the times, sizes and directions of its
packets are kept, and nothing of their content. Needs root, a build for live runs, nginx, curl,
iperf3, tshark, Chromium and Playwright; `search` needs the example `spinning` (cargo build
--release -p gameway-download --example spinning).

| scene | who talks |
|---|---|
| live | our host to our client (a game), a download by s2n-quic, one by iperf3 |
| browser | our host to Chromium (a game) |
| call | two Chromiums that call each other by WebRTC, with fake cameras and microphones |
| camera | a Chromium that shows its fake camera to another one, which only watches |
| web | Chromium loading pages of nginx one after the other, curl, a call's worth of UDP by iperf3 |
| search | downloads by quinn in front of a queue that drops what they probe the MTU with |

A file has one flow: packets as `microseconds since the one before, bytes of IP` by unsigned LEB128,
the latter doubled, with the lowest bit set if the packet goes to the home; zlib around all of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import zlib
from collections import Counter, defaultdict
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from playwright.sync_api import sync_playwright

import gameway as gw

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
OUT = HERE.parents[1] / "crates" / "core" / "gateway" / "tests" / "recorded"
GAMEWAY = (sys.executable, "-m", "gameway")
LINK = ("--capacity", "60 Mb/s", "--rtt", "20 ms", "--size", "300000 B")
SMALL_LINK = ("--capacity", "20 Mb/s", "--rtt", "30 ms", "--size", "30000 B")
SPINNING = HERE.parents[1] / "target" / "release" / "examples" / "spinning"
KEPT_S = 9.0
"""Of a flow: thirty looks of the classifier."""
MIN_PACKETS = 400
"""Of a flow that is worth keeping; of pages all flows are kept as one."""
MIN_GAME_MBPS = 2.5
"""Above the least rate of a game."""
MIN_STEP = 20
"""Bytes by which quinn ends its search (MtuDiscoveryConfig)."""
FLAGS = [
    "--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
    "--disable-features=WebRtcHideLocalIpsWithMdns", "--autoplay-policy=no-user-gesture-required",
]  # fmt: skip
OFFER = """async ([sends, picture]) => {
  const one = window.one = new RTCPeerConnection();
  one.ontrack = event => {
    const video = document.body.appendChild(document.createElement('video'));
    video.srcObject = event.streams[0]; video.muted = true; video.play();
  };
  if (sends) {
    const made = await navigator.mediaDevices.getUserMedia({audio: true, video: picture});
    made.getTracks().forEach(track => one.addTrack(track, made));
  }
}"""
ANSWER = """async offer => {
  await one.setRemoteDescription(JSON.parse(offer));
  await one.setLocalDescription(await one.createAnswer());
}"""
GATHERED = """async () => {
  while (one.iceGatheringState !== 'complete') await new Promise(r => setTimeout(r, 50));
  return JSON.stringify(one.localDescription);
}"""
LINK_END = "letters-and-digits-only"
"""Of the host's link."""
PICTURE = {"width": 1280, "height": 720, "frameRate": 30}
FILMED_FRAMES = 45
"""Of the film that stands for a camera: noise that moves; Chromium's own takes 0.2 Mb/s."""
GAME = """
duration = "30 s"
path = { capacity = "60 Mb/s", base_rtt = "20 ms" }
[[stream]]
name = "game"
controller = "gcc"
start_bitrate = "6 Mb/s"
max_bitrate = "10 Mb/s"
"""
BOTH = 2
"""Ends of a flow."""
MORE = 0x80
"""Of a byte of LEB128 that others follow."""
Packet = tuple[float, int, bool]


def run(*words: str, **more: Any) -> str:
    """Run a command that must succeed."""
    done = subprocess.run(words, check=True, capture_output=True, text=True, **more)
    return str(done.stdout)


@contextmanager
def behind(pcap: Path, path: tuple[str, ...] = LINK) -> Iterator[tuple[str, str]]:
    """Give a namespace behind the path, and the address of this machine for it."""
    say = "echo $GAMEWAY_OUTSIDE; ip netns identify; read -r end; exit 0"
    words = [*GAMEWAY, "link", *path, "--pcap", str(pcap), "--", "sh", "-c", say]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as link:
        assert link.stdin is not None
        assert link.stdout is not None
        outside, space = link.stdout.readline().strip(), link.stdout.readline().strip()
        yield space, outside
        link.stdin.close()
        link.wait(30)


def flows(pcap: Path, end: str = "client") -> dict[tuple[str, ...], list[Packet]]:
    """Give the packets of each flow at an end of the path; the home is who is behind it."""
    fields = ["frame.time_epoch", "frame.len", "ip.src", "ipv6.src", "ip.dst", "ipv6.dst",
              "udp.srcport", "udp.dstport", "tcp.srcport", "tcp.dstport"]  # fmt: skip
    asked = [word for field in fields for word in ("-e", field)]
    # A capture has each packet at both ends of the path.
    at_end = f'frame.interface_name == "{end}"'
    told = run(
        "tshark", "-r", str(pcap), "-Y", at_end, "-T", "fields", "-E", "occurrence=f", *asked
    )
    found: dict[tuple[str, ...], list[Packet]] = defaultdict(list)
    for line in told.splitlines():
        at, size, *rest = line.split("\t")
        ends, ports = [one for one in rest[:4] if one], [one for one in rest[4:] if one]
        if len(ends) != BOTH or len(ports) != BOTH:
            continue
        source, target = (f"{end}:{port}" for end, port in zip(ends, ports, strict=True))
        # The addresses that a link gives to what is behind it.
        to_home = ends[1].startswith("10.78.") or ends[1].endswith("::2")
        outside, home = (source, target) if to_home else (target, source)
        found["udp" if rest[4] else "tcp", outside, home].append((float(at), int(size), to_home))
    return found


def written(name: str, packets: list[Packet], *, first: bool = False) -> None:
    """Keep the last seconds of a flow, or its first: times, sizes and directions."""
    packets = sorted(packets)
    since = packets[0][0] if first else packets[-1][0] - KEPT_S
    packets = [packet for packet in packets if since <= packet[0] <= since + KEPT_S]
    begin = packets[0][0]
    data, before = bytearray(), 0
    for at, size, to_home in packets:
        now = round((at - begin) * 1e6)
        for number in (now - before, 2 * size + to_home):
            rest = number
            while rest >= MORE:
                data.append(rest % MORE | MORE)
                rest //= MORE
            data.append(rest)
        before = now
    (OUT / f"{name}.bin").write_bytes(zlib.compress(bytes(data), 9))
    print(f"{name}: {len(packets)} packets")


def largest(found: dict[tuple[str, ...], list[Packet]], protocol: str) -> list[list[Packet]]:
    """Give the flows of a protocol that are worth keeping, those with the most packets first."""
    own = [packets for (kind, *_), packets in found.items() if kind == protocol]
    return sorted((one for one in own if len(one) >= MIN_PACKETS), key=len, reverse=True)


def live(folder: Path) -> None:
    """Run the experiment beside this file, and keep each of its flows."""
    out = folder / "live"
    run(*GAMEWAY, "run", str(HERE / "live.toml"), "--on", "live", "--runs", "1", "--pcap",
        "--no-report", "--out", str(out))  # fmt: skip
    (pcap,) = out.rglob("*.pcap*")
    for (_, source, _), packets in flows(pcap).items():
        if len(packets) < MIN_PACKETS:
            continue
        port = source.rpartition(":")[2]
        name = {"443": "download-over-quic", "5201": "download-over-tcp"}.get(port, "game")
        written(name, packets)


@contextmanager
def chromium(playwright: Any, space: str | None, film: Path | None = None) -> Iterator[Any]:
    """Give a page of a Chromium, in a namespace if one is given."""
    program = "/usr/bin/chromium"
    with TemporaryDirectory() as folder:
        if space is not None:
            wrapped = Path(folder) / "chromium"
            wrapped.write_text(f'#!/bin/sh\nexec ip netns exec {space} {program} "$@"\n', "utf-8")
            wrapped.chmod(0o755)
            program = str(wrapped)
        camera = [] if film is None else [f"--use-file-for-fake-video-capture={film}"]
        browser = playwright.chromium.launch(executable_path=program, args=[*FLAGS, *camera])
        try:
            yield browser.new_page()
        finally:
            browser.close()


def filmed(file: Path) -> None:
    """Write a film for a fake camera, in YUV4MPEG2."""
    width, height = PICTURE["width"], PICTURE["height"]
    random = np.random.default_rng(1)
    coarse = random.integers(40, 215, (height // 8, 2 * width // 8), dtype=np.uint8)
    picture = np.kron(coarse, np.ones((8, 8), np.uint8))
    grey = np.full(width * height // 2, 128, np.uint8).tobytes()
    with file.open("wb") as film:
        film.write(f"YUV4MPEG2 W{width} H{height} F30:1 Ip C420jpeg\n".encode())
        for number in range(FILMED_FRAMES):
            film.write(b"FRAME\n" + picture[:, 12 * number : 12 * number + width].tobytes() + grey)


def call(name: str, folder: Path, *, both: bool) -> None:
    """Two Chromiums with a path between them; the one outside sends always."""
    film = folder / "film.y4m"
    filmed(film)
    pcap = folder / f"{name}.pcapng"
    blank = folder / "blank"
    blank.mkdir(exist_ok=True)
    (blank / "index.html").write_text("<body></body>", "utf-8")
    with behind(pcap) as (space, _), sync_playwright() as playwright, ExitStack() as stack:
        near = stack.enter_context(chromium(playwright, space, film))
        far = stack.enter_context(chromium(playwright, None, film))
        for page in (near, far):
            # getUserMedia is for pages of a secure context; a file is one.
            page.goto((blank / "index.html").as_uri())
        far.evaluate(OFFER, [True, PICTURE])
        near.evaluate(OFFER, [both, PICTURE])
        far.evaluate("async () => one.setLocalDescription(await one.createOffer())")
        offer = far.evaluate(GATHERED)
        near.evaluate(ANSWER, offer)
        answer = near.evaluate(GATHERED)
        far.evaluate("async answer => one.setRemoteDescription(JSON.parse(answer))", answer)
        # Its rate rises for some seconds.
        time.sleep(6.0 + KEPT_S)
    written(name, largest(flows(pcap), "udp")[0])


def browser(folder: Path) -> None:
    """Our host to Chromium."""
    pcap = folder / "browser.pcapng"
    with behind(pcap) as (space, outside), sync_playwright() as playwright, ExitStack() as stack:
        (spec,) = gw.expand(gw.loads(GAME))
        config = {"stream": spec.spec["stream"][0], "listen": f"{outside}:8470",
                  "token": LINK_END, "audio": True, "folder": str(folder)}  # fmt: skip
        file = folder / "host.json"
        file.write_text(json.dumps(config), "utf-8")
        words = [sys.executable, "-m", "gameway.live.part", "host", str(file)]
        host = stack.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        stack.callback(host.terminate)
        assert host.stdout is not None
        host.stdout.readline()
        page = stack.enter_context(chromium(playwright, space))
        page.goto(f"http://{outside}:8470/#{LINK_END}")
        time.sleep(6.0 + KEPT_S)
    written("game-in-a-browser", largest(flows(pcap), "udp")[0])


def web(folder: Path) -> None:
    """Pages, a file, and UDP at the rate of a call."""
    pcap = folder / "web.pcapng"
    site = folder / "site"
    site.mkdir()
    for number in range(12):
        (site / f"{number}.bin").write_bytes(bytes(40_000 + 30_000 * number))
        pictures = "".join(f'<img src="{one}.bin?{number}">' for one in range(12))
        (site / f"{number}.html").write_text(f"<body>{pictures}</body>", "utf-8")
    with behind(pcap) as (space, outside), sync_playwright() as playwright, ExitStack() as stack:
        config = folder / "nginx.conf"
        server = f"server {{ listen {outside}:8080; root {site}; }}"
        config.write_text(
            f"daemon off; pid {folder}/pid; error_log /dev/null; user root;\n"
            f"events {{}} http {{ access_log off; {server} }}\n",
            "utf-8",
        )
        for words in (["nginx", "-c", str(config)], ["iperf3", "-s", "-1", "-B", outside]):
            serving = stack.enter_context(subprocess.Popen(words, stdout=subprocess.DEVNULL))
            stack.callback(serving.terminate)
        time.sleep(1.0)
        inside = ("ip", "netns", "exec", space)
        udp = ["iperf3", "-c", outside, "-u", "-R", "-b", "3M", "-t", str(KEPT_S), "-l", "1100"]
        stack.enter_context(subprocess.Popen([*inside, *udp], stdout=subprocess.DEVNULL))
        page = stack.enter_context(chromium(playwright, space))
        for number in range(8):
            page.goto(f"http://{outside}:8080/{number}.html")
            time.sleep(1.0)
        run(*inside, "curl", "-s", "-o", "/dev/null", *(
            word for _ in range(30) for word in (f"http://{outside}:8080/11.bin", "-o", "/dev/null")
        ))  # fmt: skip
    found = flows(pcap)
    written("web-over-tcp", largest(found, "tcp")[0])
    written("udp-at-a-constant-rate", largest(found, "udp")[0])


def search(folder: Path) -> None:
    """Downloads by quinn, until one stays below the largest packet that it tried."""
    for _ in range(40):
        pcap, certificate = folder / "search.pcapng", folder / "certificate.der"
        with behind(pcap, SMALL_LINK) as (space, outside):
            ends = [outside, "27964", str(certificate), "on"]
            server = [str(SPINNING), "server", *ends]
            with subprocess.Popen(server, stdout=subprocess.PIPE) as serving:
                assert serving.stdout is not None
                serving.stdout.readline()
                client = [str(SPINNING), "client", *ends, "4", str(int(KEPT_S))]
                run("ip", "netns", "exec", space, *client)
                serving.terminate()
        for packets in largest(flows(pcap, "server"), "udp"):
            sizes = Counter(size for _, size, to_home in packets if to_home)
            rate = sum(size * count for size, count in sizes.items()) * 8e-6 / KEPT_S
            if rate > MIN_GAME_MBPS and sizes.most_common(1)[0][0] + MIN_STEP < max(sizes):
                written("download-over-quic-below-its-probes", packets, first=True)
                return
    raise SystemExit("each download went on with the largest packet that it tried: try again")


def main() -> None:
    """Record what is asked for, or everything."""
    OUT.mkdir(parents=True, exist_ok=True)
    scenes = {
        "live": live,
        "browser": browser,
        "call": lambda folder: call("call", folder, both=True),
        "camera": lambda folder: call("camera", folder, both=False),
        "web": web,
        "search": search,
    }
    for name in sys.argv[1:] or scenes:
        with TemporaryDirectory() as folder:
            scenes[name](Path(folder))
    print(json.dumps({one.name: one.stat().st_size for one in sorted(OUT.iterdir())}, indent=1))


if __name__ == "__main__":
    main()
