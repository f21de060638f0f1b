"""Recorded-looking runs for tests: rich, deterministic event lists with attempts, retries, cache reads, holds and hostile text."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from runtime.events import checks, loop, supervision
from runtime.events.base import Event
from runtime.events.values import (
    Action,
    Cause,
    Comparison,
    DiffStat,
    Finding,
    HoldReason,
    RunSettings,
    StepStatus,
    StopReason,
    Verdict,
    VerifySpec,
)
from runtime.models.base import Text, ToolCall
from runtime.usage import Usage

START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
SONNET, OPUS, QWEN = "claude-sonnet-5-5", "claude-opus-5-5", "Qwen/Qwen3-Coder-30B"
PYTEST, RUFF, MYPY = "python -m pytest -q", "ruff check .", "mypy src"
HOSTILE = (
    "[/",
    "[/#888]",
    "ZLEXCOUNT z [b + 3",
    "[red]",
    "[link=http://x]y",
    "[@click=app.quit]x[/]",
    "arr[0]",
    "\x1b]52;c;aGk=\x07",
    "\x1b]52;c;aGk=\x1b\\",
    "\x1b]52;c;aGk=",
    "\x1b]0;PWNED\x07",
    "\x1b]8;;http://x\x1b\\y\x1b]8;;\x1b\\",
    "\x1bPq#0\x1b\\",
    "\x1b[2J\x1b[5A\x1b[6n\x1bc",
    "\x9b2J\x9d0;x\x9c\x90q\x9c",
    "nul\x00nul",
    "\u202egnp.exe \u200b\u200d\ufeff zero",
    "\ud800 lone",
)
"""Markup and control sequences that must be shown, never obeyed."""
E_ = TypeVar("E_", bound=Event)


def findings(*names: str, path: str = "tests/test_parser.py") -> tuple[Finding, ...]:
    """Failing tests."""
    return tuple(
        Finding(
            id=f"{path}::{name}", path=path, line=10 + index, message=f"AssertionError: {name} expected [] got None"
        )
        for index, name in enumerate(names)
    )


class Script:
    """Writes a run's events one after the other, each stamped with the next number and a clock of its own."""

    def __init__(self, run: str, start: datetime = START) -> None:
        self.run, self.start, self.ms = run, start, 0
        self.events: list[Event] = []
        self.attempt = self.round = self.step = 0
        self.model, self.leg = SONNET, 0

    def add(self, event: E_, after_ms: int = 100) -> E_:
        """Stamp and keep an event that happens `after_ms` after the one before."""
        self.ms += after_ms
        stamped = event.stamped(self.run, len(self.events) + 1, self.start + timedelta(milliseconds=self.ms), self.ms)
        self.events.append(stamped)
        return stamped

    def open(self, task: str, project: str = "parser", verify: Iterable[str] = (PYTEST,), **settings: Any) -> Script:
        """Queue a run and prepare it."""
        specs = tuple(
            VerifySpec(command=command, name=command.split()[-2 if "pytest" in command else 0]) for command in verify
        )
        chosen = RunSettings(
            **{"model": SONNET, "budget_micros": 500_000, "budget_seconds": 1_800.0, "hold_on_cap": True} | settings
        )
        self.model = chosen.model
        repo = f"/home/kim/src/{project}"
        self.add(
            loop.RunQueued(task=task, repo=repo, project=project, verify=specs, settings=chosen, worker="this machine"),
            0,
        )
        return self

    def prepared(self, failing: tuple[Finding, ...], warnings: tuple[str, ...] = ()) -> Script:
        """The baseline and the workspace."""
        self.verify(PYTEST, failing, wall_ms=3_200)
        self.add(
            loop.RunPrepared(
                workspace=f"/home/kim/.local/share/looptop/workspaces/{self.run}",
                base_commit="4f2a91c",
                branch=f"looptop/{self.run}",
                sandbox="none",
                baseline_failing=len(failing),
                warnings=warnings,
            )
        )
        return self

    def leg_begins(self, model: str, cap: int = 3, source: str = "default of claude*") -> Script:
        """The attempts with a model begin."""
        self.leg += 1
        self.model = model
        self.add(
            loop.LegStarted(
                leg=self.leg,
                model=model,
                provider="anthropic",
                cap=cap,
                cap_source=source,
                context_tokens=200_000,
                cache_minimum=1_024,
            )
        )
        return self

    def attempt_begins(self, of_leg: int, prompt: str = "", kind: Any = "task") -> Script:
        """A fix phase begins."""
        self.attempt += 1
        self.add(loop.AttemptStarted(attempt=self.attempt, leg=self.leg, attempt_of_leg=of_leg, model=self.model))
        if prompt:
            self.add(loop.PromptAdded(attempt=self.attempt, kind=kind, text=prompt, fresh=of_leg == 1))
        return self

    def think(self, text: str, pieces: int = 4, thinking: bool = False) -> Script:
        """A model call begins, and its text streams in."""
        self.round += 1
        self.add(
            loop.RoundStarted(
                attempt=self.attempt,
                round=self.round,
                leg=self.leg,
                model=self.model,
                prompt_estimate=9_000 + 2_600 * self.round,
                predicted_read=2_000,
            )
        )
        length = max(1, -(-len(text) // pieces))
        for at in range(0, len(text), length):
            self.add(loop.TextDelta(round=self.round, text=text[at : at + length], thinking=thinking), 220)
        return self

    def reply(
        self, usage: Usage, cost: int | None, stop: str = "tool_use", text: str = "", call: ToolCall | None = None
    ) -> Script:
        """The reply is whole."""
        blocks = tuple(block for block in (Text(text=text) if text else None, call) if block is not None)
        self.add(
            loop.RoundFinished(
                attempt=self.attempt,
                round=self.round,
                leg=self.leg,
                model=self.model,
                stop=stop,
                usage=usage,
                cost_micros=cost,
                saved_micros=None if cost is None else cost // 2,
                rewarm_micros=None if cost is None else 34_200,
                latency_ms=4_100,
                ttft_ms=900,
                request_id=f"req_{self.round}",
                reply=blocks,
            ),
            800,
        )
        return self

    def tool(
        self,
        tool: str,
        arguments: dict[str, Any] | None,
        content: str,
        status: StepStatus = StepStatus.OK,
        ms: int = 120,
        finish: bool = True,
    ) -> Script:
        """A tool step."""
        self.step += 1
        place = {
            "attempt": self.attempt,
            "round": self.round,
            "step": self.step,
            "call_id": f"call_{self.step}",
            "tool": tool,
        }
        self.add(loop.ToolCalled(**place, arguments=arguments, raw="{" if arguments is None else ""))
        if finish:
            code = None if tool != "shell" else (0 if status is StepStatus.OK else 1)
            self.add(loop.ToolFinished(**place, status=status, content=content, exit_code=code, duration_ms=ms), ms)
        return self

    def verify(
        self,
        command: str,
        failing: tuple[Finding, ...] = (),
        wall_ms: int = 2_900,
        step: int = 1,
        of: int = 1,
        finish: bool = True,
    ) -> Script:
        """A verify step."""
        name = "pytest" if "pytest" in command else command.split(maxsplit=1)[0]
        place = {"attempt": self.attempt, "step": step, "of": of, "name": name, "command": command}
        self.add(checks.VerifyStarted(**place))
        if not finish:
            return self
        lines = "".join(f"FAILED {one.id} - {one.message}\n" for one in failing)
        summary = (
            f"{len(failing)} failed, {42 - len(failing)} passed in {wall_ms / 1000:.2f}s"
            if failing
            else f"42 passed in {wall_ms / 1000:.2f}s"
        )
        self.add(
            checks.VerifyFinished(
                **place,
                verdict=Verdict.FAILED if failing else Verdict.PASSED,
                exit_code=1 if failing else 0,
                findings=failing,
                findings_total=len(failing),
                collected=42,
                summary=summary,
                wall_ms=wall_ms,
                cpu_ms=wall_ms - 300,
                output_path=f"{self.run}/attempt-{self.attempt}-step-{step}.log",
                output_bytes=18_230,
                excerpt=f"{'.' * 42}\n{lines}{summary}\n",
            ),
            wall_ms,
        )
        return self

    def attempt_ends(
        self,
        comparison: Comparison,
        diff: DiffStat,
        passed: bool = False,
        cause: Cause | None = Cause.STILL_FAILING,
        action: Action | None = Action.REFLECT,
    ) -> Script:
        """The attempt was verified; after a failed one, what happens next."""
        first = next(iter((*comparison.new, *comparison.still)), "")
        self.add(
            loop.AttemptFinished(
                attempt=self.attempt,
                passed=passed,
                comparison=comparison,
                cause=None if passed else cause,
                first_failure=first,
                diff=diff,
                tree=f"tree{self.attempt}",
                verify_wall_ms=2_900,
                verify_cpu_ms=2_600,
            )
        )
        if not passed and action is not None:
            quotes = (
                checks.ActionQuote(action=Action.REFLECT, cost_micros=21_000),
                checks.ActionQuote(action=Action.ESCALATE, masked="no stronger model is set"),
            )
            self.add(
                checks.RecoveryDecided(
                    attempt=self.attempt, action=action, router="fixed", why="fixed: always reflect", quotes=quotes
                )
            )
        return self

    def hold(self, why: HoldReason, text: str, *ends_with: str) -> Script:
        """The run waits for a decision."""
        self.add(supervision.RunHeld(why=why, text=text, ends_with=ends_with))
        return self

    def finish(
        self, reason: StopReason, detail: str = "", cost: float | None = 0.127, diff: DiffStat = DiffStat()
    ) -> Script:
        """The run ends."""
        self.add(
            loop.RunFinished(
                reason=reason,
                detail=detail,
                attempts=self.attempt,
                rounds=self.round,
                steps=self.step,
                usage={"input": 2_100, "output": 3_900, "cache_read": 188_000, "cache_write": 18_000},
                cost_usd=cost,
                cost_micros=None if cost is None else round(cost * 1e6),
                diff_stat=diff,
                summary="The parser returns [] for an empty list.",
                result_ref=f"refs/looptop/{self.run}",
            )
        )
        return self


def usage(fresh: int, written: int, read: int | None, output: int) -> Usage:
    """Usage of one call."""
    return Usage(input=fresh, output=output, cache_read=read, cache_write_5m=written, cache_write_1h=0)
