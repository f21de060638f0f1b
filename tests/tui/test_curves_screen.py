"""The Curves and Projects screens: figures as they are, nothing wider than the screen, changes through a dialog."""

from __future__ import annotations

from pathlib import Path

import pytest

from store.store import open_store
from support.cli import clean_environment
from support.curve_legs import shaped
from support.fake_backend import FakeBackend
from support.screens import Opener, screen_text, settle, type_text
from support.seeded_store import seed
from tui.backend import CurvesReport, ProjectLine
from tui.curves import apply_cap, curves_report, project_lines, update_project
from tui.paint.curves import curves_lines, rate_bar
from tui.paint.projects import projects_lines
from tui.paint.spans import width_of
from tui.project import ProjectSettings

LEGS = [
    *shaped("claude-sonnet-5-5", (40, 14, 9, 0, 0), 12, "c"),
    *shaped("Qwen/Qwen3-Coder-30B", (20, 14, 12, 10, 9, 8, 0, 0), 7, "q"),
    *shaped("mistral-large", (2, 1), 1, "m"),
]
PROJECTS = [
    ProjectLine("p1", "parser", "/src/parser", 159, 140, 1_250_000, True, 4, None, ("python -m pytest -q",)),
    ProjectLine("p2", "billing", "/src/billing", 3, 0, None, False, trouble="looptop.toml is not TOML."),
]


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in clean_environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path


async def seeded(folder: Path) -> CurvesReport:
    async with open_store(folder / "home") as store:
        await seed(store, LEGS)
        return await curves_report(store)


def text_of(report: CurvesReport, width: int) -> str:
    lines = curves_lines(report, 0, width)
    assert all(width_of(line) <= width for line in lines)
    return "\n".join("".join(part for part, _ in line) for line in lines)


@pytest.mark.parametrize("width", [78, 118, 198])
async def test_each_family_has_its_curve_its_advice_and_other_caps(env: Path, width: int) -> None:
    text = text_of(await seeded(env), width)
    assert "80 runs, cap now 6" in text
    assert "recommended 6: attempt 7 passes in 0.0% of 7 runs" in text
    assert "recommended 3: attempt 4 passes in 0.0% of 12 runs" in text
    assert "no recommendation: not enough runs yet, on trial with 4" in text
    assert "at a cap of" in text


def test_without_runs_it_says_so() -> None:
    assert "No finished run yet" in text_of(CurvesReport(), 78)


@pytest.mark.parametrize("room", [8, 30, 150])
def test_a_bar_has_its_width_and_both_ends_of_the_interval(room: int) -> None:
    text = "".join(part for part, _ in rate_bar(0.5, 0.3, 0.7, room))
    assert len(text) == room
    assert text.count("┃") == 2


async def test_applying_writes_the_cap_and_keeps_the_figures(env: Path) -> None:
    async with open_store(env / "home") as store:
        await seed(store, LEGS)
        (env / "config.toml").write_text("[caps.defaults]\nclaude = 8 # too many\n")
        assert "caps.defaults.claude is 3, before 8" in await apply_cap(store, "claude")
        assert "claude = 3 # too many" in (env / "config.toml").read_text()
        (row,) = await store.calibrations.all("cap")
        assert (row.body["old"], row.body["new"], row.runs) == (8, 3, 75)


async def test_a_project_is_changed_by_a_validated_update(env: Path) -> None:
    async with open_store(env / "home") as store:
        await seed(store, LEGS)
        settings = ProjectSettings(clean_environment(env), supervised=True)
        (line,) = await project_lines(store, settings)
        assert (line.runs, line.passed, line.cap) == (159, 139, None)
        said = await update_project(store, line.id, {"fix_verify_retry_cap": 7})
        assert said.startswith("cap override set to 7, there was none")
        (line,) = await project_lines(store, settings)
        assert line.cap == 7
        assert "cleared, it was 7" in await update_project(store, line.id, {"fix_verify_retry_cap": None})


async def test_curves_open_by_key_and_apply_after_a_quote(opened: Opener, backend: FakeBackend, env: Path) -> None:
    backend.curves_report = await seeded(env)
    async with opened(None) as pilot:
        await pilot.press("C")
        await settle(pilot)
        assert "▸ qwen" in screen_text(pilot)
        await pilot.press("j")
        await settle(pilot)
        assert "▸ claude" in screen_text(pilot)
        await pilot.press("a")
        await pilot.pause()
        assert "caps.defaults.claude is set to 3" in screen_text(pilot)
        await pilot.press("escape")
        await settle(pilot)
        assert backend.applied == []
        await pilot.press("a")
        await pilot.pause()
        await pilot.press("enter")
        await settle(pilot)
        assert backend.applied == ["claude"]


async def test_other_caps_are_tried_from_the_screen(opened: Opener, backend: FakeBackend, env: Path) -> None:
    backend.curves_report = await seeded(env)
    async with opened(None) as pilot:
        await pilot.press("C")
        await settle(pilot)
        for text in ("3 21", "3, 5 7"):
            await pilot.press("w")
            await pilot.pause()
            await type_text(pilot, text)
            await pilot.press("ctrl+s")
            await settle(pilot)
            if "21" in text:
                assert "whole numbers from 1 to 20" in screen_text(pilot)
                await pilot.press("escape")
                await settle(pilot)
        assert backend.caps_tried == [(), (3, 5, 7)]


async def test_chosen_caps_are_what_is_replayed(env: Path) -> None:
    async with open_store(env / "home") as store:
        await seed(store, LEGS)
        report = await curves_report(store, (3, 7))
    assert {tuple(one.limits.cap for one in family.whatifs) for family in report.families} == {(3, 7)}


async def test_a_projects_cap_is_set_and_cleared_from_the_screen(opened: Opener, backend: FakeBackend) -> None:
    backend.project_lines = PROJECTS
    async with opened(None) as pilot:
        await pilot.press("P")
        await settle(pilot)
        assert "python -m pytest -q" in screen_text(pilot)
        await pilot.press("plus")
        await pilot.pause()
        await pilot.press("backspace")
        await type_text(pilot, "6")
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert backend.updated == [("p1", {"fix_verify_retry_cap": 6})]
        await pilot.press("j")
        await settle(pilot)
        assert "looptop.toml is not TOML" in screen_text(pilot)


@pytest.mark.parametrize("width", [78, 118, 198])
def test_projects_fit(width: int) -> None:
    for chosen in (0, 1):
        assert all(width_of(line) <= width for line in projects_lines(tuple(PROJECTS), chosen, width))
    assert "No project yet" in "".join(part for line in projects_lines((), 0, width) for part, _ in line)
