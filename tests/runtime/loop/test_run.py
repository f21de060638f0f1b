"""Runs from start to end with a scripted model: what each reply leads to."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.events.checks import VerifyFinished
from runtime.events.loop import AttemptFinished, RoundFinished, RunPrepared, ToolFinished
from runtime.events.values import Cause, StepStatus, StopReason
from runtime.models.base import CallFault, ModelCallError, Stop, Text, Thinking, ToolCall, ToolResult
from runtime.process.sandbox.choose import probe
from runtime.view import fold_all
from support.repositories import ADDER, git
from support.scripted_model import reply, say, use
from support.stage import stage

FIX = use("write_file", path="value.txt", content="fixed\n")
WRONG = use("write_file", path="value.txt", content="still broken\n")


async def test_a_fix_is_verified_and_passes(tmp_path: Path) -> None:
    async with stage(tmp_path, [FIX, say("It said broken; now it says fixed.")]) as played:
        end = await played.run()
        assert (end.reason, end.attempts, end.rounds, end.steps) == (StopReason.PASSED, 1, 2, 1)
        assert end.summary == "It said broken; now it says fixed."
        assert end.diff_stat.files == 1
        assert (played.repo / "value.txt").read_text() == "broken\n"
        assert git(played.repo, "show", f"refs/looptop/{end.run}:value.txt") == "fixed\n"


async def test_a_failed_verify_is_fed_back_into_the_same_transcript(tmp_path: Path) -> None:
    async with stage(tmp_path, [WRONG, say("done"), FIX, say("done now")]) as played:
        end = await played.run()
        assert (end.reason, end.attempts) == (StopReason.PASSED, 2)
        last = played.model.requests[2].messages
        feedback = last[-1].blocks[-1]
        assert isinstance(feedback, Text)
        assert "Verify failed after attempt 1" in feedback.text
        assert "value is still broken" in feedback.text
        assert last[: len(played.model.requests[1].messages)] == played.model.requests[1].messages


async def test_sums_of_the_end_event_the_ledger_and_the_view_agree(tmp_path: Path) -> None:
    async with stage(tmp_path, [WRONG, say("done"), FIX, say("done now")]) as played:
        end = await played.run()
        assert end.usage == {"input": 400, "output": 80, "cache_read": 4000, "cache_write": 200}
        rows = await played.cockpit.store.reports.usage("round", run=end.run)
        assert [row.calls for row in rows] == [1, 1, 1, 1]
        seen, stored = fold_all(played.events), await played.cockpit.store.history.view(end.run)
        assert seen == stored
        assert seen.money.micros == end.cost_micros
        assert (seen.usage.input, seen.usage.output) == (400, 80)


async def test_what_passes_already_costs_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path, [FIX], {"value.txt": "x", "ok.py": ""}) as played:
        end = await played.run(verify=("python3 ok.py",))
        assert (end.reason, end.rounds, end.cost_micros) == (StopReason.ALREADY_PASSING, 0, 0)
        assert played.model.requests == []


async def test_a_task_is_worked_on_though_everything_passes(tmp_path: Path) -> None:
    async with stage(tmp_path, [FIX, say("done")], {"value.txt": "x", "ok.py": ""}) as played:
        end = await played.run("Write fixed into value.txt", verify=("python3 ok.py",))
        assert (end.reason, end.attempts) == (StopReason.PASSED, 1)


async def test_the_cap_ends_the_run(tmp_path: Path) -> None:
    async with stage(tmp_path, [WRONG, say("done"), say("again")]) as played:
        end = await played.run(cap=2)
        assert (end.reason, end.attempts) == (StopReason.CAP_REACHED, 2)
        assert "2 of 2 attempts" in end.detail


@pytest.mark.parametrize(("model", "cap"), [("claude-sonnet-5-5", 3), ("Qwen/Qwen3-Coder", 6), ("mistral-large", 5)])
async def test_the_cap_follows_the_model(tmp_path: Path, model: str, cap: int) -> None:
    async with stage(tmp_path, [say("I changed nothing.")]) as played:
        played.model.name = model
        played.cockpit.settings = played.cockpit.settings.__class__(base_url="http://127.0.0.1:9")
        end = await played.run()
        assert (end.reason, end.attempts) == (StopReason.CAP_REACHED, cap)


async def test_a_model_without_an_idea_gives_up(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("I can't.\nGIVE UP: no idea", gave_up="no idea")]) as played:
        end = await played.run()
        assert (end.reason, end.detail, end.attempts) == (StopReason.GAVE_UP, "no idea", 1)


async def test_the_same_call_with_the_same_result_ends_the_phase_at_the_third(tmp_path: Path) -> None:
    """Also after the model was told: no further call is made."""
    async with stage(tmp_path, [use("shell", command="cat nosuchfile")]) as played:
        end = await played.run(max_rounds=10)
        assert end.reason is StopReason.GAVE_UP
        assert "same shell call gave the same result 3 times" in end.detail
        assert len(played.model.requests) == 3
        assert [event.repeats for event in played.of(ToolFinished)] == [1, 2, 3]


async def test_the_round_limit_ends_the_phase_without_one_more_call(tmp_path: Path) -> None:
    steps = [use("shell", command=f"echo {n}") for n in range(20)]
    async with stage(tmp_path, steps) as played:
        end = await played.run(max_rounds=4)
        assert end.reason is StopReason.ROUND_LIMIT
        assert "round limit: 4 rounds" in end.detail
        assert len(played.model.requests) == 4


async def test_work_done_before_the_round_limit_is_verified(tmp_path: Path) -> None:
    async with stage(
        tmp_path, [FIX, use("shell", command="echo more"), use("shell", command="echo and more")]
    ) as played:
        end = await played.run(max_rounds=2)
        assert end.reason is StopReason.PASSED
        assert played.of(AttemptFinished)[0].phase_end.startswith("round limit")


@pytest.mark.parametrize(
    "empty",
    [
        reply(stop=Stop.END_TURN),
        say(" \n\t "),
        reply(Thinking(text="hm", data={"type": "thinking", "thinking": "hm", "signature": "s"}), stop=Stop.END_TURN),
        say("I won't do that.", stop=Stop.REFUSAL),
        say("?", stop=Stop.UNKNOWN),
    ],
    ids=["no block", "white space", "reasoning only", "refusal", "unknown finish reason"],
)
async def test_three_replies_with_nothing_in_them_end_the_phase(tmp_path: Path, empty: object) -> None:
    async with stage(tmp_path, [empty]) as played:  # type: ignore[list-item]
        end = await played.run()
        assert end.reason is StopReason.GAVE_UP
        assert "3 replies in a row" in end.detail
        assert len(played.model.requests) == 3
        for request in played.model.requests:
            texts = [b.text for m in request.messages for b in m.blocks if isinstance(b, Text)]
            assert all(text.strip() for text in texts)


async def test_a_silent_command_says_that_there_was_no_output(tmp_path: Path) -> None:
    async with stage(tmp_path, [use("shell", command="true"), FIX, say("done")]) as played:
        await played.run()
        result = played.model.requests[1].messages[-1].blocks[0]
        assert isinstance(result, ToolResult)
        assert result.content == "(no output)"


async def test_a_cut_call_is_never_executed_and_does_not_go_round_in_circles(tmp_path: Path) -> None:
    cut = reply(
        ToolCall(id="a", name="write_file", arguments=None, raw='{"path": "value.txt", "content": "fix'),
        stop=Stop.MAX_TOKENS,
    )
    async with stage(tmp_path, [cut]) as played:
        before = (played.repo / "value.txt").stat()
        end = await played.run()
        assert end.reason is StopReason.GAVE_UP
        assert len(played.model.requests) == 2
        first = played.model.requests[1].messages[-1].blocks[0]
        assert isinstance(first, ToolResult)
        assert first.is_error
        assert "not executed" in first.content
        assert "parts" in first.content
        assert [event.status for event in played.of(ToolFinished)] == [StepStatus.MALFORMED] * 2
        assert (played.repo / "value.txt").stat() == before


async def test_a_missing_argument_is_not_an_empty_one(tmp_path: Path) -> None:
    async with stage(tmp_path, [use("write_file", path="value.txt"), FIX, say("done")]) as played:
        await played.run()
        assert played.of(ToolFinished)[0].status is StepStatus.MALFORMED
        assert "'content' is missing" in played.of(ToolFinished)[0].content


async def test_parallel_calls_have_one_result_each_in_their_order(tmp_path: Path) -> None:
    calls = [ToolCall(id=f"c{n}", name="shell", arguments={"command": f"echo {n}"}) for n in range(5)]
    async with stage(tmp_path, [reply(*calls), FIX, say("done")]) as played:
        await played.run()
        blocks = played.model.requests[1].messages[-1].blocks
        assert [b.call_id for b in blocks if isinstance(b, ToolResult)] == ["c0", "c1", "c2", "c3", "c4"]
        assert [b.content for b in blocks if isinstance(b, ToolResult)] == ["0", "1", "2", "3", "4"]


async def test_a_refused_key_is_unrecoverable_and_told_in_a_sentence(tmp_path: Path) -> None:
    error = ModelCallError(CallFault.AUTHENTICATION, "401: invalid x-api-key", status=401, sent=False)
    async with stage(tmp_path, [error]) as played:
        end = await played.run()
        assert end.reason is StopReason.UNRECOVERABLE
        assert "invalid x-api-key" in end.detail
        assert "Check the API key" in end.detail
        assert played.of(RoundFinished)[0].outcome == "broken"
        assert end.cost_micros == 0


async def test_a_verify_command_that_cannot_start_is_named_before_any_call(tmp_path: Path) -> None:
    async with stage(tmp_path, [FIX]) as played:
        end = await played.run(verify=("nosuchcommand --all",))
        assert end.reason is StopReason.UNRECOVERABLE
        assert "nosuchcommand" in end.detail
        assert played.model.requests == []


async def test_a_failing_set_up_step_ends_the_phase(tmp_path: Path) -> None:
    from runtime.events.values import RunSettings, VerifySpec
    from tui.compose import RunRequest

    async with stage(tmp_path, [FIX]) as played:
        specs = (VerifySpec(command="false", setup=True), VerifySpec(command="true"))
        handle = await played.cockpit.start(RunRequest(played.repo, "", RunSettings(model="claude-sonnet-5-5"), specs))
        end = await handle.done
        assert end.reason is StopReason.UNRECOVERABLE
        assert len(played.of(VerifyFinished)) == 1


async def test_a_suite_that_collects_nothing_any_more_has_not_passed(tmp_path: Path) -> None:
    steps = [use("shell", command="git rm -q test_adder.py && mkdir empty"), say("done")]
    async with stage(tmp_path, steps, ADDER) as played:
        end = await played.run(verify=("python -m pytest -q",), cap=1)

        assert end.reason is StopReason.CAP_REACHED
        assert played.of(AttemptFinished)[0].cause is Cause.NO_TESTS


async def test_a_pass_with_edited_tests_is_said_to_be_one(tmp_path: Path) -> None:
    edit = use("edit_file", path="test_adder.py", old="== 5", new="== -1")
    async with stage(tmp_path, [edit, say("done")], ADDER) as played:
        end = await played.run(verify=("python -m pytest -q",))
        assert end.reason is StopReason.PASSED
        finished = played.of(AttemptFinished)[0]
        assert finished.cause is Cause.TESTS_EDITED
        assert finished.edited_tests == ("test_adder.py",)


async def test_uncommitted_changes_come_along_only_when_asked(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("nothing")]) as played:
        (played.repo / "value.txt").write_text("fixed\n")
        assert (await played.run(include_dirty=True)).reason is StopReason.ALREADY_PASSING
        assert (await played.run(cap=1)).reason is StopReason.CAP_REACHED


async def test_apply_at_the_end_puts_the_change_into_the_tree(tmp_path: Path) -> None:
    async with stage(tmp_path, [FIX, say("done")]) as played:
        (played.repo / "other.txt").write_text("mine\n")
        end = await played.run(deliver="apply")
        assert end.reason is StopReason.PASSED
        assert (played.repo / "value.txt").read_text() == "fixed\n"
        assert (played.repo / "other.txt").read_text() == "mine\n"


async def test_the_prepared_event_says_how_commands_are_confined(tmp_path: Path) -> None:
    usable = bool((await probe()).program)
    async with stage(tmp_path, [FIX, say("done")]) as played:
        await played.run()
        said = played.of(RunPrepared)[0].sandbox
        assert said.startswith(
            f"bubblewrap: writes only to the workspace, mounted at {played.repo}" if usable else "no sandbox"
        )
