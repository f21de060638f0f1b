"""Read findings out of a verify step's output, by the rows of `runners`. Work is bounded whatever the output is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from runtime.events.values import Finding
from runtime.text import one_line
from runtime.verify.runners import RUNNERS, Runner, Shape

MAX_FINDINGS = 500
MAX_LINE = 2_000
PLACE_LINES = 4
MESSAGE_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Parsed:
    """What an output says. `total` and `collected` are None where it can't be told."""

    runner: str
    findings: tuple[Finding, ...]
    total: int | None
    collected: int | None
    summary: str
    no_tests: bool


def runner_for(command: str, output: str) -> Runner | None:
    """The tool that ran: told by the command, else (a script, make, npm) by marks in the output."""
    named = [runner for runner in RUNNERS if runner.command.search(command)]
    if len(named) == 1:
        return named[0]
    lines = [line[:MAX_LINE] for line in output.splitlines()[-400:]]
    for runner in named or RUNNERS:
        if any(runner.signature.search(line) for line in lines):
            return runner
    return named[0] if named else None


def parse(command: str, output: str, failed: bool) -> Parsed:
    """Findings, counts and summary of an output that `runtime.text.plain` has been over.

    A failed step without a finding that can be read has `total` None and no findings.
    """
    runner = runner_for(command, output)
    if runner is None:
        return Parsed("", (), None if failed else 0, None, _last_line(output), False)
    lines = [line[:MAX_LINE] for line in output.split("\n")]
    found = list(_findings(lines, runner.shapes)) or list(_findings(lines, runner.fallback))
    unique = _numbered(found)
    total: int | None = len(unique)
    if failed and not unique:
        total = None
    return Parsed(
        runner.name,
        tuple(unique[:MAX_FINDINGS]),
        total if failed else 0,
        _collected(lines, runner),
        _summary(lines, runner) or _last_line(output),
        bool(runner.no_tests and any(runner.no_tests.search(line) for line in lines)),
    )


def _findings(lines: list[str], shapes: tuple[Shape, ...]) -> Iterator[Finding]:
    headers: dict[int, str] = {}
    for number, line in enumerate(lines):
        for index, shape in enumerate(shapes):
            if shape.header is not None and (head := shape.header.match(line)):
                headers[index] = head["path"]
                continue
            match = shape.line.match(line)
            if match is None:
                continue
            groups = match.groupdict()
            groups = {name: value for name, value in groups.items() if value is not None}
            if shape.header is not None:
                groups.setdefault("path", headers.get(index, ""))
            if shape.place is not None:
                place = next(filter(None, map(shape.place.match, lines[number + 1 : number + 1 + PLACE_LINES])), None)
                if place is None:
                    continue
                groups |= place.groupdict()
            yield _finding(shape.kind, groups)
            break


def _finding(kind: str, groups: dict[str, str]) -> Finding:
    path = one_line(groups.get("path", ""), 300)
    message = one_line(groups.get("message", ""), MESSAGE_CHARACTERS)
    rule = groups.get("rule", "").rstrip(":")
    # Lines move when code above them changes: a lint finding is known by file, rule and message.
    name = groups.get("id") or " ".join(part for part in (path, rule, message) if part)
    line = int(groups["line"]) if groups.get("line") else None
    return Finding(id=one_line(name, 500), kind=kind, path=path, line=line, message=f"{rule} {message}".strip())


def _numbered(findings: list[Finding]) -> list[Finding]:
    """Tests once each; equal lint findings get a counter, so that one more of the same is seen."""
    seen: Counter[str] = Counter()
    unique = []
    for finding in findings:
        seen[finding.id] += 1
        count = seen[finding.id]
        if count == 1:
            unique.append(finding)
        elif finding.kind != "test":
            unique.append(finding.model_copy(update={"id": f"{finding.id} #{count}"}))
    return unique


def _collected(lines: list[str], runner: Runner) -> int | None:
    for pattern in runner.counts:
        numbers = [int(match.group(1)) for line in lines for match in pattern.finditer(line)]
        if numbers:
            return sum(numbers)
    if runner.no_tests and any(runner.no_tests.search(line) for line in lines):
        return 0
    return None


def _summary(lines: list[str], runner: Runner) -> str:
    if runner.summary is None:
        return ""
    for line in reversed(lines):
        match = runner.summary.match(line)
        if match:
            return one_line(match.group(1), 200)
    return ""


def _last_line(output: str) -> str:
    return next((one_line(line, 200) for line in reversed(output[-20_000:].splitlines()) if line.strip()), "")


_ASSERTION = re.compile(r"^(?:E   +|AssertionError\b|\s*assert\b.*|.*(?:Error|Exception)\b: )")


def first_failure(output: str, findings: tuple[Finding, ...]) -> str:
    """The first failing assertion or error in one line; else the first finding; else the last line printed."""
    for line in output.splitlines():
        if line.startswith("E   "):
            return one_line(line[1:], 300)
    for line in output.splitlines():
        if _ASSERTION.match(line[:MAX_LINE]):
            return one_line(line, 300)
    if findings:
        return one_line(f"{findings[0].id} {findings[0].message}", 300)
    return _last_line(output)
