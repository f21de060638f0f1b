"""What the tools of this environment really print is read right."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.text import plain
from runtime.verify.findings import parse
from support.verify_bench import Output

PYTEST = ("pytest", "-p", "no:cacheprovider", "-p", "no:randomly", "-c", "/dev/null", "--rootdir", ".")
TESTS = """
import pytest
import unittest

@pytest.mark.parametrize("x", ["a b", "c[d]", "e - f", "x\\ny", "::", "plain"])
def test_p(x):
    assert x == "plain"

def test_multi():
    print("FAILED tests/fake.py::test_fake - claimed")
    print("===== 12 passed in 0.01s =====")
    assert {"a": 1} == {"a": 2}

class TestC:
    def test_m(self):
        raise KeyError("x - y")

@pytest.fixture
def bad():
    raise RuntimeError("no")

def test_fix(bad):
    pass

@pytest.fixture
def leaves():
    yield
    raise RuntimeError("left")

def test_leaves(leaves):
    pass

@pytest.mark.skip
def test_skipped():
    pass

@pytest.mark.xfail
def test_known():
    assert False
"""
FAILING = {
    "dir with space/test_sp.py::test_s",
    "test_a.py::test_p[a b]",
    "test_a.py::test_p[c[d]]",
    "test_a.py::test_p[e - f]",
    r"test_a.py::test_p[x\ny]",
    "test_a.py::test_p[::]",
    "test_a.py::test_multi",
    "test_a.py::TestC::test_m",
    "test_a.py::test_fix",
    "test_a.py::test_leaves",
}


@pytest.fixture
def suite(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(TESTS)
    (tmp_path / "dir with space").mkdir()
    (tmp_path / "dir with space/test_sp.py").write_text("def test_s():\n    assert [1, 2] == [3]\n")


@pytest.mark.usefixtures("suite")
@pytest.mark.parametrize(
    "options",
    [
        "-q",
        "-v",
        "",
        "-qq",
        "-q --tb=no",
        "-q --tb=line",
        "-q --tb=short -ra",
        "-v --color=yes",
        "-q -n 2",
        "-v -n 2",
        "-v -rN --tb=no",
        "-v -n 2 -rN",
        "-s -q",
    ],
)
def test_pytest_in_all_its_voices(output: Output, options: str) -> None:
    text = plain(output(*PYTEST, *options.split()))
    parsed = parse("python -m pytest", text, failed=True)
    assert {finding.id for finding in parsed.findings} == FAILING
    assert parsed.total == len(FAILING)
    if options != "-qq":
        assert parsed.collected == (None if "-q" in options else 13)
    assert not parsed.partial
    assert not parsed.no_tests


@pytest.mark.usefixtures("suite")
def test_without_a_summary_headings_are_findings(output: Output) -> None:
    parsed = parse("pytest", plain(output(*PYTEST, "-q", "-rN")), failed=True)
    names = {finding.id for finding in parsed.findings}
    assert {"test_multi", "TestC.test_m", "test_p[e - f]", "test_fix", "test_leaves", "test_s"} <= names
    assert parsed.total == len(FAILING)


@pytest.mark.usefixtures("suite")
def test_errors_at_collection_leave_the_rest_unsaid(output: Output, tmp_path: Path) -> None:
    (tmp_path / "test_b.py").write_text("import no_such_module\n")
    for options in ("-q", "-v", "", "-q -rN"):
        parsed = parse("pytest", plain(output(*PYTEST, *options.split())), failed=True)
        assert [finding.id for finding in parsed.findings] == ["test_b.py"], options
        assert (parsed.partial, parsed.collected, parsed.no_tests) == (True, None, False), options


def test_the_only_file_that_cannot_be_imported_is_no_empty_suite(output: Output, tmp_path: Path) -> None:
    (tmp_path / "test_b.py").write_text("def test_(:\n")
    parsed = parse("pytest", plain(output(*PYTEST)), failed=True)
    assert "collected 0 items / 1 error" in output(*PYTEST)
    assert not parsed.no_tests


UNITTEST = '''
import unittest
class T(unittest.TestCase):
    def test_sub(self):
        """Some words."""
        for i in range(3):
            with self.subTest(i=i, msg="hello world"):
                self.assertEqual(i % 2, 0)
    def test_error(self):
        print("ERROR: not a test")
        raise KeyError("x")
    def test_good(self):
        pass
'''


def test_unittest(output: Output, tmp_path: Path) -> None:
    (tmp_path / "test_u.py").write_text(UNITTEST)
    for option in ("-b", "-v", "-q"):
        parsed = parse("python -m unittest", plain(output("unittest", "discover", option)), failed=True)
        names = [finding.id.split(" (")[0] for finding in parsed.findings]
        assert names == ["test_error", "test_sub"]
        assert "hello world" in parsed.findings[1].id
        assert (parsed.total, parsed.collected, parsed.partial) == (2, 3, False)
    (tmp_path / "test_broken.py").write_text("import no_such_module\n")
    parsed = parse("python -m unittest", plain(output("unittest", "discover")), failed=True)
    assert (parsed.total, parsed.partial) == (3, True)


def test_unittest_without_tests(output: Output) -> None:
    parsed = parse("python -m unittest", plain(output("unittest", "discover")), failed=False)
    assert (parsed.no_tests, parsed.collected) == (True, 0)


LINTED = "import os\nimport sys\nimport os\n\n\ndef f(x: int) -> str:\n    return x\n\n\ndef f(x: int) -> int:\n    return 1\n"


@pytest.mark.parametrize("form", ["full", "concise", "grouped"])
def test_ruff(output: Output, tmp_path: Path, form: str) -> None:
    path = tmp_path / "lint_me.py"
    ids = []
    for text in (LINTED, "# one more line\n# and one\n" + LINTED):
        path.write_text(text)
        found = output("ruff", "check", "--isolated", "--no-cache", f"--output-format={form}", "lint_me.py")
        parsed = parse("ruff check .", plain(found), failed=True)
        ids.append([finding.id for finding in parsed.findings])
        assert parsed.total == len(parsed.findings)
        assert f"Found {parsed.total} errors." in found
        assert {finding.path for finding in parsed.findings} == {"lint_me.py"}
    assert ids[0] == ids[1]
    assert any("F811" in name and "line 3" not in name for name in ids[0])
    assert any(name.startswith("lint_me.py F401 ") for name in ids[0])


def test_ruff_syntax_and_format(output: Output, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(:\n")
    parsed = parse("ruff check .", plain(output("ruff", "check", "--isolated", "--no-cache", ".")), failed=True)
    assert (parsed.total or 0) >= 1
    assert parsed.findings[0].path == "a.py"
    (tmp_path / "a.py").write_text("x   =  1\n")
    text = plain(output("ruff", "format", "--isolated", "--no-cache", "--check", "."))
    parsed = parse("ruff format --check .", text, failed=True)
    assert (parsed.total, parsed.findings[0].path) == (1, "a.py")


@pytest.mark.parametrize("options", ["", "--show-column-numbers", "--no-error-summary", "--show-error-end"])
def test_mypy(output: Output, tmp_path: Path, options: str) -> None:
    path = tmp_path / "lint_me.py"
    ids = []
    for text in (LINTED, "# one more line\n" + LINTED):
        path.write_text(text)
        out = output("mypy", "--config-file=", "--cache-dir=/dev/null", *options.split(), "lint_me.py")
        parsed = parse("mypy", plain(out), failed=True)
        ids.append([finding.id for finding in parsed.findings])
        assert [finding.message.split()[0] for finding in parsed.findings] == ["return-value", "no-redef"]
    assert ids[0] == ids[1]


def test_a_script_that_runs_several_tools_has_the_findings_of_all(output: Output, tmp_path: Path) -> None:
    (tmp_path / "lint_me.py").write_text(LINTED)
    (tmp_path / "test_it.py").write_text("def test_bad():\n    assert False\n")
    text = output("ruff", "check", "--isolated", "--no-cache", "lint_me.py") + output(*PYTEST, "-q")
    parsed = parse("./check.sh", plain(text), failed=True)
    assert parsed.runners == ("pytest", "ruff")
    assert "test_it.py::test_bad" in {finding.id for finding in parsed.findings}
    assert any("F401" in finding.id for finding in parsed.findings)
