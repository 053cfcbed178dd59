"""Rules of this code base that can be checked automatically."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "kubesim"

# Lowest first: a package or module imports only from itself and the ones before it.
LAYERS = (
    "values", "errors", "golang", "shipped", "features", "api", "kubeletconfig", "clock", "concurrency", "trace",
    "linux", "executors", "cluster", "cni", "sources", "shell", "runtime", "podworkers", "kubelet", "scenario",
    "attach", "labs", "app", "explore", "up", "conformance", "testing", "cli", "__main__",
)  # fmt: skip
MAX_LINES = 500
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 10  # of a constructor
BANNED_CALLS = {
    "time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.perf_counter", "time.perf_counter_ns",
    "time.sleep", "datetime.now", "datetime.utcnow", "datetime.today", "date.today", "asyncio.sleep", "anyio.sleep",
    "anyio.sleep_until", "anyio.current_time", "uuid.uuid1", "uuid.uuid4", "os.urandom", "loop.time",
}  # fmt: skip
BANNED_MODULES = {"random", "secrets"}
# Texts that must not be in the project: paths outside the repository, and how the work was done.
PLACES = rf"(?<![\w.])({re.escape(str(ROOT))}/|/home/\w+/|/root/|/Users/)"
FOREIGN = re.compile(rf"{PLACES}|\b(language model|sub-?agent|the brief|issue #?\d)\b", re.IGNORECASE)


def sources() -> list[Path]:
    """All Python files except generated ones."""
    return sorted(path for path in PACKAGE.rglob("*.py") if not path.name.endswith("_pb2.py"))


def python_files() -> list[Path]:
    found = [path for folder in ("tests", "tools") for path in sorted((ROOT / folder).rglob("*.py"))]
    return sources() + [path for path in found if "node_modules" not in path.parts]


def text_files() -> list[Path]:
    """All text files that are, or will be, under version control."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
    if listed.returncode != 0:
        if os.environ.get("CI"):
            pytest.fail(f"git cannot list the files of {ROOT}: {listed.stderr.strip()}")
        pytest.skip("not a git work tree")
    names = [name for name in listed.stdout.split("\0") if name and not name.endswith((".gz", ".png"))]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def named(paths: list[Path]) -> list[object]:
    return [pytest.param(path, id=str(path.relative_to(ROOT))) for path in paths]


def layer(module: str) -> str:
    """`kubesim.api.pod` -> `api`; empty for the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imported_modules(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            module = node.module or ""
            if module == "kubesim":
                yield from ((f"kubesim.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield module, node.lineno


def upward_imports(own: str, tree: ast.Module) -> list[str]:
    rank = LAYERS.index(own)
    found = []
    for module, line in imported_modules(tree):
        above = layer(module) if module.split(".")[0] == "kubesim" else ""
        if above and above != "__version__" and LAYERS.index(above) > rank:
            found.append(f"line {line}: {module}")
    return found


def test_imports_follow_the_layers() -> None:
    wrong = {}
    for path in sources():
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts == ("__init__",):
            continue
        found = upward_imports(parts[0], ast.parse(path.read_text()))
        if found:
            wrong[str(path.relative_to(ROOT))] = found
    assert not wrong


def test_tests_do_not_import_from_each_other() -> None:
    """Shared code is in tests/support."""
    modules = {
        str(path.relative_to(ROOT)): [module for module, _ in imported_modules(ast.parse(path.read_text()))]
        for path in python_files()
    }
    wrong = {path: [m for m in found if re.search(r"^tests\..*\btest_\w+$", m)] for path, found in modules.items()}
    assert not {path: found for path, found in wrong.items() if found}


def test_the_layer_rule_detects_an_upward_import() -> None:
    tree = ast.parse("def f():\n    from kubesim.kubelet import agent\n")
    assert upward_imports("runtime", tree) == ["line 2: kubesim.kubelet"]
    assert upward_imports("cli", tree) == []


def forbidden_time_or_chance(tree: ast.Module) -> Iterator[str]:
    """Wall clocks, real sleeping and unseeded randomness, even under another name (`import time as t`)."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name] = alias.name
                if alias.name in BANNED_MODULES:
                    yield f"line {node.lineno}: import {alias.name}"
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}".removeprefix("datetime.")
                if node.module in BANNED_MODULES or names[alias.asname or alias.name] in BANNED_CALLS:
                    yield f"line {node.lineno}: from {node.module} import {alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            owner = ast.unparse(node.value)
            dotted = f"{names.get(owner, owner).removeprefix('datetime.')}.{node.attr}"
            if dotted in BANNED_CALLS:
                yield f"line {node.lineno}: {dotted}"


def test_time_and_randomness_come_from_the_clock_package() -> None:
    wrong = {}
    for path in sources():
        if path.relative_to(PACKAGE).parts[0] == "clock":
            continue
        found = list(forbidden_time_or_chance(ast.parse(path.read_text())))
        if found:
            wrong[str(path.relative_to(ROOT))] = found
    assert not wrong


@pytest.mark.parametrize(
    "code",
    [
        "import time\ntime.time()",
        "import time as t\nt.monotonic()",
        "from time import monotonic",
        "import datetime\ndatetime.datetime.now()",
        "from datetime import datetime\ndatetime.now()",
        "from datetime import datetime as when\nwhen.utcnow()",
        "import asyncio\nasyncio.sleep(1)",
        "import random",
        "from random import choice",
    ],
)
def test_the_ban_detects_violations(code: str) -> None:
    assert list(forbidden_time_or_chance(ast.parse(code)))


