"""What test runners, linters and type checkers print, as data: one row each, one engine (`findings`) for all."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """How one kind of finding looks in a line. Named groups: id, path, line, rule, message.

    `place` is sought in the next few lines where the first line has no place; `header` is an earlier line that names the file.
    """

    line: re.Pattern[str]
    kind: str = "test"
    place: re.Pattern[str] | None = None
    header: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Runner:
    """One tool: by which command or output it is known, its findings, and how it counts the tests it collected."""

    name: str
    command: re.Pattern[str]
    signature: re.Pattern[str]
    shapes: tuple[Shape, ...]
    fallback: tuple[Shape, ...] = ()
    """Tried where `shapes` found nothing."""
    counts: tuple[re.Pattern[str], ...] = ()
    """Numbers in group 1 are added up over all matches of one pattern; the first pattern that matches counts."""
    summary: re.Pattern[str] | None = None
    no_tests: re.Pattern[str] | None = None


def _re(text: str) -> re.Pattern[str]:
    return re.compile(text)


_ARROW = _re(r"^\s*--> (?P<path>.+?):(?P<line>\d+)(?::\d+)?$")

RUNNERS: tuple[Runner, ...] = (
    Runner(
        "pytest",
        _re(r"\bpy\.?test\b"),
        _re(
            r"^=+ (?:test session starts|FAILURES|ERRORS|short test summary info) =+$|^\d+ (?:passed|failed).* in [\d.]+s"
        ),
        (
            Shape(_re(r"^(?:FAILED|ERROR) (?P<id>(?P<path>[^:\s]+\.py)(?:::.+?)?)(?: - (?P<message>.*))?$")),
            Shape(
                _re(
                    r"^(?:SUBFAIL(?:ED)?(?:\(.*?\)|\[.*?\])?) (?P<id>(?P<path>[^:\s]+\.py)::.+?)(?: - (?P<message>.*))?$"
                )
            ),
        ),
        (Shape(_re(r"^_{3,} (?P<id>(?:ERROR (?:at \w+ of|collecting) )?.+?) _{3,}$")),),
        (
            _re(r"\b(\d+) (?:passed|failed|errors?|skipped|xfailed|xpassed)\b(?=.* in [\d.]+s)"),
            _re(r"^collected (\d+) items?"),
        ),
        _re(r"^=* ?((?:\d+ \w+,? ?)+ in [\d.]+s.*?|no tests ran in .*?) ?=*$"),
        _re(r"^=* ?no tests ran in |collected 0 items"),
    ),
    Runner(
        "unittest",
        _re(r"\bunittest\b|manage\.py test\b"),
        _re(r"^Ran \d+ tests? in [\d.]+s$"),
        (Shape(_re(r"^(?:FAIL|ERROR): (?P<id>\S.*)$")),),
        (),
        (_re(r"^Ran (\d+) tests? in "),),
        _re(r"^((?:OK|FAILED)(?: \(.*\))?)$"),
        _re(r"^Ran 0 tests in |^NO TESTS RAN"),
    ),
    Runner(
        "ruff",
        _re(r"\bruff\b"),
        _re(r"^Found \d+ errors?\.|^All checks passed!$|^\d+ files? would be reformatted"),
        (
            Shape(
                _re(
                    r"^(?P<path>[^\s:][^:]*):(?P<line>\d+):\d+: (?P<rule>[A-Z]+\d+|[a-z-]+:?) (?:\[\*\] )?(?P<message>.*)$"
                ),
                "lint",
            ),
            Shape(_re(r"^(?P<rule>[A-Z]+\d+|invalid-syntax:?) (?:\[\*\] )?(?P<message>\S.*)$"), "lint", place=_ARROW),
            Shape(_re(r"^Would reformat: (?P<path>.+)$"), "format"),
        ),
        summary=_re(r"^(Found \d+ errors?.*|All checks passed!|\d+ files? would be reformatted.*)$"),
    ),
    Runner(
        "mypy",
        _re(r"\bmypy\b"),
        _re(r"^Found \d+ errors? in \d+ files?|^Success: no issues found"),
        (
            Shape(
                _re(
                    r"^(?P<path>[^\s:][^:]*):(?P<line>\d+)(?::\d+)?: error: (?P<message>.*?)(?:  \[(?P<rule>[\w-]+)\])?$"
                ),
                "type",
            ),
        ),
        summary=_re(r"^(Found \d+ errors? in .*|Success: no issues found.*)$"),
    ),
    Runner(
        "tsc",
        _re(r"\btsc\b|\bvue-tsc\b"),
        _re(r"error TS\d+: "),
        (
            Shape(_re(r"^(?P<path>[^\s(].*?)\((?P<line>\d+),\d+\): error (?P<rule>TS\d+): (?P<message>.*)$"), "type"),
            Shape(_re(r"^(?P<path>[^\s:].*?):(?P<line>\d+):\d+ - error (?P<rule>TS\d+): (?P<message>.*)$"), "type"),
            Shape(_re(r"^error (?P<rule>TS\d+): (?P<message>.*)$"), "type"),
        ),
        summary=_re(r"^(Found \d+ errors?.*)$"),
    ),
    Runner(
        "eslint",
        _re(r"\beslint\b"),
        _re(r"^\u2716 \d+ problems? \("),
        (
            Shape(
                _re(r"^\s+(?P<line>\d+):\d+\s+error\s+(?P<message>.*?)(?:\s{2,}(?P<rule>[@\w/-]+))?$"),
                "lint",
                header=_re(r"^(?P<path>(?:/|\w:\\|[\w.@-]+/)?\S.*\.(?:[cm]?[jt]sx?|vue|svelte))$"),
            ),
        ),
        summary=_re(r"^\u2716 (\d+ problems? .*)$"),
    ),
    Runner(
        "vitest",
        _re(r"\bvitest\b"),
        _re(r"^\s*RUN\s+v\d|^\s*Test Files\s+\d"),
        (Shape(_re(r"^\s*FAIL\s+(?P<id>(?P<path>\S+\.[cm]?[jt]sx?)(?: > .+| \[ .+ \])?)$")),),
        (Shape(_re(r"^\s*[\u00d7\u2717] (?P<id>\S.*?)(?: \d+ ?ms)?$")),),
        (_re(r"^\s*Tests\s.*\((\d+)\)\s*$"),),
        _re(r"^\s*Tests\s+(.*)$"),
        _re(r"^No test files found"),
    ),
    Runner(
        "jest",
        _re(r"\bjest\b|react-scripts test"),
        _re(r"^Test Suites: .*\d+ total|^Tests: .*\d+ total"),
        (Shape(_re(r"^\s*\u25cf (?!Console$)(?P<id>\S.*)$")),),
        (Shape(_re(r"^FAIL (?P<id>(?P<path>\S+))$")),),
        (_re(r"^Tests:.*?(\d+) total"),),
        _re(r"^Tests:\s+(.*)$"),
        _re(r"^No tests found"),
    ),
    Runner(
        "go",
        _re(r"\bgo (?:test|vet|build)\b"),
        _re(r"^(?:ok|FAIL|---) .*|^\?\s+\S+\s+\[no test files\]"),
        (
            Shape(_re(r"^\s*--- FAIL: (?P<id>\S+)")),
            Shape(_re(r"^(?P<path>\S+\.go):(?P<line>\d+):\d+: (?P<message>.*)$"), "build"),
            Shape(_re(r"^FAIL\s+(?P<id>\S+) \[(?:build|setup) failed\]$"), "build"),
        ),
        (Shape(_re(r"^FAIL\s+(?P<id>\S+)\s+[\d.]+s$")), Shape(_re(r"^panic: (?P<message>.*)$"), "panic")),
        (),
        _re(r"^(FAIL|ok)\b"),
    ),
    Runner(
        "cargo",
        _re(r"\bcargo\b"),
        _re(r"^running \d+ tests?$|^test result: "),
        (
            Shape(_re(r"^test (?P<id>\S.*?) \.\.\. FAILED$")),
            Shape(
                _re(r"^error(?:\[(?P<rule>E\d+)\])?: (?P<message>(?!test failed|could not compile|aborting).*)$"),
                "build",
                place=_ARROW,
            ),
        ),
        (),
        (_re(r"^running (\d+) tests?$"),),
        _re(r"^test result: (.*)$"),
    ),
)
