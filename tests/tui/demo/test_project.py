"""The bundled project: broken exactly where it should be, mended by the reference patch, the same for everybody."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from runtime.events.values import Verdict
from support.repositories import git
from support.verify_bench import Bench
from tui.demo import prepare as prepare_module
from tui.demo.prepare import prepare

ROOT = Path(__file__).parents[3]
PATCH = ROOT / "tests/data/demo/fixed.patch"
SUITE = "python -m pytest -q -p no:cacheprovider"
FAILING = {
    "tests/test_label.py::test_a_long_name_is_cut_to_its_width",
    "tests/test_label.py::test_the_times_stand_in_one_column",
    "tests/test_side.py::test_a_track_that_ends_with_the_tape_fits",
    "tests/test_side.py::test_one_track_has_no_silence",
    "tests/test_side.py::test_silences_are_between_tracks",
    "tests/test_side.py::test_what_is_left",
    "tests/test_times.py::test_an_hour",
    "tests/test_times.py::test_more_than_an_hour",
}


@pytest.fixture
async def project(tmp_path: Path) -> Bench:
    """A bench on a fresh copy of the project."""
    bench = Bench(tmp_path)
    bench.workspace = await prepare(tmp_path / "demo")
    return bench


async def test_as_delivered_exactly_these_tests_fail(project: Bench) -> None:
    result = await project.step(SUITE)
    assert result.verdict is Verdict.FAILED
    assert {finding.id for finding in result.findings} == FAILING
    assert (result.findings_total, result.collected, result.complete) == (8, 24, True)


async def test_the_reference_patch_mends_it(project: Bench) -> None:
    git(project.workspace, "apply", str(PATCH))
    result = await project.step(SUITE)
    assert (result.verdict, result.collected) == (Verdict.PASSED, 24)


async def test_no_single_edit_of_the_patch_is_enough(project: Bench) -> None:
    git(project.workspace, "apply", str(PATCH))
    changed = [line[2:].strip() for line in PATCH.read_text().splitlines() if line.startswith("-  ")]
    mended = [line[2:].strip() for line in PATCH.read_text().splitlines() if line.startswith("+  ")]
    assert len(changed) == len(mended) == 4
    for broken, right in zip(changed, mended, strict=True):
        (path,) = (path for path in project.workspace.glob("tapedeck/*.py") if right in path.read_text())
        text = path.read_text()
        path.write_text(text.replace(right, broken))
        result = await project.step(SUITE)
        assert {finding.id for finding in result.findings} <= FAILING
        assert result.verdict is Verdict.FAILED, right
        path.write_text(text)


async def test_the_repository_is_the_same_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = git(await prepare(tmp_path / "one"), "rev-parse", "HEAD")
    config = tmp_path / "config"
    config.write_text("[user]\n\tname = Someone\n[commit]\n\tgpgsign = true\n[core]\n\tautocrlf = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
    second = await prepare(tmp_path / "two")
    assert git(second, "rev-parse", "HEAD") == first
    assert git(second, "status", "--porcelain") == ""
    assert git(second, "log", "--format=%an %aI %s").strip() == "Robin 2026-01-05T09:30:00+00:00 Plan mixtapes"


async def test_leavings_of_a_test_run_are_not_copied(tmp_path: Path) -> None:
    repo = await prepare(tmp_path / "demo")
    names = set(git(repo, "ls-files").splitlines())
    assert "tapedeck/side.py" in names
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc") or ".pytest_cache" in name]


async def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "demo"
    target.mkdir()
    with pytest.raises(FileExistsError):
        await prepare(target)
    assert list(target.iterdir()) == []


def test_it_is_neither_linted_nor_typed_nor_collected_as_ours() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    here = str(Path(prepare_module.__file__).parent.relative_to(ROOT) / "project")
    assert here in tools["ruff"]["extend-exclude"]
    assert here in tools["mypy"]["exclude"]
    assert tools["pytest"]["ini_options"]["testpaths"] == ["tests"]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--no-cache", "--show-files", "tui/demo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "prepare.py" in done.stdout
    assert "tapedeck" not in done.stdout
