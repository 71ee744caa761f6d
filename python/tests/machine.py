"""A virtual machine with a kernel of its own, for tests of what this machine's kernel may lack.

It sees this machine's files, and what it writes to them is gone with it, but for one shared
folder. It boots Debian's kernel in QEMU without a disk; `make machine-tools` brings both. Its
processor is emulated (TCG), so that it needs neither KVM nor root.
"""

from __future__ import annotations

import io
import lzma
import os
import re
import shlex
import shutil
import subprocess
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MADE = Path(__file__).parents[2] / ".make"
CHECKOUT = Path(__file__).parents[2]
ACCELERATION = os.environ.get("GAMEWAY_MACHINE", "tcg")
"""Or `kvm`, where that runs Debian's kernel."""


class Processor(NamedTuple):
    """What QEMU is asked for."""

    program: str
    board: str
    console: str
    """Where the kernel writes its messages."""
    told: str
    """Where the command writes."""
    devices: str


# A port whose other end reads nothing takes nothing, which is why it is no `stdio` here.
OUTPUT = (
    "-device virtio-serial-pci -device virtserialport,chardev=told "
    "-chardev file,id=told,path=/dev/stdout"
)
PROCESSORS = {
    "amd64": Processor(
        "qemu-system-x86_64",
        f"-M pc,accel={ACCELERATION} -cpu {'host' if ACCELERATION == 'kvm' else 'max'}",
        "ttyS1",
        "/dev/ttyS0",
        "-serial stdio -serial file:{log}",
    ),
    # Its pointers are authenticated by a function that is cheap to emulate.
    "arm64": Processor(
        "qemu-system-aarch64",
        "-M virt,accel=tcg -cpu max,pauth-impdef=on",
        "ttyAMA0",
        "/dev/vport0p1",
        f"-serial file:{{log}} {OUTPUT}",
    ),
    "armhf": Processor(
        "qemu-system-arm",
        "-M virt,accel=tcg,highmem=off -cpu cortex-a15",
        "ttyAMA0",
        "/dev/vport0p1",
        f"-serial file:{{log}} {OUTPUT}",
    ),
}
"""By Debian's name."""


class Kernel(NamedTuple):
    """A kernel of Debian, as `tools/machine` brings it."""

    release: str = ""
    """Of Debian; that of this system if it is empty."""
    architecture: str = "amd64"
    cpus: int = 1
    """How many the machine has."""

    @property
    def folder(self) -> Path:
        if not self.release:
            return MADE / "machine"
        return MADE / "machines" / f"{self.release}-{self.architecture}"

    @property
    def processor(self) -> Processor:
        return PROCESSORS[self.architecture]

    @property
    def is_foreign(self) -> bool:
        """Whether this machine's programs do not run on it."""
        return self.architecture != "amd64"

    def bring(self) -> None:
        """Have it there; skip the test where it cannot be had."""
        if self.release and not (self.folder / "kernel").exists():
            words = ["tools/machine", self.release, self.architecture]
            subprocess.run(words, cwd=CHECKOUT, check=True, timeout=600)
        lacking = _tools(self)
        if lacking:
            pytest.skip(lacking)


OWN_KERNEL = Kernel()
BOOT = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_net", "virtio_console")
"""Modules for disk-less roots, a network, and what is told."""
ADDRESS = "10.0.2.15"
"""Its own, behind which the ports are that it is reached by."""
SHARED = "/shared"
OWN = ("/tmp", "/run", "/dev/shm")
"""Folders that are empty in the machine."""
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
while read -r module; do
  insmod "/modules/$module" || echo "no $module" > /dev/console
done < /order
share="trans=virtio,version=9p2000.L,msize=524288"
mount -t 9p -o "$share,ro,cache=loose" root /lower
mount -t tmpfs none /writes
mkdir /writes/upper /writes/work
mount -t overlay -o lowerdir=/lower,upperdir=/writes/upper,workdir=/writes/work none /whole
for name in proc sys dev; do mkdir -p "/whole/$name"; mount --rbind "/$name" "/whole/$name"; done
for name in tmp run dev/shm SHARED; do mkdir -p "/whole/$name"; done
for name in tmp run dev/shm; do mount -t tmpfs none "/whole/$name"; done
mount -t 9p -o "$share" shared /whole/SHARED
if [ -n "CHECKOUT" ]; then
  mkdir -p "/whole/CHECKOUT"
  mount -t 9p -o "$share,ro,cache=loose" checkout "/whole/CHECKOUT"
