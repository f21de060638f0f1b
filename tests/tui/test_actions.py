"""Every action by key, by palette and by name; every dialog quotes and sends what it says."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import pytest
from textual.command import CommandList
from textual.widgets import Input, TextArea

from runtime import commands as c
from runtime.errors import UsageError
from support.fake_backend import FakeBackend
from support.sample_runs import held_on_cap, main_run
from support.screens import Opener, only_sent, screen_text, settle, type_text
from tui.actions import ACTIONS, of_place
from tui.command_line import command_of
from tui.dialogs.form import FormDialog
from tui.dialogs.quotes import moved, parse_number

DIALOGS = {
    "abort": "Abort",
    "cap": "Retry cap",
    "cap_less": "Retry cap",
    "budget": "Budgets",
    "steer": "Steer",
    "recovery": "After a failed",
    "model": "Model",
}
DIRECT = {"pause": c.Pause, "verify": c.VerifyNow, "end_attempt": c.EndAttempt}


@pytest.mark.parametrize("place", ["fleet", "run"])
def test_keys_are_unique_in_a_place(place: Literal["fleet", "run"]) -> None:
    keys = Counter(key for action in of_place(place) for key in action.key.split(","))
    assert [key for key, count in keys.items() if count > 1] == []


@pytest.mark.parametrize("action", DIALOGS)
async def test_what_spends_or_destroys_asks_first_and_escape_sends_nothing(
    opened: Opener, backend: FakeBackend, action: str
) -> None:
    key = next(a.key.split(",")[0] for a in ACTIONS if a.id == action)
    async with opened("r7f3a") as pilot:
        await pilot.press(key)
        await pilot.pause()
        assert isinstance(pilot.app.screen, FormDialog)
        assert DIALOGS[action] in screen_text(pilot)
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(pilot.app.screen, FormDialog)
        assert backend.sent == []


@pytest.mark.parametrize("action", DIRECT)
async def test_what_costs_nothing_is_sent_at_once_and_its_answer_shown(
    opened: Opener, backend: FakeBackend, action: str
) -> None:
    key = next(a.key for a in ACTIONS if a.id == action)
    async with opened("r7f3a") as pilot:
        await pilot.press(key)
        await settle(pilot)
        assert [type(command) for _, command in backend.sent] == [DIRECT[action]]
        assert "done" in screen_text(pilot)


async def test_the_cap_dialog_quotes_and_sends_an_absolute_value(opened: Opener, backend: FakeBackend) -> None:
    async with opened("r7f3a") as pilot:
        await pilot.press("+")
        await pilot.pause()
        text = screen_text(pilot)
        assert "2 of 3 attempts of this leg are made" in text
        assert "An attempt has cost $0.066 on average so far" in text
        field = pilot.app.screen.query_one(Input)
        assert field.value == "4"
        field.value = "1"
        await pilot.press("enter")
        await pilot.pause()
        assert "2 attempts are made already" in screen_text(pilot)
        field.value = "21"
        await pilot.press("enter")
        await pilot.pause()
        assert "whole number from 1 to 20" in screen_text(pilot)
        field.value = "5"
        await pilot.press("enter")
        await settle(pilot)
        command = only_sent(backend, c.SetCap)
        assert command.cap == 5


async def test_the_budget_dialog_sends_only_what_was_changed(opened: Opener, backend: FakeBackend) -> None:
    async with opened("b9d11") as pilot:
        await pilot.press("$")
        await pilot.pause()
        assert "stopped at the token budget" in screen_text(pilot)
        pilot.app.screen.query_one("#field-tokens", Input).value = "200k"
        await pilot.press("enter")
        await settle(pilot)
        command = only_sent(backend, c.SetBudget)
        assert (command.kind, command.value) == ("tokens", 200_000)


async def test_abort_has_the_focus_on_cancel_and_says_what_is_lost_and_kept(
    opened: Opener, backend: FakeBackend
) -> None:
    async with opened("r7f3a") as pilot:
        await pilot.press("a")
        await pilot.pause()
        text = screen_text(pilot)
        assert "Lost:" in text
        assert "Kept:" in text
        assert pilot.app.focused is not None
        assert pilot.app.focused.id == "cancel"
        await pilot.click("#abort")
        await settle(pilot)
        assert [type(command) for _, command in backend.sent] == [c.Abort]


async def test_an_approval_shows_the_whole_command_and_says_what_is_hidden(
    opened: Opener, backend: FakeBackend
) -> None:
    async with opened("a77e3", size=(80, 24)) as pilot:
        assert "2 hidden characters" in screen_text(pilot)
        await pilot.press("A")
        await pilot.pause()
        text = screen_text(pilot)
        assert "rm -rf build⟨300 spaces⟩; rm -rf /⟨U+202E⟩⟨U+200B⟩" in text
        assert "has 2 hidden characters; here they are marks" in text
        assert pilot.app.focused is not None
        assert pilot.app.focused.id == "deny"
        await pilot.press("enter")
        await settle(pilot)
        command = only_sent(backend, c.Deny)
        assert command.step == 1


async def test_steering_keeps_what_was_typed_and_sends_it(opened: Opener, backend: FakeBackend) -> None:
    async with opened("r7f3a") as pilot:
        await pilot.press("s")
        await pilot.pause()
        await type_text(pilot, "no new files")
        await pilot.press("ctrl+s")
        await settle(pilot)
        command = only_sent(backend, c.Steer)
        assert (command.text, command.when) == ("no new files", "next_attempt")


async def test_a_refusal_is_shown_in_its_own_words(opened: Opener, backend: FakeBackend) -> None:
    backend.refuse = "the run is held [/] for cap"
    async with opened("r7f3a") as pilot:
        await pilot.press("p")
        await settle(pilot)
        assert "refused: the run is held [/] for cap" in screen_text(pilot)


async def test_what_isnt_there_says_why_instead_of_doing_nothing(opened: Opener, backend: FakeBackend) -> None:
    async with opened("p0a11") as pilot:
        await pilot.press("a")
        await settle(pilot)
        assert "abort: the run has ended" in screen_text(pilot)
    async with opened("r7f3a") as pilot:
        await pilot.press("y")
        await settle(pilot)
        assert "apply: the run goes on" in screen_text(pilot)
    assert backend.sent == []


async def test_apply_asks_and_delivers(opened: Opener, backend: FakeBackend) -> None:
    async with opened("p0a11") as pilot:
        await pilot.press("y")
        await pilot.pause()
        assert "three-way merge" in screen_text(pilot)
        assert "Every verify step passed." in screen_text(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert backend.delivered == [("p0a11", "apply", None)]
        assert "apply: done" in screen_text(pilot)


async def test_the_palette_has_every_action_of_the_place(opened: Opener) -> None:
    async with opened("r7f3a") as pilot:
        commands = {command.title for command in pilot.app.get_system_commands(pilot.app.screen)}
        for action in of_place("run"):
            if action.id not in {"command", "open"}:
                assert f"{action.label}: {action.help}" in commands
        await pilot.press("ctrl+p")
        await pilot.pause()
        await type_text(pilot, "retry cap lower")
        hits = pilot.app.screen.query_one(CommandList)
        for _ in range(200):
            if hits.option_count == 1:
                break
            await pilot.pause()
        await pilot.press("down", "enter")
        for _ in range(200):
            if isinstance(pilot.app.screen, FormDialog):
                break
            await pilot.pause()
        assert isinstance(pilot.app.screen, FormDialog)


@pytest.mark.parametrize(
    ("line", "kind", "fields"),
    [
        ("cap 5", c.SetCap, {"cap": 5}),
        ("budget $2.50", c.SetBudget, {"kind": "micros", "value": 2_500_000}),
        ("tokens 1.5M", c.SetBudget, {"kind": "tokens", "value": 1_500_000}),
        ("minutes 30", c.SetBudget, {"kind": "seconds", "value": 1_800}),
        ("steer try the parser", c.Steer, {"text": "try the parser"}),
        ("model local", c.SwitchModel, {"model": "local"}),
        ("recovery replan", c.ChooseRecovery, {"action": "replan"}),
        ("abort wrong task", c.Abort, {"reason": "wrong task"}),
        ("resume", c.Resume, {}),
    ],
)
async def test_commands_by_name(
    opened: Opener, backend: FakeBackend, line: str, kind: type[c.Command], fields: dict[str, object]
) -> None:
    async with opened("r7f3a") as pilot:
        await pilot.press(":")
        await type_text(pilot, line)
        await pilot.press("enter")
        await settle(pilot)
        ((_, command),) = backend.sent
        assert isinstance(command, kind)
        assert {name: getattr(command, name) for name in fields} == fields


@pytest.mark.parametrize(
    "line", ["cap 0", "cap 21", "budget much", "tokens -1", "recovery pray", "frobnicate", "theme nope", "open nowhere"]
)
async def test_a_wrong_command_is_one_sentence_and_sends_nothing(
    opened: Opener, backend: FakeBackend, line: str
) -> None:
    async with opened("r7f3a") as pilot:
        await pilot.press(":")
        await type_text(pilot, line)
        await pilot.press("enter")
        await settle(pilot)
        assert backend.sent == []
        assert len(pilot.app._notifications) == 1


@pytest.mark.parametrize(
    ("text", "value"), [("2.50", 2.5), ("$2.50", 2.5), ("1,000,000", 1e6), ("200k", 2e5), ("1.5M", 1.5e6)]
)
def test_numbers_as_people_write_them(text: str, value: float) -> None:
    assert parse_number(text, "x") == value


@pytest.mark.parametrize("text", ["", "nan", "inf", "-1", "1e99", "two", "k"])
def test_what_isnt_a_number_is_told(text: str) -> None:
    with pytest.raises(UsageError):
        parse_number(text, "x")


def test_commands_without_an_argument_need_a_dialog() -> None:
    assert command_of("cap", "") is None
    assert command_of("steer", "") is None


def test_whether_findings_moved() -> None:
    from runtime.view import fold_all

    assert moved(fold_all(main_run().events)), "one verified attempt says nothing yet"
    events = held_on_cap().events
    assert moved(fold_all(events))


async def test_leaving_with_live_runs_asks_and_can_abort_them(opened: Opener, backend: FakeBackend) -> None:
    async with opened() as pilot:
        await pilot.press("q")
        await pilot.pause()
        assert "5 runs still going" in screen_text(pilot)
        await pilot.press("escape")
        await pilot.pause()
        assert backend.closed is None
        await pilot.press("q")
        await pilot.pause()
        await pilot.click("#abort")
        await pilot.pause()
        assert backend.closed is True


async def test_a_new_run_is_started_as_the_form_says(opened: Opener, backend: FakeBackend) -> None:
    async with opened() as pilot:
        await pilot.press("N")
        await settle(pilot)
        await pilot.pause()
        dialog = pilot.app.screen
        assert isinstance(dialog, FormDialog)
        assert any("claude-sonnet-5-5 ($3.00 in, $15.00 out, default)" in text for text, _ in dialog.form.lines)
        await type_text(pilot, "fix it")
        pilot.app.screen.query_one("#field-model", Input).value = "gpt-oss-120b"
        await pilot.press("enter")
        await pilot.pause()
        assert backend.started == []
        pilot.app.screen.query_one("#field-model", Input).value = "local"
        pilot.app.screen.query_one("#field-cap", Input).value = "2"
        pilot.app.screen.query_one("#field-approval", Input).value = "sometimes"
        await pilot.press("enter")
        await pilot.pause()
        assert backend.started == []
        assert "Approval is one of auto, ask, read-only." in screen_text(pilot)
        pilot.app.screen.query_one("#field-approval", Input).value = "ask"
        await pilot.press("enter")
        await settle(pilot)
        ((_, task, verify, settings),) = backend.started
        assert task == "fix it"
        assert [spec.command for spec in verify] == ["python -m pytest -q"]
        assert (settings.model, settings.cap, settings.budget_micros) == ("local", 2, 500_000)
        assert settings.approval == "ask"


async def test_a_dialog_survives_every_size_with_focus_and_typed_text(opened: Opener, backend: FakeBackend) -> None:
    whole = main_run("late1").events
    backend.push(*whole[:20])
    async with opened("late1") as pilot:
        await pilot.press("s")
        await pilot.pause()
        await type_text(pilot, "half typed")
        focused = pilot.app.focused
        for index, size in enumerate([(80, 24), (40, 10), (20, 5), (1, 1), (60, 20), (250, 80), (120, 40)]):
            backend.push(*whole[20 + index * 5 : 25 + index * 5])
            await pilot.resize_terminal(*size)
            await settle(pilot)
        assert pilot.app.focused is focused
        assert isinstance(focused, TextArea)
        assert focused.text == "half typed"


def test_help_of_every_action_fits_a_narrow_screen() -> None:
    assert all(len(action.help) <= 76 for action in ACTIONS)
