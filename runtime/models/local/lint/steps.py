"""Verify commands that run ruff or mypy: which they are, how to make them tell their findings in a form that can be read."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from runtime.events.values import VerifySpec

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*$")
_RUNNERS = frozenset({"uv", "poetry", "pdm", "hatch", "pipenv", "rye"})
_SHELL = re.compile(r"[|;&<>`]|\$\(")
_RUFF_OWN = re.compile(
    r"\s--(?:output-format(?:=|\s+)\S+|(?:no-)?fix(?:-only)?\b|(?:no-)?unsafe-fixes|diff|show-fixes|quiet)|\s-q\b"
)
_FORMAT_OWN = re.compile(r"\s--(?:check|diff|quiet)\b|\s-q\b")
_MYPY_OWN = re.compile(
    r"\s--(?:pretty|no-pretty|(?:no-)?error-summary|(?:show|hide)-(?:column-numbers|error-context|error-codes))\b"
)
_RUFF_LINE = re.compile(
    r"^(?P<path>[^:\n]+\.pyi?):(?P<line>\d+):(?P<column>\d+): (?P<code>[A-Z]+\d+|invalid-syntax):? (?:\[\*\] )?(?P<words>.*)$"
)
_FORMAT_LINE = re.compile(r"^(?:Would reformat: | *--> )(?P<path>.+?\.pyi?)(?::\d+:\d+)?$")
_MYPY_LINE = re.compile(
    r"^(?P<path>[^:\n]+\.pyi?):(?P<line>\d+):(?:(?P<column>\d+):)? error: (?P<words>.*?)(?:  \[(?P<code>[\w-]+)\])?$"
)  # fmt: skip


class Tool(StrEnum):
    """What a step runs."""

    RUFF_CHECK = "ruff check"
    RUFF_FORMAT = "ruff format"
    MYPY = "mypy"


@dataclass(frozen=True, slots=True)
class LintStep:
    """A verify step that runs one of the tools."""

    spec: VerifySpec
    tool: Tool

    @property
    def telling(self) -> str:
        """The command that prints one finding a line and changes nothing."""
        command = self.spec.command
        if self.tool is Tool.RUFF_CHECK:
            return _RUFF_OWN.sub("", command) + " --no-fix --output-format=concise"
        if self.tool is Tool.RUFF_FORMAT:
            return _FORMAT_OWN.sub("", command) + " --check"
        shown = " --no-pretty --no-error-summary --show-column-numbers --hide-error-context --show-error-codes"
        return _MYPY_OWN.sub("", command) + shown

    @property
    def fixing(self) -> str | None:
        """The command with which the tool makes its own safe fixes; None where it has none."""
        if self.tool is Tool.RUFF_CHECK:
            return _RUFF_OWN.sub("", self.spec.command) + " --fix --no-unsafe-fixes --quiet"
        if self.tool is Tool.RUFF_FORMAT:
            return _FORMAT_OWN.sub("", self.spec.command) + " --quiet"
        return None


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. Lines and columns from 1; the column 0 where the tool named none."""

    path: str
    line: int
    column: int
    code: str
    words: str

    @property
    def kind(self) -> tuple[str, str, str]:
        """Equal for the same finding after lines above it came or went."""
        return self.path, self.code, self.words


def lint_steps(steps: Sequence[VerifySpec]) -> list[LintStep]:
    """The steps that run one of the tools and nothing else."""
    found = [(step, _tool(step.command)) for step in steps]
    return [LintStep(step, tool) for step, tool in found if tool is not None]


def _tool(command: str) -> Tool | None:
    if _SHELL.search(command):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    while words and (_ASSIGNMENT.match(words[0]) or words[0] == "env"):
        words = words[1:]
    if len(words) > 2 and words[0] in _RUNNERS and words[1] == "run":
        words = words[2:]
    if words and _PYTHON.match(words[0].rpartition("/")[2]) and "-m" in words:
        words = words[words.index("-m") + 1 :]
    name = words[0].rpartition("/")[2] if words else ""
    if name == "mypy":
        return Tool.MYPY
    if name == "ruff":
        return next((tool for tool in (Tool.RUFF_CHECK, Tool.RUFF_FORMAT) if words[1:2] == [tool.split()[1]]), None)
    return None


def read_findings(tool: Tool, output: str) -> list[Finding]:
    """Findings in a tool's output, in its order."""
    found = []
    for line in output.splitlines():
        if tool is Tool.RUFF_FORMAT:
            if match := _FORMAT_LINE.match(line):
                found.append(Finding(match["path"], 1, 1, "format", "isn't formatted"))
        elif match := (_MYPY_LINE if tool is Tool.MYPY else _RUFF_LINE).match(line):
            place = int(match["line"]), int(match["column"] or 0)
            found.append(Finding(match["path"].removeprefix("./"), *place, match["code"] or "", match["words"]))
    return found


def kinds(findings: Iterable[Finding]) -> Counter[tuple[str, str, str]]:
    """How often each finding stands there."""
    return Counter(finding.kind for finding in findings)
