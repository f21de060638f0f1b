"""Verify commands that a repository shows by its own files, each with the reason."""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path

from runtime.events.values import VerifySpec

MAX_SETTINGS_BYTES = 1_000_000
MAX_FOLDERS = 2_000
_SKIPPED = frozenset({"venv", "node_modules", "build", "dist", "target", "__pycache__", "site-packages"})
_TEST_FILE = re.compile(r"^(?:test_.*|.*_test|tests)\.py$")


@dataclass(frozen=True, slots=True)
class Detected:
    """A proposed verify step and why."""

    spec: VerifySpec
    why: str


def _toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _table(pyproject: dict[str, object], name: str) -> dict[str, object] | None:
    tools = pyproject.get("tool")
    table = tools.get(name) if isinstance(tools, dict) else None
    return table if isinstance(table, dict) else None


def _text(path: Path) -> str:
    """A settings file's text; empty where it can't be read or is too large to be one."""
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size <= MAX_SETTINGS_BYTES else ""
    except OSError:
        return ""


def _section(path: Path, name: str) -> bool:
    """Whether an ini file has a section."""
    return bool(re.search(rf"^\[{re.escape(name)}\]", _text(path), re.MULTILINE))


def _first_test(root: Path) -> str:
    """The first file of Python tests, relative to the root; empty for none. Bounded: a repository may be huge."""
    for _, (folder, names, files) in zip(range(MAX_FOLDERS), os.walk(root), strict=False):
        names[:] = sorted(name for name in names if name not in _SKIPPED and not name.startswith("."))
        for file in sorted(files):
            if _TEST_FILE.match(file):
                return str((Path(folder) / file).relative_to(root))
    return ""


def python_of(root: Path) -> str:
    """The interpreter that the repository's own environment has, else the one on PATH."""
    for name in (".venv", "venv"):
        if (root / name / "bin" / "python").exists():
            return f"{name}/bin/python"
    return "python"


def detect_steps(root: Path) -> list[Detected]:
    """Propose verify steps for a repository, tests first; an empty list where it shows nothing."""
    return [*_python(root), *_node(root), *_others(root)] or _make(root)


def _step(command: str, name: str, why: str) -> Detected:
    return Detected(VerifySpec(command=command, name=name), why)


def _python(root: Path) -> list[Detected]:
    pyproject = _toml(root / "pyproject.toml")
    python = python_of(root)
    found = []
    if why := _pytest_settings(root, pyproject):
        found.append(_step(f"{python} -m pytest -q", "pytest", why))
    elif test := _first_test(root):
        if _unittest_only(root / test):
            found.append(_step(_unittest(root, python, test), "unittest", f"{test} uses unittest"))
        else:
            found.append(_step(f"{python} -m pytest -q", "pytest", f"there are tests: {test}"))
    if why := _settings(root, pyproject, "ruff", ("ruff.toml", ".ruff.toml")):
        own = (root / python).parent / "ruff"
        command = f"{python} -m ruff check ." if python != "python" and own.exists() else "ruff check ."
        found.append(_step(command, "ruff", why))
    if why := _settings(root, pyproject, "mypy", ("mypy.ini", ".mypy.ini")):
        told = _table(pyproject, "mypy") or {}
        target = "" if {"packages", "files", "modules"} & set(told) or _mypy_files(root) else " ."
        found.append(_step(f"{python} -m mypy{target}", "mypy", why))
    return found


def _pytest_settings(root: Path, pyproject: dict[str, object]) -> str:
    """Where pytest is configured, in words; empty where it isn't."""
    table = _table(pyproject, "pytest")
    if table is not None:
        inner = ".ini_options" if "ini_options" in table else ""
        return f"pyproject.toml has [tool.pytest{inner}]"
    for name in ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"):
        if (root / name).is_file():
            return f"there is a {name}"
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        if _section(root / name, section):
            return f"{name} has [{section}]"
    return "there is a conftest.py" if (root / "conftest.py").is_file() else ""


def _settings(root: Path, pyproject: dict[str, object], tool: str, files: tuple[str, ...]) -> str:
    if _table(pyproject, tool) is not None:
        return f"pyproject.toml has [tool.{tool}]"
    return next((f"there is a {name}" for name in files if (root / name).is_file()), "")


def _mypy_files(root: Path) -> bool:
    """Whether an ini file says what mypy is to check."""
    texts = map(_text, (root / "mypy.ini", root / ".mypy.ini"))
    return any(re.search(r"^(?:files|packages|modules)\s*=", text, re.MULTILINE) for text in texts)


def _unittest_only(path: Path) -> bool:
    text = _text(path)
    return bool(re.search(r"^\s*(?:import|from) unittest\b", text, re.MULTILINE)) and "pytest" not in text


def _unittest(root: Path, python: str, test: str) -> str:
    """The command by which unittest finds a test: a folder that isn't a package must be named."""
    if (root / "manage.py").is_file():
        return f"{python} manage.py test"
    folder, name = Path(test).parent, Path(test).name
    names = "" if name.startswith("test") and name != "tests.py" else " -p '*tests.py'"
    if name.endswith("_test.py") and not name.startswith("test"):
        names = " -p '*_test.py'"
    start = "" if folder == Path() or (root / folder / "__init__.py").is_file() else f" -s {shlex.quote(str(folder))}"
    return f"{python} -m unittest discover{start}{names}"


def _node(root: Path) -> list[Detected]:
    try:
        package = json.loads(_text(root / "package.json"))
    except ValueError:
        return []
    scripts = package.get("scripts") if isinstance(package, dict) else None
    test = scripts.get("test") if isinstance(scripts, dict) else None
    if not isinstance(test, str) or not test.strip() or "no test specified" in test:
        return []
    return [_step("npm test --silent", "npm test", "package.json has a test script")]


def _others(root: Path) -> list[Detected]:
    found = []
    if (root / "go.mod").is_file():
        found.append(_step("go test ./...", "go test", "there is a go.mod"))
    if (root / "Cargo.toml").is_file():
        found.append(_step("cargo test --quiet", "cargo test", "there is a Cargo.toml"))
    return found


def _make(root: Path) -> list[Detected]:
    for name in ("GNUmakefile", "makefile", "Makefile"):
        if re.search(r"^test[ \t]*:(?!=)", _text(root / name), re.MULTILINE):
            return [_step("make test", "make test", f"{name} has a test target")]
    return []
