"""Outputs of tools that this environment need not have, kept as they were printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.text import plain
from runtime.verify.findings import Parsed, first_failure, parse

OUTPUTS = Path(__file__).parents[2] / "data/outputs"


def read(name: str, command: str = "./check", *, failed: bool = True) -> Parsed:
    return parse(command, plain((OUTPUTS / name).read_text(encoding="utf-8")), failed)


def ids(parsed: Parsed) -> list[str]:
    assert parsed.total == len(parsed.findings)
    return [finding.id for finding in parsed.findings]


@pytest.mark.parametrize("command", ["./check", "go test ./...", "make test"])
def test_go(command: str) -> None:
    parsed = read("go-fail.txt", command)
    assert ids(parsed) == ["TestTotal", "TestTotal/with_discount", "TestRound"]
    assert (parsed.collected, parsed.partial, parsed.no_tests) == (None, False, False)


def test_go_that_does_not_build() -> None:
    parsed = read("go-build.txt")
    assert ids(parsed) == [
        "price/total.go declared and not used: sum",
        "price/total.go undefined: discount",
        "example.com/shop/price",
    ]
    assert (parsed.findings[0].line, parsed.findings[0].kind, parsed.partial) == (9, "build", True)


def test_go_that_panics() -> None:
    parsed = read("go-panic.txt")
    assert ids(parsed) == ["TestEmpty"]
    assert parsed.partial
    text = (OUTPUTS / "go-panic.txt").read_text()
    assert first_failure(text, parsed.findings).startswith("panic: runtime error: index out of range [0]")


def test_go_without_and_with_tests() -> None:
    assert read("go-none.txt", failed=False).no_tests
    parsed = read("go-verbose-pass.txt", failed=False)
    assert (parsed.collected, parsed.no_tests, parsed.total) == (3, False, 0)


def test_cargo() -> None:
    assert ids(read("cargo-quiet.txt")) == ["tests::adds"]
    parsed = read("cargo-all.txt")
    assert ids(parsed) == ["tests::adds", "src/lib.rs - add"]
    assert parsed.collected == 3
    assert parsed.summary.startswith("test result: FAILED.")
    passed = read("cargo-pass.txt", failed=False)
    assert (passed.collected, passed.total) == (3, 0)


def test_cargo_that_does_not_compile() -> None:
    parsed = read("cargo-build.txt", "cargo test")
    assert parsed.findings[0].id == "src/lib.rs E0425 cannot find value `c` in this scope"
    assert (parsed.findings[0].kind, parsed.findings[0].line, parsed.partial) == ("build", 4, True)


def test_jest() -> None:
    parsed = read("jest-fail.txt", "npm test --silent")
    assert ids(parsed) == [
        "src/cart.test.js: cart \u203a adds an item",
        "src/cart.test.js: cart \u203a total \u203a rounds [half] up",
        "src/price.test.js: cart \u203a adds an item",
    ]
    assert (parsed.collected, parsed.partial) == (11, False)
    assert parsed.summary == "3 failed, 1 skipped, 7 passed, 11 total"


def test_jest_whose_suite_does_not_run() -> None:
    parsed = read("jest-suite.txt")
    assert ids(parsed) == ["src/cart.test.js: Test suite failed to run"]
    assert parsed.partial
    assert not parsed.no_tests
    assert read("jest-none.txt", "npx jest").no_tests


def test_vitest() -> None:
    parsed = read("vitest-fail.txt", "npm test --silent")
    assert ids(parsed) == [
        "src/price.test.ts [ src/price.test.ts ]",
        "src/cart.test.ts > cart > adds an item",
        "src/cart.test.ts > cart > rounds 1.5 up",
    ]
    assert (parsed.collected, parsed.partial) == (5, True)


def test_tsc() -> None:
    parsed = read("tsc-plain.txt", "npx tsc --noEmit")
    assert ids(parsed) == [
        "src/cart.ts TS2322 Type 'string' is not assignable to type 'number'.",
        "src/cart.ts TS2322 Type 'string' is not assignable to type 'number'. #2",
        "src/price (old).ts TS2304 Cannot find name 'discount'.",
        "src/total.ts TS2345 Argument of type '{ name: string; }' is not assignable to parameter of type 'Item'.",
        "TS5083 Cannot read file '/home/dev/shop/tsconfig.base.json'.",
    ]
    pretty = read("tsc-pretty.txt")
    assert [(finding.path, finding.line) for finding in pretty.findings] == [("src/cart.ts", 12), ("src/total.ts", 8)]
    assert ids(pretty)[0] == ids(parsed)[0]


def test_eslint() -> None:
    parsed = read("eslint.txt", "npm run lint")
    unused = "/home/dev/shop/src/cart.js no-unused-vars 'total' is assigned a value but never used"
    assert ids(parsed) == [
        unused,
        "/home/dev/shop/src/cart.js eqeqeq Expected '===' and instead saw '=='",
        f"{unused} #2",
        "/home/dev/shop/src/Item list.tsx Parsing error: ';' expected",
        "/home/dev/shop/src/Item list.tsx @typescript-eslint/no-explicit-any Unexpected any. Specify a different type",
    ]
    assert parsed.summary == "6 problems (5 errors, 1 warning)"


@pytest.mark.parametrize("name", ["node-tap.txt", "node-spec.txt"])
def test_node(name: str) -> None:
    parsed = read(name, "npm test")
    assert ids(parsed) == ["adds"]
    assert parsed.collected == 2


def test_pytest_subtests() -> None:
    parsed = read("pytest9-subtests.txt", "pytest -q")
    assert ids(parsed) == [
        "[half price] (n=1) tests/test_prices.py::test_prices",
        "(n=(3)) tests/test_prices.py::test_prices",
        "tests/test_prices.py::test_prices",
    ]


def test_an_unknown_tool_has_no_findings_and_no_total() -> None:
    parsed = parse("./check", "something\nis wrong\n", failed=True)
    assert parsed == Parsed((), (), None, None, "is wrong", False, False)
    assert parse("./check", "fine\n", failed=False).total == 0
