"""What the test runners of Go and Rust print, their compilers' errors included."""

from __future__ import annotations

from runtime.verify.runners_python import ARROW
from runtime.verify.shapes import Runner, Shape
from runtime.verify.shapes import pattern as p

GO = Runner(
    "go",
    command=p(r"\bgo (?:test|vet|build)\b"),
    signature=p(r"^(?:ok|FAIL)\s+\S+\s+(?:\d[\d.]*s|\(cached\)|\[)|^\s*--- FAIL: |\[no test files\]$"),
    levels=(
        (
            Shape(p(r"^\s*--- FAIL: (?P<id>\S+)")),
            Shape(
                p(r"^(?:vet: )?(?P<path>(?:\./)?[^\s:]+\.go):(?P<line>\d+):\d+: (?P<message>.*)$"),
                "build",
            ),
            Shape(p(r"^FAIL\s+(?P<id>\S+) \[(?:build|setup) failed\]$"), "build"),
        ),
        (Shape(p(r"^FAIL\s+(?P<id>\S+)\s+\d[\d.]*s$"), repeats=False), Shape(p(r"^panic: (?P<message>.*)$"), "panic")),
    ),
    counts=(p(r"^=== RUN\s"),),
    once=False,
    summary=p(r"^(FAIL|ok\s+\S+)"),
    no_tests=p(r"\[no test files\]$|\[no tests to run\]$"),
    ran=p(r"^(?:ok|FAIL)\s+\S+\s+(?:\d[\d.]*s|\(cached\))$|^FAIL\s+\S+ \[(?:build|setup) failed\]$"),
    partial=p(r"^FAIL\s+\S+ \[(?:build|setup) failed\]$|^panic: "),
)
CARGO = Runner(
    "cargo",
    command=p(r"\bcargo\b"),
    signature=p(r"^running \d+ tests?$|^test result: |^error: could not compile "),
    levels=(
        (
            # The line of a documentation test moves with the code above it.
            Shape(p(r"^test (?P<id>\S.*?)(?: \(line \d+\))? \.\.\. FAILED$")),
            Shape(
                p(r"^error(?:\[(?P<rule>E\d+)\])?: (?P<message>(?!test failed|could not compile|aborting).*)$"),
                "build",
                place=ARROW,
            ),
        ),
        (Shape(p(r"^---- (?P<id>\S.*?)(?: \(line \d+\))? stdout ----$")),),
    ),
    counts=(p(r"^running (\d+) tests?$"),),
    once=False,
    summary=p(r"^(test result: .*|error: could not compile .*)$"),
    partial=p(r"^error: could not compile "),
)
