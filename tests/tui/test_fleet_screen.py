"""The Fleet screen: order, filters, actions, and what happens while it is looked at."""

from __future__ import annotations

from runtime.events.supervision import RunHeld
from runtime.events.values import HoldReason
from support.fake_backend import FakeBackend
from support.screens import Opener, fleet_of, run_of, screen_text, settle, type_text
from tui.screens.fleet import FleetScreen
from tui.screens.run import RunScreen


async def test_runs_that_need_a_decision_come_first_then_by_money_at_risk(opened: Opener) -> None:
    async with opened() as pilot:
        fleet = pilot.app.screen
        assert isinstance(fleet, FleetScreen)
        keys = [run.run for run in fleet.grid.rows]
        assert keys == ["a77e3", "c4b02", "b9d11", "r7f3a", "u00q1", "p0a11", "x1122"]
        text = screen_text(pilot)
        assert "7 runs   5 live   3 need you" in text
        assert "$0.395+?" in text, "a sum that misses an unpriced run says so"


async def test_a_changed_run_moves_and_the_cursor_stays_on_its_run(opened: Opener, backend: FakeBackend) -> None:
    async with opened() as pilot:
        await pilot.press("down", "down", "down")
        assert fleet_of(pilot).grid.cursor_key == "r7f3a"
        last = backend.log["r7f3a"][-1]
        held = RunHeld(why=HoldReason.STOPLOSS, text="0.81 is above 0.72", ends_with=("resume", "abort"))
        backend.push(held.stamped("r7f3a", last.seq + 1, last.at, last.mono_ms + 1))
        await settle(pilot)
        grid = fleet_of(pilot).grid
        assert [run.run for run in grid.rows][:4] == ["a77e3", "c4b02", "r7f3a", "b9d11"]
        assert grid.cursor_key == "r7f3a"
        assert "held: stoploss" in screen_text(pilot)


async def test_filters_plain_inverse_and_fuzzy(opened: Opener) -> None:
    async with opened() as pilot:

        def shown() -> set[str]:
            return {run.run for run in fleet_of(pilot).grid.rows}

        await pilot.press("slash")
        await type_text(pilot, "parser")
        assert shown() == {"r7f3a", "p0a11"}
        await pilot.press("enter", "escape")
        assert len(shown()) == 7
        await pilot.press("slash")
        await type_text(pilot, "!parser")
        assert shown() == {"c4b02", "b9d11", "a77e3", "u00q1", "x1122"}
        await pilot.press("escape", "slash")
        await type_text(pilot, "~mpydnt")
        assert shown() == {"c4b02"}
        await pilot.press("enter")
        await pilot.press("slash")
        await type_text(pilot, "zzz")
        assert "no run matches" in screen_text(pilot)


async def test_enter_opens_and_escape_comes_back_to_the_same_row(opened: Opener) -> None:
    async with opened() as pilot:
        await pilot.press("down", "down", "down", "enter")
        await settle(pilot)
        assert isinstance(pilot.app.screen, RunScreen)
        assert run_of(pilot).view.run == "r7f3a"
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(pilot.app.screen, FleetScreen)
        assert fleet_of(pilot).grid.cursor_key == "r7f3a"


async def test_orders_cycle(opened: Opener) -> None:
    async with opened() as pilot:
        await pilot.press("o")
        costs = [run.cost_micros or 0 for run in fleet_of(pilot).grid.rows]
        assert costs == sorted(costs, reverse=True)
        assert "by cost" in screen_text(pilot)


async def test_a_lost_workers_run_is_unknown_not_fixing(opened: Opener, backend: FakeBackend) -> None:
    backend.stale.add("r7f3a")
    async with opened() as pilot:
        row = next(line for line in screen_text(pilot).splitlines() if "r7f3a" in line)
        assert "unknown" in row
        assert "verifying" not in row


async def test_an_empty_store_says_what_to_do(opened: Opener, backend: FakeBackend) -> None:
    backend.views.clear()
    backend.log.clear()
    async with opened() as pilot:
        assert "no runs yet: N starts one" in screen_text(pilot)
