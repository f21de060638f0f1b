"""Verify commands that a repository shows by its own files, each with the reason."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from runtime.events.values import VerifySpec


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


def _tool(pyproject: dict[str, object], name: str) -> bool:
    tools = pyproject.get("tool")
    return isinstance(tools, dict) and name in tools


def _has(root: Path, *patterns: str) -> str:
    """The first file that matches, as text; empty for none."""
    for pattern in patterns:
        for path in root.glob(pattern):
            if not any(part in {".venv", "venv", "node_modules", ".git"} for part in path.relative_to(root).parts):
                return str(path.relative_to(root))
    return ""


def python_of(root: Path) -> str:
    """The interpreter that the repository's own environment has, else the one on PATH."""
    for name in (".venv", "venv"):
        if (root / name / "bin" / "python").exists():
            return f"{name}/bin/python"
    return "python"


def detect_steps(root: Path) -> list[Detected]:
    """Propose verify steps for a repository; an empty list where it shows nothing."""
    found = [*_python(root), *_node(root), *_others(root)]
    if not found:
        found = _make(root)
    return found


def _python(root: Path) -> list[Detected]:
    pyproject = _toml(root / "pyproject.toml")
    python = python_of(root)
    found = []
    tests = _has(root, "test_*.py", "tests/**/test_*.py", "test/**/test_*.py", "tests/**/*_test.py", "**/test_*.py")
    if _tool(pyproject, "pytest") or (root / "pytest.ini").is_file():
        where = "pytest.ini" if (root / "pytest.ini").is_file() else "pyproject.toml has [tool.pytest]"
        found.append(Detected(VerifySpec(command=f"{python} -m pytest -q", name="pytest"), where))
    elif tests:
        if _unittest_only(root / tests):
            found.append(Detected(VerifySpec(command=f"{python} -m unittest discover", name="unittest"), tests))
        else:
            found.append(Detected(VerifySpec(command=f"{python} -m pytest -q", name="pytest"), tests))
    if _tool(pyproject, "ruff") or _has(root, "ruff.toml", ".ruff.toml"):
        command = f"{python} -m ruff check ." if python != "python" else "ruff check ."
        found.append(Detected(VerifySpec(command=command, name="ruff"), "ruff is configured"))
    if _tool(pyproject, "mypy") or _has(root, "mypy.ini", ".mypy.ini"):
        settings = pyproject.get("tool")
        mypy = settings.get("mypy") if isinstance(settings, dict) else None
        target = "" if isinstance(mypy, dict) and ("packages" in mypy or "files" in mypy) else " ."
        found.append(Detected(VerifySpec(command=f"{python} -m mypy{target}", name="mypy"), "mypy is configured"))
    return found


def _unittest_only(path: Path) -> bool:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return bool(re.search(r"^\s*(?:import|from) unittest\b", text, re.MULTILINE)) and "pytest" not in text


def _node(root: Path) -> list[Detected]:
    try:
        package = json.loads((root / "package.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    scripts = package.get("scripts") if isinstance(package, dict) else None
    test = scripts.get("test") if isinstance(scripts, dict) else None
    if not isinstance(test, str) or "no test specified" in test:
        return []
    return [Detected(VerifySpec(command="npm test --silent", name="npm test"), "package.json has a test script")]


def _others(root: Path) -> list[Detected]:
    found = []
    if (root / "go.mod").is_file():
        found.append(Detected(VerifySpec(command="go test ./...", name="go test"), "go.mod"))
    if (root / "Cargo.toml").is_file():
        found.append(Detected(VerifySpec(command="cargo test --quiet", name="cargo test"), "Cargo.toml"))
    return found


def _make(root: Path) -> list[Detected]:
    for name in ("Makefile", "makefile", "GNUmakefile"):
        path = root / name
        if path.is_file() and re.search(r"^test\s*:", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE):
            return [Detected(VerifySpec(command="make test", name="make test"), f"{name} has a test target")]
    return []
