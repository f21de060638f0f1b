"""Read findings out of a verify step's output, by the rows of `runners`. Work is bounded whatever the output is."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from runtime.events.values import Finding
from runtime.text import one_line
from runtime.verify.runners import RUNNERS
from runtime.verify.shapes import Runner, Shape

MAX_FINDINGS = 5_000
MAX_LINE = 1_000
MAX_ID = 500
SIGNATURE_LINES = 2_000
PLACE_LINES = 4
MESSAGE_CHARACTERS = 300
# Lines move when code above them changes; some messages name them.
_LINE_NUMBER = re.compile(r"\bline \d+\b")


@dataclass(frozen=True, slots=True)
class Parsed:
    """What an output says. `total` and `collected` are None where it can't be told."""

    runners: tuple[str, ...]
    findings: tuple[Finding, ...]
    total: int | None
    collected: int | None
    summary: str
    no_tests: bool
    """A runner says that it collected nothing, and none that it ran something."""
    partial: bool
    """Some checks did not run, or findings were left out: what is not among the findings need not be fixed."""


def runners_for(command: str, lines: list[str]) -> tuple[Runner, ...]:
    """The tools that the command names or that left their marks in the output: a script, make or npm may start several."""
    last = lines[-SIGNATURE_LINES:]
    return tuple(
        runner
        for runner in RUNNERS
        if runner.command.search(command) or any(runner.signature.search(line) for line in last)
    )


def parse(command: str, output: str, failed: bool) -> Parsed:
    """Findings, counts and summary of an output that `runtime.text.plain` has been over.

    A failed step without a finding that can be read has `total` None and no findings.
    """
    lines = [line[:MAX_LINE] for line in output.split("\n")]
    runners = runners_for(command, lines)
    found: list[Finding] = []
    total = 0
    cut_short = False
    for runner in runners if failed else ():
        some, number, exact = _of_runner(lines, runner)
        found += some[: MAX_FINDINGS - len(found)]
        total += number
        cut_short |= not exact and not _summary(lines, (runner,))
    counts = [count for runner in runners if (count := _collected(lines, runner, failed)) is not None]
    collected = sum(counts) if counts else None
    return Parsed(
        runners=tuple(runner.name for runner in runners),
        findings=tuple(found),
        total=total or (None if failed else 0),
        collected=collected,
        summary=_summary(lines, runners) or last_line(output),
        no_tests=not collected and _nothing_ran(lines, runners) and not found,
        partial=cut_short or total > len(found) or any(_says(lines, runner.partial) for runner in runners),
    )


def _of_runner(lines: list[str], runner: Runner) -> tuple[list[Finding], int, bool]:
    """The findings of the first level that has any, at most MAX_FINDINGS; how many there are; whether it is the exact list."""
    for level in runner.levels:
        seen: Counter[str] = Counter()
        found: list[Finding] = []
        total = 0
        for shape, groups in _matches(lines, level):
            name = _name(shape, groups)
            seen[name] += 1
            if seen[name] > 1:
                if not shape.repeats:
                    continue
                name = f"{name} #{seen[name]}"
            total += 1
            if len(found) < MAX_FINDINGS:
                found.append(_finding(name, shape.kind, groups))
        if total:
            return found, total, level is runner.levels[0]
    return [], 0, True


def _matches(lines: list[str], shapes: tuple[Shape, ...]) -> Iterator[tuple[Shape, dict[str, str]]]:
    starts = [_start(lines, shape.region) for shape in shapes]
    headers: dict[int, str] = {}
    for number, line in enumerate(lines):
        for index, shape in enumerate(shapes):
            if number < starts[index]:
                continue
            if shape.header is not None and (head := shape.header.match(line)):
                headers[index] = head["path"]
                continue
            if (match := shape.line.match(line)) is None:
                continue
            groups = {name: value for name, value in match.groupdict().items() if value is not None}
            if shape.above is not None and not (number and shape.above.match(lines[number - 1])):
                continue
            if shape.header is not None:
                if index not in headers:
                    continue
                groups["path"] = headers[index]
            if shape.place is not None:
                place = next(filter(None, map(shape.place.match, lines[number + 1 : number + 1 + PLACE_LINES])), None)
                if place is None:
                    continue
                groups |= place.groupdict()
            yield shape, groups
            break


