"""From the verify commands to the interpreter and the pytest arguments that they use."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runtime.models.local.errors import CannotHelp

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*$")
_RUNNERS = {"uv", "poetry", "pdm", "hatch", "pipenv", "rye"}
_DROPPED = re.compile(
    r"-(?:x|q+|v+|s|l)$|--(?:exitfirst|maxfail=.*|tb=.*|durations=.*|color=.*|junit-?xml=.*|lf|ff|sw|nf)$"
)
_DROPPED_WITH_VALUE = {
    "--maxfail",
    "--tb",
    "--durations",
    "--color",
    "--junitxml",
    "--junit-xml",
    "-n",
    "--numprocesses",
}


@dataclass(frozen=True, slots=True)
class TestCommand:
    """How the project runs its tests: the interpreter's argv, pytest's arguments, whether the folder is put on the path."""

    __test__ = False

    python: tuple[str, ...]
    args: tuple[str, ...]
    as_module: bool
    cwd: str = "."
    env: Mapping[str, str] = field(default_factory=dict)


def test_command(commands: Sequence[str], workspace: Path, env: Mapping[str, str]) -> TestCommand:
    """The first command that runs Python tests. Raises CannotHelp where there is none."""
    for command in commands:
        found = _parse(command, workspace, env)
        if found is not None:
            return found
    shown = "; ".join(commands) or "none"
    raise CannotHelp(f"the embedded model needs a verify command that runs pytest or unittest (there is: {shown})")


test_command.__test__ = False  # type: ignore[attr-defined]


def _parse(command: str, workspace: Path, env: Mapping[str, str]) -> TestCommand | None:
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    cwd = "."
    if len(words) > 3 and words[0] == "cd" and words[2] == "&&":
        cwd, words = words[1], words[3:]
    if any(word in {"&&", "||", ";", "|"} for word in words):
        return None
    given: dict[str, str] = {}
    if words and words[0] == "env":
        words = words[1:]
    while words and _ASSIGNMENT.match(words[0]):
        name, _, value = words.pop(0).partition("=")
        given[name] = value
    prefix: list[str] = []
    if len(words) > 2 and words[0] in _RUNNERS and words[1] == "run":
        prefix, words = words[:2], words[2:]
    found = _runner(words, prefix, workspace / cwd, env)
    if found is None:
        return None
    python, args, as_module = found
    return TestCommand(tuple(python), tuple(args), as_module, cwd, given)


def _runner(
    words: list[str], prefix: list[str], cwd: Path, env: Mapping[str, str]
) -> tuple[list[str], list[str], bool] | None:
    if not words:
        return None
    name = words[0].rpartition("/")[2]
    if _PYTHON.match(name):
        flags = []
        rest = words[1:]
        while rest and rest[0].startswith("-") and rest[0] != "-m":
            flags.append(rest.pop(0))
        if len(rest) < 2 or rest[0] != "-m":
            return None
        module, args = rest[1], rest[2:]
        if module == "coverage" and args[:3] == ["run", "-m", "pytest"]:
            module, args = "pytest", args[3:]
        python = [*prefix, _found(words[0], cwd, env), *flags]
        if module in ("pytest", "py.test"):
            return python, pytest_args(args), "-P" not in flags
        if module == "unittest":
            return python, unittest_args(args), True
        return None
    if name in ("pytest", "py.test"):
        if prefix:
            return [*prefix, "python"], pytest_args(words[1:]), False
        return [_behind(words[0], cwd, env)], pytest_args(words[1:]), False
    return None


def _found(program: str, cwd: Path, env: Mapping[str, str]) -> str:
    if "/" in program:
        return str(cwd / program)
    found = shutil.which(program, path=env.get("PATH"))
    if found is None:
        raise CannotHelp(f"the interpreter {program} that verify uses is not there")
    return found


def _behind(program: str, cwd: Path, env: Mapping[str, str]) -> str:
    """The interpreter behind an installed `pytest` script: what its first line names."""
    path = Path(_found(program, cwd, env))
    try:
        first = path.read_bytes()[:300].splitlines()[0].decode()
    except (OSError, IndexError, UnicodeDecodeError):
        first = ""
    interpreter = first.removeprefix("#!").split()[:1]
    if first.startswith("#!") and interpreter and "python" in interpreter[0]:
        return interpreter[0]
    beside = path.parent / "python"
    return str(beside) if beside.exists() else _found("python3", cwd, env)


def pytest_args(args: Sequence[str]) -> list[str]:
    """The arguments that choose tests; what stops early or only changes the looks is left out."""
    kept: list[str] = []
    skip = False
    for word in args:
        if skip:
            skip = False
        elif word in _DROPPED_WITH_VALUE:
            skip = True
        elif not _DROPPED.match(word) and not word.startswith("-n") and not word.startswith("--cov"):
            kept.append(word)
    return kept


def unittest_args(args: Sequence[str]) -> list[str]:
    """Pytest arguments for a `python -m unittest` command line."""
    words = [word for word in args if word not in ("-v", "-q", "-f", "-b", "-c")]
    start, pattern = ".", "test*.py"
    if words[:1] == ["discover"]:
        words = words[1:]
        while words:
            word = words.pop(0)
            if word in ("-s", "--start-directory") and words:
                start = words.pop(0)
            elif word in ("-p", "--pattern") and words:
                pattern = words.pop(0)
            elif word in ("-t", "--top-level-directory") and words:
                words.pop(0)
            elif not word.startswith("-"):
                start = word
        return ["-o", f"python_files={pattern}", start]
    places = [word if word.endswith(".py") else word.replace(".", "/") + ".py" for word in words]
    return ["-o", f"python_files={pattern}", *(places or ["."])]
