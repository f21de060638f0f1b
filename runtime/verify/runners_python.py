"""What Python's test runners, linters and type checkers print."""

from __future__ import annotations

from runtime.verify.shapes import Runner, Shape
from runtime.verify.shapes import pattern as p

# A test's id ends at " - " or the line's end; within the brackets of its parameters either may stand.
_NODE = r"(?P<id>(?P<path>[^:]*\.\w+)(?:::[^\[]+?(?:\[.*?(?:\]|$))?)?)(?: - (?P<message>.*))?$"
_SUMMARY = p(r"^=+ short test summary info =+$")
_RULER = p(r"^={60,}$")
ARROW = p(r"^\s*--> (?P<path>\S.*?):(?P<line>\d+)(?::\d+)?$")

PYTEST = Runner(
    "pytest",
    command=p(r"\bpy\.?test\b"),
    signature=p(
        r"^=+ (?:test session starts|FAILURES|ERRORS|short test summary info) =+$"
        r"|^=* ?\d+ (?:passed|failed|errors?|skipped|deselected)\b.* in \d[\d.]*s"
    ),
    levels=(
        (
            Shape(p(f"^(?:FAILED|ERROR) {_NODE}"), region=_SUMMARY, repeats=False),
            Shape(
                p(
                    r"^SUBFAIL(?:ED)?(?P<id>(?:.*[ )\]])?(?P<path>[^:\s()\[\]]+\.\w+)::\S+?(?:\[.*?\])?)(?: - (?P<message>.*))?$"
                ),
                region=_SUMMARY,
                repeats=False,
            ),
        ),
        (
            Shape(p(r"^(?P<id>(?P<path>[^:]*\.\w+)::.+) (?:FAILED|ERROR) *(?:\[ *\d+%\])?$"), repeats=False),
            Shape(p(r"^\[gw\d+\] \[ *\d+%\] (?:FAILED|ERROR) (?P<id>(?P<path>[^:]*\.\w+)::.*\S) *$"), repeats=False),
        ),
        (Shape(p(r"^_+ (?:ERROR (?:at (?:setup|teardown) of|collecting) )?(?P<id>(?:[^\W_]|_\w|<).*?) _+$")),),
        (Shape(p(r"^(?P<path>[^:\s][^:]*\.py):(?P<line>\d+): (?P<message>[\w.]*(?:Error|Exception|Failed)\b.*)$")),),
    ),
    counts=(
        p(r"^(?:collecting \.\.\. )?collected (\d+) items?\b"),
        p(r"^\d+ workers? \[(\d+) items?\]$"),
        p(
            r"^=* ?(?:(\d+) failed(?:, )?)?(?:(\d+) passed(?:, )?)?(?:(\d+) skipped(?:, )?)?(?:\d+ deselected(?:, )?)?"
            r"(?:(\d+) xfailed(?:, )?)?(?:(\d+) xpassed(?:, )?)?(?:\d+ warnings?(?:, )?)?(?:\d+ errors?)? in \d[\d.]*s"
        ),
    ),
    # An error may be one of a test's set-up (that test is in no other number) or of its end (it is).
    uncounted=p(r"\b\d+ errors?\b"),
    summary=p(r"^=* ?((?:\d+ [a-z]+(?:, )?)+ in \d[\d.]*s(?: \(\d+:[\d:]+\))?|no tests ran in \d[\d.]*s) ?=*$"),
    no_tests=p(r"^=* ?no tests ran in |^(?:collecting \.\.\. )?collected 0 items$"),
    partial=p(r"^!+ Interrupted: \d+ errors? during collection !+$"),
)
UNITTEST = Runner(
    "unittest",
    command=p(r"\bunittest\b|manage\.py test\b"),
    signature=p(r"^Ran \d+ tests? in [\d.]+s$"),
    levels=((Shape(p(r"^(?:FAIL|ERROR): (?P<id>\S.*)$"), above=_RULER, repeats=False),),),
    counts=(p(r"^Ran (\d+) tests? in "),),
    summary=p(r"^((?:OK|FAILED|NO TESTS RAN)(?: \(.*\))?)$"),
    no_tests=p(r"^Ran 0 tests in |^NO TESTS RAN"),
    partial=p(
        r"^ERROR: \S+ \((?:unittest\.loader\._FailedTest|setUpClass|setUpModule)\b|^ERROR: setUp(?:Class|Module) "
    ),
)
RUFF = Runner(
    "ruff",
    command=p(r"\bruff\b"),
    signature=p(r"^Found \d+ errors?\.|^All checks passed!|^\d+ files? would be reformatted"),
    levels=(
        (
            Shape(
                p(
                    r"^(?P<path>[^\s:][^:]*):(?P<line>\d+):\d+: (?P<rule>[A-Z]+\d+|[a-z]+(?:-[a-z]+)*:?) (?:\[\*\] )?(?P<message>.*)$"
                ),
                "lint",
            ),
            Shape(
                p(r"^(?P<rule>[A-Z]+\d+|invalid-syntax:?|unformatted:?) (?:\[\*\] )?(?P<message>\S.*)$"),
                "lint",
                place=ARROW,
            ),
            Shape(
                p(r"^  +(?P<line>\d+):\d+ +(?P<rule>[A-Z]+\d+|invalid-syntax:?) (?:\[\*\] )?(?P<message>.*)$"),
                "lint",
                header=p(r"^(?P<path>[^\s:][^:]*):$"),
            ),
            Shape(p(r"^Would reformat: (?P<path>.+)$"), "format"),
        ),
    ),
    summary=p(r"^(Found \d+ errors?.*|All checks passed!|\d+ files? would be reformatted.*)$"),
)
MYPY = Runner(
    "mypy",
    command=p(r"\bd?mypy\b"),
    signature=p(r"^Found \d+ errors? in \d+ files?|^Success: no issues found"),
    levels=(
        (
            Shape(
                p(
                    r"^(?P<path>[^\s:][^:]*):(?P<line>\d+)(?::\d+)?(?::\d+:\d+)?: error: (?P<message>.*?)(?:  \[(?P<rule>[\w-]+)\])?$"
                ),
                "type",
            ),
        ),
        # Settings that can't be used have no line.
        (Shape(p(r"^(?P<path>[^\s:][^:]*): error: (?P<message>.*)$"), "type"),),
    ),
    summary=p(r"^(Found \d+ errors? in .*|Success: no issues found.*)$"),
    partial=p(r"\(errors prevented further checking\)$"),
)