def _start(lines: list[str], region: re.Pattern[str] | None) -> int:
    """The first line of a region; behind the end where there is none."""
    if region is None:
        return 0
    return next((n + 1 for n in range(len(lines) - 1, -1, -1) if region.match(lines[n])), len(lines))


def _name(shape: Shape, groups: dict[str, str]) -> str:
    """By what a finding is known in every attempt: no line numbers in it."""
    path, given = groups.get("path", ""), groups.get("id", "")
    if given:
        name = f"{path}: {given}" if shape.header is not None else given
    else:
        message = _LINE_NUMBER.sub("line", groups.get("message", ""))
        name = " ".join(part for part in (path, groups.get("rule", "").rstrip(":"), message) if part)
    name = one_line(name)
    if len(name) <= MAX_ID:
        return name
    # Long ids that begin alike must stay apart.
    return f"{name[: MAX_ID - 10]}\u2026{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _finding(name: str, kind: str, groups: dict[str, str]) -> Finding:
    rule, message = groups.get("rule", "").rstrip(":"), groups.get("message", "")
    line = groups.get("line", "")
    return Finding(
        id=name,
        kind=kind,
        path=one_line(groups.get("path", ""), MESSAGE_CHARACTERS),
        line=int(line) if 0 < len(line) < 10 else None,
        message=one_line(f"{rule} {message}".strip(), MESSAGE_CHARACTERS),
    )


def _collected(lines: list[str], runner: Runner, failed: bool) -> int | None:
    told = [matches for pattern in runner.counts if (matches := [m for line in lines if (m := pattern.match(line))])]
    if not told:
        return 0 if _nothing_ran(lines, (runner,)) else None
    if not failed:
        # What a passing test printed must not make its suite look empty.
        return max(map(_sum, told))
    first = told[0]
    quoted = runner.once and len(first) > 1
    unclear = runner.uncounted is not None and any(runner.uncounted.search(match.string) for match in first)
    return None if quoted or unclear else _sum(first)


def _sum(matches: list[re.Match[str]]) -> int:
    if not matches[0].re.groups:
        return len(matches)
    return sum(int(number[:9]) for match in matches for number in match.groups() if number)


def _says(lines: list[str], pattern: re.Pattern[str] | None) -> bool:
    return pattern is not None and any(map(pattern.search, lines))


def _nothing_ran(lines: list[str], runners: tuple[Runner, ...]) -> bool:
    return any(_says(lines, runner.no_tests) for runner in runners) and not any(
        _says(lines, runner.ran) for runner in runners
    )


def _summary(lines: list[str], runners: tuple[Runner, ...]) -> str:
    """The last line in which one of the tools sums up."""
    patterns = [runner.summary for runner in runners if runner.summary is not None]
    for line in reversed(lines):
        for pattern in patterns:
            if match := pattern.match(line):
                return one_line(match.group(1), 200)
    return ""


def last_line(output: str) -> str:
    """The last line that isn't empty, cut for a summary."""
    return next((one_line(line, 200) for line in reversed(output[-20_000:].splitlines()) if line.strip()), "")


# An assertion of pytest; then what the other tools print first about an error.
_PYTEST_ERROR = re.compile(r"^E   +(?P<said>\S.*)$")
_ERROR = re.compile(
    r"^\s*(?P<said>(?:[\w.]*(?:Error|Exception)\b(?: \[\w+\])?:|assertion .*failed|error(?:\[E\d+\])?:|panic:|\S+\.go:\d+:).*)$"
)


def first_failure(output: str, findings: tuple[Finding, ...]) -> str:
    """The first failing assertion or error in one line; else the first finding; else the last line printed."""
    for pattern in (_PYTEST_ERROR, _ERROR):
        for line in output.split("\n"):
            if match := pattern.match(line[:MAX_LINE]):
                return one_line(match["said"], MESSAGE_CHARACTERS)
    if findings:
        first = findings[0]
        return one_line(first.id if first.message in first.id else f"{first.id}: {first.message}", MESSAGE_CHARACTERS)
    return last_line(output)