fi
ip link set lo up
ip link set eth0 up
ip address add ADDRESS/24 dev eth0
case TOLD in /dev/tty*) stty -F TOLD raw ;; esac
chroot /whole /bin/sh /SHARED/command < /dev/null > TOLD 2>&1
echo $? > /whole/SHARED/code
sync
reboot -f
"""


def _init(kernel: Kernel) -> bytes:
    words = {
        "SHARED": SHARED[1:], "CHECKOUT": str(CHECKOUT)[1:] if kernel.is_foreign else "",
        "ADDRESS": ADDRESS, "TOLD": kernel.processor.told,
    }  # fmt: skip
    return re.sub(r"\b[A-Z]{4,}\b", lambda found: words[found[0]], INIT).encode()


def _tools(kernel: Kernel) -> str:
    own = next((one for one in OWN if Path(__file__).is_relative_to(one)), None)
    if own:
        return f"needs a checkout outside of {own}, where a virtual machine has a folder of its own"
    if shutil.which(kernel.processor.program) is None or not (kernel.folder / "kernel").exists():
        return f"needs a virtual machine: make machine-tools; tools/machine {kernel.release}"
    return ""


NEEDS_MACHINE = pytest.mark.skipif(
    bool(_tools(OWN_KERNEL)), reason=_tools(OWN_KERNEL) or "all is there"
)


class Done(NamedTuple):
    """What a command in the machine came to."""

    code: int
    output: str


def _needed(kernel: Kernel, modules: Sequence[str]) -> list[Path]:
    """The files of these modules, each behind those that it needs."""
    files = {
        path.name.partition(".")[0].replace("-", "_"): path
        for path in (kernel.folder / "modules").rglob("*.ko*")
    }
    found: list[Path] = []

    def add(name: str) -> None:
        # What is not there is built into the kernel.
        path = files.get(name.replace("-", "_"))
        if path is None or path in found:
            return
        needed = re.search(rb"\0depends=([^\0]*)\0", _content(path))
        for other in (needed[1].decode() if needed else "").split(","):
            add(other)
        found.append(path)

    for name in modules:
        add(name)
    return found


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    return lzma.decompress(content) if path.suffix == ".xz" else content


def _entry(name: str, mode: int, content: bytes = b"") -> bytes:
    """An entry of an archive as the kernel reads it (cpio, "newc")."""
    padded = name.encode() + b"\0"
    numbers = [0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(padded), 0]
    head = b"070701" + b"".join(b"%08X" % number for number in numbers) + padded
    return b"".join(part + bytes(-len(part) % 4) for part in (head, content))


@cache
def _first_files(kernel: Kernel, modules: tuple[str, ...]) -> bytes:
    """What the kernel has before it has this machine's files."""
    archive = io.BytesIO()
    for folder in ("bin", "proc", "sys", "dev", "lower", "writes", "whole", "modules"):
        archive.write(_entry(folder, 0o040755))
    archive.write(_entry("init", 0o100755, _init(kernel)))
    archive.write(_entry("bin/busybox", 0o100755, (kernel.folder / "busybox").read_bytes()))
    needed = _needed(kernel, modules)
    for path in needed:
        archive.write(_entry(f"modules/{path.stem.removesuffix('.ko')}", 0o100644, _content(path)))
    names = "".join(f"{path.stem.removesuffix('.ko')}\n" for path in needed)
    archive.write(_entry("order", 0o100644, names.encode()))
    archive.write(_entry("TRAILER!!!", 0))
    return archive.getvalue()


def _line(kernel: Kernel, folder: Path, shared: Path, ports: Sequence[int]) -> list[str]:
    share = "security_model=none,multidevs=remap"
    forward = ",".join(
        f"hostfwd={kind}:127.0.0.1:{port}-:{port}" for port in ports for kind in ("tcp", "udp")
    )
    network = f"user,id=network{',' if forward else ''}{forward}"
    root = kernel.folder / "root" if kernel.is_foreign else Path("/")
    own = f"-virtfs local,path={CHECKOUT},mount_tag=checkout,readonly=on,{share} "
    log = folder / "kernel.log"
    words = (
        f"{kernel.processor.program} {kernel.processor.board} "
        "-nodefaults -no-user-config -no-reboot -display none "
        f"-m 1024 -smp {kernel.cpus} -kernel {kernel.folder / 'kernel'} -initrd {folder / 'first'} "
        f"{kernel.processor.devices.format(log=log)} "
        f"-virtfs local,path={root},mount_tag=root,readonly=on,{share} "
        f"{own if kernel.is_foreign else ''}"
        f"-virtfs local,path={shared},mount_tag=shared,{share} "
        f"-netdev {network} -device virtio-net-pci,netdev=network,romfile="
    )
    console = f"console={kernel.processor.console} quiet panic=-1 mitigations=off"
    return [*shlex.split(words), "-append", console]


@contextmanager
def machine(
    folder: Path,
    command: Sequence[str],
    *,
    modules: Sequence[str] = (),
    ports: Sequence[int] = (),
    kernel: Kernel = OWN_KERNEL,
) -> Iterator[subprocess.Popen[str]]:
    """Run a command in a machine that ends with it, and with this.

    What the command says is the process's standard output. The machine has the folder's `shared` as
    /shared, and is reached by TCP and UDP at these ports of 127.0.0.1.
    """
    kernel.bring()
    shared = folder / SHARED[1:]
    shared.mkdir(exist_ok=True)
    (folder / "first").write_bytes(_first_files(kernel, (*BOOT, *modules)))
    words = shlex.join(command)
    own = {"PATH": os.environ["PATH"], "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}
    names = " ".join(f"{name}={shlex.quote(value)}" for name, value in own.items())
    (shared / "command").write_text(
        f"cd {shlex.quote(str(Path.cwd()))}\nexec env -i {names} {words}\n"
    )
    with subprocess.Popen(
        _line(kernel, folder, shared, ports),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def run(
    folder: Path,
    command: Sequence[str],
    *,
    modules: Sequence[str] = (),
    limit_s: float = 60,
    kernel: Kernel = OWN_KERNEL,
) -> Done:
    """Run a command in a machine until it ends."""
    with machine(folder, command, modules=modules, kernel=kernel) as process:
        output, _ = process.communicate(timeout=limit_s)
    code = folder / SHARED[1:] / "code"
    if not code.exists():
        log = (folder / "kernel.log").read_text(errors="replace")
        pytest.fail(f"the machine ended before the command did: {log[-2000:]}")
    return Done(int(code.read_text()), output)
