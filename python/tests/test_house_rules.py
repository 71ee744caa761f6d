"""House rules of the source tree; each has a made-up violation that it must find."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gameway as gw
from gameway import experiments
from gameway.experiment.suite import load_suite

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).resolve().parents[2]
MAX_LINES_OF_A_FILE = 500
MAX_LINES_OF_A_FUNCTION = 50

CORE = ("units", "control", "media", "tcp", "quic", "dash", "path", "gateway", "session", "input")
# Which crates of ours a crate may know.
LAYERS: dict[str, set[str]] = {
    "units": set(),
    "control": {"units"},
    "path": {"units"},
    "tcp": {"units"},
    "quic": {"units", "tcp"},
    "dash": {"units"},
    "gateway": {"units", "path"},
    "input": {"units"},
    "codec": {"units", "media", "desktop"},
    "events": {"units"},
    "media": {"units", "control"},
    "session": {"units", "control", "media"},
    "experiment": {*CORE, "events"} - {"session", "input"},
    "sim": {*CORE, "events", "experiment"} - {"input"},
    "link": {*CORE, "events", "experiment", "runtime"} - {"input"},
    "download": {"units", "events", "experiment", "runtime"},
    "runtime": {"units", "events"},
    "desktop": {"units", "input", "runtime"},
    "testbed": {"units"},
    "port-mapping": set(),
    "serving": set(),
    "router": {"units", "path", "gateway", "runtime", "serving"},
    "webrtc": {"units", "control", "session", "serving"},
    "stream": {
        *("units", "control", "media", "session", "input"),
        *("codec", "desktop", "events", "port-mapping", "runtime", "serving", "webrtc"),
    },
    "python": {*CORE, "events", "experiment", "sim", "download", "link", "runtime", "stream"},
    "fuzz": {*CORE, "codec", "link", "router", "serving", "sim", "stream", "testbed", "webrtc"}
    - {"quic"},
}
# Which others the tests of a crate may know, though the crate itself must not depend on them.
TESTED_WITH: dict[str, set[str]] = {
    **{
        crate: {"testbed"}
        for crate in (
            *("control", "session", "tcp", "quic", "path", "input", "sim"),
            *("stream", "webrtc"),
        )
    },
    "gateway": {"testbed", "tcp"},
}
# Rooms of the Python package from the ground up: each knows those of lower floors only.
FLOORS = (
    ("durable", "on_demand"),
    ("errors", "controller", "caller", "signals", "cached", "catalogue", "on"),
    ("experiments", "results", "video"),
    ("experiment", "published"),
    ("expansion", "metrics"),
    ("figures", "sweep"),
    ("page", "live"),
    ("gateway_record",),
    ("beside", "compare"),
    ("report", "running"),
    ("lab",),
    ("cli",),
)
# Which crates of others a core crate may know: none that reads a clock, a file or a socket.
DECLARED = {"schemars", "serde"}
"""What options are declared with: derived code and data, nothing of the machine."""
EXTERNAL: dict[str, set[str]] = {
    "units": {"thiserror", "serde_json"} | DECLARED,
    "control": {"libm", "thiserror"} | DECLARED,
    "path": {"ipnet", "libm", "thiserror", "rand_core", "rand_xoshiro", "serde_json"} | DECLARED,
    "tcp": {"libm", "rand_core", "rand_xoshiro"} | DECLARED,
    "quic": set(),
    "input": set(),
    "dash": {"libm", "thiserror"},
    "gateway": {"libm", "microfft"} | DECLARED,
    "media": {"libm", "thiserror", "rand_core", "rand_xoshiro"},
    "session": set(),
    "testbed": set(),
}
BANNED_METHODS = {
    "std::time::Instant::now", "std::time::Instant::elapsed", "std::time::SystemTime::now",
    "std::thread::spawn", "std::thread::Builder::spawn", "std::thread::sleep",
    "rand::rng", "rand::random", "getrandom::fill",
    "f64::ln", "f64::exp", "f64::powf", "f64::powi", "f64::sin", "f64::cos",
}  # fmt: skip
BANNED_TYPES = {
    "std::collections::HashMap", "std::collections::HashSet", "std::hash::RandomState",
    "std::net::UdpSocket", "std::net::TcpStream", "std::net::TcpListener",
}  # fmt: skip
IMPURE = re.compile(
    r"Instant::now|SystemTime|\bHash(?:Map|Set)\b|RandomState|thread::spawn|\be?println!"
    r"|std::(?:fs|env|net|thread)\b"
)
SOURCE = re.compile(
    r"\bRFC \d|\bdraft-|libwebrtc|\bLinux\b|\bdash\.js \d|\b20\d\d\b|\bsection \d|\beq\. \d"
    r"|\bbaseline\b"
)


@cache
def tracked(*patterns: str) -> tuple[Path, ...]:
    """Files that git tracks and that are still there."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--", *patterns]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the rules are about a git checkout")
    files = (ROOT / name for name in done.stdout.split("\0") if name)
    return tuple(file for file in files if file.is_file())


