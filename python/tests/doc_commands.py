"""The commands that the documents give: in code, indented or fenced, and in backticks."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STARTS = re.compile(
    r"""([A-Z][A-Z_]*=("[^"]*"|\S+) )*"""
    r"(sudo |\.venv/bin/\w+ |\.venv/bin/gameway|gameway(?= |$)|gameway-[a-z]+ \S|make |cargo |"
    r"tools/\S+\.py|fuzz/smoke|python \S*\.py|python -m gameway|python -c |source |pip install |"
    r"mkdir |ssh |systemctl |journalctl |iperf3 -s|tshark |ffmpeg -f )"
)
FENCE = "```"
ROOMS = ("experiments", "tools", "crates/*", "tests")


def documents() -> list[Path]:
    """Every page that tells a reader what to type."""
    found = [ROOT / "README.md", ROOT / "ARCHITECTURE.md"]
    for pattern in ("docs/*.md", *(f"{room}/*/README.md" for room in ROOMS)):
        found += sorted(ROOT.glob(pattern))
    return [*found, ROOT / "fuzz" / "README.md"]


def all_commands() -> dict[str, str]:
    """Every command with the first page that has it."""
    found: dict[str, str] = {}
    for page in documents():
        for command in commands(page.read_text("utf-8")):
            found.setdefault(command, str(page.relative_to(ROOT)))
    return found


def commands(text: str) -> list[str]:
    """The commands of one page, without what a reader's shell adds: sudo, paths, comments."""
    spoken = re.sub(rf"^{FENCE}.*?^{FENCE}$", "", text, flags=re.DOTALL | re.MULTILINE)
    quoted = [" ".join(match.split()) for match in re.findall(r"`([^`]+)`", spoken)]
    found = [line for line in [*_code(text), *quoted] if STARTS.match(line)]
    return list(dict.fromkeys(_plain(line) for line in found))


def shell_lines(text: str) -> list[str]:
    """Lines of shell fences alone: each is a command."""
    fences = re.findall(rf"^{FENCE}(?:sh|bash)\n.*?^{FENCE}$", text, flags=re.DOTALL | re.MULTILINE)
    return [line for fence in fences for line in _code(fence) if line]


def _code(text: str) -> list[str]:
    """Lines of indented code and of shell fences; those that go on are one."""
    lines, fence, held = [], None, ""
    for line in text.splitlines():
        if line.startswith(FENCE):
            fence = line.removeprefix(FENCE).strip() if fence is None else None
            continue
        indented = fence is None and line.startswith("    ")
        if fence not in {"sh", "bash"} and not indented:
            continue
        held += line.strip()
        if held.endswith("\\"):
            held = held.removesuffix("\\")
            continue
        lines.append(held)
        held = ""
    return lines


def _plain(command: str) -> str:
    without_comment = re.split(r"\s+# ", command)[0].strip()
    return re.sub(r"^(sudo )?(\.venv/bin/)?(?=gameway)", "", without_comment)
