"""Waiting tool calls in the dashboard: nothing of a command is out of sight unsaid, and what wasn't read can't be approved."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from runtime import commands as c
from runtime.events import supervision
from runtime.events.values import HoldReason
from runtime.text import revealed
from runtime.view import fold_all
from support.event_streams import Script, findings, usage
from support.fake_backend import FakeBackend
from support.screens import Opener, fleet_of, only_sent, screen_text, settle, type_text
from tui.dialogs.approval import ApprovalDialog, command_lines
from tui.paint.fleet import state_cell
from tui.paint.spans import width_of
from tui.summary import summarise

LONG = "\n".join(f"echo {number} of many" for number in range(80)) + "\nrm -rf ./everything"
SIZES = [(60, 16), (80, 24), (120, 40), (200, 60)]


def waiting_run(run: str, *commands: str) -> Script:
    """A run whose reply had several calls that wait."""
    script = Script(run).open("tidy up", "site", approval="ask").prepared(findings("test_site"))
    script.leg_begins("claude-sonnet-5-5").attempt_begins(1, "tidy up").think("Several at once.")
    script.reply(usage(2_000, 4_000, 0, 60), 22_000)
    for step, command in enumerate(commands, 1):
        script.add(supervision.ApprovalRequested(step=step, tool="shell", command=command, why="it writes to a file"))
    return script.hold(HoldReason.APPROVAL, "step 1, shell, waits for approval", "approve", "deny", "abort")


def dialog_of(pilot: Pilot[int]) -> ApprovalDialog:
    """The dialog on top."""
    screen = pilot.app.screen
    assert isinstance(screen, ApprovalDialog)
    return screen


async def asked(pilot: Pilot[int]) -> ApprovalDialog:
    """Open the dialog by its key."""
    await pilot.press("A")
    await settle(pilot)
    return dialog_of(pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_spaces_and_hidden_characters_are_marks_at_every_size(
    opened: Opener, backend: FakeBackend, size: tuple[int, int]
) -> None:
    command = "cat a\u202e\u200b" + " " * 300 + "; rm -rf b"
    script = waiting_run("w1", "x")
    script.events[-2] = script.events[-2].model_copy(update={"command": command, "hidden": 2})
    backend.log["w1"] = script.events
    backend.views["w1"] = fold_all(script.events)
    async with opened("w1", size=size) as pilot:
        await asked(pilot)
        text = screen_text(pilot)
        assert "⟨U+202E⟩⟨U+200B⟩⟨300 spaces⟩; rm -rf b" in "".join(line.strip(" ▌▎│") for line in text.splitlines())
        assert "has 2 hidden characters" in text
        assert "all of them shown" in text
        assert "\u202e" not in text
        assert "\u200b" not in text


@pytest.mark.parametrize("size", SIZES)
async def test_a_long_command_is_approved_only_after_its_end_was_shown(
    opened: Opener, backend: FakeBackend, size: tuple[int, int]
) -> None:
    backend.push(*waiting_run("w1", LONG).events)
    async with opened("w1", size=size) as pilot:
        dialog = await asked(pilot)
        assert "more below" in screen_text(pilot)
        await pilot.click("#approve")
        await settle(pilot)
        assert pilot.app.screen is dialog
        assert "not read to the end" in screen_text(pilot)
        assert backend.sent == []
        for _ in range(20):
            await pilot.press("pagedown")
            await settle(pilot)
        text = screen_text(pilot)
        assert "rm -rf ./everything" in text
        assert "the end" in text
        await pilot.click("#approve")
        await settle(pilot)
        assert only_sent(backend, c.Approve).step == 1


async def test_every_page_says_which_lines_it_shows(opened: Opener, backend: FakeBackend) -> None:
    backend.push(*waiting_run("w1", LONG).events)
    async with opened("w1", size=(80, 24)) as pilot:
        await asked(pilot)
        first, seen = 1, ""
        for _ in range(20):
            text = screen_text(pilot)
            said = re.search(r"Lines (\d+) to (\d+) of 81", text)
            assert said is not None
            assert int(said[1]) <= first
            for number in range(int(said[1]), min(80, int(said[2])) + 1):
                assert f"echo {number - 1} of many " in text
            first, seen = int(said[2]) + 1, text
            if "the end" in seen:
                break
            await pilot.press("space")
            await settle(pilot)
        assert "the end" in seen


async def test_on_a_screen_that_is_too_small_nothing_counts_as_read(opened: Opener, backend: FakeBackend) -> None:
    backend.push(*waiting_run("w1", "touch a").events)
    async with opened("w1", size=(60, 2)) as pilot:
        dialog = await asked(pilot)
        assert dialog.read == set()
        dialog.query_one("#approve").focus()
        await pilot.press("enter")
        await settle(pilot)
        assert backend.sent == []
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert "all of them shown" in screen_text(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert only_sent(backend, c.Approve).step == 1


@pytest.mark.parametrize("size", SIZES)
async def test_all_of_the_dialog_is_on_the_screen(opened: Opener, backend: FakeBackend, size: tuple[int, int]) -> None:
    backend.push(*waiting_run("w1", "a\u200b" + LONG, "touch b").events)
    async with opened("w1", size=size) as pilot:
        dialog = await asked(pilot)
        await pilot.click("#approve")
        await settle(pilot)
        text = screen_text(pilot)
        for part in ("Approve 1 of 2", "echo 0 of many", "more below", "Why (", "not read", "Deny", "Later"):
            assert part in text
        assert dialog.query_one(".dialog").max_scroll_y == 0


async def test_deny_with_a_reason(opened: Opener, backend: FakeBackend) -> None:
    backend.push(*waiting_run("w1", "touch a").events)
    async with opened("w1", size=(80, 24)) as pilot:
        dialog = await asked(pilot)
        dialog.query_one("#field-reason").focus()
        await type_text(pilot, "not now")
        await pilot.press("enter")
        await settle(pilot)
        command = only_sent(backend, c.Deny)
        assert (command.step, command.reason) == (1, "not now")


async def test_later_decides_nothing(opened: Opener, backend: FakeBackend) -> None:
    backend.push(*waiting_run("w1", "touch a").events)
    async with opened("w1") as pilot:
        await asked(pilot)
        await pilot.press("escape")
        await settle(pilot)
        assert backend.sent == []


async def test_all_are_approved_by_their_steps_once_all_were_read(opened: Opener, backend: FakeBackend) -> None:
    backend.push(*waiting_run("w1", "touch a", "touch b", "touch c").events)
    async with opened("w1", size=(80, 24)) as pilot:
        assert "and 2 further calls" in screen_text(pilot)
        dialog = await asked(pilot)
        assert "Approve 1 of 3" in screen_text(pilot)
        await pilot.click("#approve-all")
        await settle(pilot)
        assert pilot.app.screen is dialog
        text = screen_text(pilot)
        assert "Approve 2 of 3" in text
        assert "2 calls are not read to the end yet" in text
        await pilot.press("n")
        await settle(pilot)
        assert "touch c" in screen_text(pilot)
        await pilot.click("#approve-all")
        await settle(pilot)
        assert [(type(one), getattr(one, "step", None)) for _, one in backend.sent] == [
            (c.Approve, 1),
            (c.Approve, 2),
            (c.Approve, 3),
        ]


async def test_after_one_of_several_the_others_are_asked(opened: Opener, backend: FakeBackend) -> None:
    backend.push(*waiting_run("w1", "touch a", "touch b").events)
    async with opened("w1", size=(80, 24)) as pilot:
        await asked(pilot)
        await pilot.click("#approve")
        await settle(pilot)
        assert dialog_of(pilot).waiting == backend.views["w1"].approvals[1:]
        assert "touch b" in screen_text(pilot)
        await pilot.click("#deny")
        await settle(pilot)
        assert [(type(one), getattr(one, "step", None)) for _, one in backend.sent] == [(c.Approve, 1), (c.Deny, 2)]
        assert not isinstance(pilot.app.screen, ApprovalDialog)


async def test_the_fleet_shows_it_first_and_decides_it_by_key(opened: Opener, backend: FakeBackend) -> None:
    backend.push(*waiting_run("w1", "touch a", "touch b").events)
    async with opened() as pilot:
        fleet = fleet_of(pilot)
        keys = [run.run for run in fleet.grid.rows]
        assert set(keys[:2]) == {"a77e3", "w1"}
        text = screen_text(pilot)
        assert "2 approvals" in text
        assert "held: approval" in text
        fleet.grid.move_to(keys.index("w1"))
        await pilot.pause()
        assert "approve" in screen_text(pilot)
        await asked(pilot)
        assert "touch a" in screen_text(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert backend.sent[0][0] == "w1"
        assert isinstance(backend.sent[0][1], c.Deny)


def test_an_approval_is_pending_until_it_is_given_or_the_run_ends() -> None:
    script = waiting_run("w1", "touch a", "touch b")
    view = fold_all(script.events)
    assert [one.step for one in view.approvals] == [1, 2]
    assert state_cell(summarise(view, live=True)) == ("2 approvals", "warn-strong")
    script.add(supervision.ApprovalGiven(step=1, approved=True, sender="ann"))
    view = fold_all(script.events)
    assert [one.step for one in view.approvals] == [2]
    assert view.needs_decision
    assert state_cell(summarise(view, live=True)) == ("held: approval", "warn-strong")


@given(st.text(max_size=400), st.integers(10, 90))
def test_wrapping_loses_no_character(command: str, width: int) -> None:
    lines = command_lines(command, width)
    assert "".join(text for line in lines for text, _ in line) == revealed(command).replace("\n", "")
    assert all(width_of(line) <= width for line in lines)