def name(file: Path) -> str:
    return str(file.relative_to(ROOT))


def is_test(file: Path) -> bool:
    return "tests" in file.parts or file.stem == "tests"


# Rust without a compiler: comments and texts blanked, then braces can be counted.

RUST_TOKENS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'""",
    re.DOTALL,
)


def code_only(rust: str) -> str:
    """Rust with comments and the content of texts blanked; lines stay where they are."""
    return RUST_TOKENS.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), rust)


def end_of_block(code: str, opening: int) -> int:
    """The place after the brace that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(code)):
        depth += {"{": 1, "}": -1}.get(code[place], 0)
        if depth == 0:
            return place + 1
    return len(code)


def without_tests(code: str) -> str:
    """Code without its `#[cfg(test)]` modules."""
    while found := re.search(r"#\[cfg\(test\)\]\s*mod \w+ \{", code):
        code = code[: found.start()] + code[end_of_block(code, found.end() - 1) :]
    return code


def rust_functions(code: str) -> list[tuple[str, int]]:
    """Lines of each function with a body, from `fn` to its closing brace."""
    found = []
    for start in re.finditer(r"\bfn (\w+)", code):
        depth = 0
        for place in range(start.end(), len(code)):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(code[place], 0)
            if code[place] == ";" and depth == 0:
                break
            if code[place] == "{":
                end = end_of_block(code, place)
                found.append((start[1], code.count("\n", start.start(), end) + 1))
                break
    return found


def python_functions(text: str) -> list[tuple[str, int]]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds))
    return [(node.name, (node.end_lineno or node.lineno) - node.lineno + 1) for node in nodes]


def too_long(label: str, lines: int, functions: Iterable[tuple[str, int]]) -> list[str]:
    found = [f"{label}: {lines} lines"] if lines > MAX_LINES_OF_A_FILE else []
    longest = MAX_LINES_OF_A_FUNCTION
    return found + [f"{label}: {f}: {n} lines" for f, n in functions if n > longest]


def rust_too_long(label: str, rust: str) -> list[str]:
    # Files are measured with their comments; only the test module is cut.
    lines = rust.count("\n")
    if test := re.search(r"^#\[cfg\(test\)\]\nmod \w+ \{", rust, re.MULTILINE):
        lines = rust.count("\n", 0, test.start())
    return too_long(label, lines, rust_functions(without_tests(code_only(rust))))


def python_too_long(label: str, text: str) -> list[str]:
    return too_long(label, text.count("\n"), python_functions(text))


def test_files_and_functions_are_short() -> None:
    found = []
    for file in tracked("*.rs", "*.py"):
        if not is_test(file):
            measure = rust_too_long if file.suffix == ".rs" else python_too_long
            found += measure(name(file), file.read_text(encoding="utf-8"))
    assert found == []


def test_long_ones_are_found() -> None:
    body = '    let x = "}"; // }\n' * 60
    long_rust = f"fn f(a: [u8; 4]) -> u8 {{\n{body}}}\n"
    assert rust_too_long("x", long_rust) == ["x: f: 62 lines"]
    assert rust_too_long("x", f"fn g();\n#[cfg(test)]\nmod tests {{\n{long_rust}}}\n") == []
    assert rust_too_long("x", "// line\n" * 501) == ["x: 501 lines"]
    assert python_too_long("x", "def f():\n" + "    pass\n" * 60) == ["x: f: 61 lines"]
    assert python_too_long("x", "\n" * 501) == ["x: 501 lines"]


def wrong_dependencies(packages: Iterable[dict[str, Any]]) -> list[str]:
    found = []
    for package in packages:
        crate = package["name"].removeprefix("gameway-")
        for dependency in package["dependencies"]:
            wanted, of_tests = dependency["name"], dependency["kind"] == "dev"
            own = wanted.startswith("gameway-")
            if of_tests and not own:
                continue
            known = LAYERS.get(crate, set()) if own else EXTERNAL.get(crate)
            if known is not None and of_tests:
                known = known | TESTED_WITH.get(crate, set())
            if known is not None and wanted.removeprefix("gameway-") not in known:
                found.append(f"{crate} -> {wanted}")
    return found


def test_crates_depend_downwards_and_core_crates_on_nothing_impure() -> None:
    command = ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        pytest.skip("needs cargo")
    packages = json.loads(done.stdout)["packages"]
    assert {package["name"].removeprefix("gameway-") for package in packages} == set(LAYERS)
    assert wrong_dependencies(packages) == []


def test_wrong_dependencies_are_found() -> None:
    def package(crate: str, dependency: str, kind: str | None = None) -> dict[str, Any]:
        return {"name": crate, "dependencies": [{"name": dependency, "kind": kind}]}

    wrong = [
        package("gameway-units", "gameway-sim"),
        package("gameway-path", "tokio"),
        package("gameway-session", "rand", "build"),
        package("gameway-stream", "gameway-testbed"),
        package("gameway-units", "gameway-testbed", "dev"),
    ]
    right = [
        package("gameway-path", "proptest", "dev"),
        package("gameway-path", "gameway-testbed", "dev"),
        package("gameway-sim", "serde"),
    ]
    expected = ["units -> gameway-sim", "path -> tokio", "session -> rand",
                "stream -> gameway-testbed", "units -> gameway-testbed"]  # fmt: skip
    assert wrong_dependencies([*wrong, *right]) == expected


LAB = {
    f"gameway-{crate}"
    for crate in ("experiment", "sim", "download", "link", "tcp", "quic", "dash", "gateway", "path")
}
"""What only experiments need: no program of the product has it."""


def crates_of(package: str, *options: str) -> set[str]:
    """Name all crates that are compiled for a package."""
    words = ["--package", package, "--edges", "normal", "--prefix", "none", "--format", "{lib}"]
    command = ["cargo", "tree", "--offline", *words, *options]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        pytest.skip("needs cargo")
    names = (line.split()[0] for line in done.stdout.splitlines() if line.strip())
    return {name.replace("_", "-") for name in names}


def test_the_product_does_not_hang_on_the_lab() -> None:
    found = crates_of("gameway-stream", "--all-features")
    assert {"gameway-runtime", "gameway-webrtc", "parquet"} <= found
    assert found & LAB == set()
    plain = crates_of("gameway-stream", "--no-default-features", "--features=cli")
    assert "clap" in plain
    assert "parquet" not in plain


def test_what_the_link_needs_of_the_lab_is_seen() -> None:
    assert {"gameway-experiment", "gameway-path", "parquet"} <= crates_of("gameway-link")


def climbing_imports(room: str, python: str) -> list[str]:
    """The rooms that a module of a room imports though they are not below it."""
    floor_of = {name: floor for floor, names in enumerate(FLOORS) for name in names}
    tree = ast.parse(python)
    typing = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
    unseen = {id(inner) for node in typing if ast.unparse(node.test) == "TYPE_CHECKING"
              for inner in ast.walk(node)}  # fmt: skip
    wanted: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in unseen:
            package, _, rest = node.module.partition(".")
            if package == "gameway":
                wanted |= {rest.partition(".")[0]} if rest else {name.name for name in node.names}
    lower = {name for name, floor in floor_of.items() if floor < floor_of[room]}
    return sorted(wanted - lower - {room, "_core"})


def test_rooms_of_the_python_package_know_lower_ones_only() -> None:
    package = ROOT / "python" / "gameway"
    found: dict[str, list[str]] = {}
    for file in tracked("python/gameway/*.py"):
        room = file.relative_to(package).parts[0].removesuffix(".py")
        if room not in {"__init__", "__main__"}:
            climbing = climbing_imports(room, file.read_text(encoding="utf-8"))
            found |= {name(file): climbing} if climbing else {}
    assert found == {}


def test_an_import_of_a_higher_room_is_found() -> None:
    lazy = "def f():\n    from gameway.report import suite\n    from gameway import cli, _core\n"
    assert climbing_imports("sweep", lazy) == ["cli", "report"]
    assert climbing_imports("cli", lazy) == []
    named = "if TYPE_CHECKING:\n    from gameway.report import suite\n"
    assert climbing_imports("sweep", named) == []
    assert climbing_imports("figures", "from gameway.sweep import folder") == ["sweep"]


def missing_bans(clippy: Mapping[str, Any]) -> set[str]:
    methods = {ban["path"] for ban in clippy.get("disallowed-methods", []) if ban.get("reason")}
    types = {ban["path"] for ban in clippy.get("disallowed-types", []) if ban.get("reason")}
    return (BANNED_METHODS - methods) | (BANNED_TYPES - types)


def test_core_crates_can_be_published_by_themselves() -> None:
    """Each has what crates.io shows, and both licences."""
    files = ("README.md", "LICENSE-APACHE", "LICENSE-MIT")
    lacking = [
        f"{crate}/{file}"
        for crate in (*CORE, "events")
        for file in files
        if not (ROOT / "crates/core" / crate / file).is_file()
    ]
    assert lacking == []


def test_clippy_bans_what_a_core_must_not_touch() -> None:
    assert missing_bans(tomllib.loads((ROOT / "clippy.toml").read_text(encoding="utf-8"))) == set()
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    lints = manifest["workspace"]["lints"]["clippy"]
    assert (lints["disallowed_methods"], lints["disallowed_types"]) == ("deny", "deny")


def test_a_missing_ban_is_found() -> None:
    kept = [{"path": path, "reason": "why"} for path in BANNED_METHODS - {"f64::ln"}]
    unreasoned = [{"path": path} for path in BANNED_TYPES]
    found = missing_bans({"disallowed-methods": kept, "disallowed-types": unreasoned})
    assert found == {"f64::ln", *BANNED_TYPES}


def impure(label: str, rust: str) -> list[str]:
    return [f"{label}: {found[0]}" for found in IMPURE.finditer(without_tests(code_only(rust)))]


def unreasoned_exceptions(label: str, rust: str) -> list[str]:
    # The text of a reason is blanked, its name is not.
    attributes = re.findall(r"#!?\[(?:allow|expect)\(([^\]]*)\)\]", code_only(rust))
    return [f"{label}: {found.strip()}" for found in attributes if "reason =" not in found]


def test_core_crates_are_pure_and_exceptions_have_reasons() -> None:
    found = []
    checked = 0
    for file in tracked("crates/*.rs"):
        rust = file.read_text(encoding="utf-8")
        found += unreasoned_exceptions(name(file), rust)
        if name(file).startswith(tuple(f"crates/core/{crate}/src/" for crate in CORE)):
            checked += 1
            found += impure(name(file), rust)
    assert found == []
    assert checked > 100


@pytest.mark.parametrize(
    "line",
    [
        "let now = Instant::now();",
        "use std::time::SystemTime;",
        "let m: HashMap<u8, u8>;",
        "std::thread::spawn(f);",
        'println!("x");',
        'std::fs::read("x");',
    ],
)
def test_impurity_is_found(line: str) -> None:
    assert len(impure("x", f"fn f() {{ {line} }}")) == 1
    assert impure("x", f"// {line}\n#[cfg(test)]\nmod tests {{ {line} }}") == []


def test_an_exception_without_reason_is_found() -> None:
    assert unreasoned_exceptions("x", "#![allow(dead_code)]") == ["x: dead_code"]
    assert unreasoned_exceptions("x", '#[expect(dead_code, reason = "why")]') == []


def head(rust: str) -> str:
    """The comment at the head of a module."""
    lines = rust.splitlines()
    end = next((i for i, line in enumerate(lines) if not line.startswith("//!")), len(lines))
    return "\n".join(lines[:end])


def algorithm_gaps(label: str, rust: str, head_of_algorithm: str) -> list[str]:
    """What the head of a module of an algorithm lacks.

    Constants may be tabled once for the whole algorithm, at the head of its `mod.rs`.
    """
    own = head(rust)
    found = [] if SOURCE.search(own) else [f"{label}: no source"]
    constants = re.search(r"^(?:pub.* )?const \w+: ", rust, re.MULTILINE)
    if constants and not re.search(r"^//! \|.*\|$", own + "\n" + head_of_algorithm, re.MULTILINE):
        found.append(f"{label}: constants without a table")
    return found


def test_algorithms_name_sources_and_constants() -> None:
    found = []
    controllers = ("copa", "gcc", "nada", "pudica", "salsify", "scream", "sqp")
    algorithms = [
        *(f"crates/core/control/src/{one}/*.rs" for one in controllers),
        "crates/core/control/src/fixed.rs",
        "crates/core/tcp/src/congestion/*.rs",
        "crates/core/dash/src/rules/*.rs",
    ]
    # The traits and the names of the algorithms are no algorithm.
    traits = [
        f"crates/core/tcp/src/congestion/{own}.rs" for own in ("mod", "algorithm", "catalogue")
    ]
    for file in tracked(*algorithms):
        if name(file) in traits or is_test(file):
            continue
        mod = file.with_name("mod.rs")
        shared = head(mod.read_text(encoding="utf-8")) if mod.is_file() else ""
        found += algorithm_gaps(name(file), file.read_text(encoding="utf-8"), shared)
    assert found == []


def test_an_algorithm_without_source_or_table_is_found() -> None:
    constant = "const SHARE: f64 = 0.5;\n"
    gaps = ["x: no source", "x: constants without a table"]
    assert algorithm_gaps("x", "//! A controller.\n" + constant, "") == gaps
    assert algorithm_gaps("x", "//! RFC 9438.\n" + constant, "") == gaps[1:]
    assert algorithm_gaps("x", "//! RFC 9438.\n//! | a | b |\n" + constant, "") == []
    assert algorithm_gaps("x", "//! RFC 9438.\n" + constant, "//! | a | b |") == []


# In pieces, so that this file does not hold what it looks for.
PLACES = re.compile(
    "|".join(
        [rf"(?<![\w.>)}}\]])/{folder}/" for folder in ("work", "root", "home")]
        + [r"/var/" + "tmp"]
        + [r"pypi\." + "org", r"files\." + "pythonhosted"]
        + [r"static\." + r"crates\.io", r"registry\." + "npmjs"]
    )
)


def places(label: str, text: str) -> list[str]:
    return [f"{label}: {found[0]}" for found in PLACES.finditer(text)]


def test_no_text_names_a_machine_or_a_registry() -> None:
    found = []
    for file in tracked():
        content = file.read_bytes()
        if b"\0" not in content:
            found += places(name(file), content.decode("utf-8", "replace"))
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "cd /" + "work/main",
        '"/' + 'root/.cache"',
        "/var/" + "tmp/x",
        "https://pypi." + "org/simple",
    ],
)
def test_a_machine_path_is_found(text: str) -> None:
    assert len(places("x", text)) == 1


def test_the_index_of_a_lock_file_is_no_place() -> None:
    index = "registry+https://github.com/rust-lang/" + "crates.io-index"
    inner = "{a}/" + "work/"
    assert places("x", f'source = "{index}"\nsee network/home/x and {inner}') == []


def experiment_gaps(folder: Path) -> list[str]:
    """What a folder under `experiments` lacks."""
    missing = [] if list(folder.glob("*.toml")) else ["experiment.toml"]
    missing += [] if (folder / "README.md").is_file() else ["README.md"]
    if missing:
        return [f"{folder.name}: no {file}" for file in missing]
    suite = experiments.is_suite(folder)
    found = load_suite(folder).parts.values() if suite else [gw.load(folder)]
    for experiment in found:
        gw.expand(experiment)
    text = (folder / "README.md").read_text(encoding="utf-8")
    published = suite or any(experiment.reference for experiment in found)
    wanted = ["Question", *(["Published"] if published else []), "Found"]
    return [f"{folder.name}: no {word}" for word in wanted if not re.search(rf"\b{word}\b", text)]


def test_experiments_are_told() -> None:
    folders = sorted(path for path in experiments.folder().iterdir() if path.is_dir())
    assert len(folders) >= 5
    assert [gap for folder in folders for gap in experiment_gaps(folder)] == []


def test_an_experiment_that_tells_nothing_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    assert experiment_gaps(folder) == ["mine: no experiment.toml", "mine: no README.md"]
    (folder / "README.md").write_text("# Question\n", encoding="utf-8")
    text = (experiments.folder() / "xu-claypool-2022" / "experiment.toml").read_text(
        encoding="utf-8"
    )
    (folder / "experiment.toml").write_text(text, encoding="utf-8")
    assert experiment_gaps(folder) == ["mine: no Published", "mine: no Found"]
    (folder / "experiment.toml").rename(folder / "part.toml")
    assert experiment_gaps(folder) == ["mine: no Published", "mine: no Found"]
    (folder / "part.toml").unlink()
    (folder / "experiment.toml").write_text('duration = "5"', encoding="utf-8")
    with pytest.raises(gw.InputError):
        experiment_gaps(folder)