def test_the_ban_allows_other_names() -> None:
    harmless = "import asyncio\nimport datetime\nasyncio.Future()\ndatetime.datetime(2000, 1, 1)\nclock.sleep(1)\n"
    assert not list(forbidden_time_or_chance(ast.parse(harmless)))


def test_every_module_has_a_docstring() -> None:
    silent = []
    for path in python_files():
        tree = ast.parse(path.read_text())
        if tree.body and not ast.get_docstring(tree) and not path.name.startswith("test_"):
            silent.append(str(path.relative_to(ROOT)))
    assert not silent


def test_files_are_short() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in python_files()
        if (lines := len(path.read_text().splitlines())) > MAX_LINES
    }
    assert not long


def oversized(tree: ast.Module) -> Iterator[str]:
    """Functions longer than a screen, and constructors with too many parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            parameters = len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs) - 1
            if lines > MAX_FUNCTION_LINES:
                yield f"line {node.lineno}: {node.name} has {lines} lines"
            if node.name == "__init__" and parameters > MAX_PARAMETERS:
                yield f"line {node.lineno}: __init__ has {parameters} parameters"


def test_functions_and_constructors_are_small() -> None:
    found = {str(path.relative_to(ROOT)): list(oversized(ast.parse(path.read_text()))) for path in sources()}
    wrong = {name: each for name, each in found.items() if each}
    assert not wrong


def test_the_size_rule_detects_violations() -> None:
    def sized(lines: int, parameters: int) -> list[str]:
        names = ", ".join(f"p{number}" for number in range(parameters))
        body = "".join("    pass\n" for _ in range(lines - 1))
        return list(oversized(ast.parse(f"def __init__(self, {names}):\n{body}")))

    assert sized(60, 10) == []
    assert sized(61, 10) == ["line 1: __init__ has 61 lines"]
    assert sized(60, 11) == ["line 1: __init__ has 11 parameters"]


def test_text_files_are_clean() -> None:
    wrong = []
    for path in text_files():
        name, content = str(path.relative_to(ROOT)), path.read_bytes()
        if b"\r" in content:
            wrong.append(f"{name}: carriage returns")
        if content and not content.endswith(b"\n"):
            wrong.append(f"{name}: no newline at the end")
        if re.search(rb"[ \t]\n", content) and path.suffix != ".md":
            wrong.append(f"{name}: spaces at the end of a line")
    assert not wrong


def test_there_are_no_todos_and_no_forbidden_words() -> None:
    wrong = []
    unfinished = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    for path in text_files():
        if path == Path(__file__) or path.name == "LICENSE":
            continue
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if unfinished.search(line) or FOREIGN.search(line):
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert not wrong


def test_requirements_are_exact_have_hashes_and_name_no_index() -> None:
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        text = "".join(line for line in path.read_text().splitlines(keepends=True) if not line.startswith(("#", "-r ")))
        entries = text.replace(" \\\n", "").splitlines()
        pin = r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+(    --hash=sha256:[0-9a-f]{64})+"
        assert entries
        assert [entry[:60] for entry in entries if not re.fullmatch(pin, entry)] == []


def test_the_changelog_has_a_dated_section_per_version_and_starts_with_this_one() -> None:
    from kubesim import __version__

    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+, \d{4}-\d{2}-\d{2}", heading) for heading in headings)
    assert headings[0].startswith(f"{__version__}, ")


@pytest.mark.parametrize("path", named(sorted((ROOT / "scenarios").rglob("*.yaml"))))
def test_scenarios_are_valid(path: Path) -> None:
    from kubesim.scenario.load.loader import load_scenario

    load_scenario(str(path))


# One file for each corpus, phase of a pod's life, or part of a lab.
LARGE_FOLDERS = {"kubesim/attach/rules", "kubesim/conformance/corpora", "kubesim/labs"}


def folders() -> dict[str, list[Path]]:
    """The modules of every folder."""
    found: dict[str, list[Path]] = {}
    for path in sources():
        found.setdefault(str(path.parent.relative_to(ROOT)), []).append(path)
    return found


def test_a_folder_has_at_most_ten_modules() -> None:
    modules = {folder: [path.stem for path in paths if path.stem != "__init__"] for folder, paths in folders().items()}
    assert not {folder: names for folder, names in modules.items() if len(names) > 10 and folder not in LARGE_FOLDERS}


def test_class_names_are_unique() -> None:
    owners: dict[str, list[str]] = {}
    for path in sources():
        if path.parent.name == "corpora":
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert not {name: paths for name, paths in owners.items() if len(paths) > 1}


def test_the_design_lists_every_folder() -> None:
    shown: set[str] = set()
    above: list[str] = []
    tree = re.compile(r"^    ((?:│   |    )*)[├└]── ([a-z_]+)/", re.MULTILINE)
    for bars, name in tree.findall((ROOT / "docs" / "design.md").read_text()):
        above = [*above[: len(bars) // 4], name]
        shown.add("/".join(["kubesim", *above]))
    assert shown == set(folders()) - {"kubesim", "kubesim/shipped"}
