"""What the test runners, linters and type checkers of JavaScript and TypeScript print."""

from __future__ import annotations

from runtime.verify.shapes import Runner, Shape
from runtime.verify.shapes import pattern as p

_SOURCE = r"\.(?:[cm]?[jt]sx?|vue|svelte|astro)"
_ESLINT_FILE = p(rf"^(?P<path>\S.*{_SOURCE})$")
_JEST_FILE = p(rf"^\s?FAIL\s+(?:\S+ )?(?P<path>\S+{_SOURCE})(?: \([\d.]+ m?s\))?$")

TSC = Runner(
    "tsc",
    command=p(r"\b(?:vue-)?tsc\b"),
    signature=p(r"\berror TS\d+: "),
    levels=(
        (
            Shape(p(r"^(?P<path>\S.*?)\((?P<line>\d+),\d+\): error (?P<rule>TS\d+): (?P<message>.*)$"), "type"),
            Shape(p(r"^(?P<path>[^\s:].*?):(?P<line>\d+):\d+ - error (?P<rule>TS\d+): (?P<message>.*)$"), "type"),
            Shape(p(r"^error (?P<rule>TS\d+): (?P<message>.*)$"), "type"),
        ),
    ),
    summary=p(r"^(Found \d+ errors?.*)$"),
)
ESLINT = Runner(
    "eslint",
    command=p(r"\beslint\b"),
    signature=p(r"^\u2716 \d+ problems? \("),
    levels=(
        (
            Shape(
                p(r"^\s+(?P<line>\d+):\d+\s+error\s+(?P<message>\S+(?: \S+)*)(?:\s{2,}(?P<rule>[@\w/-]+))?$"),
                "lint",
                header=_ESLINT_FILE,
            ),
            Shape(p(r"^\s+(?P<line>\d+):\d+\s+error\s+(?P<message>\S.*)$"), "lint", header=_ESLINT_FILE),
        ),
    ),
    summary=p(r"^\u2716 (\d+ problems? .*)$"),
)
VITEST = Runner(
    "vitest",
    command=p(r"\bvitest\b"),
    signature=p(r"^\s*(?:RUN|DEV)\s+v\d|^\s*Test Files\s+\d"),
    levels=(
        (
            Shape(
                p(rf"^\s*FAIL\s+(?:\|[^|]+\|\s+)?(?P<id>(?P<path>\S+{_SOURCE})(?: > .+| \[ .+ \])?)$"),
                repeats=False,
            ),
        ),
        (Shape(p(r"^\s*[\u00d7\u2717] (?P<id>\S.*?)(?: \d+ ?ms)?$")),),
    ),
    counts=(p(r"^\s*Tests\s.*\((\d+)\)\s*$"),),
    summary=p(r"^\s*Tests\s+(\S.*)$"),
    no_tests=p(r"^No test files found"),
    partial=p(r"^\s*FAIL\s.* \[ .+ \]$"),
)
JEST = Runner(
    "jest",
    command=p(r"\bjest\b|react-scripts test"),
    signature=p(r"^Test Suites: .*\d+ total|^Tests: .*\d+ total"),
    levels=(
        (Shape(p(r"^ {0,2}\u25cf (?!Console$)(?P<id>\S.*)$"), header=_JEST_FILE, repeats=False),),
        (Shape(_JEST_FILE, repeats=False),),
    ),
    counts=(p(r"^Tests:.*?\b(\d+) total"),),
    summary=p(r"^Tests:\s+(\S.*)$"),
    no_tests=p(r"^No tests found"),
    partial=p(r"^\s*\u25cf Test suite failed to run"),
)
NODE = Runner(
    "node",
    command=p(r"\bnode\b.*--test\b"),
    signature=p(r"^(?:\u2139|#) tests \d+$"),
    levels=(
        (Shape(p(r"^\s*not ok \d+ - (?P<id>(?!.*# TODO\b).*\S)\s*$"), repeats=False),),
        (Shape(p(r"^\s*\u2716 (?P<id>(?!failing tests:)\S.*?)(?: \([\d.]+ms\))?$"), repeats=False),),
    ),
    counts=(p(r"^(?:\u2139|#) tests (\d+)$"),),
    summary=p(r"^(?:\u2139|#) (fail \d+)$"),
    no_tests=p(r"^(?:\u2139|#) tests 0$"),
)
